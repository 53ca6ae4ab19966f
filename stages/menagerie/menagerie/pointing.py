"""How often maps of a model point at the part that a question is about."""

from __future__ import annotations

import io
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Bool, Float
from PIL import Image

from infopursuit.clip.patches import METHODS
from infopursuit.clip.towers import Clip, OpenClip
from infopursuit.core.tables import read_table
from infopursuit.evaluation.agreement import NOT_SURE
from infopursuit.pursuit.answers.rules import AnswerRule
from menagerie.places import PLACES, place_of
from menagerie.truths import CLAIMS

MEANS = ("pointing", "energy", "area")
# A part of so many patches is not small.
PATCHES = 2


def pointing(
    clip: Clip,
    rule: AnswerRule,
    queries: Sequence[str],
    pictures: dict[str, Image.Image],
    truth: Bool[np.ndarray, "n q"],
    path: str,
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
    measured = {}
    for method in METHODS:
        along = rule.directions_of_scores
        assert along is not None
        embeddings, maps = clip.encode_maps(pixels, along, method)
        yes = (rule.answers(torch.from_numpy(embeddings)) > NOT_SURE).numpy()
        rows = []
        for row, name in enumerate(pictures):
            parts = np.asarray(Image.open(io.BytesIO(stored[name])))
            for column, query in enumerate(queries):
                claim = CLAIMS[query]
                place = place_of(claim.attribute, parts) if claim.holds else None
                if truth[row, column] and place is not None and place.any():
                    rows.append((*_hit(maps[row, column], place), yes[row, column]))
        measured[method] = _shares(np.array(rows, dtype=float), PATCHES / maps[0, 0].size)
    return measured


def _hit(
    of_image: Float[np.ndarray, "h w"], place: Bool[np.ndarray, "y x"]
) -> tuple[bool, float, float]:
    """Whether the middle of the strongest patch is inside, the energy inside, and the area."""
    cells = np.array(place.shape) // of_image.shape
    row, column = np.unravel_index(of_image.argmax(), of_image.shape)
    middle = place[row * cells[0] + cells[0] // 2, column * cells[1] + cells[1] // 2]
    energy = np.kron(of_image - of_image.min(), np.ones(cells))
    return bool(middle), float(energy[place].sum() / energy.sum()), float(place.mean())


def _shares(rows: Float[np.ndarray, "m 4"], large: float) -> dict[str, Any]:
    of_large = rows[rows[:, 2] >= large]
    groups = {"all": rows, "large": of_large, "yes": of_large[of_large[:, 3] > 0]}
    return {
        name: {
            "maps": len(group),
            **dict(zip(MEANS, group[:, :3].mean(axis=0).tolist(), strict=True)),
        }
        for name, group in groups.items()
    }
