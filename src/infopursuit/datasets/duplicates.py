"""What spoils a test split: copies of training images, classes without images."""

from __future__ import annotations

import logging
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import torch
from jaxtyping import Float, Float32, Int64
from tqdm import tqdm

from infopursuit.core.embeddings import unit_rows
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    NEAR_COPIES,
    embedding_matrix,
    read_table,
    write_table,
)
from infopursuit.datasets.image_shards import in_split, split_blocks
from infopursuit.datasets.image_source import SPLITS

logger = logging.getLogger(__name__)

# The cosine above which two images count as one.
NEAR = 0.999
BLOCK = 1024  # test images at a time
AGAINST = 8192  # training images at a time
HELD = 2**20  # test images in memory; for each so many all training images are read once
TOLD = 5


class NearCopies(NamedTuple):
    """Test images that nearly equal a training image, in their order.

    Attributes:
        test: their rows.
        train: the row of the most similar training image of each.
        cosine: to that one.
        copies: how many training images are so similar.
    """

    test: Int64[np.ndarray, " p"]
    train: Int64[np.ndarray, " p"]
    cosine: Float32[np.ndarray, " p"]
    copies: Int64[np.ndarray, " p"]


def find_near_copies(
    test: Float[np.ndarray, "n d"],
    train: Iterable[Float[np.ndarray, "_ d"]],
    threshold: float = NEAR,
    device: torch.device | None = None,
) -> NearCopies:
    """Find the test images whose embedding has a cosine above `threshold` with a training image.

    Memory beside `test` is one block of products and three numbers for each test image.

    Args:
        test: embeddings of any norm; a memory map is read in blocks.
        train: blocks of training images.
        threshold: cosine above which two images count as one.
        device: where to multiply; None for the CPU.

    Raises:
        InputError: an embedding is NaN, infinite or all zeros.
    """
    device = device or torch.device("cpu")
    best = np.full(len(test), -np.inf, dtype=np.float32)
    nearest = np.zeros(len(test), dtype=np.int64)
    copies = np.zeros(len(test), dtype=np.int64)
    begin = 0
    for block in tqdm(train, "near copies", unit="block", disable=not sys.stderr.isatty()):
        others = _unit(block, "training images", begin, device)
        for start in range(0, len(test), BLOCK):
            rows = _unit(test[start : start + BLOCK], "test images", start, device)
            products = rows @ others.T
            # Most rows are near nothing: the greatest product alone is found fastest.
            near = (products.amax(dim=1) > threshold).nonzero()[:, 0]
            highest, place = (part.cpu().numpy() for part in products[near].max(dim=1))
            at = start + near.cpu().numpy()
            copies[at] += (products[near] > threshold).sum(dim=1).cpu().numpy()
            higher = highest > best[at]
            best[at[higher]] = highest[higher]
            nearest[at[higher]] = begin + place[higher]
        begin += len(block)
    found = np.flatnonzero(best > threshold)
    return NearCopies(found, nearest[found], best[found], copies[found])


def list_near_copies(
    embedded: Path, out: Path, device: torch.device | None = None, threshold: float = NEAR
) -> int:
    """List the test images of an embedded data set that nearly equal a training image.

    The embeddings of at most HELD test images are in memory, those of the others a block at a time.

    Args:
        embedded: table (EMBEDDED_IMAGES), a file or a folder of shards.
        out: Parquet file to write (NEAR_COPIES), without rows where there are none.
        device: where to multiply; None for the CPU.
        threshold: cosine above which two images count as one.

    Returns:
        Number of such test images, which is logged as well.
    """
    train, test = SPLITS
    tested, parts = 0, []
    for matrix in _joined(_matrices(embedded, test)):
        part = find_near_copies(matrix, _matrices(embedded, train), threshold, device)
        parts.append(part._replace(test=part.test + tested))
        tested += len(matrix)
    found = NearCopies(*(np.concatenate(each) for each in zip(*parts, strict=True)))
    mine, theirs = _named(embedded, test, found.test), _named(embedded, train, found.train)
    columns = {
        "id": mine.column("id"),
        "class_name": mine.column("class_name"),
        "train_id": theirs.column("id"),
        "train_class_name": theirs.column("class_name"),
        "cosine": found.cosine,
        "copies": found.copies,
    }
    write_table(out, NEAR_COPIES, columns)
    if len(found.test):
        logger.warning(
            "%s: %d of %d test images nearly equal a training image (cosine above %g), see %s",
            embedded,
            len(found.test),
            tested,
            threshold,
            out,
        )
    return len(found.test)


def _matrices(path: Path, split: str) -> Iterator[np.ndarray]:
    """The embeddings of a split, a block at a time."""
    for file, start, table in split_blocks(path, split, (EMBEDDING,), AGAINST):
        if len(table):
            yield embedding_matrix(table, file, first_row=start)


def _joined(blocks: Iterator[np.ndarray]) -> Iterator[np.ndarray]:
    """The rows of all blocks, HELD of them or a little more at a time; at least one matrix."""
    waiting: list[np.ndarray] = []
    for block in blocks:
        if sum(map(len, waiting)) >= HELD:
            yield np.concatenate(waiting)
            waiting = []
        waiting.append(block)
    yield np.concatenate(waiting) if waiting else np.zeros((0, 1), dtype=np.float16)


def _named(path: Path, split: str, rows: Int64[np.ndarray, " p"]) -> pa.Table:
    """Ids and class names of some rows of a split, in the order asked for."""
    wanted, places = np.unique(rows, return_inverse=True)
    found, first = [], 0
    for _, _, table in split_blocks(path, split, ("id", "class_name"), AGAINST):
        mine = wanted[(wanted >= first) & (wanted < first + len(table))] - first
        found.append(table.take(mine))
        first += len(table)
    return pa.concat_tables(found).take(places)


def classes_without_images(rows: pa.Table, classes: Sequence[str]) -> dict[str, list[str]]:
    """The classes of which a split has no image, for each split that lacks some.

    Args:
        rows: columns split and label.
        classes: class names in the order of the labels.
    """
    labels = rows.column("label").to_numpy()
    absent = {
        split: sorted(
            set(range(len(classes))) - set(np.unique(labels[in_split(rows, split)]).tolist())
        )
        for split in SPLITS
    }
    return {split: [classes[label] for label in some] for split, some in absent.items() if some}


def tell_empty_classes(where: Path, classes: Sequence[str]) -> None:
    """Log the classes of which a split of an embedded data set has no image."""
    rows = read_table(where, EMBEDDED_IMAGES, columns=["split", "label"])
    for split, names in classes_without_images(rows, classes).items():
        more = f" and {len(names) - TOLD} more" if len(names) > TOLD else ""
        told = ", ".join(map(repr, names[:TOLD])) + more
        logger.warning(
            "%s: %d of %d classes have no %s images: %s",
            where,
            len(names),
            len(classes),
            "training" if split == "train" else split,
            told,
        )


def _unit(
    block: Float[np.ndarray, "m d"], where: str, first_row: int, device: torch.device
) -> Float32[torch.Tensor, "m d"]:
    return torch.from_numpy(unit_rows(block, where, first_row)).to(device)
