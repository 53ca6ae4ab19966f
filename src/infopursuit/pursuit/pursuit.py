"""A fitted pursuit: the questions, how images answer them, who asks, and who classifies."""

from __future__ import annotations

import logging
import math
import warnings
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar, cast

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError, one_line, one_such_as
from infopursuit.core.numbers import NUMBER
from infopursuit.core.renderers import renderer
from infopursuit.pursuit.answers.rules import NOT_SURE, WORDS, AnswerRule, ColumnValues, in_words
from infopursuit.pursuit.explanation import (
    DIGITS,
    Candidate,
    Explanation,
    Step,
    answer_value,
    plain_answer,
    rival,
    rounded,
)
from infopursuit.pursuit.explanation import question as as_asked
from infopursuit.pursuit.querier import Classifier, Comparison, Querier
from infopursuit.pursuit.rollout import Ending, RollOut, ask_until, asked_orders, roll_out
from infopursuit.pursuit.stopping import Ended, StoppingRule, posterior_entropy

if TYPE_CHECKING:
    from infopursuit.datasets.matrix import Matrix

Asked = TypeVar("Asked", RollOut, Ending)

logger = logging.getLogger("infopursuit")

# How many questions that were not asked are named next to the one that was.
RUNNERS_UP = 3
# Explanations ask this share of all questions first, then more if an image needs more.
SHARES = (1 / 16, 1 / 4, 1)
# An answer of not sure is explained by its rates in two classes if they differ by this, or more.
TELLING = 0.01
# How else a column of booleans is answered.
TRUTHS = {"true": "yes", "1": "yes", "1.0": "yes", "false": "no", "0": "no", "0.0": "no"}


@dataclass(frozen=True)
class Pursuit:
    """Information Pursuit on embedded images, ready to ask.

    Attributes:
        queries: the k questions in plain words.
        class_names: the c classes.
        rule: how images answer.
        querier: g, which chooses the next question.
        classifier: f, which turns answers into a posterior.
        first: the question that every image is asked first; None for the querier's choice.
        conformity: whether an image looks like any of the classes; None if no images were held
            out to compare it with.
        labels: the c class labels if they are not texts; None if the class names are the labels.
        words: of each question its v answers in words, if they are the values of a column; empty
            if all are answered with yes and no.
        wording: the k questions as they are asked; empty for what the queries alone give.
        note: what everybody should know who reads its explanations; None for nothing.
        known: answers that are known before the first question, by the number of their question:
            evidence that is free, and never asked (`given`).
    """

    queries: tuple[str, ...]
    class_names: tuple[str, ...]
    rule: AnswerRule
    querier: Querier
    classifier: Classifier
    first: int | None = None
    conformity: Comparison | None = None
    labels: tuple[Any, ...] | None = None
    words: tuple[tuple[str, ...], ...] = ()
    wording: tuple[str, ...] = ()
    note: str | None = None
    known: Mapping[int, float] = field(default_factory=dict)

    def question(self, query: int | str) -> str:
        """Return a question in words, of its number or query."""
        return self._asked[query if isinstance(query, int) else self.number(query)]

    @cached_property
    def _asked(self) -> tuple[str, ...]:
        return self.wording or renderer("questions")(self.queries)

    @property
    def noun(self) -> str:
        """What one of the things that answer is called: `image`, or `row` of a table."""
        return self.rule.noun

    @property
    def device(self) -> torch.device:
        """Where the model computes."""
        return next(iter(self.rule.tensors().values())).device

    def number(self, question: str) -> int:
        """Return the number of a question, 0 to k - 1, as its query or as explanations put it.

        Case, spacing and question mark play no part.

        Raises:
            InputError: there is no such question; the message names similar ones.
        """
        if not isinstance(question, str):
            raise InputError(f"the question {question!r}; expected a text, one of the queries")
        number = self.find(question)
        if number is None:
            expected = one_such_as(question, self.queries)
            raise InputError(f"the model has no question {question!r}; expected {expected}")
        return number

    def find(self, question: str) -> int | None:
        """Return the `number` of a question; None if there is none."""
        number = self._numbers.get(question)
        return self._called.get(_bare(question)) if number is None else number

    @cached_property
    def _numbers(self) -> dict[str, int]:
        return {query: number for number, query in reversed(list(enumerate(self.queries)))}

    @cached_property
    def _called(self) -> dict[str, int]:
        """The number of each question by all that it is called; of equals the first."""
        numbers: dict[str, int] = {}
        for names in (self.queries, map(as_asked, self.queries), self._asked):
            for number, name in enumerate(names):
                numbers.setdefault(_bare(name), number)
        return numbers

    def answer_value(self, query: int, answer: Any) -> float:
        """Return an answer to a query as a number in [0, 1]; a number is the value of its column.

        A value that was not there in fit is a gap, and a warning names it.

        Raises:
            InputError: the query has no such answer.
        """
        if not self.words:
            return answer_value(answer)
        words, rule, plain = self.words[query], self.rule, plain_answer(answer)
        numeric, truth = rule.number_cuts(query) is not None, {"no", "yes"} <= set(words)
        if isinstance(plain, str) and (numeric or truth) and NUMBER.fullmatch(plain):
            plain = float(plain)
        if truth and str(plain).casefold() in TRUTHS:  # a column of booleans
            plain = TRUTHS[str(plain).casefold()]
        if numeric and isinstance(plain, int | float) and not isinstance(plain, bool):
            one = rule.select(torch.tensor([query], device=self.device))
            value = torch.tensor([[plain]], dtype=torch.float64, device=self.device)
            self._name_unlike_seen(one, value, [self.queries[query]])
            return float(one.of_scores(value))
        for spelled in (str, str.casefold):
            alike = [spelled(str(plain_answer(word))) == spelled(str(plain)) for word in words]
            if sum(alike) == 1 and plain != "":  # unused levels have no word
                return alike.index(True) / (len(words) - 1)
        expected = ", ".join(repr(word) for word in words if word)
        if numeric or plain is None or plain == "":
            to = self.queries[query]
            raise InputError(f"the answer {answer!r} to {to!r}; expected {expected}")
        there = ", ".join(repr(word) for word in words if word and WORDS.get(word) != NOT_SURE)
        warnings.warn(
            f"{self.queries[query]!r}: {answer!r} was not there in fit, unlike {there}; it "
            "counts as a gap",
            stacklevel=2,
        )
        return NOT_SURE

    def checked(self, rows: Matrix) -> Matrix:
        """Return rows of a table; a warning names numbers beyond those of fit, one a column."""
        if isinstance(self.rule, ColumnValues):
            self._name_unlike_seen(self.rule, self.rule.scores(rows.tensor()), self.queries)
        return rows

    @staticmethod
    def _name_unlike_seen(rule: Any, values: Tensor, queries: Sequence[str]) -> None:
        for query, value, low, high in rule.unlike_seen(values):
            logger.warning(
                "%s %.6g is outside the %.6g to %.6g of the training rows; it is believed all the "
                "same",
                *(queries[query], value, low, high),
            )

    def said(self, query: int, answer: float) -> str:
        """Return an answer to a query in words, on one line: a column may hold anything."""
        return one_line(self.word(query, answer) or in_words(answer))

    def word(self, query: int, answer: float) -> str | None:
        """Return an answer to a query as the rule has it in words; None if it is yes or no."""
        if not self.words:
            return self.rule.word(query, answer)
        return self.words[query][round(answer * (len(self.words[query]) - 1))]

    @torch.no_grad()
    def answers(self, images: Float[Tensor, "n d"]) -> Float[Tensor, "n k"]:
        """Return answers of images to all k queries, in [0, 1]."""
        return self.rule.answers(images)

    def roll_out(
        self,
        images: Float[Tensor, "n d"],
        budget: int,
        best: int = 0,
    ) -> RollOut:
        """Ask `budget` queries of every image, one after another.

        Args:
            images: unit norm.
            budget: 0 to k, without what is known.
            best: how many of the best queries to record at each step.

        Raises:
            InputError: the budget is not in 0..k.
        """
        return self.rolled(self.answers(images), budget, best)

    def rolled(self, answers: Float[Tensor, "n k"], budget: int, best: int = 0) -> RollOut:
        """Return the `roll_out` of images whose answers to all queries are given."""
        self._check(budget)
        answers, known = self.evidence(answers)
        parts = self.querier, self.classifier
        return _with_numbers(roll_out(*parts, answers, budget, self.first, best, known))

    def evidence(
        self, answers: Float[Tensor, "n k"]
    ) -> tuple[Float[Tensor, "n k"], Bool[Tensor, "n k"] | None]:
        """Return answers with those that are known in their places, and which these are."""
        if not self.known:
            return answers, None
        answers, mask = answers.clone(), torch.zeros_like(answers, dtype=torch.bool)
        for query, answer in self.known.items():
            answers[:, query], mask[:, query] = answer, True
        return answers, mask

    def asked(self, answers: Float[Tensor, "n k"], budget: int) -> Int[Tensor, "n T"]:
        """Return the queries that `roll_out` asks, from the answers to all of them; no posteriors.

        Raises:
            InputError: the budget is not in 0..k.
        """
        self._check(budget)
        return asked_orders(self.querier, answers, budget, self.first)

    def _check(self, budget: int) -> None:
        if not 0 <= budget <= len(self.queries):
            raise InputError(
                f"a budget of {budget} queries; expected 0 to {len(self.queries)}, the size of "
                "the dictionary"
            )

    def ask_until(self, answers: Float[Tensor, "n k"], stop: StoppingRule) -> Ending:
        """Return the posterior of each image when the stopping rule ends its questions."""
        answers, known = self.evidence(answers)
        parts = self.querier, self.classifier
        return _with_numbers(ask_until(*parts, answers, stop, self.first, known))

    def explain(
        self,
        answers: Float[Tensor, "n k"],
        stop: StoppingRule,
        images: Sequence[str],
        true_classes: Sequence[str | None] | None = None,
        overrides: Mapping[int, float] | None = None,
    ) -> list[Explanation]:
        """Return the explanation of each image, up to where the stopping rule ends its questions.

        Args:
            answers: of n images to all k queries; these say whether an image is unusual.
            stop: when to ask no more.
            images: n ids or paths.
            true_classes: n class names, None if unknown.
            overrides: answers that a person gave, by query.
        """
        own, overridden = answers, list(overrides or ())
        answers = answers.clone()
        for query, answer in (overrides or {}).items():
            answers[:, query] = answer
        stop, (answers, _) = stop.checked(), self.evidence(answers)
        rolled, counts, held = self._rolled_until(answers, stop)
        ended: list[Ended] = [
            stop.ended(condition, asked, len(self.queries))
            for condition, asked in zip(held.tolist(), counts.tolist(), strict=True)
        ]
        entropies = posterior_entropy(rolled.posteriors.double()).tolist()
        p_values = None if self.conformity is None else self.conformity.p_values(own).tolist()
        spent = self.spent(rolled.order)
        not_asked = self._not_asked(rolled.order, counts, answers, overridden)
        return [
            Explanation(
                image=image,
                class_names=self.class_names,
                prior=rounded(rolled.posteriors[row, 0].tolist()),
                steps=tuple(
                    self._rolled_step(rolled, row, t, entropies[row][t + 1], overridden)
                    for t in range(int(counts[row]))
                ),
                ended=ended[row],
                true_class=None if true_classes is None else true_classes[row],
                criterion=self.querier.criterion,
                conformity=None if p_values is None else round(p_values[row], DIGITS),
                labels=self.labels,
                noun=self.noun,
                note=self.note,
                spent=None if spent is None else float(spent[row, counts[row]]),
                not_asked=tuple(not_asked[row]),
                known=self.known_steps(rolled.posteriors[row, 0]),
            )
            for row, image in enumerate(images)
        ]

    def _rolled_until(
        self, answers: Float[Tensor, "n k"], stop: StoppingRule
    ) -> tuple[RollOut, Int[Tensor, " n"], Int[Tensor, " n"]]:
        """Return a roll-out in which all images stop, with what `StoppingRule.steps` says of it.

        Short ones are tried first: they are the beginnings of longer ones, and often enough.
        """
        most = stop.budget(len(self.queries))
        for share in SHARES:
            rolled = self.rolled(answers, budget := math.ceil(most * share), RUNNERS_UP + 1)
            counts, held = stop.steps(rolled.posteriors)
            left = (rolled.values > -torch.inf).any(dim=2).long().cumprod(dim=1).sum(dim=1)
            held[counts > left] = 0
            if share == 1 or bool(((held > 0) | (left < budget)).all()):
                return rolled, counts.minimum(left), held
        raise AssertionError

    @torch.no_grad()
    def _not_asked(
        self,
        order: Int[Tensor, "n T"],
        counts: Int[Tensor, " n"],
        answers: Float[Tensor, "n k"],
        overridden: Sequence[int],
    ) -> list[list[Step]]:
        steps: list[list[Step]] = [[] for _ in answers]
        if not overridden:
            return steps
        mask = torch.zeros_like(answers)
        mask[:, list(self.known)] = 1
        for row, count in enumerate(counts.tolist()):
            mask[row, order[row, :count]] = 1
        before = self.classifier(answers, mask).softmax(dim=1)
        for query in dict.fromkeys(overridden):
            with_it = mask.clone()
            with_it[:, query] = 1
            posteriors = self.classifier(answers, with_it).softmax(dim=1)
            entropies = posterior_entropy(posteriors.double()).tolist()
            for row in (mask[:, query] == 0).nonzero().squeeze(1).tolist():
                answer = round(float(answers[row, query]), DIGITS)
                steps[row].append(
                    self.explanation_step(
                        query, answer, before[row], posteriors[row], entropies[row], (), True
                    )
                )
        return steps

    def spent(self, order: Int[Tensor, "n T"]) -> Float[Tensor, "n T1"] | None:
        """Return what the first t = 0..T queries cost; None if queries have no costs."""
        if self.querier.criterion != "information for cost":
            return None
        return cast(Any, self.querier).spent(order)

    def known_steps(self, prior: Float[Tensor, " c"]) -> tuple[Step, ...]:
        """Return answers that are known before any question as steps, all with that posterior."""
        entropy = float(posterior_entropy(prior.double()))
        steps = [
            self.explanation_step(query, round(answer, DIGITS), prior, prior, entropy, ())
            for query, answer in self.known.items()
        ]
        return tuple(replace(step, rates=None, rival=None) for step in steps)

    def _rolled_step(
        self, rolled: RollOut, row: int, t: int, entropy: float, overridden: Sequence[int]
    ) -> Step:
        query, answer = int(rolled.order[row, t]), float(rolled.answers[row, t])
        best, values = rolled.best[row, t].tolist(), rolled.values[row, t].tolist()
        candidates = [
            Candidate(self.queries[place], round(value, DIGITS))
            for place, value in zip(best, values, strict=True)
            if value > -math.inf
        ]
        before, posterior = rolled.posteriors[row, t : t + 2]
        return self.explanation_step(
            query,
            round(answer, DIGITS),
            before,
            posterior,
            entropy,
            candidates,
            query in overridden,
        )

    def explanation_step(
        self,
        query: int,
        answer: float,
        before: Float[Tensor, " c"],
        posterior: Float[Tensor, " c"],
        entropy: float,
        candidates: Sequence[Candidate],
        overridden: bool = False,
    ) -> Step:
        """Return the step of an explanation that asked a query.

        `candidates` are the best questions at that moment; the value of the query is theirs.
        """
        text = self.queries[query]
        values = {each.query: each.value for each in candidates}
        runners_up = [each for each in candidates if each.query != text]
        why = self._why_not_sure(query, answer, before.tolist(), posterior.tolist())
        rates, compared = (None, None) if why is None else why
        return Step(
            query=text,
            answer=answer,
            posterior=rounded(posterior.tolist()),
            entropy=round(entropy, DIGITS),
            value=values.get(text),
            runners_up=tuple(runners_up[:RUNNERS_UP]),
            overridden=overridden,
            rates=rates,
            rival=compared,
            word=self.word(query, answer),
            wording=None if self.question(query) == as_asked(text) else self.question(query),
        )

    def _why_not_sure(
        self, query: int, answer: float, before: list[float], after: list[float]
    ) -> tuple[tuple[float, float], int] | None:
        """Return how probable not sure is in the leading class and in its rival, and this rival.

        None if the rates are too alike to tell why, or tell the contrary: what the answer did to
        the two is also due to the number of answers (`AnswerTable`, calibration).
        """
        table = self.classifier.exact
        if answer != NOT_SURE or self.words or table is None:
            return None
        if table.levels % 2 == 0 or len(self.class_names) == 1:
            return None
        compared, gained = rival(before, after)
        rates = table.log_likelihood[table.levels // 2, query].exp()
        leading, other = rounded([rates[after.index(max(after))].item(), rates[compared].item()])
        more = leading - other if gained else other - leading
        return ((leading, other), compared) if more >= TELLING else None

    def given(self, known: Mapping[str, Any] | None = None, classes: Any = None) -> Pursuit:
        """Return the pursuit of images of which something is known before the first question.

        Among some classes it is as if there were no others, with their priors renormalised. Naive
        Bayes asks what tells these apart; a querier network asks as it learned to among all.
        Conformity still is with any class of the whole.

        Args:
            known: answers by question.
            classes: the only ones there are, labels or names in any order; None for all.

        Raises:
            InputError: there is no such question, answer or class, or one is given twice.
        """
        if known is not None and not isinstance(known, Mapping):
            raise InputError(f"known is {known!r}; expected answers by question, as a dict")
        answers = dict(self.known)
        for question, answer in (known or {}).items():
            query = self.number(question)
            if query in answers:
                raise InputError(f"{question!r} is known twice; expected it once")
            answers[query] = self.answer_value(query, answer)
        view = self if classes is None else self._for_classes(self._class_numbers(classes))
        return replace(view, known=answers)

    def _class_numbers(self, classes: Any) -> list[int]:
        if isinstance(classes, str | Mapping) or not hasattr(classes, "__iter__"):
            raise InputError(f"classes is {classes!r}; expected a list of classes of the model")
        number_of: dict[Any, int] = {}
        for names in (self.labels or (), self.class_names):
            number_of = dict(zip(names, range(len(names)), strict=True)) | number_of
        numbers = set()
        for each in classes:
            if not isinstance(each, Hashable) or each not in number_of:
                expected = one_such_as(each, self.labels or self.class_names)
                raise InputError(f"no class {each!r}; expected {expected}")
            numbers.add(number_of[each])
        if not numbers:
            raise InputError("classes is empty; expected at least one class of the model")
        return sorted(numbers)

    def _for_classes(self, numbers: Sequence[int]) -> Pursuit:
        classifier = self.classifier.for_classes(torch.tensor(numbers, device=self.device))
        return replace(
            self,
            class_names=tuple(self.class_names[each] for each in numbers),
            labels=None if self.labels is None else tuple(self.labels[each] for each in numbers),
            classifier=classifier,
            querier=self.querier.for_classifier(classifier),
        )

    def to(self, device: torch.device | str) -> Pursuit:
        """Return the same on a device."""
        return replace(
            self,
            rule=self.rule.to(device),
            querier=self.querier.to(device),
            classifier=self.classifier.to(device),
            conformity=None if self.conformity is None else self.conformity.to(device),
        )

    def without(self, queries: Sequence[int]) -> Pursuit:
        """Return the same without some of its queries, given by number; nothing is fitted again.

        Raises:
            InputError: none would be left, or the networks were trained on the whole dictionary.
        """
        left = [query for query in range(len(self.queries)) if query not in set(queries)]
        if not left:
            raise InputError("no query would be left; expected at least one")
        columns = torch.tensor(left)
        return replace(
            self,
            queries=tuple(self.queries[query] for query in left),
            rule=self.rule.select(columns),
            querier=self.querier.select(columns),
            classifier=self.classifier.select(columns),
            first=left.index(self.first) if self.first in left else None,
            conformity=None if self.conformity is None else self.conformity.select(columns),
            words=tuple(self.words[query] for query in left) if self.words else (),
            wording=tuple(self.wording[query] for query in left) if self.wording else (),
            known={left.index(each): self.known[each] for each in left if each in self.known},
        )


def _with_numbers(ended: Asked) -> Asked:
    """Return the end of some questions; InputError if a model that was damaged gives no numbers."""
    posteriors = ended.posteriors if isinstance(ended, RollOut) else ended.posterior
    if not posteriors.isfinite().all():
        raise InputError("the model gives no probabilities: its numbers are damaged; fit it again")
    return ended


def _bare(question: str) -> str:
    return " ".join(question.casefold().split()).rstrip(" ?")


def other_labels(classes: np.ndarray) -> tuple[Any, ...] | None:
    """Return labels (c,) that are not texts, as plain values; None if they are their own names."""
    labels = tuple(classes.tolist())
    return None if all(isinstance(each, str) for each in labels) else labels
