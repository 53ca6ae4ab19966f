"""What each of many texts tells of the class, alone: a block of texts at a time, here or elsewhere.

A universe of millions is looked at in blocks, each of which can be done by another machine. The
result is put in the order of the texts, so that it has the same bits whoever did which block.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.answers.score_map import ScoreMap
from infopursuit.answers.thresholds import ThresholdFit
from infopursuit.datasets.rows import UnitRows, as_tensor
from infopursuit.executors import RayCluster, run_shards

# Texts of a block for another machine: seconds of its work, and some megabytes of scores.
BLOCK = 8192


class TextSource(NamedTuple):
    """Where the embeddings of a universe are, for whoever reads some of them.

    Attributes:
        values: the embeddings themselves; None where they are in a file.
        file: a file of raw numbers that every machine sees under this path.
        dtype: their type.
        shape: (u, d).
        offset: bytes of the file before the first number.
    """

    values: Tensor | None
    file: str = ""
    dtype: str = ""
    shape: tuple[int, ...] = ()
    offset: int = 0

    def tensor(self) -> Tensor:
        """The embeddings, mapped where they are in a file."""
        if self.values is not None:
            return self.values
        mapped = np.memmap(self.file, self.dtype, "r", self.offset, self.shape)
        return as_tensor(mapped)


def text_source(embeddings: object, rows: UnitRows) -> TextSource:
    """Where workers find embeddings: in the file that they are mapped from, or sent along.

    Args:
        embeddings: as a person gave them.
        rows: the same, checked.
    """
    if not isinstance(embeddings, np.memmap) or embeddings.filename is None:
        return TextSource(rows.values)
    if not embeddings.flags.c_contiguous or embeddings.ndim != 2:
        return TextSource(rows.values)
    return TextSource(
        None, str(embeddings.filename), embeddings.dtype.str, embeddings.shape, embeddings.offset
    )


@dataclass(frozen=True)
class Screening:
    """How texts are screened.

    Attributes:
        source: their embeddings.
        score_map: turns them into directions.
        images: (n, d) unit norm.
        labels: (n,) classes 0..c-1.
        weights: (n,) of the images; None for 1 each.
        thresholds: how these are found.
    """

    source: TextSource
    score_map: ScoreMap
    images: Float[Tensor, "n d"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None
    thresholds: ThresholdFit

    def __call__(self) -> Callable[[Int[Tensor, " m"]], Float[Tensor, " m"]]:
        """Open the texts; gives what screens some of them."""
        values = self.source.tensor()

        def screen(rows: Int[Tensor, " m"]) -> Float[Tensor, " m"]:
            texts = UnitRows.of_checked(values[rows])
            scores = self.images @ self.score_map.directions(texts).T
            return self.thresholds.of(rows, scores, self.labels, self.weights).information

        return screen

    def information(
        self, rows: Int[Tensor, " m"], cluster: RayCluster | None = None
    ) -> Float[Tensor, " m"]:
        """What a threshold of each text tells of the class, in nats.

        Args:
            rows: of the texts.
            cluster: whose workers look at them; None for this process.
        """
        blocks = list(enumerate(rows.split(BLOCK)))
        told: dict[int, Tensor] = {}
        with closing(run_shards(self, blocks, cluster)) as found:
            for number, some in tqdm(
                found, "screening texts", total=len(blocks), unit="block", disable=None
            ):
                told[number] = some
        return torch.cat([told[number] for number in range(len(blocks))])
