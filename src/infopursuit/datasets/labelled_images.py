"""Embedded images with their labels, and the held-out part of the training split."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.tables import EMBEDDING, ROW_GROUP
from infopursuit.datasets.image_shards import EmbeddedShards, split_blocks, unit_matrix
from infopursuit.datasets.samples import held_out_rows, spread_sample

logger = logging.getLogger("infopursuit")


@dataclass(frozen=True)
class LabelledImages:
    """n images of one split: ids, labels (n,), unit-norm float32 embeddings (n, d), class names."""

    ids: tuple[str, ...]
    labels: Int[Tensor, " n"]
    embeddings: Float[Tensor, "n d"]
    class_names: tuple[str, ...]

    def subset(self, rows: Int[Tensor, " m"]) -> LabelledImages:
        """The given rows, in their order."""
        ids = tuple(self.ids[row] for row in rows.tolist())
        return LabelledImages(ids, self.labels[rows], self.embeddings[rows], self.class_names)


def load_images(
    path: str | Path, split: str, most: int | None = None, always: Sequence[str] = ()
) -> LabelledImages:
    """Read one split of an embedded data set, a file or a folder of shards, block by block.

    The class names come from the rows of all splits.

    Args:
        path: the table.
        split: `train` or `test`.
        most: of a larger split, a sample of so many, spread over the classes in proportion to their
            images (`spread_sample`) and always the same; None for all images.
        always: ids of images that are taken in any case, where they are there.

    Raises:
        InputError: the file breaks its schema, the split is empty, a label has two class names,
            or the labels are not 0, 1, ..., c - 1.
    """
    shards = EmbeddedShards(path, split)
    n = sum(shards.sizes)
    taken = torch.ones(n, dtype=torch.bool)
    if most is not None and n > most:
        taken[:] = False
        taken[spread_sample(torch.from_numpy(shards.labels()), most)] = True
        logger.info("%s: a sample of %d of %d %s images", path, int(taken.sum()), n, split)
    return _read(shards, taken, frozenset(always))


def load_training(
    path: str | Path, share: float, seed: int, most: int | None = None
) -> tuple[LabelledImages, LabelledImages]:
    """The training images of an embedded data set less a share of each class, and that share.

    Args:
        path: the table.
        share: of each class that is held out, as by `hold_out`.
        seed: of what is held out.
        most: where either part has more images than these, a sample as in `load_images`.

    Raises:
        InputError: as `load_images` and `hold_out` say.
    """
    shards = EmbeddedShards(path, "train")
    labels = torch.from_numpy(shards.labels())
    kept, held_out = (
        rows if most is None else rows[spread_sample(labels[rows], most)]
        for rows in held_out_rows(labels, shards.class_names, share, seed)
    )
    taken = torch.zeros(len(labels), dtype=torch.bool)
    taken[kept] = taken[held_out] = True
    if not taken.all():
        logger.info("%s: a sample of %d and %d of %d training images, to learn from and held out",
                    path, len(kept), len(held_out), len(labels))  # fmt: skip
    images = _read(shards, taken)
    # The places of both among the images that are taken.
    place = taken.cumsum(0) - 1
    return images.subset(place[kept]), images.subset(place[held_out])


def _read(
    shards: EmbeddedShards, taken: Bool[Tensor, " n"], always: frozenset[str] = frozenset()
) -> LabelledImages:
    """The images of a split that are taken, or whose ids are named; no others are kept."""
    ids: list[str] = []
    labels = torch.empty(min(len(taken), int(taken.sum()) + len(always)), dtype=torch.long)
    embeddings = torch.empty(len(labels), shards.width)
    seen = 0
    columns = ("id", "label", EMBEDDING)
    for file, start, block in split_blocks(shards.where, shards.split, columns, ROW_GROUP):
        mine = taken[seen : seen + len(block)].numpy()
        seen += len(block)
        if always:
            mine = mine | np.isin(block.column("id").to_numpy(zero_copy_only=False), list(always))
        table = block if mine.all() else block.filter(pa.array(mine))
        place = slice(len(ids), len(ids) + len(table))
        ids += table.column("id").to_pylist()
        labels[place] = torch.from_numpy(table.column("label").to_numpy().astype("int64"))
        embeddings[place] = torch.from_numpy(unit_matrix(table, file, start))
    return LabelledImages(
        tuple(ids), labels[: len(ids)], embeddings[: len(ids)], shards.class_names
    )


def hold_out(
    images: LabelledImages, share: float, seed: int
) -> tuple[LabelledImages, LabelledImages]:
    """Split into training and held-out images, stratified by class.

    Every class gives round(share * its images), at least one, and keeps at least one.

    Raises:
        InputError: a class has fewer than two images.
    """
    kept, held = held_out_rows(images.labels, images.class_names, share, seed)
    return images.subset(kept), images.subset(held)
