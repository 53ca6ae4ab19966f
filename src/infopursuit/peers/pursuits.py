"""What pursuits have in common as peers: at most t questions an image, evidence that adds up."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.answers.table import AnswerTable
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Model, Peer
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import RollOut, images_at_once


class PursuitPeer(Peer):
    """Naive Bayes after t questions, each chosen by information gain.

    A subclass's `_fit` gives `pursuit_`, whose classifier is a table of answers. Without a budget
    all questions are asked.
    """

    budgets: Sequence[int]
    pursuit_: Pursuit

    @property
    def table(self) -> AnswerTable:
        """How probable each answer is in each class."""
        return self.pursuit_.classifier.table  # pyright: ignore[reportAttributeAccessIssue]

    def for_a_try(self: Model, count: int) -> Model:
        """Itself: more questions cost little."""
        return self

    def curve(self, X: Any, y: Any, longest: int = 128) -> Float[np.ndarray, " t"]:
        """Accuracy after t = 0..T questions, T at most `longest`."""
        rows, labels = self._rows(X), np.asarray(y)
        longest = min(longest, len(self.pursuit_.queries))
        right = np.zeros(longest + 1)
        size = images_at_once(longest, len(self.classes_))
        for start in range(0, len(rows), size):
            block = slice(start, start + size)
            posteriors = self._roll_out(rows[block], longest).posteriors
            found = self.classes_[posteriors.argmax(dim=2).numpy()]
            right += (found == labels[block, None]).sum(axis=0)
        return right / len(rows)

    @torch.no_grad()
    def decisions_by_budget(self, X: Any) -> dict[int | None, Float[np.ndarray, "n c"]]:
        """The scores at each of `budgets_`, and by None after all; questions are chosen once."""
        rows = self._rows(X)
        answers = self.pursuit_.answers(rows)
        order = self._order(answers, max(self.budgets_))
        masks = {t: _mask(answers, order[:, :t]) for t in self.budgets_}
        return {
            t: self.pursuit_.classifier(answers, mask).double().numpy()
            for t, mask in [*masks.items(), (None, torch.ones_like(answers))]
        }

    def _asked(self, X: Tensor) -> tuple[Tensor, Tensor]:
        """The answers, and which of them were asked for."""
        answers = self.pursuit_.answers(X)
        if self.budget_ is None:
            return answers, torch.ones_like(answers)
        return answers, _mask(answers, self._order(answers, self.budget_))

    def _roll_out(self, X: Tensor, longest: int) -> RollOut:
        """The course of `longest` answers of each image."""
        return self.pursuit_.roll_out(X, longest)

    def _order(self, answers: Tensor, budget: int) -> Tensor:
        """The queries whose answers a decision rests on."""
        return self.pursuit_.asked(answers, budget)

    @torch.no_grad()
    def _scores(self, X: Tensor) -> Tensor:
        return self.pursuit_.classifier(*self._asked(X))

    def _explain(self, X: Tensor) -> Contributions:
        """The evidence of each answer; worn off as that of so many answers is."""
        answers, asked = self._asked(X)
        columns = asked.any(dim=0).nonzero().squeeze(1)
        rows, places = asked[:, columns].nonzero(as_tuple=True)
        table = self.table
        values = torch.zeros(len(X), len(columns), len(self.classes_), dtype=torch.float64)
        told = table.told(columns[places], answers[rows, columns[places]])
        wear = 1 + asked.sum(dim=1, keepdim=True).double() / table.independent_answers
        values[rows, places] = told.double() / wear[rows]
        return Contributions(
            self.classes_,
            tuple(self.pursuit_.queries[column] for column in columns.tolist()),
            values.transpose(1, 2).numpy(),
            (table.log_prior.double() / wear).numpy(),
            asked[:, columns].bool().numpy(),
            (asked[:, columns].bool() & (answers[:, columns] == 1)).numpy(),
        )


def _mask(answers: Tensor, order: Tensor) -> Tensor:
    return torch.zeros_like(answers).scatter_(1, order, 1.0)
