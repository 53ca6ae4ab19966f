"""Naive Bayes over answers, and the querier that asks for the largest information gain.

With P(a_i | y), the probability of each answer to query i in class y, every answer is evidence for
or against each class, and evidence adds up:

    log P(y | S) = log P(y) + sum over i in S of log P(a_i | y) + constant

The querier asks what would tell most of the class given the answers so far: the definition of
Information Pursuit, eq. (ip), computed instead of learned. Each query brings its own part of the
table and nothing else, so queries can be left out of a fitted model without fitting it again.

The table is stored in float32, and all that follows from it is computed in float64: which of two
questions tells more must not depend on the order of a sum, nor on who computes it. Python, on any
device and in any batch, and the page of the explorer ask the same questions.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, ClassVar, TypeVar

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.rules import ANY, NOT_SURE, UNSURE
from infopursuit.pursuit.answers.table import AnswerTable, Counts, telling
from infopursuit.pursuit.conformity import Conformity
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, Expected, Sizes
from infopursuit.pursuit.querier import Criterion

# Gains that differ by less, in nats, are equal: it is more than float64 loses in a sum, and less
# than any choice could mean.
ROUNDING = 1e-9
# Taken from the gain of a question whose answer is implied: it comes after all others, and
# explanations end before it.
IMPLIED = 1e6
# The answers yes, no and not sure, less 0.5, in the order of their numbers in redundant pairs.
SIGNS = (1, -1, 0)


Bayes = TypeVar("Bayes", bound="NaiveBayes")
Gain = TypeVar("Gain", bound="InformationGain")


class NaiveBayes:
    """f: the posterior from added evidence.

    Attributes:
        kind: what a saved model calls it; that of a subclass is its own.
        TABLE: of what kind its table is.
    """

    kind: ClassVar[str] = "naive_bayes"
    conformity: ClassVar[type[Conformity]] = Conformity
    counts: ClassVar[type[Counts]] = Counts
    TABLE: ClassVar[type[AnswerTable]] = AnswerTable

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        CLASSIFIERS.register(cls)

    def __init__(self, table: AnswerTable) -> None:
        self.rates, self.exact_rates = table, table.double()

    @property
    def table(self) -> AnswerTable | None:
        """How probable each answer is in each class; None if classes have subclasses."""
        return self.rates.of_classes

    @property
    def exact(self) -> AnswerTable | None:
        """The same in float64."""
        return self.exact_rates.of_classes

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Return the class logits of the history that `mask` selects; the largest is 0."""
        evidence = self.exact_rates.evidence(answers, mask)
        told = mask * self.exact_rates.telling(answers)
        return self.logits(evidence, told.sum(dim=1, keepdim=True))

    def logits(
        self, evidence: Float[Tensor, "b s"], asked: Float[Tensor, "b 1"]
    ) -> Float[Tensor, "b c"]:
        """Return calibrated logits of the classes, from evidence of classes or their subclasses.

        `asked` answers told something. The logits have the table's dtype, and the largest is 0:
        float32 is precise there.
        """
        calibrated = self.exact_rates.calibrated(evidence, asked)
        return (calibrated - calibrated.amax(dim=1, keepdim=True)).to(self.rates.log_prior.dtype)

    def incremental(self, batch: int) -> _ClassEvidence:
        """Start `batch` empty histories."""
        return _ClassEvidence(self, batch)

    def on(self: Bayes, table: AnswerTable) -> Bayes:
        """Return the same classifier with another table."""
        other = copy.copy(self)
        NaiveBayes.__init__(other, table)
        return other

    def to(self: Bayes, device: torch.device | str) -> Bayes:
        """Return the same classifier on a device."""
        return self.on(self.rates.to(device))

    def select(self: Bayes, columns: Int[Tensor, " m"]) -> Bayes:
        """Return the classifier of m of the queries."""
        return self.on(self.rates.select(columns))

    def for_classes(self: Bayes, classes: Int[Tensor, " m"]) -> Bayes:
        """Return the classifier of m of the classes."""
        return self.on(self.rates.for_classes(classes))

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the table."""
        return cls.TABLE.shapes(sizes, tensors)

    def tensors(self) -> dict[str, Tensor]:
        """Return the table, by name."""
        return self.rates.tensors()

    @classmethod
    def from_tensors(cls: type[Bayes], tensors: Mapping[str, Tensor], sizes: Sizes) -> Bayes:
        """Return the classifier that `tensors` gave."""
        table = cls.TABLE.from_tensors(tensors)
        if (classes := len(table.pooled(table.log_prior))) != sizes.c:
            raise ValueError(f"the classifier knows {classes} classes; expected {sizes.c}")
        return cls(table)


CLASSIFIERS.register(NaiveBayes)


class RedundantQuestions:
    """Questions that others make redundant: no need to ask "a turtle?" after "a sea turtle? yes".

    Args:
        pairs: (p, 3): a question that was asked, one that it makes redundant, and after which
            answer: 0 any, 1 yes, 2 no, 3 not sure.
        k: how many questions there are.
    """

    def __init__(self, pairs: Int[Tensor, "p 3"], k: int) -> None:
        self.pairs, self.k = pairs, k
        self._asked, self._other, self._answer = pairs.T.long()

    def mask(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Bool[Tensor, "b k"]:
        """Return what is redundant after the history that `mask` selects of all answers."""
        rows = answers[:, self._asked]
        return self._late((mask[:, self._asked] > 0) & self._holds(rows))

    def mask_after(
        self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]
    ) -> Bool[Tensor, "r k"]:
        """Return what one query and its answer make redundant."""
        pairs = queries.unsqueeze(1) == self._asked
        return self._late(pairs & self._holds(answers.unsqueeze(1)))

    def _holds(self, answers: Float[Tensor, "b m"]) -> Bool[Tensor, "b p"]:
        """Return for which pairs these are answers that make the other question redundant."""
        sign = (answers - NOT_SURE).sign()
        expected = torch.tensor((0, *SIGNS), device=sign.device)[self._answer]
        return (self._answer == ANY) | (sign == expected)

    def _late(self, pairs: Bool[Tensor, "b p"]) -> Bool[Tensor, "b k"]:
        late = torch.zeros(len(pairs), self.k, device=pairs.device)
        return late.index_add_(1, self._other, pairs.to(late)) > 0

    def select(self, columns: Int[Tensor, " m"]) -> RedundantQuestions:
        """Return the same of m of the questions."""
        place = torch.full((self.k,), -1, device=self.pairs.device)
        place[columns] = torch.arange(len(columns), device=place.device)
        asked, other, only_yes = self.pairs.T
        pairs = torch.stack([place[asked], place[other], only_yes], dim=1)
        return RedundantQuestions(pairs[(pairs >= 0).all(dim=1)], len(columns))

    def to(self, device: torch.device | str) -> RedundantQuestions:
        """Return the same on a device."""
        return RedundantQuestions(self.pairs.to(device), self.k)


class InformationGain:
    """g: the expected information of each query's answer about the class, in nats.

    Args:
        table: how probable each answer is in each class.
        redundant: queries that need no asking after others; None if there are none.
        costs: (k,) float64, positive, of each query: gains are in nats for the cost of the cheapest
            one. None if all cost the same.
    """

    kind: ClassVar[str] = "information_gain"
    rounding = ROUNDING
    repeats: ClassVar[bool] = False

    def __init_subclass__(cls, **more: Any) -> None:
        super().__init_subclass__(**more)
        QUERIERS.register(cls)

    def __init__(
        self,
        table: AnswerTable,
        redundant: RedundantQuestions | None = None,
        costs: Float[Tensor, " k"] | None = None,
    ) -> None:
        self.table, self.redundant = table, redundant
        self.costs = self.price = costs
        if costs is not None and len(costs):
            self.price = costs / costs.amin()
        self.criterion: Criterion = "information gain" if costs is None else "information for cost"
        self.exact = table.double()
        self.gain_of = self.exact.gain_of()

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """Return the gain of every query after the history that `mask` selects of all answers."""
        late = None if self.redundant is None else self.redundant.mask(answers, mask)
        return self.gains(self.exact.evidence(answers, mask), late)

    def gains(
        self, evidence: Float[Tensor, "b c"], late: Bool[Tensor, "b k"] | None = None
    ) -> Float[Tensor, "b k"]:
        """Return the gain of every query, given the evidence; `late` ones come last."""
        gain = self.gain_of(evidence.softmax(dim=1))
        if self.price is not None:
            gain = gain / self.price
        return gain if late is None else torch.where(late, gain - IMPLIED, gain)

    def values(self, outputs: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return the gains themselves, -inf if the answer is implied or known.

        Rounding may leave a gain a hair below zero.
        """
        return outputs.clamp_min(0).masked_fill(outputs < -IMPLIED / 2, -torch.inf)

    def incremental(self, batch: int) -> _GainEvidence:
        """Start `batch` empty histories."""
        return _GainEvidence(self, batch)

    def to(self: Gain, device: torch.device | str) -> Gain:
        """Return the same querier on a device."""
        redundant = None if self.redundant is None else self.redundant.to(device)
        costs = None if self.costs is None else self.costs.to(device)
        return self._changed(self.table.to(device), redundant, costs)

    def select(self: Gain, columns: Int[Tensor, " m"]) -> Gain:
        """Return the querier of m of the queries.

        A subclass that remembers more of each query selects that, too.
        """
        redundant = None if self.redundant is None else self.redundant.select(columns)
        costs = None if self.costs is None else self.costs[columns]
        return self._changed(self.table.select(columns), redundant, costs)

    def _changed(self: Gain, *arguments: Any) -> Gain:
        other = copy.copy(self)  # what a subclass has of its own stays
        InformationGain.__init__(other, *arguments)
        return other

    def spent(self, order: Int[Tensor, "n T"]) -> Float[Tensor, "n T1"]:
        """Return what the first t = 0..T queries of each order cost; -1 is no query."""
        each = (order >= 0).double()
        if self.costs is not None:
            each *= self.costs[order.clamp_min(0)]
        return torch.nn.functional.pad(each, (1, 0)).cumsum(dim=1)

    def on(self: Gain, table: AnswerTable) -> Gain:
        """Return the same querier with another table of the same queries."""
        return self._changed(table, self.redundant, self.costs)

    def for_classifier(self: Gain, classifier: NaiveBayes) -> Gain:
        """Return the querier that tells apart the classes of a classifier."""
        return self.on(classifier.rates)

    def tensors(self) -> dict[str, Tensor]:
        """Return redundant pairs and costs, if any, by the names in saved models.

        The table is saved with the classifier.
        """
        tensors = {}
        if self.redundant is not None:
            tensors["put_off"] = self.redundant.pairs
        if self.costs is not None:
            tensors["costs"] = self.costs
        return tensors

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of redundant pairs and costs."""
        pairs = tensors["put_off"].shape[:1] if "put_off" in tensors else ()
        most = max(sizes.k - 1, UNSURE)
        return {
            "put_off": Expected((*pairs, 3), None, optional=True, least=0, most=most),
            "costs": Expected((sizes.k,), torch.float64, optional=True, above=0),
        }

    @classmethod
    def from_tensors(
        cls: type[Gain], tensors: Mapping[str, Tensor], sizes: Sizes, classifier: NaiveBayes
    ) -> Gain:
        """Return the querier that `tensors` gave, with the table of the classifier."""
        pairs, redundant = tensors.get("put_off"), None
        if pairs is not None:
            asked, answers = pairs[:, :2], pairs[:, 2]
            if pairs.numel() and (asked.max() >= sizes.k or answers.max() > UNSURE):
                raise ValueError(
                    f"querier.put_off: expected questions 0 to {sizes.k - 1} and answers {ANY} to "
                    f"{UNSURE}"
                )
            redundant = RedundantQuestions(pairs, sizes.k)
        return cls(classifier.rates, redundant, tensors.get("costs"))


QUERIERS.register(InformationGain)


class _Evidence:
    """The evidence of b histories that start empty and grow by one answer at a time."""

    @torch.no_grad()
    def __init__(
        self, table: AnswerTable, batch: int, redundant: RedundantQuestions | None = None
    ) -> None:
        self.table, self.redundant = table, redundant
        self.sum = table.log_prior.expand(batch, -1).clone()
        self.asked = self.sum.new_zeros(batch, 1)  # answers that told something
        self.late: Tensor | None = None
        if redundant is not None:
            shape = batch, redundant.k
            self.late = torch.zeros(shape, dtype=torch.bool, device=self.sum.device)

    @torch.no_grad()
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        mask = known.to(self.sum)
        self.sum = self.table.evidence(answers, mask)
        self.asked = (mask * self.table.telling(answers)).sum(dim=1, keepdim=True)
        if self.redundant is not None:
            self.late = self.redundant.mask(answers, mask)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        evidence = self.table.log_likelihood_of(queries, answers)
        self.sum[: len(queries)] += evidence
        self.asked[: len(queries)] += telling(evidence).unsqueeze(1)
        if self.late is not None and self.redundant is not None:
            self.late[: len(queries)] |= self.redundant.mask_after(queries, answers)

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        self.sum, self.asked = self.sum[rows], self.asked[rows]
        self.late = None if self.late is None else self.late[rows]


class _ClassEvidence(_Evidence):
    def __init__(self, classifier: NaiveBayes, batch: int) -> None:
        super().__init__(classifier.exact_rates, batch)
        self.classifier = classifier

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r c"]:
        return self.classifier.logits(self.sum[:rows], self.asked[:rows])


class _GainEvidence(_Evidence):
    def __init__(self, querier: InformationGain, batch: int) -> None:
        super().__init__(querier.exact, batch, querier.redundant)
        self.querier = querier

    @torch.no_grad()
    def outputs(self, rows: int) -> Float[Tensor, "r k"]:
        late = None if self.late is None else self.late[:rows]
        return self.querier.gains(self.sum[:rows], late)
