"""Embedded images with their labels, and the held-out part of the training split."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDING, ROW_GROUP
from infopursuit.datasets.image_shards import EmbeddedShards, split_blocks, unit_matrix


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


def load_images(path: str | Path, split: str) -> LabelledImages:
    """Read one split of an embedded data set, a file or a folder of shards, block by block.

    The class names come from the rows of all splits.

    Raises:
        InputError: the file breaks its schema, the split is empty, a label has two class names,
            or the labels are not 0, 1, ..., c - 1.
    """
    shards = EmbeddedShards(path, split)
    ids: list[str] = []
    labels = torch.empty(sum(shards.sizes), dtype=torch.long)
    embeddings = torch.empty(len(labels), shards.width)
    columns = ("id", "label", EMBEDDING)
    for file, start, table in split_blocks(path, split, columns, ROW_GROUP):
        place = slice(len(ids), len(ids) + len(table))
        ids += table.column("id").to_pylist()
        labels[place] = torch.from_numpy(table.column("label").to_numpy().astype("int64"))
        embeddings[place] = torch.from_numpy(unit_matrix(table, file, start))
    return LabelledImages(tuple(ids), labels, embeddings, shards.class_names)


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


def held_out_rows(
    labels: Int[Tensor, " n"], class_names: Sequence[str], share: float, seed: int
) -> tuple[Int[Tensor, " m"], Int[Tensor, " h"]]:
    """The rows to train on and those to hold out, both sorted; as `hold_out` draws them.

    Raises:
        InputError: a class has fewer than two images.
    """
    generator = torch.Generator().manual_seed(seed)
    kept: list[Tensor] = []
    held: list[Tensor] = []
    for label, name in enumerate(class_names):
        rows = torch.nonzero(labels == label).squeeze(1)
        if len(rows) < 2:
            raise InputError(
                f"class {name!r} has {len(rows)} training images; expected at least 2, "
                "one of them held out for selection"
            )
        rows = rows[torch.randperm(len(rows), generator=generator)]
        count = min(max(1, round(share * len(rows))), len(rows) - 1)
        held.append(rows[:count])
        kept.append(rows[count:])
    return torch.cat(kept).sort().values, torch.cat(held).sort().values
