"""The place of each part of the first test pictures."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
from jaxtyping import Bool, UInt8

from infopursuit.core.tables import TableSchema
from menagerie.drawing import part_map, to_png
from menagerie.pen import COAT, PARTS
from menagerie.processes import draw_all
from menagerie.scenes import COLOURS, scene_for

PLACES = TableSchema(
    "which part each pixel of a picture shows: the number of `pen.PARTS`, more by COAT on a coat",
    (pa.field("id", pa.string(), nullable=False), pa.field("parts", pa.binary(), nullable=False)),
)
# The parts that show an attribute; of those of a coat the coat, of all others the part of its name.
SHOWN_BY = {
    **dict.fromkeys(("four_legs", "two_legs"), "legs"),
    **dict.fromkeys(("two_wheels", "four_wheels"), "wheels"),
    **{f"place_{each}": "place" for each in ("grass", "sand", "snow", "road", "water")},
    **dict.fromkeys(("mountains", "fence", "flowers"), "near"),
    **dict.fromkeys(("clouds", "night", "sunset"), "sky"),
    "big_ears": "ears",
    "long_neck": "neck",
}
COATS = ("striped", "spotted", *COLOURS)


def draw_places(count: int, seed: int, size: int, workers: int) -> dict[str, list[Any]]:
    """Columns of places.parquet, of the first `count` test pictures."""
    draw = partial(draw_place, seed=seed, size=size)
    drawn = draw_all(draw, count, workers, "places")
    return {"id": [f"test-{index:05d}" for index in range(count)], "parts": drawn}


def draw_place(index: int, seed: int, size: int) -> bytes:
    """The parts of test picture number `index`, as PNG."""
    scene, rng = scene_for(seed, "test", index)
    return to_png(part_map(scene, rng, size))


def place_of(attribute: str, parts: UInt8[np.ndarray, "y x"]) -> Bool[np.ndarray, "y x"] | None:
    """Where a picture shows an attribute; None if it is not at one place."""
    if attribute in COATS:
        return parts >= COAT
    name = SHOWN_BY.get(attribute, attribute)
    return parts % COAT == PARTS.index(name) if name in PARTS else None
