"""Embedded images in shards: parts of a data set that are read one at a time, here or elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Bool, Float, Float32, Int64
from torch import Tensor
from torch.nn import functional

from infopursuit.core.clip_names import clip_of
from infopursuit.core.errors import InputError
from infopursuit.core.table_blocks import (
    RowRange,
    read_range,
    row_ranges,
    table_blocks,
    table_shape,
)
from infopursuit.core.tables import EMBEDDED_IMAGES, EMBEDDING, embedding_matrix

# Rows of a shard, or a little more: of 768 numbers 100 MB as stored, and twice that as float32.
SHARD_ROWS = 65536
LABEL_COLUMNS = ("split", "label", "class_name")


class Shard(NamedTuple):
    """Some images of a split.

    Attributes:
        embeddings: (m, d) of any float type, of unit norm.
        labels: (m,) classes 0..c-1.
    """

    embeddings: Float[np.ndarray, "m d"]
    labels: Int64[np.ndarray, " m"]


@runtime_checkable
class ImageShards(Protocol):
    """n labelled, embedded images in shards of a fixed order; picklable."""

    @property
    def where(self) -> str:
        """What messages call them."""
        ...

    @property
    def width(self) -> int:
        """d of the embeddings."""
        ...

    @property
    def clip(self) -> str | None:
        """The CLIP that they come from; None where that is not known."""
        ...

    @property
    def class_names(self) -> tuple[str, ...]:
        """Of the c classes, in the order of their labels."""
        ...

    @property
    def counts(self) -> Int64[np.ndarray, " c"]:
        """The images of each class."""
        ...

    @property
    def sizes(self) -> tuple[int, ...]:
        """The number of images of each shard, at least 1."""
        ...

    def read(self, number: int) -> Shard:
        """The images of a shard; the same whenever and wherever it is read."""
        ...


class EmbeddedShards:
    """One split of a table of embedded images (EMBEDDED_IMAGES), a file or a folder of shards.

    Args:
        path: the table.
        split: `train` or `test`.
        rows: of a shard; row groups stay together, so that one may have a few more.

    Raises:
        InputError: the table breaks its schema, the split is empty, a label has two class names, or
            the labels are not 0, 1, ..., c - 1.
    """

    def __init__(self, path: str | Path, split: str = "train", rows: int = SHARD_ROWS) -> None:
        self.where, self.split = str(path), split
        _, self.width = table_shape(path, EMBEDDED_IMAGES)
        parts = row_ranges(path, EMBEDDED_IMAGES, rows)
        self.clip = clip_of(path)
        names: dict[int, str] = {}
        found: list[tuple[RowRange, int]] = []
        counts = np.zeros(0, dtype=np.int64)
        splits: set[str] = set()
        for part in parts:
            table = read_range(part, EMBEDDED_IMAGES, LABEL_COLUMNS)
            add_class_names(names, table, str(part.file), part.start)
            splits.update(table.column("split").unique().to_pylist())
            labels = table.column("label").to_numpy()[in_split(table, split)]
            more = np.bincount(labels, minlength=len(counts))
            more[: len(counts)] += counts
            counts = more
            if len(labels):
                found.append((part, len(labels)))
        self.class_names = ordered_class_names(names, self.where)
        if not found:
            raise InputError(empty_split(self.where, split, splits))
        self.counts = np.zeros(len(names), dtype=np.int64)
        self.counts[: len(counts)] = counts
        self.parts = tuple(part for part, _ in found)
        self.sizes = tuple(size for _, size in found)

    def read(self, number: int) -> Shard:
        """The images of a shard, float32 of unit norm."""
        part = self.parts[number]
        table = read_range(part, EMBEDDED_IMAGES, ("split", "label", EMBEDDING))
        matrix = unit_matrix(table, part.file, part.start)
        mine = in_split(table, self.split)
        labels = table.column("label").to_numpy().astype(np.int64)
        return Shard(matrix, labels) if mine.all() else Shard(matrix[mine], labels[mine])

    def labels(self) -> Int64[np.ndarray, " n"]:
        """The labels of all images, in their order."""
        found = []
        for part in self.parts:
            table = read_range(part, EMBEDDED_IMAGES, ("split", "label"))
            found.append(table.column("label").to_numpy()[in_split(table, self.split)])
        return np.concatenate(found).astype(np.int64)

    def take(self, rows: Int64[np.ndarray, " m"]) -> Float[np.ndarray, "m d"]:
        """The embeddings of some images, by their numbers in ascending order."""
        found, start = [np.zeros((0, self.width), dtype=np.float32)], 0
        for number, size in enumerate(self.sizes):
            wanted = rows[(rows >= start) & (rows < start + size)] - start
            if len(wanted):
                found.append(self.read(number).embeddings[wanted])
            start += size
        return np.concatenate(found)


def all_images(shards: EmbeddedShards) -> ShardedImages:
    """Every image of some shards."""
    return ShardedImages(shards, np.arange(sum(shards.sizes)))


def unit_matrix(table: pa.Table, file: str | Path, start: int) -> Float32[np.ndarray, "m d"]:
    """The embeddings of some rows of a file from row `start` on, of unit norm."""
    rows = torch.from_numpy(embedding_matrix(table, file, np.float32, start))
    return functional.normalize(rows, dim=1).numpy()


@dataclass(frozen=True)
class ShardedImages:
    """Some images of shards; who reads a range of them reads no shard that has none of it.

    Attributes:
        shards: of all images.
        rows: (n,) numbers of these, ascending.
    """

    shards: EmbeddedShards
    rows: Int64[np.ndarray, " n"]

    def __len__(self) -> int:
        return len(self.rows)

    def read(self, start: int, stop: int) -> Float32[Tensor, "m d"]:
        """The images from one of them to the one before another; unit norm."""
        return torch.from_numpy(self.shards.take(self.rows[start:stop]))


def split_blocks(
    path: str | Path, split: str, columns: tuple[str, ...], rows: int
) -> Iterator[tuple[str, int, pa.Table]]:
    """The rows of one split, at most `rows` at a time: the file, the first row there, the rows."""
    for file, start, table in table_blocks(path, EMBEDDED_IMAGES, ("split", *columns), rows):
        yield file, start, table.filter(pa.array(in_split(table, split)))


def in_split(table: pa.Table, split: str) -> Bool[np.ndarray, " m"]:
    """Which rows are of a split."""
    codes = table.column("split").combine_chunks().dictionary_encode()
    place = codes.dictionary.to_pylist()
    if split not in place:
        return np.zeros(len(table), dtype=bool)
    return codes.indices.to_numpy() == place.index(split)


def add_class_names(names: dict[int, str], table: pa.Table, where: str, start: int) -> None:
    """Add the class names of some rows to those of earlier ones, by label.

    Raises:
        InputError: a label has another name than in an earlier row.
    """
    labels = table.column("label").to_numpy().astype(np.int64)
    codes = table.column("class_name").combine_chunks().dictionary_encode()
    of_code = codes.dictionary.to_pylist()
    pairs, first = np.unique(
        labels * max(1, len(of_code)) + codes.indices.to_numpy(), return_index=True
    )
    for row in np.sort(first[: len(pairs)]).tolist():
        label, name = int(labels[row]), of_code[codes.indices[row].as_py()]
        if names.setdefault(label, name) != name:
            raise InputError(
                f"{where}: row {start + row} calls label {label} {name!r}; expected "
                f"{names[label]!r}, as in an earlier row"
            )


def ordered_class_names(names: dict[int, str], where: str) -> tuple[str, ...]:
    """The class names in the order of their labels.

    Raises:
        InputError: the labels are not 0, 1, ..., c - 1.
    """
    if sorted(names) != list(range(len(names))):
        raise InputError(f"{where}: labels are {sorted(names)[:5]}...; expected 0, 1, ..., c - 1")
    return tuple(names[label] for label in range(len(names)))


def empty_split(where: str, split: str, found: set[str]) -> str:
    """What to say where a split has no rows."""
    there = ", ".join(sorted(found)) or "no rows"
    return f"{where}: the split {split!r} is empty; found {there}"
