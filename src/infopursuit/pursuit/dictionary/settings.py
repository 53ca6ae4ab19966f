"""Settings of the initial dictionaries."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from infopursuit.core.settings import Positive, Section

Init = Literal["llm", "list", "random", "medoids", "informative", "random_words"]
INITS: tuple[str, ...] = get_args(Init)


class InitializeSettings(Section):
    """The size of dictionaries that are chosen, and how far the search for medoids goes."""

    k: Annotated[int, Field(ge=2)] | None
    medoids_distances: Positive
    medoids_reach: Annotated[int, Field(ge=2)]
