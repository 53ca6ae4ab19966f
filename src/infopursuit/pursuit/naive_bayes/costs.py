"""Questions that cost something: the next one tells most for its cost, given what was bought.

Some are bought together: a blood test answers nine questions, and once one of them was asked the
others cost nothing. A group costs what its dearest question does.

One step ahead the value of question i after a history S is r_i = I(Y; A_i | S) / c_i, information
for its cost. A question that tells nothing of the class may tell which others do, and two steps
ahead its value is the best rate of two questions, or of itself alone:

    sum over answers a of P(a | S) max(r_i, max over j of
        (I(Y; A_i | S) + I(Y; A_j | S, A_i = a)) / (c_i + c_j))
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
from infopursuit.pursuit.querier import Criterion

# What was bought costs this share of the cheapest question, so that of free questions the one that
# tells most comes first, and after a question that costs something if it tells nothing.
FREE = 1e-4
ALONE = -1  # the group of a question that is bought alone
# An answer that no history makes more probable is not looked beyond.
POSSIBLE = 1e-4
ROUNDING = 1e-9  # of what is spent


class GainForCost(InformationGain):
    """g: the expected information of each answer, in nats for the cost of the cheapest question.

    Args:
        table: how probable each answer is in each class.
        costs: (k,) float64, positive.
        groups: (k,) numbers of the groups that are bought together, ALONE for none.
        query_weights: as in `InformationGain`.
        redundant: as in `InformationGain`.
        ahead: how many steps to look ahead, 1 or 2.
        most: what may be spent; a question that costs more than is left comes after all others,
            and explanations end before it.
    """

    criterion: Criterion = "information for cost"

    def __init__(
        self,
        table: AnswerTable,
        costs: Float[Tensor, " k"],
        groups: Int[Tensor, " k"],
        query_weights: Float[Tensor, " k"] | None = None,
        redundant: RedundantQuestions | None = None,
        ahead: int = 1,
        most: float = torch.inf,
    ) -> None:
        super().__init__(table, query_weights, redundant)
        self.groups, self.ahead, self.most = groups, ahead, most
        # (k, k), whether asking the row buys the column.
        self.buys = (groups.unsqueeze(1) == groups) & (groups != ALONE)
        dearest = torch.where(self.buys, costs, 0.0)
        self.costs = (
            torch.where(groups == ALONE, costs, dearest.amax(dim=1)) if len(costs) else costs
        )
        self.relative = self.costs / self.costs.min() if len(costs) else costs

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """Return the value of every query after the history that `mask` selects."""
        late = None if self.redundant is None else self.redundant.mask(answers, mask)
        evidence, asked = self.exact.evidence(answers, mask), mask > 0
        return self.for_cost(evidence, asked, self.spent_on(asked), late)

    def for_cost(
        self,
        evidence: Float[Tensor, "b c"],
        asked: Bool[Tensor, "b k"],
        spent: Float[Tensor, " b"],
        late: Bool[Tensor, "b k"] | None = None,
    ) -> Float[Tensor, "b k"]:
        """Return the value of every query after `asked` ones; what is too dear comes last."""
        gains, bought = self.gains(evidence), self.bought(asked)
        price = torch.where(bought, FREE, self.relative)
        output = gains / price
        if self.ahead == 2:
            output = self._two_steps(evidence, asked, gains, price)
        if self.most < torch.inf:
            left = self.most - spent.unsqueeze(1)
            dear = ~bought & (self.costs > left + ROUNDING)
            late = dear if late is None else late | dear
        return output if late is None else torch.where(late, output - IMPLIED, output)

    def _two_steps(
        self,
        evidence: Float[Tensor, "b c"],
        asked: Bool[Tensor, "b k"],
        gains: Float[Tensor, "b k"],
        price: Float[Tensor, "b k"],
    ) -> Float[Tensor, "b k"]:
        """Return the best rate of each query alone, or with one more after its answer."""
        posterior, table = evidence.softmax(dim=1), self.exact.log_likelihood
        output = torch.zeros_like(gains)
        for query in range(gains.shape[1]):
            own, cost = gains[:, query : query + 1], price[:, query : query + 1]
            alone = (own / cost).squeeze(1)
            others = asked.clone()
            others[:, query] = True
            then = torch.where(self.buys[query], FREE, price)
            for level in range(len(table)):
                share = posterior @ table[level, query].exp()
                if share.max() < POSSIBLE:
                    output[:, query] += share * alone
                    continue
                both = (own + self.gains(evidence + table[level, query])) / (cost + then)
                best = both.masked_fill(others, -torch.inf).amax(dim=1)
                best = torch.where(share < POSSIBLE, alone, best)  # as in a batch of its own
                output[:, query] += share * torch.maximum(alone, best)
        return output

    def bought(self, asked: Bool[Tensor, "b k"]) -> Bool[Tensor, "b k"]:
        """Return which queries cost nothing more after those that were asked."""
        return (asked.float() @ self.buys.float()) > 0

    def spent_on(self, asked: Bool[Tensor, "b k"]) -> Float[Tensor, " b"]:
        """Return what queries cost together; a group is paid for once."""
        mask = asked.to(self.costs)
        of_group = (mask @ self.buys.to(mask)).clamp_min(1)
        return (mask / of_group) @ self.costs

    def spent(
        self, order: Int[Tensor, "n T"], known: Bool[Tensor, "n k"] | None = None
    ) -> Float[Tensor, "n T1"]:
        """Return what the first t = 0..T queries of each order cost; -1 is no query.

        What is known is free, and so are its groups.
        """
        asked = torch.zeros(len(order), len(self.costs), dtype=torch.bool, device=order.device)
        asked = asked if known is None else known.clone()
        total = [self.spent_on(asked)]
        for queries in order.T:
            place = queries.clamp_min(0).unsqueeze(1)
            asked |= torch.zeros_like(asked).scatter(1, place, (queries >= 0).unsqueeze(1))
            total.append(self.spent_on(asked))
        return torch.stack(total, dim=1) - total[0].unsqueeze(1)

    def incremental(self, batch: int) -> _CostEvidence:
        """Start `batch` empty histories."""
        return _CostEvidence(self, batch)

    def _with(
        self,
        table: AnswerTable,
        query_weights: Float[Tensor, " k"] | None,
        redundant: RedundantQuestions | None,
    ) -> GainForCost:
        how = self.ahead, self.most
        return GainForCost(table, self.costs, self.groups, query_weights, redundant, *how)

    @property
    def myopic(self) -> GainForCost:
        """The same querier, looking one step ahead."""
        some = self.costs, self.groups, self.query_weights, self.redundant
        return GainForCost(self.table, *some, 1, self.most)

    def judged_by(self, classifier: NaiveBayes) -> GainForCost:
        """Return the querier that tells apart the classes of a classifier."""
        return self._with(classifier.rates, self.query_weights, self.redundant)

    def to(self, device: torch.device | str) -> GainForCost:
        """Return the same querier on a device."""
        plain = InformationGain(self.table, self.query_weights, self.redundant).to(device)
        return self._of(plain, self.costs.to(device), self.groups.to(device))

    def select(self, columns: Int[Tensor, " m"]) -> GainForCost:
        """Return the querier of m of the queries."""
        plain = InformationGain(self.table, self.query_weights, self.redundant).select(columns)
        return self._of(plain, self.costs[columns], self.groups[columns])

    def _of(self, plain: InformationGain, costs: Tensor, groups: Tensor) -> GainForCost:
        more = plain.query_weights, plain.redundant
        return GainForCost(plain.table, costs, groups, *more, self.ahead, self.most)

    def tensors(self) -> dict[str, Tensor]:
        """Return what a querier without costs has, the costs, the groups and how it looks ahead."""
        return {
            **super().tensors(),
            "costs": self.costs,
            "groups": self.groups,
            "ahead": torch.tensor(self.ahead),
            "most": torch.tensor(self.most, dtype=torch.float64),
        }


class _CostEvidence(GainEvidence):
    def __init__(self, querier: GainForCost, batch: int) -> None:
        super().__init__(querier, batch)
        self.buyer = querier
        shape, device = (batch, len(querier.costs)), self.sum.device
        self.done = torch.zeros(shape, dtype=torch.bool, device=device)
        self.free = torch.zeros(batch, dtype=torch.float64, device=device)

    @torch.no_grad()
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        """Let each history start with what `known` selects: it is free, and so are its groups."""
        super().start(answers, known)
        self.done, self.free = known.clone(), self.buyer.spent_on(known)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer to each of the first r histories."""
        super().add(queries, answers)
        self.done[: len(queries)].scatter_(1, queries.unsqueeze(1), True)

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone."""
        super().keep(rows)
        self.done, self.free = self.done[rows], self.free[rows]

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r k"]:
        """Return the value of every query to each of the first `rows` histories."""
        late, done = None if self.late is None else self.late[:rows], self.done[:rows]
        spent = self.buyer.spent_on(done) - self.free[:rows]
        return self.buyer.for_cost(self.sum[:rows], done, spent, late)
