"""Questions that cost something: the next one tells most for its cost, given what was bought.

Some are bought together: a blood test answers nine questions, and once one of them was asked the
others cost nothing.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import (
    IMPLIED,
    GainEvidence,
    InformationGain,
    NaiveBayes,
    RedundantQuestions,
)

# What was bought costs this share of the cheapest question, so that of free questions the one that
# tells most comes first, and after a question that costs something if it tells nothing.
FREE = 1e-4
ALONE = -1  # the group of a question that is bought alone


class GainForCost(InformationGain):
    """g: the expected information of each answer, in nats for the cost of the cheapest question.

    Args:
        table: how probable each answer is in each class.
        costs: (k,) float64, positive.
        groups: (k,) numbers of the groups that are bought together, ALONE for none.
        query_weights: as in `InformationGain`.
        redundant: as in `InformationGain`.
    """

    def __init__(
        self,
        table: AnswerTable,
        costs: Float[Tensor, " k"],
        groups: Int[Tensor, " k"],
        query_weights: Float[Tensor, " k"] | None = None,
        redundant: RedundantQuestions | None = None,
    ) -> None:
        super().__init__(table, query_weights, redundant)
        self.costs, self.groups = costs, groups
        self.relative = costs / costs.min() if len(costs) else costs
        # (k, k), whether asking the row buys the column.
        self.buys = (groups.unsqueeze(1) == groups) & (groups != ALONE)

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """Return the gain for its cost of every query after the history that `mask` selects."""
        late = None if self.redundant is None else self.redundant.mask(answers, mask)
        bought = self.bought(mask > 0)
        return self.for_cost(self.gains(self.exact.evidence(answers, mask)), bought, late)

    def bought(self, asked: Bool[Tensor, "b k"]) -> Bool[Tensor, "b k"]:
        """Return which queries cost nothing more after those that were asked."""
        return (asked.float() @ self.buys.float()) > 0

    def for_cost(
        self,
        gains: Float[Tensor, "b k"],
        bought: Bool[Tensor, "b k"],
        late: Bool[Tensor, "b k"] | None = None,
    ) -> Float[Tensor, "b k"]:
        """Return gains by what each costs now; `late` ones come last."""
        output = gains / torch.where(bought, FREE, self.relative)
        return output if late is None else torch.where(late, output - IMPLIED, output)

    def spent(self, order: Int[Tensor, "n T"]) -> Float[Tensor, "n T1"]:
        """Return what the first t = 0..T queries of each order cost together; -1 is no query."""
        asked = torch.zeros(len(order), len(self.costs), dtype=torch.bool, device=order.device)
        total = self.costs.new_zeros(len(order), order.shape[1] + 1)
        for step, queries in enumerate(order.T):
            place = queries.clamp_min(0).unsqueeze(1)
            price = self.costs[place.squeeze(1)]
            price = price.masked_fill(self.bought(asked).gather(1, place).squeeze(1), 0)
            total[:, step + 1] = total[:, step] + price.masked_fill(queries < 0, 0)
            asked |= torch.zeros_like(asked).scatter(1, place, (queries >= 0).unsqueeze(1))
        return total

    def incremental(self, batch: int) -> _CostEvidence:
        """Start `batch` empty histories."""
        return _CostEvidence(self, batch)

    def _with(
        self,
        table: AnswerTable,
        query_weights: Float[Tensor, " k"] | None,
        redundant: RedundantQuestions | None,
    ) -> GainForCost:
        return GainForCost(table, self.costs, self.groups, query_weights, redundant)

    def judged_by(self, classifier: NaiveBayes) -> GainForCost:
        """Return the querier that tells apart the classes of a classifier."""
        return self._with(classifier.table, self.query_weights, self.redundant)

    def to(self, device: torch.device | str) -> GainForCost:
        """Return the same querier on a device."""
        plain = InformationGain(self.table, self.query_weights, self.redundant).to(device)
        some = self.costs.to(device), self.groups.to(device)
        return GainForCost(plain.table, *some, plain.query_weights, plain.redundant)

    def select(self, columns: Int[Tensor, " m"]) -> GainForCost:
        """Return the querier of m of the queries."""
        plain = InformationGain(self.table, self.query_weights, self.redundant)
        kept = plain.select(columns)
        some = self.costs[columns], self.groups[columns]
        return GainForCost(kept.table, *some, kept.query_weights, kept.redundant)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a querier without costs has, the costs and the groups."""
        return {**super().tensors(), "costs": self.costs, "groups": self.groups}


class _CostEvidence(GainEvidence):
    def __init__(self, querier: GainForCost, batch: int) -> None:
        super().__init__(querier, batch)
        self.buyer = querier
        shape = batch, len(querier.costs)
        self.bought = torch.zeros(shape, dtype=torch.bool, device=self.sum.device)

    @torch.no_grad()
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        """Let each history start with the answers that `known` selects; they buy their groups."""
        super().start(answers, known)
        self.bought = self.buyer.bought(known)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer to each of the first r histories."""
        super().add(queries, answers)
        self.bought[: len(queries)] |= self.buyer.buys[queries]

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone."""
        super().keep(rows)
        self.bought = self.bought[rows]

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r k"]:
        """Return the gain for its cost of every query to each of the first `rows` histories."""
        late = None if self.late is None else self.late[:rows]
        return self.buyer.for_cost(self.buyer.gains(self.sum[:rows]), self.bought[:rows], late)
