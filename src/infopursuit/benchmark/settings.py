"""Settings of the comparison of peers."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, field_validator

from infopursuit.benchmark.titles import TITLES
from infopursuit.core.settings import Section

Seed = Annotated[int, Field(ge=0)]


class BenchmarkSettings(Section):
    """Which peers are compared on which data sets.

    Attributes:
        datasets: names; none for no comparison.
        peers: keys of TITLES.
        seeds: of held-out images, and of what is random in a peer.
        network_seeds: those of the peers that train networks for minutes.
    """

    datasets: list[str]
    peers: list[str]
    seeds: list[Seed] = Field(min_length=1)
    network_seeds: list[Seed] = Field(min_length=1)

    @field_validator("peers")
    @classmethod
    def _known(cls, values: list[str]) -> list[str]:
        for value in values:
            if value not in TITLES:
                raise ValueError(f"no peer {value!r}; expected some of {', '.join(TITLES)}")
        return values

    @field_validator("datasets", "peers", "seeds", "network_seeds")
    @classmethod
    def _distinct(cls, values: list) -> list:
        if len(set(values)) < len(values):
            raise ValueError(f"{values} names an entry twice")
        return values
