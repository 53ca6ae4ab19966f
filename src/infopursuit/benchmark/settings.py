"""Settings of the comparison of peers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from infopursuit.benchmark.titles import TITLES
from infopursuit.core.settings import Section


class BenchmarkSettings(Section):
    """Which peers are compared on which data sets."""

    datasets: list[str]
    peers: list[str]
    seeds: list[Annotated[int, Field(ge=0)]] = Field(min_length=1)

    @field_validator("peers")
    @classmethod
    def _known(cls, values: list[str]) -> list[str]:
        for value in values:
            if value not in TITLES:
                raise ValueError(f"no peer {value!r}; expected some of {', '.join(TITLES)}")
        return values

    @field_validator("datasets", "peers", "seeds")
    @classmethod
    def _distinct(cls, values: list) -> list:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names an entry twice")
        return values
