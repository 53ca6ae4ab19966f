"""Settings of the runs that are trained, measured and reported."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import Field, field_validator

from infopursuit.core.settings import Section
from infopursuit.dictionary.settings import Init


class RunSettings(Section):
    """Which runs to train: every combination of the lists."""

    datasets: list[str] = Field(min_length=1)
    inits: list[Init] = Field(min_length=1)
    methods: list[str] = Field(min_length=1)
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)
    truth: list[Literal["menagerie"]]

    @field_validator("datasets", "inits", "methods", "seeds", "truth")
    @classmethod
    def _distinct(cls, values: list[Any]) -> list[Any]:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names an entry twice")
        return values
