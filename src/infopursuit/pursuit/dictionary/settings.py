"""Settings of the initial dictionaries."""

from __future__ import annotations

from typing import Annotated, Literal, get_args

from pydantic import Field

from infopursuit.core.settings import Positive, Section

Init = Literal["llm", "list", "random", "medoids", "informative", "random_words"]
INITS: tuple[str, ...] = get_args(Init)


class InitializeSettings(Section):
    """The size of dictionaries that are chosen, and how far the search for medoids goes.

    Attributes:
        k: the size; None for that of the data set.
        medoids_distances: distances that the search may compute for each text of a universe of
            over 2000.
        medoids_reach: how many nearest medoids each text remembers when swaps are scored. Larger is
            slower and more exact; k or more is exact (for a GPU).
    """

    k: Annotated[int, Field(ge=2)] | None
    medoids_distances: Positive = 5000
    medoids_reach: Annotated[int, Field(ge=2)] = 8
