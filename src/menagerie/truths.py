"""Which phrases plainly name an attribute of a picture, so that an answer to them can be wrong.

The embedded world knows what is in each of its pictures (`scenes.Scene.truth`). A phrase is listed
where a person who sees the picture would answer it by that attribute alone: "striped body" is, a
"striped tail" is not, nor are "trees in background", which stand in every forest too.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool

from infopursuit.core.errors import InputError
from infopursuit.core.tables import read_table
from menagerie.pictures import ATTRIBUTES

NAMED = {
    "animal": "animal, living creature",
    "mammal": "mammal",
    "bird": "bird",
    "vehicle": "vehicle",
    "aircraft": "flying machine",
    "striped": "striped body, striped coat, striped pattern, stripes on the body",
    "spotted": "spotted body, spotted coat, spotted pattern, spots, spots on the body, "
    "patchy coat, patchy pattern",
    "red": "red body",
    "orange": "orange body",
    "yellow": "yellow body",
    "green": "green body",
    "blue": "blue body",
    "white": "white body",
    "black": "black body",
    "gray": "gray body",
    "four_legs": "four legs",
    "two_legs": "two legs",
    "wings": "wings, two wings",
    "beak": "beak",
    "tail": "tail",
    "horns": "horns, horns on the head",
    "trunk": "long trunk",
    "tusks": "tusks, white tusks, sharp tusks",
    "big_ears": "big ears, large ears, big floppy ears, large floppy ears",
    "mane": "mane, mane on the neck, hair mane on neck",
    "whiskers": "whiskers, long whiskers",
    "long_neck": "long neck, very long neck",
    "fins": "fins",
    "two_wheels": "two wheels",
    "four_wheels": "four wheels, four round wheels",
    "wheels": "wheels, round wheels",
    "windows": "glass windows",
    "headlights": "headlights, headlight",
    "handlebars": "handlebars",
    "basket": "front basket, basket in front",
    "propeller": "propeller, propeller on the nose",
    "rotor": "rotor blades, rotor blades on top, long rotor blades",
    "mast": "mast, tall mast",
    "sail": "sail, triangular sail",
    "flag": "small flag, flag on the mast",
    "rider": "rider, rider on top, person riding, person riding on top",
    "place_grass": "grassy field, green meadow, meadow",
    "place_sand": "desert, desert sand, desert scene",
    "place_snow": "snowy ground, snow on the ground, winter scene",
    "place_forest": "forest, green forest, forest background",
    "place_road": "road, paved road, gray road, road surface, paved surface",
    "place_water": "water surface, open water",
    "place_underwater": "underwater scene",
    "clouds": "cloudy sky, cloudy weather",
    "sun": "bright sun, sunny day",
    "fog": "thick fog, hazy weather, misty weather, misty air, misty background, hazy background",
    "night": "night scene, dark sky",
    "sunset": "sunset, sunset sky, sunset light",
    "mountains": "mountains in background, mountains in the background",
    "fence": "fence, wooden fence",
    "flowers": "wildflowers, wild flowers, colorful flowers",
    "flying": "flying in the sky, flying high, flying object, high in the air, "
    "high above the ground",
    "partly_hidden": "partly hidden object",
    "close_up": "close up view, close view, large object in frame",
    "far_away": "far away object, small distant shape, small object far away",
}
# The attributes whose absence these phrases name.
DENIED = {
    "wheels": "no wheels, no wheels visible",
    "wings": "no wings",
    "windows": "no windows",
    "rider": "no rider",
}


class Claim(NamedTuple):
    """What a phrase says of a picture: that the attribute holds, or (False) that it does not."""

    attribute: str
    holds: bool


def _claims() -> dict[str, Claim]:
    return {
        phrase: Claim(attribute, holds)
        for holds, lines in ((True, NAMED), (False, DENIED))
        for attribute, line in lines.items()
        for phrase in line.split(", ")
    }


CLAIMS = _claims()


def claims_truth(
    path: str | Path, ids: Sequence[str], claims: Sequence[Claim]
) -> Bool[np.ndarray, "n q"]:
    """Whether each of q claims is true of each of n pictures.

    Args:
        path: the table of attributes that was written with the pictures.
        ids: of the pictures.
        claims: what is said of them.

    Raises:
        InputError: the table breaks its schema, or lacks a picture.
    """
    names = sorted({claim.attribute for claim in claims})
    table = read_table(path, ATTRIBUTES, ["id", *names])
    rows = {name: row for row, name in enumerate(table.column("id").to_pylist())}
    for name in ids:
        if name not in rows:
            raise InputError(f"{path}: no attributes of the picture {name!r}; expected a row of it")
    order = [rows[name] for name in ids]
    truths = {name: table.column(name).to_numpy()[order] for name in names}
    holds = np.zeros((len(ids), len(claims)), dtype=bool)
    for column, claim in enumerate(claims):
        holds[:, column] = truths[claim.attribute] == claim.holds
    return holds
