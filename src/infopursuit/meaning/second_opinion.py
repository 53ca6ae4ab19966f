"""Whether a second opinion looks at the picture: show it none, or another one, and ask again."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import Proportion
from infopursuit.datasets.decoding import to_rgb
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.second_opinion import SecondOpinion, encoded
from infopursuit.pursuit.answers.rules import NOT_SURE

GRAY = (128, 128, 128)


class UseOfPictures(NamedTuple):
    """How many answers yes stay without the picture.

    Attributes:
        blank: with a grey image of the same size in its place.
        other: with another of the pictures in its place; some of these may well be true.
        chance: how many of all answers are yes; `other` is near it if the pictures are looked at.
    """

    blank: Proportion
    other: Proportion
    chance: Proportion

    def __str__(self) -> str:
        """Return it in one line."""
        return (
            f"of the answers yes stay {self.blank} with a blank image, {self.other} with another "
            f"image; {self.chance} of all answers are yes"
        )


def use_of_pictures(
    opinion: SecondOpinion, model: PursuitClassifier, pictures: Sequence[Any], seed: int = 0
) -> UseOfPictures:
    """Ask every question of a model about pictures, then of blank and of other ones.

    Args:
        opinion: what is measured.
        model: whose questions are asked.
        pictures: two or more different ones.
        seed: of which picture takes the place of which.
    """
    shown = [encoded(each) for each in pictures]
    if len(set(shown)) < 2:
        raise InputError("the control needs two different pictures or more; expected more of them")
    blank = [encoded(Image.new("RGB", to_rgb(each).size, GRAY)) for each in pictures]
    order = np.random.default_rng(seed).permutation(len(shown))
    other = [b""] * len(shown)
    for place, row in enumerate(order):
        other[row] = shown[order[(place + 1) % len(shown)]]

    def yes(given: Sequence[bytes]) -> np.ndarray:
        asked = [(each, text) for each in given for text in model.queries_]
        return np.array([each.answer > NOT_SURE for each in opinion.ask(asked)])

    said = yes(shown)
    given = int(said.sum())
    stays = [Proportion(int(yes(each)[said].sum()), given) for each in (blank, other)]
    return UseOfPictures(stays[0], stays[1], Proportion(given, len(said)))
