"""How often maps of a model point at the part that a question is about."""

from __future__ import annotations

import io
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from PIL import Image

from infopursuit.clip.patches import METHODS
from infopursuit.clip.towers import Clip, OpenClip
from infopursuit.core.tables import read_table
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit_study.evaluation.agreement import NOT_SURE
from menagerie.places import PLACES, place_of
from menagerie.truths import CLAIMS

MEANS = ("pointing", "energy", "area")
# A part of this many patches is not small.
PATCHES = 2
# Of each patch, whether its middle is inside a part, and the share of it that is.
Patches = tuple[Bool[np.ndarray, "h w"], Float[np.ndarray, "h w"]]


def pointing(
    clip: Clip,
    rule: AnswerRule,
    queries: Sequence[str],
    pictures: dict[str, Image.Image],
    truth: Bool[np.ndarray, "n q"],
    path: str | Path,
) -> dict[str, Any]:
    """How often the strongest patch of a map is inside the part, by each way of making maps.

    Of questions whose part is in the picture: `pointing` is the share of maps whose strongest patch
    has its middle inside, `energy` the mean share of a map that is inside, from its least value on,
    and `area` that of the picture, which chance gives. `large` are parts of two patches and more,
    `yes` those of them that the model answers yes.

    Args:
        clip: with an image tower.
        rule: how pictures answer the queries.
        queries: claims.
        pictures: n of them, by id.
        truth: whether each claim is true of each picture.
        path: the table of places.
    """
    assert isinstance(clip, OpenClip)
    table = read_table(path, PLACES)
    stored = dict(zip(*(table.column(name).to_pylist() for name in ("id", "parts")), strict=True))
    pixels = torch.from_numpy(np.stack([clip.pixels(each) for each in pictures.values()]))
    along = rule.directions_of_scores
    assert along is not None
    of_methods = {method: clip.encode_maps(pixels, along, method) for method in METHODS}
    rows, _ = of_methods["values"]
    yes = (rule.answers(torch.from_numpy(rows)) > NOT_SURE).numpy()
    asked, patches = _patches(queries, pictures, truth, stored, of_methods["values"][1].shape[2:])
    area = np.array([place.mean() for _, place in patches])
    large = area >= PATCHES / patches[0][0].size
    groups = {"all": large >= 0, "large": large, "yes": large & yes[asked]}
    measured = {}
    for method, (_, maps) in of_methods.items():
        hits = [_hit(*pair) for pair in zip(maps[asked], patches, strict=True)]
        means = np.column_stack([np.array(hits, dtype=float), area])
        measured[method] = {
            name: {
                "maps": int(group.sum()),
                **dict(zip(MEANS, means[group].mean(axis=0).tolist(), strict=True)),
            }
            for name, group in groups.items()
        }
    return measured


def _patches(
    queries: Sequence[str],
    pictures: dict[str, Image.Image],
    truth: Bool[np.ndarray, "n q"],
    stored: dict[str, bytes],
    grid: tuple[int, ...],
) -> tuple[tuple[list[int], list[int]], list[Patches]]:
    """Return pictures and queries whose part is in the picture, and what its patches show of it."""
    rows, columns, found = [], [], []
    for row, name in enumerate(pictures):
        parts = np.asarray(Image.open(io.BytesIO(stored[name])))
        of_attribute: dict[str, Patches | None] = {}
        for column in np.flatnonzero(truth[row]).tolist():
            attribute, holds = CLAIMS[queries[column]]
            if attribute not in of_attribute:
                of_attribute[attribute] = _cut(place_of(attribute, parts), grid)
            patches = of_attribute[attribute]
            if holds and patches is not None:
                rows.append(row)
                columns.append(column)
                found.append(patches)
    return (rows, columns), found


def _cut(place: Bool[np.ndarray, "y x"] | None, grid: tuple[int, ...]) -> Patches | None:
    """Return which middles of patches are inside a place, and how much of each patch."""
    if place is None or not place.any():
        return None
    y, x = place.shape[0] // grid[0], place.shape[1] // grid[1]
    shares = place.reshape(grid[0], y, grid[1], x).mean(axis=(1, 3))
    return place[y // 2 :: y, x // 2 :: x], shares


def _hit(of_image: Float[np.ndarray, "h w"], patches: Patches) -> tuple[bool, float]:
    """Whether the middle of the strongest patch is inside, and the share of the map that is."""
    middles, shares = patches
    energy = of_image - of_image.min()
    return bool(middles.flat[of_image.argmax()]), float((energy * shares).sum() / energy.sum())
