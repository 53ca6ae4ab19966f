"""How images answer by scores: the evidence is the score, and a yes is a level.

The score of a text is the image along the text's direction. Its answer in [0, 1] is the same in
other units: 0.5 at the level, which is one for all texts of a CLIP, and 1 / RANGE a deviation of
the scores of training images. In words an answer is

    yes, probably       above the level: far, or just
    no                  far below
    more than 7 of 10   in between: how many of the training images have a smaller score

The exact numbers of `rules.WORDS` are left to the words that people give.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import ClassVar

import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.pursuit.answers.rules import NOT_SURE, WORDS, AnswerRule
from infopursuit.pursuit.parts import Expected, Sizes
from infopursuit.pursuit.sentences import say

# Deviations of training images from 0 to 1.
RANGE = 32.0
# Answers of images keep this distance from 0, 1 and all `WORDS`: these are what people say.
APART = 2e-6
DECILES = 9


@dataclass(frozen=True)
class LevelAnswers(AnswerRule):
    """Scores of images, and what they are called.

    Attributes:
        directions: what images are multiplied with to give scores.
        level: the score of the answer 0.5.
        scale: a deviation of the scores of training images.
        cuts: answers: no at most at the first, yes above the second.
        deciles: answers that 1 to 9 of ten training images have at most.
    """

    kind: ClassVar[str] = "levels"
    soft: ClassVar[bool] = True

    directions: Float[Tensor, "k d"]
    level: Float[Tensor, " k"]
    scale: Float[Tensor, " k"]
    cuts: Float[Tensor, "k 2"]
    deciles: Float[Tensor, "k 9"]

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of each tensor."""
        return {
            "directions": Expected((sizes.k, sizes.d)),
            "level": Expected((sizes.k,)),
            "scale": Expected((sizes.k,), above=0),
            "cuts": Expected((sizes.k, 2)),
            "deciles": Expected((sizes.k, DECILES)),
        }

    @property
    def directions_of_scores(self) -> Float[Tensor, "k d"]:
        """Return the directions."""
        return self.directions

    def scores(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return unit-norm images along the directions.

        They are summed in float64: a score does not depend on the images beside its own.
        """
        return (images.double() @ self.directions.double().T).float()

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return the same as answers, none of which is a word's."""
        answers = (scores - self.level) / (RANGE * self.scale) + NOT_SURE
        answers = answers.clamp(APART, 1 - APART)
        for word in WORDS.values():
            answers = torch.where((answers - word).abs() < APART / 2, word + APART, answers)
        return answers

    def certainty(self, answers: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        """Return how certain the words of answers are: yes and no are 1, probably is 0.75."""
        firm = (answers > self.cuts[:, 1]) | (answers <= self.cuts[:, 0])
        return torch.where(answers > NOT_SURE, 0.75, 0.5).masked_fill(firm, 1.0)

    def word(self, query: int, answer: float) -> str | None:
        """Return the answer of an image in words; None if a person gave it."""
        if answer in WORDS.values():
            return None
        no, yes = self.cuts[query].tolist()
        if answer > NOT_SURE:
            return "yes" if answer > yes else "probably"
        if answer <= no:
            return "no"
        below = int((self.deciles[query] < answer).sum())
        middle = below > DECILES // 2
        return say("more_than", count=below) if middle else say("less_than", count=DECILES - below)
