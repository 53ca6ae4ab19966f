"""Draws whole sets of pictures in several processes, and says what the menagerie's files hold."""

from __future__ import annotations

import random
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from typing import Any, NamedTuple

import pyarrow as pa
from tqdm import tqdm

from infopursuit.menagerie.drawing import render, to_png
from infopursuit.menagerie.phrases import training_text
from infopursuit.menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from infopursuit.menagerie.species import CLASS_NAMES
from infopursuit.tables import TableSchema

ATTRIBUTES = TableSchema(
    "the truth of every attribute of every picture",
    (
        pa.field("id", pa.string(), nullable=False),
        *(pa.field(name, pa.bool_(), nullable=False) for name in ATTRIBUTE_NAMES),
    ),
)


class Picture(NamedTuple):
    """One picture of a set: its class number, PNG bytes, truths in the order of ATTRIBUTE_NAMES."""

    label: int
    png: bytes
    truth: tuple[bool, ...]
    texts: tuple[str, ...]


def draw_picture(index: int, seed: int, purpose: str, size: int, texts: int) -> Picture:
    """Draw picture number `index` of a set, and write `texts` training texts about it."""
    scene, rng = scene_for(seed, purpose, index)
    png = to_png(render(scene, rng, size))
    words = random.Random(f"menagerie/{seed}/{purpose}/{index}/texts")
    return Picture(
        label=index % len(CLASS_NAMES),
        png=png,
        truth=tuple(scene.truth.values()),
        texts=tuple(training_text(scene, words) for _ in range(texts)),
    )


def draw_pictures(
    count: int, seed: int, purpose: str, size: int, texts: int, workers: int
) -> list[Picture]:
    """Draw the first `count` pictures of a set, classes in turn.

    The result depends on neither the number of workers nor on pictures of other numbers: a larger
    count begins with the pictures of a smaller one.
    """
    draw: Callable[[int], Picture] = partial(
        draw_picture, seed=seed, purpose=purpose, size=size, texts=texts
    )
    bar: partial[Any] = partial(tqdm, total=count, desc=purpose, disable=None)
    if workers == 1:
        return list(bar(map(draw, range(count))))
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return list(bar(pool.map(draw, range(count), chunksize=64)))


def image_columns(pictures: dict[str, list[Picture]]) -> dict[str, list[Any]]:
    """Columns of images.parquet for the pictures of each split, in the order of the splits."""
    rows = [
        (f"{split}-{index:05d}", split, picture.label, CLASS_NAMES[picture.label], picture.png)
        for split, drawn in pictures.items()
        for index, picture in enumerate(drawn)
    ]
    names = ("id", "split", "label", "class_name", "image")
    return {name: [row[column] for row in rows] for column, name in enumerate(names)}


def attribute_columns(pictures: dict[str, list[Picture]]) -> dict[str, list[Any]]:
    """Columns of attributes.parquet, rows as in `image_columns`."""
    everything = [
        (f"{split}-{index:05d}", picture)
        for split, drawn in pictures.items()
        for index, picture in enumerate(drawn)
    ]
    columns: dict[str, list[Any]] = {"id": [name for name, _ in everything]}
    for number, attribute in enumerate(ATTRIBUTE_NAMES):
        columns[attribute] = [picture.truth[number] for _, picture in everything]
    return columns
