"""Embedded images with their labels, in memory or in shards; what is held out of them, samples.

load_images, load_training    one split of a table in memory, or a sample of it
EmbeddedShards, ShardedImages one split of a table, read a shard at a time
held_out_by_seed, hold_out    the held-out part of the training images
even_sample, spread_sample    samples of a stated size
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Float32, Int, Int64
from torch import Tensor
from torch.nn import functional

from infopursuit.core.errors import InputError
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    ROW_GROUP,
    RowRange,
    clip_of,
    embedding_matrix,
    read_range,
    row_ranges,
    table_blocks,
    table_shape,
)

logger = logging.getLogger("infopursuit")

# Rows of a shard, or a little more: of 768 numbers 100 MB as stored, and twice that as float32.
SHARD_ROWS = 65536
LABEL_COLUMNS = ("split", "label", "class_name")
# Images that a sample has of each class, if there are as many: one to learn from, one to hold out.
LEAST_OF_A_CLASS = 2


@dataclass(frozen=True)
class LabelledImages:
    """n images of one split in memory."""

    ids: tuple[str, ...]
    labels: Int[Tensor, " n"]  # (n,) classes 0..c-1
    embeddings: Float[Tensor, "n d"]  # (n, d) float32, unit norm
    class_names: tuple[str, ...]

    def subset(self, rows: Int[Tensor, " m"]) -> LabelledImages:
        """Return the given rows, in their order."""
        ids = tuple(self.ids[row] for row in rows.tolist())
        return LabelledImages(ids, self.labels[rows], self.embeddings[rows], self.class_names)


def load_images(
    path: str | Path, split: str, most: int | None = None, always: Sequence[str] = ()
) -> LabelledImages:
    """Read one split of an embedded data set, a file or a folder of shards, block by block.

    The class names come from the rows of all splits.

    Args:
        most: size of the sample of a larger split, always the same and spread over the classes in
            proportion to their images (`spread_sample`); None for all images.
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
    """Read the training images of an embedded data set, and the share that is held out."""
    shards = EmbeddedShards(path, "train")
    labels = torch.from_numpy(shards.labels())
    training, held_out = (
        rows if most is None else rows[spread_sample(labels[rows], most)]
        for rows in held_out_by_seed(labels, shards.class_names, share, seed)
    )
    taken = torch.zeros(len(labels), dtype=torch.bool)
    taken[training] = taken[held_out] = True
    if not taken.all():
        sizes = len(training), len(held_out), len(labels)
        logger.info(
            "%s: a sample of %d and %d of %d training images, to learn from and held out",
            path,
            *sizes,
        )
    images = _read(shards, taken)
    place = taken.cumsum(0) - 1  # of each image among those that are taken
    return images.subset(place[training]), images.subset(place[held_out])


def _read(
    shards: EmbeddedShards, taken: Bool[Tensor, " n"], always: frozenset[str] = frozenset()
) -> LabelledImages:
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
        embeddings[place] = torch.from_numpy(_unit_matrix(table, file, start))
    n = len(ids)
    return LabelledImages(tuple(ids), labels[:n], embeddings[:n], shards.class_names)


# -- held-out images and samples ------------------------------------------------------------------


def hold_out(
    images: LabelledImages, share: float, seed: int
) -> tuple[LabelledImages, LabelledImages]:
    """Split into training and held-out images, stratified by class.

    Every class gives round(share * its images), at least one, and keeps at least one.
    """
    training, held = held_out_by_seed(images.labels, images.class_names, share, seed)
    return images.subset(training), images.subset(held)


def held_out_by_seed(
    labels: Int[Tensor, " n"], class_names: Sequence[str], share: float, seed: int
) -> tuple[Int[Tensor, " m"], Int[Tensor, " h"]]:
    """Return the rows to train on and those to hold out, both sorted; as `hold_out` draws them.

    The library's own `fit` holds out by content (`training_set.held_out_by_content`): there equal
    images have to stay together, here runs have to differ by their seed.
    """
    generator = torch.Generator().manual_seed(seed)
    training: list[Tensor] = []
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
        training.append(rows[count:])
    return torch.cat(training).sort().values, torch.cat(held).sort().values


def even_sample(
    labels: Int[Tensor, " n"], size: int, generator: torch.Generator
) -> Int[Tensor, " m"]:
    """Return sorted places of at most `size` images, as many of each class as of any other."""
    if len(labels) <= size:
        return torch.arange(len(labels))
    ranks = _ranks_in_class(labels, torch.randperm(len(labels), generator=generator))
    return ranks.argsort(stable=True)[:size].sort().values


def spread_sample(labels: Int[Tensor, " n"], size: int, seed: int = 0) -> Int[Tensor, " m"]:
    """Return sorted places of about `size` images, of each class in proportion to its images.

    So a mean over the sample estimates the mean over all. The size is that asked for, less the
    fractions that classes lose by rounding down, plus what rare classes have beyond their share:
    each has LEAST_OF_A_CLASS images, or all.
    """
    if len(labels) <= size:
        return torch.arange(len(labels))
    counts = torch.bincount(labels)
    shares = torch.maximum(counts * size // len(labels), counts.clamp(max=LEAST_OF_A_CLASS))
    generator = torch.Generator().manual_seed(seed)
    ranks = _ranks_in_class(labels, torch.randperm(len(labels), generator=generator))
    return torch.nonzero(ranks < shares[labels]).squeeze(1)


def _ranks_in_class(labels: Int[Tensor, " n"], order: Int[Tensor, " n"]) -> Int[Tensor, " n"]:
    by_class = order[labels[order].argsort(stable=True)]
    counts = torch.bincount(labels)
    starts = counts.cumsum(0) - counts
    ranks = torch.empty_like(labels)
    ranks[by_class] = torch.arange(len(labels)) - starts[labels[by_class]]
    return ranks


# -- shards ---------------------------------------------------------------------------------------


class Shard(NamedTuple):
    """Some images of a split."""

    embeddings: Float[np.ndarray, "m d"]  # (m, d) of any float type, of unit norm
    labels: Int64[np.ndarray, " m"]  # (m,) classes 0..c-1


@runtime_checkable
class ImageShards(Protocol):
    """n labelled, embedded images in shards of a fixed order; picklable."""

    where: str  # what messages call them
    width: int  # d of the embeddings
    clip: str | None  # the CLIP that they come from; None if it is not known
    class_names: tuple[str, ...]  # of the c classes, in the order of their labels
    counts: Int64[np.ndarray, " c"]  # (c,) the images of each class
    sizes: tuple[int, ...]  # the number of images of each shard, at least 1

    def read(self, number: int) -> Shard:
        """Return the images of a shard; the same whenever and wherever it is read."""
        ...


class EmbeddedShards:
    """One split of a table of embedded images (EMBEDDED_IMAGES), a file or a folder of shards."""

    def __init__(self, path: str | Path, split: str = "train", rows: int = SHARD_ROWS) -> None:
        self.where, self.split = str(path), split
        _, self.width = table_shape(path, EMBEDDED_IMAGES)
        parts = row_ranges(path, EMBEDDED_IMAGES, rows)
        self.clip = clip_of(path)
        names: dict[int, str] = {}
        used: list[tuple[RowRange, int]] = []
        counts = np.zeros(0, dtype=np.int64)
        splits: set[str] = set()
        for part in parts:
            table = read_range(part, EMBEDDED_IMAGES, LABEL_COLUMNS)
            _add_class_names(names, table, part)
            splits.update(table.column("split").unique().to_pylist())
            labels = table.column("label").to_numpy()[in_split(table, split)]
            more = np.bincount(labels, minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
            if len(labels):
                used.append((part, len(labels)))
        if sorted(names) != list(range(len(names))):
            raise InputError(
                f"{path}: labels are {sorted(names)[:5]}...; expected 0, 1, ..., c - 1"
            )
        if not used:
            listed = ", ".join(sorted(splits)) or "no rows"
            raise InputError(f"{path}: the split {split!r} is empty; found {listed}")
        self.class_names = tuple(names[label] for label in range(len(names)))
        self.counts = np.zeros(len(names), dtype=np.int64)
        self.counts[: len(counts)] = counts
        self.parts = tuple(part for part, _ in used)
        self.sizes = tuple(size for _, size in used)

    def read(self, number: int) -> Shard:
        """Return the images of a shard, float32 of unit norm."""
        part = self.parts[number]
        table = read_range(part, EMBEDDED_IMAGES, ("split", "label", EMBEDDING))
        matrix = _unit_matrix(table, part.file, part.start)
        mine = in_split(table, self.split)
        labels = table.column("label").to_numpy().astype(np.int64)
        return Shard(matrix, labels) if mine.all() else Shard(matrix[mine], labels[mine])

    def labels(self) -> Int64[np.ndarray, " n"]:
        """Return the labels of all images, in their order."""
        labels = []
        for part in self.parts:
            table = read_range(part, EMBEDDED_IMAGES, ("split", "label"))
            labels.append(table.column("label").to_numpy()[in_split(table, self.split)])
        return np.concatenate(labels).astype(np.int64)

    def take(self, rows: Int64[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
        """Return the embeddings of some images, by their numbers in ascending order."""
        blocks, start = [np.zeros((0, self.width), dtype=np.float32)], 0
        for number, size in enumerate(self.sizes):
            places = rows[(rows >= start) & (rows < start + size)] - start
            if len(places):
                blocks.append(self.read(number).embeddings[places])
            start += size
        return np.concatenate(blocks)


def image_ids(path: str | Path) -> list[str]:
    """Return the ids of the images of all splits of an embedded data set."""
    return [
        name
        for _, _, table in table_blocks(path, EMBEDDED_IMAGES, ("id",), ROW_GROUP)
        for name in table.column("id").to_pylist()
    ]


@dataclass(frozen=True)
class ShardedImages:
    """Some images of shards; a range of them is read from those shards alone that have some."""

    shards: EmbeddedShards  # of all images
    rows: Int64[np.ndarray, " n"]  # (n,) numbers of these, ascending

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, start: int, stop: int) -> Float32[Tensor, "m d"]:
        """Return images `start` to `stop` - 1 of these; unit norm."""
        return torch.from_numpy(self.shards.take(self.rows[start:stop]))


def all_images(shards: EmbeddedShards) -> ShardedImages:
    """Return every image of some shards."""
    return ShardedImages(shards, np.arange(sum(shards.sizes)))


def split_blocks(
    path: str | Path, split: str, columns: tuple[str, ...], rows: int
) -> Iterator[tuple[str, int, pa.Table]]:
    """Yield the rows of a split, at most `rows` at a time: the file, the first row in it, rows."""
    for file, start, table in table_blocks(path, EMBEDDED_IMAGES, ("split", *columns), rows):
        yield file, start, table.filter(pa.array(in_split(table, split)))


def in_split(table: pa.Table, split: str) -> Bool[np.ndarray, " m"]:
    """Return which rows are of a split."""
    codes = table.column("split").combine_chunks().dictionary_encode()
    names = codes.dictionary.to_pylist()
    if split not in names:
        return np.zeros(len(table), dtype=bool)
    return codes.indices.to_numpy() == names.index(split)


def _unit_matrix(table: pa.Table, file: str | Path, start: int) -> Float32[np.ndarray, "m d"]:
    rows = torch.from_numpy(embedding_matrix(table, file, np.float32, start))
    return functional.normalize(rows, dim=1).numpy()


def _add_class_names(names: dict[int, str], table: pa.Table, part: RowRange) -> None:
    """Add the class names of some rows to those of earlier ones, by label; refuse other names."""
    labels = table.column("label").to_numpy().astype(np.int64)
    codes = table.column("class_name").combine_chunks().dictionary_encode()
    of_code = codes.dictionary.to_pylist()
    pairs = labels * max(1, len(of_code)) + codes.indices.to_numpy()
    for row in np.sort(np.unique(pairs, return_index=True)[1]).tolist():
        label, name = int(labels[row]), of_code[codes.indices[row].as_py()]
        if names.setdefault(label, name) != name:
            raise InputError(
                f"{part.file}: row {part.start + row} calls label {label} {name!r}; expected "
                f"{names[label]!r}, as in an earlier row"
            )
