"""Draws the labelled pictures, and says what the table of their attributes holds."""

from __future__ import annotations

from functools import partial
from typing import Any, NamedTuple

import pyarrow as pa

from infopursuit.core.tables import TableSchema
from menagerie.drawing import render, to_png
from menagerie.processes import draw_all
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.species import CLASS_NAMES

TRUTH_COLUMNS = tuple(pa.field(name, pa.bool_(), nullable=False) for name in ATTRIBUTE_NAMES)
ATTRIBUTES = TableSchema(
    "the truth of every attribute of every picture, and whether its composition is a new one",
    (
        pa.field("id", pa.string(), nullable=False),
        *TRUTH_COLUMNS,
        pa.field("new_composition", pa.bool_(), nullable=False),
    ),
)


class Picture(NamedTuple):
    """One picture of a set.

    Attributes:
        label: number of its class.
        png: the picture.
        truth: of every attribute, in the order of ATTRIBUTE_NAMES.
        is_new: whether its composition is one that no training picture has.
    """

    label: int
    png: bytes
    truth: tuple[bool, ...]
    is_new: bool


def draw_picture(index: int, seed: int, purpose: str, size: int) -> Picture:
    """Draw picture number `index` of a set."""
    scene, rng = scene_for(seed, purpose, index)
    return Picture(
        label=index % len(CLASS_NAMES),
        png=to_png(render(scene, rng, size)),
        truth=tuple(scene.truth.values()),
        is_new=scene.is_new,
    )


def draw_pictures(count: int, seed: int, purpose: str, size: int, workers: int) -> list[Picture]:
    """Draw the first `count` pictures of a set, classes in turn.

    The result depends on neither the number of workers nor on pictures of other numbers: a larger
    count begins with the pictures of a smaller one.
    """
    draw = partial(draw_picture, seed=seed, purpose=purpose, size=size)
    return draw_all(draw, count, workers, purpose)


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
    columns["new_composition"] = [picture.is_new for _, picture in everything]
    return columns
