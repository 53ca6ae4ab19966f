"""Questions about single pictures that a person answers, and the file that keeps the answers.

An answer is worth most where it decides and where the model is least certain: its worth is the
information that the question was expected to give when it was asked, times exp(-d). Here d is the
distance of the score from the nearest cut between no and yes, in standard deviations of the scores
of all pictures; it is 0 if the model is not sure. Questions that were not asked of a picture, since
the stopping rule held before, are worth nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import thumbnail
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.annotations import (
    Annotation,
    Annotations,
    read_annotations,
    write_annotations,
)
from infopursuit.texts.normalization import normalize

# Questions of one session at most, and pictures that are asked together.
MOST, BLOCK = 2000, 512
# Pixels of the longer side of a picture.
SIDE = 800


class Cell(NamedTuple):
    """A question about a picture: the numbers of both."""

    picture: int
    query: int


def worth_answering(
    pursuit: Pursuit,
    images: Float[Tensor, "n d"],
    stop: StoppingRule,
    seed: int | None = None,
) -> list[Cell]:
    """Return at most MOST questions about pictures, those first whose answers are worth most.

    Args:
        pursuit: a model whose answers have thresholds.
        images: unit norm.
        stop: when the model asks no more.
        seed: draw the order of the questions that were asked at random; None for by worth.

    Raises:
        InputError: answers are not by thresholds.
    """
    rule = pursuit.rule
    if not isinstance(rule, ThresholdAnswers):
        raise InputError("annotate: the answers of this model have no thresholds; expected some")
    scores = torch.cat([rule.scores(block) for block in images.split(BLOCK)])
    upper = rule.thresholds if rule.upper is None else rule.upper
    beyond = torch.maximum(rule.thresholds - scores, scores - upper).clamp(min=0)
    doubt = torch.exp(-beyond / scores.std(dim=0, correction=0).clamp(min=1e-9))
    budget, answers = stop.budget(len(pursuit.queries)), rule.of_scores(scores)
    worths = []
    for block, of_block in zip(answers.split(BLOCK), doubt.split(BLOCK), strict=True):
        rolled = roll_out(pursuit.querier, pursuit.classifier, block, budget, pursuit.first, 1)
        gain = rolled.values[:, :, 0]
        steps, _ = stop.steps(rolled.posteriors)
        was_asked = torch.arange(budget, device=gain.device) < steps.unsqueeze(1)
        asked = torch.where(was_asked & (gain > 0), gain, 0)
        worths.append(torch.zeros_like(block).scatter_(1, rolled.order, asked) * of_block)
    worth = torch.cat(worths).cpu().numpy()
    if seed is not None:
        worth = (worth > 0) * (1 - np.random.default_rng(seed).random(worth.shape))
    order = np.argsort(-worth, axis=None, kind="stable")[: min(MOST, int((worth > 0).sum()))]
    return [Cell(*divmod(int(place), worth.shape[1])) for place in order]


class Annotating:
    """One person's answers to questions about pictures; each is saved when it is given.

    Args:
        path: the file; what is in it stays.
        names: of the pictures, as the file calls them.
        pictures: their files.
        queries: the texts of the questions.
        cells: the questions, in the order asked.
        by: the person.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        pictures: Sequence[Path],
        queries: Sequence[str],
        cells: Sequence[Cell],
        by: str = "",
    ) -> None:
        self.path, self.pictures, self.cells = path, pictures, cells
        given = read_annotations(path).rows if path.exists() else ()
        self.said = {(row.image, normalize(row.text), row.by): row for row in given}
        self.asked = [
            Annotation(names[cell.picture], queries[cell.query], "", by) for cell in cells
        ]

    def answers(self) -> list[str | None]:
        """Return the answers so far, None for none."""
        found = [self.said.get(self._key(each)) for each in self.asked]
        return [None if row is None else row.answer for row in found]

    def answer(self, place: int, answer: str) -> None:
        """Take an answer and save the file; an earlier answer to the same is replaced."""
        row = self.asked[place]._replace(answer=answer)
        said = {**self.said, self._key(row): row}
        write_annotations(self.path, Annotations(said.values(), str(self.path)))
        self.said = said

    def picture(self, place: int) -> str:
        """Return the picture of a question as a data address."""
        return thumbnail(self.pictures[self.cells[place].picture], SIDE)

    @staticmethod
    def _key(row: Annotation) -> tuple[str, str, str]:
        return row.image, normalize(row.text), row.by
