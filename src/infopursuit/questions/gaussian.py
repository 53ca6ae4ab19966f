"""Jointly normal scores of texts: choose the texts, fit the scores, temper the evidence."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.pursuit.answers.annotated import Annotated
from infopursuit.pursuit.conformity import KEPT
from infopursuit.pursuit.gaussian.conformity import GaussianConformity
from infopursuit.pursuit.gaussian.dictionary import forward_selection
from infopursuit.pursuit.gaussian.fit import (
    ABOVE_LEVEL,
    ABOVE_YES,
    ASSUMED,
    MOST_ABOVE,
    NO_SHARE,
    Course,
    ScoreMoments,
    fit_temperature,
    level_answers,
    normal_scores,
)
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.gaussian.model import GaussianClassifier, GaussianQuerier
from infopursuit.pursuit.gaussian.scores import NormalScores
from infopursuit.pursuit.naive_bayes.fit import FEW_HELD_OUT, FEWEST_OF_A_CLASS, FOLDS, HELD_OUT
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet, TrainingSet
from infopursuit.pursuit.pursuit import Pursuit, other_labels
from infopursuit.pursuit.rollout import asked_orders
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.pursuits import Fitted, PursuitMethod, Split
from infopursuit.questions.source import QuestionSource
from infopursuit.questions.texts import TextsOnImages, TextSource

# Texts that are looked at closely, those with the largest ratio alone.
CANDIDATES = 32_768
# Training images that say what words mean, and images and texts that say where the level is.
SAMPLED, LEVELLED, LEVELLED_TEXTS = 4096, 512, 8192
# Held-out images that temper the evidence, after these numbers of questions.
TEMPERED, LENGTHS = 1024, (1, 2, 3, 5, 7, 10, 14, 20, 28, 40)


class TextScores(TextsOnImages):
    """The texts of a source, whose scores are jointly normal on training images."""

    def __init__(self, source: TextSource, data: TrainingSet) -> None:
        super().__init__(source, data, None)
        self.told = source.known(data)
        annotated: Any = source.annotated
        self.taught: dict[int, Annotated] = {} if annotated is None else annotated.fitted
        self.moments = ScoreMoments.of(data.moments)
        self.map = self.candidates.directions.maps[0]

    def directions(self, rows: Int[Tensor, " m"]) -> Float[Tensor, "m d"]:
        """Return the directions of some texts, float32; people may have taught them."""
        directions = self.map.directions(self.texts.unit_matrix.take(rows))
        for place, row in enumerate(rows.tolist()):
            if row in self.taught:
                directions[place] = torch.from_numpy(self.taught[row].direction)
        return directions

    def _chosen(self, count: int, seed: int, allowed: Bool[Tensor, " u"]) -> Int[Tensor, " k"]:
        rows = allowed.nonzero().squeeze(1)
        directions = self.directions(rows).double()
        trust, between = self.moments.trust(directions), self.moments.between
        spread = trust.square() * ((directions @ between) * directions).sum(dim=1)
        weights = torch.ones(len(rows), dtype=torch.float64)
        if self.told is not None:
            weights = self.told.query_weights(rows).double()
        ratio = weights * spread / self.moments.variance(directions)
        best = ratio.topk(min(len(rows), CANDIDATES)).indices.sort().values
        own = self.moments.covariance(directions[ratio.topk(count).indices])[1]
        within = self.moments.within
        chosen = forward_selection(
            directions[best], within, between, trust[best], own, weights[best], count
        )
        return rows[best[chosen]]

    def levels(self, seed: int) -> tuple[float, float, float]:
        """Return the scores of a no, of the level and of a firm yes, one for all texts."""
        generator, count = torch.Generator().manual_seed(seed), len(self.texts.texts)
        some = torch.randperm(count, generator=generator)[:LEVELLED_TEXTS].sort().values
        images = self.data.sample(LEVELLED, seed).rows.tensor()
        scores = (images @ self.directions(some).T).flatten().sort().values
        most = min(ABOVE_LEVEL, MOST_ABOVE * count) / count
        above = (NO_SHARE, most, most * ABOVE_YES / ABOVE_LEVEL)
        no, level, yes = (float(scores[int((1 - each) * (len(scores) - 1))]) for each in above)
        return no, level, yes

    def fitted(
        self, rows: Int[Tensor, " k"], levels: tuple[float, float, float], seed: int
    ) -> tuple[LevelAnswers, NormalScores]:
        """Return how images answer some of the texts, and what is expected of each class."""
        directions, sample = self.directions(rows), self.data.sample(SAMPLED, seed)
        scores = sample.rows.tensor() @ directions.T
        counts = torch.bincount(sample.labels, minlength=len(self.data.classes)).double()
        weights = (self.moments.prior / counts)[sample.labels]
        shares = None
        if self.told is not None:
            shares = self.told.true_shares(self.data.moments.prior)[rows]
        of_texts = torch.tensor(levels).repeat(len(rows), 1)
        for place, row in enumerate(rows.tolist()):
            if row in self.taught:  # their cuts are where people say no and yes
                _, *cuts = self.taught[row].cuts
                of_texts[place] = torch.tensor(cuts)
        rule = level_answers(directions, scores, of_texts, weights, shares)
        return rule, normal_scores(self.moments, rule, rule.of_scores(scores))


@dataclass(frozen=True)
class GaussianPursuit(PursuitMethod):
    """Scores of texts that are jointly normal in each class, with one covariance."""

    kind: ClassVar[str] = "gaussian"

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
        if source.knowledge is not None and source.knowledge.drafted:
            raise InputError("pursuit is 'gaussian', which takes no knowledge by the CLIP")
        train, held_out, classes = split.train, split.held_out, split.train.classes
        texts = TextScores(source, train)
        rows, levels = texts.rows(constraints, seed), texts.levels(seed)
        rule, scores = texts.fitted(rows, levels, seed)
        courses = []
        if held_out is not None:
            courses.append(course(scores, rule, held_out.sample(TEMPERED, seed)))
        few = held_out is None or len(np.unique(held_out.keys)) < FEW_HELD_OUT
        if few and split.may_hold_out:
            for rest, others in train.folds(FOLDS, FEWEST_OF_A_CLASS):
                part = TextScores(source, rest)
                again = part.fitted(part.rows(constraints, seed), levels, seed)
                courses.append(course(again[1], again[0], others.sample(TEMPERED, seed)))
        temperature = torch.tensor(ASSUMED)
        if courses:
            temperature = fit_temperature(courses, lengths(len(rows)))
        scores, conformity = replace(scores, temperature=temperature), None
        if held_out is not None:
            kept = rule.answers(held_out.sample(KEPT, 0).rows.tensor())
            conformity = GaussianConformity(scores, kept)
        names = tuple(map(str, classes))
        queries = texts.texts.named(rows)
        first = None if constraints.first is None else queries.index(constraints.first)
        pursuit = Pursuit(
            tuple(queries),
            names,
            rule,
            GaussianQuerier(scores),
            GaussianClassifier(scores),
            first,
            conformity,
            labels=other_labels(classes),
            wording=source.wording(queries, names),
            note=source.note,
        )
        facts = {**split.facts, **source.facts(queries)}
        if held_out is not None:
            shown = held_out.sample(HELD_OUT, seed)
            ending = pursuit.ask_until(rule.answers(shown.rows.tensor()), stop)
            right = ending.posterior.argmax(dim=1) == shown.labels
            facts["held_out_accuracy"] = right.double().mean().item()
        told = texts.told
        return Fitted(pursuit, facts, None if told is None else told.table())


def lengths(k: int) -> Int[Tensor, " T"]:
    """Return after how many questions the evidence is tempered; all come last."""
    return torch.tensor([*(each for each in LENGTHS if each < k), k])


def course(scores: NormalScores, rule: LevelAnswers, images: InMemorySet) -> Course:
    """Return the evidence of images after each of `lengths`, of their own questions."""
    answers, exact = rule.answers(images.rows.tensor()), scores.double()
    *places, _ = lengths(answers.shape[1]).tolist()
    order = asked_orders(GaussianQuerier(scores), answers, max(places, default=0))
    histories, evidence = GaussianClassifier(scores).incremental(len(answers)), []
    for t in range(order.shape[1]):
        histories.add(order[:, t], answers.gather(1, order[:, t : t + 1]).squeeze(1))
        if t + 1 in places:
            evidence.append(histories.evidence)
    evidence.append(exact.evidence_of_all(answers))
    stacked = torch.stack(evidence, dim=1)
    return Course(exact.log_prior, stacked - stacked.amax(dim=2, keepdim=True), images.labels)
