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

from infopursuit.core.arrays import unit_rows
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    EMBEDDING,
    NEAR_COPIES,
    embedding_matrix,
    read_table,
    write_table,
)
from infopursuit.datasets.image_source import SPLITS
from infopursuit.datasets.labelled_images import in_split, split_blocks

logger = logging.getLogger(__name__)

# The cosine above which two images count as one.
NEAR = 0.999
BLOCK = 1024  # test images at a time
AGAINST = 8192  # training images at a time
LISTED = 5


class NearCopies(NamedTuple):
    """Test images that nearly equal a training image, in their order."""

    test: Int64[np.ndarray, " p"]  # their rows
    train: Int64[np.ndarray, " p"]  # the row of the most similar training image of each
    cosine: Float32[np.ndarray, " p"]  # to that one
    copies: Int64[np.ndarray, " p"]  # how many training images are as similar


def find_near_copies(
    test: Float[np.ndarray, "n d"],
    train: Iterable[Float[np.ndarray, "_ d"]],
    threshold: float = NEAR,
    device: torch.device | None = None,
) -> NearCopies:
    """Find the test images whose embedding has a cosine above `threshold` with a training image.

    Besides `test`, memory holds one block of products and three numbers for each test image.
    """
    device = device or torch.device("cpu")
    best = np.full(len(test), -np.inf, dtype=np.float32)
    nearest = np.zeros(len(test), dtype=np.int64)
    copies = np.zeros(len(test), dtype=np.int64)
    begin = 0
    for block in tqdm(train, "near copies", unit="block", disable=not sys.stderr.isatty()):
        others = torch.from_numpy(unit_rows(block, "training images", begin)).to(device)
        for start in range(0, len(test), BLOCK):
            unit = unit_rows(test[start : start + BLOCK], "test images", start)
            products = torch.from_numpy(unit).to(device) @ others.T
            # Most rows are near nothing: the greatest product alone is found fastest.
            near = (products.amax(dim=1) > threshold).nonzero()[:, 0]
            highest, place = (part.cpu().numpy() for part in products[near].max(dim=1))
            at = start + near.cpu().numpy()
            copies[at] += (products[near] > threshold).sum(dim=1).cpu().numpy()
            higher = highest > best[at]
            best[at[higher]] = highest[higher]
            nearest[at[higher]] = begin + place[higher]
        begin += len(block)
    rows = np.flatnonzero(best > threshold)
    return NearCopies(rows, nearest[rows], best[rows], copies[rows])


def list_near_copies(
    embedded: Path, out: Path, device: torch.device | None = None, threshold: float = NEAR
) -> int:
    """List the test images of an embedded data set that nearly equal a training image.

    The test embeddings are in memory as they are stored, the training images a block at a time.

    Returns:
        Number of such test images, which is logged as well.
    """
    train, test = SPLITS
    blocks = list(_matrices(embedded, test)) or [np.zeros((0, 1), dtype=np.float16)]
    tested = np.concatenate(blocks)
    near = find_near_copies(tested, _matrices(embedded, train), threshold, device)
    mine, theirs = _named(embedded, test, near.test), _named(embedded, train, near.train)
    columns = {
        "id": mine.column("id"),
        "class_name": mine.column("class_name"),
        "train_id": theirs.column("id"),
        "train_class_name": theirs.column("class_name"),
        "cosine": near.cosine,
        "copies": near.copies,
    }
    write_table(out, NEAR_COPIES, columns)
    if len(near.test):
        logger.warning(
            "%s: %d of %d test images nearly equal a training image (cosine above %g), see %s",
            embedded,
            len(near.test),
            len(tested),
            threshold,
            out,
        )
    return len(near.test)


def _matrices(path: Path, split: str) -> Iterator[np.ndarray]:
    for file, start, table in split_blocks(path, split, (EMBEDDING,), AGAINST):
        if len(table):
            yield embedding_matrix(table, file, first_row=start)


def _named(path: Path, split: str, rows: Int64[np.ndarray, " p"]) -> pa.Table:
    distinct, places = np.unique(rows, return_inverse=True)
    tables, first = [], 0
    for _, _, table in split_blocks(path, split, ("id", "class_name"), AGAINST):
        mine = distinct[(distinct >= first) & (distinct < first + len(table))] - first
        tables.append(table.take(mine))
        first += len(table)
    return pa.concat_tables(tables).take(places)


def classes_without_images(rows: pa.Table, classes: Sequence[str]) -> dict[str, list[str]]:
    """Return the classes of which a split has no image, for each split that lacks some."""
    labels = rows.column("label").to_numpy()
    absent: dict[str, list[str]] = {}
    for split in SPLITS:
        missing = np.setdiff1d(np.arange(len(classes)), labels[in_split(rows, split)])
        if len(missing):
            absent[split] = [classes[int(label)] for label in missing]
    return absent


def log_empty_classes(where: Path, classes: Sequence[str]) -> None:
    """Log the classes of which a split of an embedded data set has no image."""
    rows = read_table(where, EMBEDDED_IMAGES, columns=["split", "label"])
    for split, names in classes_without_images(rows, classes).items():
        more = f" and {len(names) - LISTED} more" if len(names) > LISTED else ""
        logger.warning(
            "%s: %d of %d classes have no %s images: %s",
            where,
            len(names),
            len(classes),
            "training" if split == "train" else split,
            ", ".join(map(repr, names[:LISTED])) + more,
        )
