"""GDFS: greedy dynamic feature selection, with a network that selects and one that predicts.

Covert, Qiu, Lu, Kim, White and Lee, "Learning to Maximize Mutual Information for Dynamic Feature
Selection", ICML 2023. Features are standardised scores of texts, or columns of a table.

The predictor learns on random sets of features first. Then both learn together: at each of `steps`
steps the selector draws a feature by a relaxed softmax (Gumbel), the predictor's cross-entropy with
it is the loss, and the feature joins those that are seen. Temperatures fall from phase to phase.
At prediction the feature with the largest logit is taken.

Three things differ from the paper. Each update looks at a sample of the steps, which has the same
mean and costs a fifth. Random sets go on beside the drawn ones, so that the predictor knows large
sets. The networks are those of the paper's method (`HistoryNetwork`), with a channel for the mask.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import ClassVar, NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor, nn
from torch.nn import functional

from infopursuit.datasets.labelled_images import held_out_by_seed
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.rules import NOT_SURE, ThresholdAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.batches import Batches, prefix_masks, random_orders
from infopursuit.pursuit.vip.early_stopping import BestCheckpoint, mean_accuracy_by_budget
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.texts.text_table import TextTable
from infopursuit_study.peers.heads import Standardisation
from infopursuit_study.peers.peer import BUDGETS, Validation
from infopursuit_study.peers.pursuits import PursuitPeer

# Of the training images, held out if none are given.
SHARE = 0.1


class StandardScores(ThresholdAnswers):
    """The answer is the standardised score, and 0.5 is the mean."""

    kind: ClassVar[str] = "standard"
    soft: ClassVar[bool] = True

    def of_scores(self, scores: Float[Tensor, "n k"]) -> Float[Tensor, "n k"]:
        """Return scores, which are in deviations of training images, less the mean."""
        return scores - self.thresholds + NOT_SURE


class Features(NamedTuple):
    """Rows of k features, with labels 0..c-1."""

    values: Float[Tensor, "n k"]
    labels: Int[Tensor, " n"]


@dataclass(frozen=True)
class GreedyTraining:
    """Settings of a training run.

    Attributes:
        steps: features that are selected in training.
        shown: steps of each row that the loss is the mean of, drawn anew in each update.
        hidden: widths of both networks, those of the paper's method in the comparison.
        temperatures: of the phases in which both networks learn.
        updates: of the predictor alone, and of each phase; rates fall to zero in each.
    """

    steps: int = 20
    hidden: tuple[int, int] = (256, 128)
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    temperatures: Sequence[float] = (1.0, 0.5, 0.2, 0.1)
    updates: tuple[int, int] = (1000, 400)
    shown: int = 4
    batch_size: int = 128
    validate_every: int = 100

    def __call__(
        self, train: Features, held_out: Features, classes: int, seed: int
    ) -> tuple[HistoryNetwork, HistoryNetwork]:
        """Return selector and predictor, of the best mean accuracy after 1 to `steps` features."""
        k, best = train.values.shape[1], BestCheckpoint()
        steps, b = min(self.steps, k), min(self.batch_size, len(train.labels))
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            selector, predictor = (HistoryNetwork(k, c, self.hidden) for c in (k, classes))
            modules: dict[str, nn.Module] = {"selector": selector, "predictor": predictor}
            batches = Batches(len(train.labels), b, seed)
            for temperature in (None, *self.temperatures):
                optimizer = torch.optim.AdamW(
                    [*selector.parameters(), *predictor.parameters()],
                    self.learning_rate,
                    weight_decay=self.weight_decay,
                    fused=True,
                )
                updates = self.updates[temperature is not None]
                falling = partial(_falling, updates)
                schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, falling)
                for update in range(1, updates + 1):
                    rows = batches.next()
                    values, labels = train.values[rows], train.labels[rows]
                    sizes = torch.randint(0, k + 1, (b,))
                    seen = prefix_masks(random_orders(b, k, torch.default_generator), sizes, k)
                    loss = functional.cross_entropy(predictor(values, seen), labels)
                    if temperature is not None:
                        sizes = torch.randint(0, steps, (self.shown, b))
                        seen = prefix_masks(_drawn(selector, values, steps), sizes, k).flatten(0, 1)
                        values, labels = values.repeat(self.shown, 1), labels.repeat(self.shown)
                        drawn = functional.gumbel_softmax(
                            _logits(selector, values, seen), temperature
                        )
                        loss += functional.cross_entropy(predictor(values, seen + drawn), labels)
                    optimizer.zero_grad()
                    loss.backward()
                    optimizer.step()
                    schedule.step()
                    due = update % self.validate_every == 0 or update == updates
                    if due and temperature is not None:
                        accuracy = mean_accuracy_by_budget(
                            selector, predictor, *held_out, steps, classes
                        )
                        best.consider(accuracy, str(temperature), update, modules)
        best.apply(modules)
        return selector.eval(), predictor.eval()


def _falling(updates: int, done: int) -> float:
    return (1 + math.cos(math.pi * done / updates)) / 2


@torch.no_grad()
def _drawn(
    selector: HistoryNetwork, values: Float[Tensor, "b k"], steps: int
) -> Int[Tensor, "b steps"]:
    """Return the features that the selector draws one after another."""
    seen, order = torch.zeros_like(values), []
    for _ in range(steps):
        drawn = functional.gumbel_softmax(_logits(selector, values, seen))
        order.append(drawn.argmax(dim=1, keepdim=True))
        seen.scatter_(1, order[-1], 1.0)
    return torch.cat(order, dim=1)


def _logits(
    selector: HistoryNetwork, values: Float[Tensor, "b k"], seen: Float[Tensor, "b k"]
) -> Float[Tensor, "b k"]:
    return selector(values, seen).masked_fill(seen > 0, -torch.inf)


@dataclass(eq=False, repr=False)
class GreedySelection(PursuitPeer):
    """Greedy dynamic selection among the standardised cosines of `queries` (None: all texts)."""

    learns_from_validation = True

    queries: Sequence[str] | None = None
    updates: tuple[int, int] = (1000, 400)
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        places = range(len(texts))
        if self.queries is not None:
            places = TextTable.from_arrays(self.texts_, texts).rows(self.queries).tolist()
        names = tuple(str(label) for label in self.classes_)
        if validation is None:
            rows, others = held_out_by_seed(labels, names, SHARE, self.random_state)
            X, labels, held_out = X[rows], labels[rows], (X[others], labels[others])
        else:
            places_of = torch.from_numpy(np.searchsorted(self.classes_, validation[1]))
            held_out = UnitMatrix(validation[0], "validation X").tensor(), places_of
        texts = texts[list(places)]
        mean, spread = Standardisation.from_data(X @ texts.T)
        rule = StandardScores(texts / spread.unsqueeze(1), mean / spread)
        training = GreedyTraining(updates=self.updates)
        train, others = (Features(rule.answers(rows), y) for rows, y in ((X, labels), held_out))
        networks = training(train, others, len(names), self.random_state)
        self.pursuit_ = Pursuit(tuple(self.texts_[at] for at in places), names, rule, *networks)
        self.budgets_ = self._possible_budgets()
