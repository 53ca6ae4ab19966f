"""Questions about single pictures that a person answers, and the file that keeps the answers.

A text teaches from `FEWEST` yes and as many no on, so that few texts are asked often: those first
that tell the model most, in turn, and only as many at once as get `ENOUGH` answers in a session.
Of a text, the pictures are drawn from those that the model asks about it before it stops, with a
probability in proportion to the information that the question was expected to give, by turns of
those that it says yes of and the others. So what people say of its yes, and of its no, is about a
fair sample of either.

`unsure` puts those first that the model is least certain of: the information times exp(-d). Here d
is the distance of the answer from the middle between no and yes, in standard deviations of the
answers of all pictures. Such answers find what the model gets wrong, but they teach less
(docs/your-data/truth.md).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError, writable
from infopursuit.datasets.decoding import thumbnail
from infopursuit.pursuit.answers.annotated import FEWEST
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.annotations import Annotation, Annotations, add_annotations, read_annotations
from infopursuit.texts.normalization import normalize

# Questions of one page at most, and pictures that are asked together.
MOST, BLOCK = 2000, 512
# Answers of a session of ten minutes; those that a text needs at least, and gets in its first turn.
SESSION, ENOUGH, TURN = 100, 2 * FEWEST, 4 * FEWEST
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
    unsure: bool = False,
    seed: int = 0,
) -> list[Cell]:
    """Return at most MOST questions about pictures, in the order in which to ask a person.

    Args:
        pursuit: a model whose answers are numbers.
        images: unit norm.
        stop: when the model asks no more.
        unsure: whether those come first that the model is least certain of.
        seed: of the draw.

    Raises:
        InputError: answers are steps.
    """
    rule = pursuit.rule
    if not rule.soft:
        raise InputError("annotate: the answers of this model are steps; expected scores of texts")
    answers = torch.cat([rule.answers(block) for block in images.split(BLOCK)])
    budget, gains = stop.budget(len(pursuit.queries)), []
    for block in answers.split(BLOCK):
        rolled = roll_out(pursuit.querier, pursuit.classifier, block, budget, pursuit.first, 1)
        steps, _ = stop.steps(rolled.posteriors)
        was_asked = torch.arange(budget, device=block.device) < steps.unsqueeze(1)
        gain = torch.where(was_asked, rolled.values[:, :, 0].clamp(min=0), 0)
        gains.append(torch.zeros_like(block).scatter_(1, rolled.order, gain))
    worth = torch.cat(gains).double().cpu().numpy()
    if unsure:
        deviation = answers.std(dim=0, correction=0).clamp(min=1e-9)
        worth *= torch.exp(-(answers - NOT_SURE).abs() / deviation).cpu().numpy()
    by_text = np.argsort(np.argsort(-worth.sum(axis=0), kind="stable"))
    if not unsure:  # exponential clocks: the first to ring is drawn in proportion to its rate
        worth /= np.random.default_rng(seed).exponential(size=worth.shape)
    # Of a text's pictures, those that the model says yes of and the others take turns.
    yes = (answers > NOT_SURE).cpu().numpy()
    place = np.where(yes, _ranks(-worth * yes), _ranks(-worth * ~yes)) + yes / 2
    turn = _ranks(np.where(worth > 0, place, np.inf))
    # Few texts at a time, in turn; what is left of all of them at the end.
    late = turn >= TURN
    texts = np.where(late, len(by_text), by_text // (SESSION // ENOUGH))
    order = np.lexsort((-worth.ravel(), np.where(late, 0, turn).ravel(), texts.ravel()))
    order = order[worth.ravel()[order] > 0][:MOST]
    return [Cell(*divmod(int(place), worth.shape[1])) for place in order]


def _ranks(values: Float[np.ndarray, "n k"]) -> Int[np.ndarray, "n k"]:
    return np.argsort(np.argsort(values, axis=0, kind="stable"), axis=0)


class Annotating:
    """One person's answers to questions about pictures; each is saved when it is given.

    Args:
        path: the file; what is in it stays.
        names: of the pictures, as the file calls them.
        pictures: their files.
        pursuit: the model whose questions they are.
        cells: the questions, in the order asked.
        by: the person.
    """

    def __init__(
        self,
        path: Path,
        names: Sequence[str],
        pictures: Sequence[Path],
        pursuit: Pursuit,
        cells: Sequence[Cell],
        by: str = "",
    ) -> None:
        self.path, self.pictures, self.cells = path, pictures, cells
        self.names = [writable(name) for name in names]
        self.questions = [pursuit.question(cell.query) for cell in cells]
        self.said = self._by_key(read_annotations(path)) if path.exists() else {}
        self.given: dict[tuple[str, str, str], Annotation] = {}
        self.asked = [  # a name that is not UTF-8 is written as the page shows it
            Annotation(self.names[cell.picture], pursuit.queries[cell.query], "", by.strip())
            for cell in cells
        ]

    def answers(self) -> list[str | None]:
        """Return the answers so far, None for none."""
        rows = [self.said.get(each.key) for each in self.asked]
        return [None if row is None else row.answer for row in rows]

    def lacking(self) -> dict[str, tuple[int, int]]:
        """Return how many yes and no each text lacks until it teaches, whoever gives them."""
        said = Annotations(self.said.values()).of_images(self.names)
        values = {normalize(text): each for text, each in said.items()}
        of_text = {row.text: values.get(normalize(row.text), np.empty(0)) for row in self.asked}

        def lacks(each: Float[np.ndarray, " n"], value: int) -> int:
            return max(0, FEWEST - int((each == value).sum()))

        return {text: (lacks(each, 1), lacks(each, 0)) for text, each in of_text.items()}

    def answer(self, place: int, answer: str) -> None:
        """Take an answer and save it in the file; an earlier answer to the same is replaced.

        What others write into the file stays. If the file lacks what was answered here (somebody
        saved an older copy of it), that is written again.
        """
        row = self.asked[place]._replace(answer=answer)
        rows = {**self.given, row.key: row}
        self.said = self._by_key(add_annotations(self.path, rows.values(), row))
        self.given = rows

    def picture(self, place: int) -> str:
        """Return the picture of a question as a data address."""
        return thumbnail(self.pictures[self.cells[place].picture], SIDE)

    @staticmethod
    def _by_key(said: Annotations) -> dict[tuple[str, str, str], Annotation]:
        return {row.key: row for row in said.rows}
