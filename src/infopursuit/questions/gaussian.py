"""Jointly normal scores of texts: choose the texts, fit the scores, temper the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.conformity import KEPT
from infopursuit.pursuit.gaussian.conformity import GaussianConformity
from infopursuit.pursuit.gaussian.fit import ASSUMED, Course, fit_temperature, word_moments
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.gaussian.model import GaussianClassifier, GaussianQuerier
from infopursuit.pursuit.gaussian.scores import NormalScores
from infopursuit.pursuit.gaussian.statistics import ScoreStatistics
from infopursuit.pursuit.naive_bayes.fit import FEWEST_OF_A_CLASS, FOLDS
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.rollout import first_of_the_best
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.pursuits import Fitted, PursuitMethod, Split
from infopursuit.questions.source import QuestionSource
from infopursuit.questions.texts import Levels, TextScores, TextSource

# Training images that say what words mean.
SAMPLED = 4096
# Held-out images that temper the evidence, after these numbers of questions. Where fewer are held
# out, folds of the images to learn from do so, too.
TEMPERED, LENGTHS = 256, (1, 2, 3, 5, 7, 10, 14, 20)
# How often images get a yes is measured on the FIRST questions to this many.
SHOWN, FIRST = 256, 10


@dataclass(frozen=True)
class GaussianPursuit(PursuitMethod):
    """Scores of texts that are jointly normal in each class, with one covariance.

    Attributes:
        knowledge: whether the knowledge table is used, if there is one.
    """

    kind: ClassVar[str] = "gaussian"
    knowledge: bool = True

    def fit(
        self,
        source: QuestionSource,
        constraints: QuestionConstraints,
        split: Split,
        seed: int,
        stop: StoppingRule = DEFAULT_STOP,
    ) -> Fitted:
        """Choose the texts, fit their scores, and temper the evidence on held-out images."""
        if not isinstance(source, TextSource):
            raise InputError("pursuit is 'gaussian', which asks about texts; expected texts")
        train, held_out, classes = split.train, split.held_out, split.train.classes
        texts = TextScores(source, train)
        rows, levels = texts.rows(constraints), texts.levels(seed)
        rule, statistics, scores = fitted(texts, rows, levels, seed)
        courses = []
        if held_out is not None:
            courses.append(course(scores, rule, held_out.sample(TEMPERED, seed), texts))
        few = held_out is None or len(np.unique(held_out.keys)) < TEMPERED
        if few and split.may_hold_out:
            for rest, others in train.folds(FOLDS, FEWEST_OF_A_CLASS):
                part = TextScores(source, rest)
                own, _, expected = fitted(part, part.rows(constraints), levels, seed)
                courses.append(course(expected, own, others.sample(TEMPERED, seed), texts))
        if courses:
            temperature = fit_temperature(courses, lengths(len(rows)))
            scores = replace(scores, temperature=temperature)
        conformity = None
        if held_out is not None:
            kept = held_out.sample(KEPT, 0)
            weights = train.weighed(kept)
            weights = (weights * len(kept) / weights.sum()).float()
            conformity = GaussianConformity(scores, rule.answers(kept.rows.tensor()), weights)
        queries, names = texts.texts.named(rows), tuple(map(str, classes))
        pursuit = Pursuit(
            tuple(queries),
            names,
            rule,
            GaussianQuerier(scores),
            GaussianClassifier(scores),
            texts.place(rows, constraints.first),
            conformity,
            labels=other_labels(classes),
            wording=source.wording(queries, names),
            note=source.note,
        )
        facts = {
            **split.facts, **source.facts(queries), **split.facts_at_stop(pursuit, stop, seed),
        }  # fmt: skip
        facts["words"] = words_of(pursuit, texts, rows, train if held_out is None else held_out)
        if held_out is not None and split.may_hold_out:
            # They have tempered and measured: now they are learned from, as `partial_fit` does. Of
            # a large class fewer are held out, and it stays as frequent as it is.
            more = statistics
            for places in torch.arange(len(held_out)).split(SAMPLED):
                part = held_out.subset(places)
                answers = rule.answers(part.rows.tensor())
                more = more.plus(answers, part.labels, part.own_weights)
            statistics = more._replace(prior=statistics.prior)
            pursuit = statistics.refit(pursuit)
        known = None if texts.known is None else texts.known.table()
        return Fitted(pursuit, facts, known, statistics)


def fitted(
    texts: TextScores, rows: Int[Tensor, " k"], levels: Levels, seed: int
) -> tuple[LevelAnswers, ScoreStatistics, NormalScores]:
    """Return how images answer some of the texts, and what is expected of each class.

    The evidence is tempered as without any held-out images.
    """
    images = texts.data.sample(SAMPLED, seed)
    rule = texts.rule(rows, levels, images)
    statistics, answers = texts.moments.statistics(rule), rule.answers(images.rows.tensor())
    words = word_moments(rule, answers, texts.data.weighed(images))
    return rule, statistics, statistics.scores(*words, torch.tensor(ASSUMED))


def words_of(
    pursuit: Pursuit, texts: TextScores, rows: Int[Tensor, " k"], images: Any
) -> dict[str, Any]:
    """Return how often images get a yes, and how often that fits what is known, as plain values.

    Returns:
        `yes`: among the first questions to an image, a mean. `fits`: the share of these that the
        knowledge table calls true of the class that leads; None without a table, or a yes.
        `unnamed`: the classes that no question is true of; none without a table.
    """
    shown = images.sample(SHOWN, 0)
    rolled = pursuit.roll_out(shown.rows.tensor(), min(FIRST, len(rows)))
    yes = rolled.answers > NOT_SURE
    weights = texts.data.weighed(shown)
    of_each = yes.sum(dim=1).double()
    words: dict[str, Any] = {"yes": float(weights @ of_each / weights.sum()), "fits": None}
    words["unnamed"] = []
    if texts.known is not None:
        fitting = texts.known.fitting(rows)
        leading = rolled.posteriors[:, -1].argmax(dim=1).unsqueeze(1)
        fits = (fitting[leading, rolled.order] & yes).sum(dim=1).double()
        words["fits"] = float(weights @ fits / (weights @ of_each)) if yes.any() else None
        named = fitting.any(dim=1).tolist()
        words["unnamed"] = [
            each for each, some in zip(pursuit.class_names, named, strict=True) if not some
        ]
    return words


def lengths(k: int) -> Int[Tensor, " T"]:
    """Return after how many questions the evidence is tempered; all come last."""
    return torch.tensor([*(each for each in LENGTHS if each < k), k])


def course(
    scores: NormalScores, rule: LevelAnswers, images: InMemorySet, texts: TextScores
) -> Course:
    """Return the evidence of images after each of `lengths`, of their own questions."""
    answers, exact = rule.answers(images.rows.tensor()), scores.double()
    *places, _ = lengths(answers.shape[1]).tolist()
    querier = GaussianQuerier(scores)
    histories, evidence = querier.incremental(len(answers)), []
    for t in range(max(places, default=0)):
        queries = first_of_the_best(histories.outputs(len(answers)), querier.rounding)
        histories.add(queries, answers.gather(1, queries.unsqueeze(1)).squeeze(1))
        if t + 1 in places:
            evidence.append(histories.evidence)
    evidence.append(exact.evidence_of_all(answers))
    stacked = torch.stack(evidence, dim=1)
    evidence = stacked - stacked.amax(dim=2, keepdim=True)
    return Course(exact.log_prior, evidence, images.labels, texts.data.weighed(images))
