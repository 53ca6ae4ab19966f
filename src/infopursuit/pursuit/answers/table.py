"""How probable each answer to each query is in each class, and evidence that adds up."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, replace
from functools import cached_property, partial
from typing import Any, ClassVar, NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.gain import entropy, information_gain
from infopursuit.pursuit.parts import Expected, Sizes

# An answer this close to a level, in steps between levels, is that level.
LEVEL = 1e-4
# An answer tells nothing if its logarithms differ by less between all classes.
TELLS_NOTHING = 1e-6
# Nothing is certain, however many images agree.
LEAST, MOST = 0.01, 0.99
# Two thresholds may have no image in between, so each of three or more answers gets at least this.
LEAST_OF_MANY = 0.005
# No number of a calibration is farther from 1; no logarithm of a probability is larger, but for
# rounding.
EXTREME, CERTAIN = 1e4, 1e-3
# Images that the prior estimate of a rate counts for.
PSEUDO_IMAGES = 2.0


@dataclass(frozen=True)
class AnswerTable:
    """How probable each answer to each query is in each class.

    Answers are v even levels in [0, 1]. An answer between two levels is one or the
    other, with probabilities by its distance to them: 0.5 between no and yes tells nothing.

    Attributes:
        classifier: the kind of the classifier that adds up its evidence.
        log_likelihood: (v, k, c), log P(answer | class); the answers of a query sum to one.
        log_prior: (c,), log P(class).
        independent_answers: m. Answers are not quite independent given the class, so their sum is
            too sure of itself, the more so the more were asked. The logits are the log-prior plus
            the sum divided by (1 + t / m)^p / s after t answers that tell something. If classes are
            equally frequent, or q is 1, the most probable class stays the same. Before any such
            answer the posterior is the prior, whatever the calibration.
        evidence_weight: s, what each answer counts: less than 1 if the rates are of few images.
        growth: p. With 1, all answers are correlated alike, and infinitely many are worth m
            independent ones; with less, further answers add more.
        temperature_ratio: r. How much answers are worth differs between images: the posterior is
            the mean of two, with the evidence divided by r times less and by r times more.
        prior_exponent: q. The log-prior is divided by what the evidence is divided by, to the power
            q: it stays whole with 0, and counts as little as an answer with 1.
    """

    classifier: ClassVar[str] = "naive_bayes"
    log_likelihood: Float[Tensor, "v k c"]
    log_prior: Float[Tensor, " c"]
    independent_answers: float = torch.inf
    evidence_weight: float = 1.0
    growth: float = 1.0
    temperature_ratio: float = 1.0
    prior_exponent: float = 0.0

    @property
    def levels(self) -> int:
        """v, how many answers there are."""
        return len(self.log_likelihood)

    @property
    def of_classes(self) -> AnswerTable | None:
        """The table itself, if the evidence of answers adds up class by class."""
        return self

    @property
    def marginal(self) -> AnswerTable:
        """How probable each answer is in each class before any other answer."""
        return self

    def pooled(self, logits: Float[Tensor, "*b c"]) -> Float[Tensor, "*b c"]:
        """Return the logits of the classes; a table of subclasses pools theirs."""
        return logits

    @property
    def class_prior(self) -> Float[Tensor, " c"]:
        """log P(class); a table of subclasses pools theirs."""
        return self.log_prior

    def gain_of(self) -> Callable[[Float[Tensor, "b c"]], Float[Tensor, "b k"]]:
        """Return the function that turns posteriors into the gain of each query, in nats."""
        likelihood = self.log_likelihood.exp()
        return partial(information_gain, likelihood=likelihood, answer_entropy=entropy(likelihood))

    def level_of(self, answers: Float[Tensor, "*b"]) -> Int[Tensor, "*b"]:
        """Return the number 0..v-1 of the level nearest to each answer in [0, 1]."""
        return (answers * (self.levels - 1)).round().long()

    def log_likelihood_of(
        self, queries: Int[Tensor, " m"], answers: Float[Tensor, " m"]
    ) -> Float[Tensor, "m c"]:
        """Return the evidence of m answers, one by one: log P(answer | class)."""
        level = self.level_of(answers)
        at_level = self.log_likelihood[level, queries]
        off = answers * (self.levels - 1) - level
        if not (off.abs() >= LEVEL).any():
            return at_level
        other = (level + off.sign().long()).clamp(0, self.levels - 1)
        ratio = (self.log_likelihood[other, queries] - at_level).exp()
        share = off.abs().unsqueeze(1)
        return at_level + torch.log1p(share * (ratio - 1))

    @cached_property
    def _tells(self) -> Bool[Tensor, "v k"]:
        return self.log_likelihood.amax(dim=2) - self.log_likelihood.amin(dim=2) > TELLS_NOTHING

    def telling(self, answers: Float[Tensor, "b k"]) -> Bool[Tensor, "b k"]:
        """Return which answers tell something: they are more probable in one class than another."""
        level = self.level_of(answers)
        tells = self._tells[level, torch.arange(answers.shape[1], device=answers.device)]
        between = (answers * (self.levels - 1) - level).abs() >= LEVEL
        rows, queries = between.nonzero(as_tuple=True)
        if len(rows):
            tells[rows, queries] = telling(self.log_likelihood_of(queries, answers[between]))
        return tells

    def evidence(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Return the log-prior plus the evidence of the answers that `mask` selects."""
        level = self.level_of(answers)
        mask = mask.to(self.log_prior.dtype)
        total = self.log_prior.expand(len(answers), -1)
        for number, table in enumerate(self.log_likelihood):
            total = total + (mask * (level == number)) @ table
        between = mask * ((answers * (self.levels - 1) - level).abs() >= LEVEL)
        rows, queries = between.nonzero(as_tuple=True)
        if not len(rows):
            return total
        exact = self.log_likelihood_of(queries, answers[rows, queries])
        correction = exact - self.log_likelihood[level[rows, queries], queries]
        return total.index_add(0, rows, correction.to(total.dtype))

    def calibrated(
        self, evidence: Float[Tensor, "b s"], asked: Float[Tensor, "b 1"] | int
    ) -> Float[Tensor, "b c"]:
        """Return the logits of the classes from `evidence`, of the classes or their subclasses.

        `asked` answers told something (`telling`); after none they are the log-prior.
        """
        before = self.pooled(evidence)
        if isinstance(asked, int) and not asked:
            return before
        divisor, evidence = self.divisor(asked), evidence - self.log_prior
        logits = self.logits(evidence, divisor)
        if self.temperature_ratio != 1:
            both = [divisor / self.temperature_ratio, divisor * self.temperature_ratio]
            both = [self.logits(evidence, each).log_softmax(dim=-1) for each in both]
            logits = torch.logaddexp(*both) - math.log(2)
        return logits if isinstance(asked, int) else torch.where(asked > 0, logits, before)

    def logits(self, evidence: Float[Tensor, "*b s"], divisor: Any) -> Float[Tensor, "*b c"]:
        """Return the logits of the classes if the evidence of answers is divided by `divisor`."""
        return self.log_prior / divisor**self.prior_exponent + evidence / divisor

    def divisor(self, asked: Tensor | float | int) -> Any:
        """Return what the evidence of `asked` answers is divided by."""
        return (1 + asked / self.independent_answers) ** self.growth / self.evidence_weight

    def select(self, columns: Int[Tensor, " m"]) -> AnswerTable:
        """Return the table of m of its queries."""
        return replace(self, log_likelihood=self.log_likelihood[:, columns])

    def for_classes(self, classes: Int[Tensor, " m"]) -> AnswerTable:
        """Return the table of m of its classes, whose priors sum to one."""
        prior = self.log_prior[classes].double().log_softmax(dim=0).to(self.log_prior.dtype)
        return replace(self, log_likelihood=self.log_likelihood[:, :, classes], log_prior=prior)

    def to(self, device: torch.device | str) -> AnswerTable:
        """Return the same table on a device."""
        likelihood, prior = self.log_likelihood.to(device), self.log_prior.to(device)
        return replace(self, log_likelihood=likelihood, log_prior=prior)

    def double(self) -> AnswerTable:
        """Return the same numbers in float64, for sums in which nothing is lost."""
        likelihood, prior = self.log_likelihood.double(), self.log_prior.double()
        return replace(self, log_likelihood=likelihood, log_prior=prior)

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of rates and calibration."""
        number = Expected((), torch.float64, optional=True, least=1 / EXTREME, most=EXTREME)
        return {
            "log_likelihood": Expected((sizes.levels, sizes.k, sizes.c), most=CERTAIN),
            "log_prior": Expected((sizes.c,), most=CERTAIN),
            # Without calibration, infinitely many answers are independent.
            "independent_answers": number._replace(optional=False, most=math.inf, infinite=True),
            "evidence_weight": number,
            "growth": number,
            "temperature_ratio": number,
            "prior_exponent": number._replace(least=0, most=1),
        }

    def tensors(self) -> dict[str, Tensor]:
        """Return the table, by name."""
        return {
            "log_likelihood": self.log_likelihood,
            "log_prior": self.log_prior,
            "independent_answers": torch.tensor(self.independent_answers, dtype=torch.float64),
            "evidence_weight": torch.tensor(self.evidence_weight, dtype=torch.float64),
            "growth": torch.tensor(self.growth, dtype=torch.float64),
            "temperature_ratio": torch.tensor(self.temperature_ratio, dtype=torch.float64),
            "prior_exponent": torch.tensor(self.prior_exponent, dtype=torch.float64),
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> AnswerTable:
        """Return the table that `tensors` gave."""
        calibration = (
            float(tensors["independent_answers"]),
            float(tensors.get("evidence_weight", 1.0)),
            float(tensors.get("growth", 1.0)),
            float(tensors.get("temperature_ratio", 1.0)),
            float(tensors.get("prior_exponent", 1.0)),
        )
        return cls(tensors["log_likelihood"], tensors["log_prior"], *calibration)


def telling(evidence: Float[Tensor, "m c"]) -> Bool[Tensor, " m"]:
    """Return which of m answers tell something, by their evidence for each class."""
    return evidence.amax(dim=1) - evidence.amin(dim=1) > TELLS_NOTHING


class Counts(NamedTuple):
    """What has been counted of each class and question; a start that the table says is `strength`.

    Attributes:
        yes: (c, k) answers yes.
        answered: (c, k) answers yes and no.
        images: (c,).
    """

    yes: Float[Tensor, "c k"]
    answered: Float[Tensor, "c k"]
    images: Float[Tensor, " c"]

    def plus(
        self, answers: Float[Tensor, "n k"], labels: Tensor, weights: Float[Tensor, " n"]
    ) -> Counts:
        """Return the counts with n more images; an answer that is neither yes nor no is none."""
        one_hot = (
            torch.nn.functional.one_hot(labels, len(self.images)).to(self.yes) * weights[:, None]
        )
        yes, no = (answers == 1).to(self.yes), (answers == 0).to(self.yes)
        return Counts(
            self.yes + one_hot.T @ yes,
            self.answered + one_hot.T @ (yes + no),
            self.images + one_hot.sum(dim=0),
        )

    def refit(self, pursuit: Any) -> Any:
        """Return a pursuit by naive Bayes with these rates, and its calibration."""
        table = self.table(pursuit.querier.table).to(pursuit.device)
        querier, classifier = pursuit.querier.on(table), pursuit.classifier.on(table)
        return replace(pursuit, querier=querier, classifier=classifier)

    def without(self, dropped: Collection[int]) -> Counts:
        """Return the counts of the other questions."""
        kept = [number for number in range(self.yes.shape[1]) if number not in dropped]
        return Counts(self.yes[:, kept], self.answered[:, kept], self.images)

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the counts."""
        of_questions = Expected((sizes.c, sizes.k), torch.float64, least=0)
        images = of_questions._replace(shape=(sizes.c,))
        return {"yes": of_questions, "answered": of_questions, "images": images}

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> Counts:
        """Return the counts that `tensors` gave."""
        return cls(**tensors)

    def tensors(self) -> dict[str, Tensor]:
        """Return the counts by name."""
        return self._asdict()

    def table(self, like: AnswerTable | None = None) -> AnswerTable:
        """Return the rates, with the calibration of another table."""
        rates = self.yes / self.answered
        table = AnswerTable(
            answer_probabilities(rates).log().float(),
            (self.images / self.images.sum()).log().float(),
        )
        if like is None:
            return table
        return replace(like, log_likelihood=table.log_likelihood, log_prior=table.log_prior)


def yes_rates(yes: Float[Tensor, "c k"], totals: Float[Tensor, "c m"]) -> Float[Tensor, "c k"]:
    """Return the frequencies of a yes in each class, drawn towards 0.5 by two made-up images.

    `yes` counts the images of each class that say yes, `totals` all of them.
    """
    return ((yes + PSEUDO_IMAGES / 2) / (totals + PSEUDO_IMAGES)).clamp(LEAST, MOST)


def answer_probabilities(*at_least: Float[Tensor, "c k"]) -> Float[Tensor, "v k c"]:
    """Return P(answer | class) of v answers.

    Args:
        at_least: how probable it is in each class that an answer is at level 1 or above, 2 or
            above, ...; for no and yes, how probable a yes is.
    """
    if len(at_least) == 1:
        (yes,) = at_least
        return torch.stack([(1 - yes).T, yes.T])
    above = torch.stack([torch.ones_like(at_least[0]), *at_least, torch.zeros_like(at_least[0])])
    answers = (above[:-1] - above[1:]).mT.clamp_min(LEAST_OF_MANY)
    return answers / answers.sum(dim=0)


def count_yes(
    answers: Iterable[tuple[slice, Float[Tensor, "m k"]]],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    classes: int = 0,
) -> tuple[Float[Tensor, "c k"], Float[Tensor, "c 1"]]:
    """Sum the answers of each class to each query, and count its images; both float64.

    Without weights the sums of a block are in the dtype of its answers: float32 counts exactly.
    """
    totals = torch.bincount(labels, weights, minlength=classes).double().unsqueeze(1)
    yes: Tensor | None = None
    for place, rows in answers:
        if yes is None:
            yes = torch.zeros(len(totals), rows.shape[1], dtype=torch.float64)
        if weights is None:
            yes += rows.new_zeros(yes.shape).index_add_(0, labels[place], rows)
        else:
            yes.index_add_(0, labels[place], rows.double() * weights[place].unsqueeze(1))
    assert yes is not None
    return yes, totals
