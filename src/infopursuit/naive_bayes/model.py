"""Naive Bayes over answers, and the querier that asks for the largest information gain.

With P(a_i | y), the probability of each answer to query i in class y, every answer is evidence for
or against each class, and evidence adds up:

    log P(y | S) = log P(y) + sum over i in S of log P(a_i | y) + constant

The querier asks what would tell most of the class given the answers so far: the definition of
Information Pursuit, eq. (ip), computed in place of learned. Each query brings its own part of the
table and nothing else, so queries can be left out of a fitted model without fitting it anew.

The table is stored in float32, and all that follows from it is computed in float64: which of two
questions tells more must not depend on the order of a sum, nor on who computes it. Python, on any
device and in any batch, and the page of the explorer ask the same questions.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.answers.information import entropy, information_gain
from infopursuit.answers.table import AnswerTable
from infopursuit.explanation.explanation import Criterion
from infopursuit.naive_bayes.put_off import COUNTS, PutOff

# Gains that differ by less, in nats, are equal: it is more than float64 loses in a sum, and less
# than any choice could mean.
ROUNDING = 1e-9


class NaiveBayes:
    """f: the posterior from added evidence."""

    def __init__(self, table: AnswerTable) -> None:
        self.table, self.exact = table, table.double()

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Class logits of the history that `mask` selects of all answers; the largest is 0."""
        evidence = self.exact.evidence(answers, mask)
        return self.logits(evidence, mask.sum(dim=1, keepdim=True))

    def logits(
        self, evidence: Float[Tensor, "b c"], asked: Float[Tensor, "b 1"] | int
    ) -> Float[Tensor, "b c"]:
        """Of the type of the table: what matters is near 0, where float32 loses next to nothing."""
        tempered = self.exact.tempered(evidence, asked)
        return (tempered - tempered.amax(dim=1, keepdim=True)).to(self.table.log_prior.dtype)

    def incremental(self, batch: int) -> _ClassEvidence:
        """`batch` empty histories."""
        return _ClassEvidence(self, batch)

    def to(self, device: torch.device | str) -> NaiveBayes:
        """The same classifier on a device."""
        return NaiveBayes(self.table.to(device))

    def select(self, columns: Int[Tensor, " m"]) -> NaiveBayes:
        """The classifier of m of the queries."""
        return NaiveBayes(self.table.select(columns))

    def tensors(self) -> dict[str, Tensor]:
        """The table, by name."""
        return self.table.tensors()


class InformationGain:
    """g: the expected information of each query's answer about the class, in nats.

    Args:
        table: how probable each answer is in each class.
        worth: (k,) what the information of each query counts; None for 1 each.
        put_off: queries that need no asking after others; None where there are none.
    """

    criterion: Criterion = "information gain"
    rounding = ROUNDING

    def __init__(
        self,
        table: AnswerTable,
        worth: Float[Tensor, " k"] | None = None,
        put_off: PutOff | None = None,
    ) -> None:
        self.table, self.worth, self.put_off = table, worth, put_off
        self.exact = table.double()
        self.likelihood = self.exact.log_likelihood.exp()
        self.answer_entropy = entropy(self.likelihood)  # (k, c)

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """The gain of every query after the history that `mask` selects of all answers."""
        late = None if self.put_off is None else self.put_off.of(answers, mask)
        return self.gains(self.exact.evidence(answers, mask), late)

    def gains(
        self, evidence: Float[Tensor, "b c"], late: Bool[Tensor, "b k"] | None = None
    ) -> Float[Tensor, "b k"]:
        """The gain of every query, given the evidence, times what it counts.

        Args:
            evidence: of each history.
            late: which queries are put off; None for none.
        """
        gain = information_gain(evidence.softmax(dim=1), self.likelihood, self.answer_entropy)
        if self.worth is not None:
            gain = gain * self.worth
        return gain if late is None else torch.where(late, gain * COUNTS, gain)

    def values(self, outputs: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """The gains themselves; rounding may leave one a hair below zero."""
        return outputs.clamp_min(0).masked_fill(outputs == -torch.inf, -torch.inf)

    def incremental(self, batch: int) -> _GainEvidence:
        """`batch` empty histories."""
        return _GainEvidence(self, batch)

    def to(self, device: torch.device | str) -> InformationGain:
        """The same querier on a device."""
        worth = None if self.worth is None else self.worth.to(device)
        put_off = None if self.put_off is None else self.put_off.to(device)
        return InformationGain(self.table.to(device), worth, put_off)

    def select(self, columns: Int[Tensor, " m"]) -> InformationGain:
        """The querier of m of the queries."""
        worth = None if self.worth is None else self.worth[columns]
        put_off = None if self.put_off is None else self.put_off.select(columns)
        return InformationGain(self.table.select(columns), worth, put_off)

    def tensors(self) -> dict[str, Tensor]:
        """What queries count, where they differ, and which are put off, where some are.

        The table is the classifier's.
        """
        found = {} if self.worth is None else {"worth": self.worth}
        return found if self.put_off is None else {**found, "put_off": self.put_off.pairs}


class _Evidence:
    """The evidence of b histories that start empty and grow by one answer at a time."""

    @torch.no_grad()
    def __init__(self, table: AnswerTable, batch: int) -> None:
        self.table = table
        self.sum = table.log_prior.expand(batch, -1).clone()
        self.asked = 0

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer to each of the first r histories."""
        self.sum[: len(queries)] += self.table.told(queries, answers)
        self.asked += 1

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone."""
        self.sum = self.sum[rows]


class _ClassEvidence(_Evidence):
    def __init__(self, classifier: NaiveBayes, batch: int) -> None:
        super().__init__(classifier.exact, batch)
        self.classifier = classifier

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r c"]:
        """Logits of the first `rows` histories, all of which have grown alike."""
        return self.classifier.logits(self.sum[:rows], self.asked)


class _GainEvidence(_Evidence):
    def __init__(self, querier: InformationGain, batch: int) -> None:
        super().__init__(querier.exact, batch)
        self.querier, self.late = querier, None
        if querier.put_off is not None:
            shape = batch, querier.put_off.k
            self.late = torch.zeros(shape, dtype=torch.bool, device=self.sum.device)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one query and its answer, which may put others off."""
        super().add(queries, answers)
        if self.late is not None and self.querier.put_off is not None:
            self.late[: len(queries)] |= self.querier.put_off.after(queries, answers)

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone."""
        super().keep(rows)
        self.late = None if self.late is None else self.late[rows]

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r k"]:
        """The gain of every query to each of the first `rows` histories."""
        late = None if self.late is None else self.late[:rows]
        return self.querier.gains(self.sum[:rows], late)
