"""The texts that ship with the library: what can be seen in a picture, in at most four words.

They are for data sets that come without texts, and were written for this project.
Each is a phrase that a person would say of a picture. None is a proper name, a negation or a
choice, and no two are one phrase in another number or order of words. Spelling is American.
`visual_vocabulary.csv` holds a phrase and its kind a row; `wording.question` asks about one. The
kinds:

    thing         what a picture, or a part of it, is of: an animal, a truck, a wine glass
    part          a part of an object, a vehicle or a building: long handle, arched windows
    material      what a thing is made of, or a thing named with it: brushed steel, wooden floor
    color         a color, colors side by side, or a colored part: dark blue, orange beak
    texture       how a surface would feel or looks close up: wrinkled skin, bumpy
    pattern       marks that repeat or that lie on a surface: zebra stripes, rows of houses
    shape         form, outline, posture, strokes of a letter: heart-shaped, closed loop
    number        how many or how big: two wheels, palm-sized
    scene         where it is, and what is behind: on a branch, busy street, blurred background
    light         weather, time of day, light, shadow: falling snow, long shadows
    action        what something or someone does: standing on one leg, steam rising
    state         the condition that a thing is in: half-eaten, folded towels
    animal trait  a part of an animal, its coat or build: curved beak, long-eared
    plant trait   a part of a plant, or how it grows: ruffled petals, twisted trunk
    food trait    how food is made and served, what is in it: melted butter, served on a stick
    clothing      what people wear, and its parts: short sleeves, wearing a helmet
    person trait  hair, face, pose, company: curly hair, raised eyebrows, group of friends
    picture       the viewpoint, and what kind of picture it is: seen from above, pencil sketch
"""

from __future__ import annotations

import csv
from collections.abc import Sequence
from functools import cache
from importlib.resources import files

from infopursuit.core.errors import InputError
from infopursuit.texts.wording import KINDS

FILE = "visual_vocabulary.csv"


def visual_vocabulary(kinds: Sequence[str] | None = None) -> list[str]:
    """Return the phrases that ship with the library, in the order of the file.

    Args:
        kinds: only phrases of these kinds (see the module), or None for all.

    Raises:
        InputError: a kind is not one of `KINDS`, or `kinds` is a text, not a list.
    """
    if kinds is None:
        return list(_rows())
    if isinstance(kinds, str):
        raise InputError(f"kinds is the text {kinds!r}; expected a list of kinds, as [{kinds!r}]")
    unknown = [kind for kind in kinds if kind not in KINDS]
    if unknown:
        raise InputError(
            f"the visual vocabulary has no kind {unknown[0]!r}; expected some of {', '.join(KINDS)}"
        )
    return [phrase for phrase, kind in _rows().items() if kind in kinds]


def phrase_kinds() -> dict[str, str]:
    """Return the kind of each phrase, in the order of the file."""
    return dict(_rows())


@cache
def _rows() -> dict[str, str]:
    text = files("infopursuit.texts").joinpath(FILE).read_text(encoding="utf-8")
    return {row["phrase"]: row["kind"] for row in csv.DictReader(text.splitlines())}
