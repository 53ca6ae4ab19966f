"""Draws pairs of pictures that differ in one attribute, with the truth of both, and reads them.

Who is asked about stripes of two pictures, one with and one without, should say so of the one and
not of the other, and say the same of both when asked about anything else (`switch_measures`).
"""

from __future__ import annotations

import random
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from jaxtyping import Bool

from infopursuit.core.errors import InputError
from infopursuit.core.tables import TableSchema, read_table
from menagerie.drawing import render, to_png
from menagerie.pictures import TRUTH_COLUMNS
from menagerie.processes import draw_all
from menagerie.scenes import ATTRIBUTE_NAMES
from menagerie.switches import SWITCHES, scene_to_switch, switched

PURPOSE = "counterfactuals"
COUNTERFACTUALS = TableSchema(
    "pairs of pictures of one scene, with and without one attribute, and the truth of both",
    (
        pa.field("pair", pa.string(), nullable=False),
        pa.field("attribute", pa.string(), nullable=False),
        pa.field("holds", pa.bool_(), nullable=False),
        pa.field("class_name", pa.string(), nullable=False),
        pa.field("image", pa.binary(), nullable=False),
        *TRUTH_COLUMNS,
    ),
)


class SwitchedPicture(NamedTuple):
    """One picture of a pair: its attribute, whether it holds here, class, PNG bytes, truths."""

    pair: str
    attribute: str
    holds: bool
    class_name: str
    png: bytes
    truth: tuple[bool, ...]


def draw_pair(index: int, seed: int, size: int) -> tuple[SwitchedPicture, SwitchedPicture]:
    """Pair number `index`, attributes in turn: the picture where the attribute holds comes first.

    Every pair has its own generators, so a larger number leaves the earlier pairs as they were.
    """
    number, place = divmod(index, len(SWITCHES))
    attribute = list(SWITCHES)[place]
    name = f"menagerie/{seed}/{PURPOSE}/{attribute}/{number}"
    scene = scene_to_switch(random.Random(name), attribute, number)

    def drawn(holds: bool) -> SwitchedPicture:
        changed = switched(scene, attribute, holds)
        return SwitchedPicture(
            pair=f"{attribute}-{number:04d}",
            attribute=attribute,
            holds=holds,
            class_name=scene.species.name,
            png=to_png(render(changed, random.Random(f"{name}/detail"), size)),
            truth=tuple(changed.truth.values()),
        )

    return drawn(True), drawn(False)


def draw_pairs(each: int, seed: int, size: int, workers: int) -> list[SwitchedPicture]:
    """`each` pairs of every attribute of SWITCHES, the two pictures of a pair side by side."""
    draw = partial(draw_pair, seed=seed, size=size)
    pairs = draw_all(draw, each * len(SWITCHES), workers, PURPOSE)
    return [picture for pair in pairs for picture in pair]


def counterfactual_columns(pictures: Sequence[SwitchedPicture]) -> dict[str, list[Any]]:
    """Columns of counterfactuals.parquet."""
    columns: dict[str, list[Any]] = {
        "pair": [picture.pair for picture in pictures],
        "attribute": [picture.attribute for picture in pictures],
        "holds": [picture.holds for picture in pictures],
        "class_name": [picture.class_name for picture in pictures],
        "image": [picture.png for picture in pictures],
    }
    for number, attribute in enumerate(ATTRIBUTE_NAMES):
        columns[attribute] = [picture.truth[number] for picture in pictures]
    return columns


class SwitchedPairs(NamedTuple):
    """Pairs as they are measured; of row 2i of `truth` the attribute holds, of 2i + 1 it does not.

    Attributes:
        names: of the p pairs.
        attributes: what differs, one of each pair.
        truth: (2p, a), every attribute of every picture, in the order of ATTRIBUTE_NAMES.
    """

    names: list[str]
    attributes: list[str]
    truth: Bool[np.ndarray, "n a"]


def load_pairs(path: str | Path) -> SwitchedPairs:
    """The pairs of counterfactuals.parquet without their images, which have the same order.

    Raises:
        InputError: the file breaks its schema, or its rows are not pairs, the attribute first.
    """
    wanted = ["pair", "attribute", "holds", *ATTRIBUTE_NAMES]
    table = read_table(path, COUNTERFACTUALS, wanted)
    names, attributes = table.column("pair").to_pylist(), table.column("attribute").to_pylist()
    holds = table.column("holds").to_pylist()
    for row in range(0, len(names), 2):
        two = names[row : row + 2], holds[row : row + 2]
        if two != ([names[row]] * 2, [True, False]):
            raise InputError(
                f"{path}: row {row}: expected two rows of one pair, its attribute true and false; "
                f"found {list(zip(*two, strict=True))}"
            )
    truth = np.stack([table.column(name).to_numpy() for name in ATTRIBUTE_NAMES], axis=1)
    return SwitchedPairs(names[::2], attributes[::2], truth)
