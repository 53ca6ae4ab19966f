"""The peers by name, and which are compared on which data sets."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated, Literal

from pydantic import Field, field_validator

from infopursuit.core.settings import Section

# What t texts are: asked of each image in turn; chosen for each image; weights for each class on
# average (NEC); all there are.
Unit = Literal["questions", "texts of an image", "weights a class", "all"]
Seed = Annotated[int, Field(ge=0)]


@dataclass(frozen=True)
class Title:
    """A peer in tables: its title, what a number of texts means, if only texts decide."""

    title: str
    unit: Unit
    explained: bool = True


TITLES: dict[str, Title] = {
    "probe": Title("linear probe (black box)", "all", explained=False),
    "gda": Title("Gaussian discriminant analysis (black box)", "all", explained=False),
    "zero_shot": Title("zero-shot", "all"),
    "sparse_logistic": Title("sparse logistic regression", "weights a class"),
    "label_free": Title("Label-free CBM", "weights a class"),
    "labo_knowing": Title("LaBo, with a knowledge table", "weights a class"),
    "ip_omp": Title("IP-OMP", "texts of an image"),
    "splice": Title("SpLiCE", "texts of an image"),
    "tree": Title("decision tree", "questions"),
    "generative_ip": Title("generative IP", "questions"),
    "gdfs": Title("GDFS", "questions"),
    "vip_fixed": Title("paper, fixed dictionary", "questions"),
    "vip_alternating": Title("paper, learned dictionary", "questions"),
    "vip_joint": Title("paper, learned jointly", "questions"),
    "ours": Title("**ours**", "questions"),
    "ours_knowing": Title("**ours, with a knowledge table**", "questions"),
}


class BenchmarkSettings(Section):
    """Which peers are compared on which data sets.

    Attributes:
        datasets: names; an empty list for no comparison.
        peers: keys of TITLES.
        seeds: of held-out images, and of what is random in a peer.
        network_seeds: those of the peers that train networks for minutes.
    """

    datasets: list[str]
    peers: list[str] = Field(["probe", "ours"])
    seeds: list[Seed] = Field([0], min_length=1)
    network_seeds: list[Seed] = Field([0], min_length=1)

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
            raise ValueError(f"{values} contains a value twice")
        return values
