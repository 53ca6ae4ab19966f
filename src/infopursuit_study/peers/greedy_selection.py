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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Float, Int
from sklearn.base import clone
from torch import Tensor, nn
from torch.nn import functional

from infopursuit.datasets.labelled_images import held_out_by_seed
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.rules import NOT_SURE, ThresholdAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.batches import Batches, prefix_masks, random_orders
from infopursuit.pursuit.vip.early_stopping import BestCheckpoint, mean_accuracy_by_budget
from infopursuit.pursuit.vip.networks import HistoryNetwork
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


class Networks(NamedTuple):
    """Who selects and who predicts, and which of the weights were best on held-out rows."""

    selector: HistoryNetwork
    predictor: HistoryNetwork
    chosen: dict[str, Any]


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

    def __call__(self, train: Features, held_out: Features, classes: int, seed: int) -> Networks:
        """Train; the weights of the best mean accuracy after 1 to `steps` features are kept."""
        k, best = train.values.shape[1], BestCheckpoint()
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            selector = HistoryNetwork(k, k, self.hidden)
            predictor = HistoryNetwork(k, classes, self.hidden)
            modules: dict[str, nn.Module] = {"selector": selector, "predictor": predictor}
            batches = Batches(len(train.labels), self.batch_size, seed)
            for phase in (None, *self.temperatures):
                for update in self._updates(selector, predictor, train, batches, phase):
                    due = update % self.validate_every == 0 or update == self.updates[1]
                    if due and phase is not None:
                        shares = min(self.steps, k), classes
                        found = mean_accuracy_by_budget(selector, predictor, *held_out, *shares)
                        best.consider(found, f"temperature {phase}", update, modules)
        best.apply(modules)
        return Networks(selector.eval(), predictor.eval(), best.facts)

    def _updates(
        self,
        selector: HistoryNetwork,
        predictor: HistoryNetwork,
        train: Features,
        batches: Batches,
        temperature: float | None,
    ) -> Iterator[int]:
        """Make the updates of a phase; without a temperature the predictor learns alone."""
        k, alone = train.values.shape[1], temperature is None
        learning = [*predictor.parameters(), *([] if alone else selector.parameters())]
        optimizer = torch.optim.AdamW(learning, weight_decay=self.weight_decay, fused=True)
        updates = self.updates[not alone]
        for update in range(updates):
            for group in optimizer.param_groups:
                share = math.cos(math.pi * update / updates)
                group["lr"] = self.learning_rate * (1 + share) / 2
            rows = batches.next()
            values, labels = train.values[rows], train.labels[rows]
            sizes = torch.randint(0, k + 1, (len(rows),))
            random = prefix_masks(random_orders(len(rows), k, torch.default_generator), sizes, k)
            loss = functional.cross_entropy(predictor(values, random), labels)
            if temperature is not None:
                sizes = torch.randint(0, min(self.steps, k), (self.shown, len(rows)))
                seen = prefix_masks(self._drawn(selector, values), sizes, k).flatten(0, 1)
                values, labels = values.repeat(self.shown, 1), labels.repeat(self.shown)
                drawn = functional.gumbel_softmax(_logits(selector, values, seen), temperature)
                loss = loss + functional.cross_entropy(predictor(values, seen + drawn), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            yield update + 1

    @torch.no_grad()
    def _drawn(
        self, selector: HistoryNetwork, values: Float[Tensor, "b k"]
    ) -> Int[Tensor, "b steps"]:
        """Return the features that the selector draws one after another."""
        seen, order = torch.zeros_like(values), []
        for _ in range(min(self.steps, values.shape[1])):
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
    learning_rate: float = 1e-3
    weight_decay: float = 0.01
    updates: tuple[int, int] = (1000, 400)
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def for_tuning(self, count: int) -> GreedySelection:
        """Return a copy that makes a quarter of the updates."""
        fewer = tuple(each // 4 for each in self.updates)
        return cast(GreedySelection, clone(self)).set_params(updates=fewer)

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        places = range(len(texts))
        if self.queries is not None:
            places = [self.texts_.index(query) for query in self.queries]
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
        train = GreedyTraining(
            learning_rate=self.learning_rate, weight_decay=self.weight_decay, updates=self.updates
        )
        networks = train(
            Features(rule.answers(X), labels),
            Features(rule.answers(held_out[0]), held_out[1]),
            len(names),
            self.random_state,
        )
        queries = tuple(self.texts_[place] for place in places)
        self.pursuit_ = Pursuit(queries, names, rule, networks.selector, networks.predictor)
        self.facts_ = {"selected": networks.chosen["phase"]}
        self.budgets_ = self._possible_budgets()
