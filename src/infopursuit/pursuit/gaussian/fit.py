"""Fitting jointly normal scores, from the moments of training images.

Counts, sums and one matrix of products of the embeddings are all that is fitted on: they add up,
so images may come in shards, in any order. What is drawn from a sample of images are the words of
answers and the temperature of the evidence.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise, product
from typing import NamedTuple

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.moments import ClassMoments
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.gaussian.levels import DECILES, RANGE, LevelAnswers
from infopursuit.pursuit.gaussian.statistics import LEAST_VARIANCE, ScoreStatistics, trust

# How many texts an average training image has above the level, above that of a firm yes; at most
# these shares of all texts. Half of the texts are below the level of a no.
ABOVE_LEVEL, ABOVE_YES = 10.0, 5.0
MOST_ABOVE = 1 / 8
NO_SHARE = 0.5
# A word with fewer sampled images has the mean and variance of its place on the scale.
FEWEST_OF_A_WORD = 8
# What the temperature is chosen from: w, t and g.
WEIGHTS = tuple(share / 20 for share in range(4, 25))
SCALES = (2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
GROWTHS = (0.0, 0.25, 0.5, 0.75, 1.0)
# Without images to fit it on.
ASSUMED = (0.6, 8.0, 0.5)


class ScoreMoments(NamedTuple):
    """What the moments of images say of the scores of any text; float64.

    Attributes:
        classes: how many images each class has.
        means: of the images of each class.
        within: covariance of the images of a class.
        freedom: its degrees of freedom.
        prior: the share of each class.
    """

    classes: Float[Tensor, " c"]
    means: Float[Tensor, "c d"]
    within: Float[Tensor, "d d"]
    freedom: float
    prior: Float[Tensor, " c"]

    @classmethod
    def of(cls, moments: ClassMoments, prior: Float[Tensor, " c"] | None = None) -> ScoreMoments:
        """Return those of training images; `prior` is their own if None is given."""
        prior = moments.weights / moments.weights.sum() if prior is None else prior
        freedom = float((moments.weights.sum() - len(moments.weights)).clamp_min(1))
        return cls(moments.weights, moments.means, moments.expected, freedom, prior)

    @property
    def between(self) -> Float[Tensor, "d d"]:
        """Covariance of the class means, weighted as classes are frequent."""
        deviations = self.means - self.prior @ self.means
        return deviations.T @ (self.prior.unsqueeze(1) * deviations)

    def variance(self, directions: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return the variance of scores within classes."""
        own = (directions @ self.within).mul_(directions).sum(dim=1)
        return own.clamp_min(LEAST_VARIANCE)

    def trust(self, directions: Float[Tensor, "m d"]) -> Float[Tensor, " m"]:
        """Return how far class means of scores are believed (`statistics.trust`)."""
        return trust(self.means @ directions.T, self.variance(directions), self.classes)

    def statistics(self, rule: LevelAnswers) -> ScoreStatistics:
        """Return the moments of the answers to questions."""
        directions, units = rule.directions.double(), 1 / (RANGE * rule.scale.double())
        scores = self.means @ directions.T
        return ScoreStatistics(
            self.classes,
            self.prior,
            (scores - rule.level.double()) * units + NOT_SURE,
            directions @ self.within @ directions.T * torch.outer(units, units),
            torch.tensor(self.freedom, dtype=torch.float64),
        )


def level_answers(
    directions: Float[Tensor, "k d"],
    scores: Float[Tensor, "n k"],
    levels: Float[Tensor, "k 3"],
    weights: Float[Tensor, " n"],
    shares: Float[Tensor, " k"] | None = None,
) -> LevelAnswers:
    """Return how images answer.

    Args:
        directions: of the questions.
        scores: of a sample of training images.
        levels: the scores of no, of the level, and of a firm yes, of each question.
        weights: of these images.
        shares: of images of which each text is known to be true: as many are above its level; NaN
            for the common one. None if nothing is known.
    """
    share = (weights / weights.sum()).unsqueeze(1).to(scores)
    mean = (share * scores).sum(dim=0)
    scale = (share * (scores - mean).square()).sum(dim=0).sqrt().clamp_min(LEAST_VARIANCE**0.5)
    order = scores.sort(dim=0)
    reached = share.expand_as(scores).gather(0, order.indices).cumsum(dim=0)

    def quantile(below: Float[Tensor, " k"]) -> Float[Tensor, " k"]:
        places = (reached < below).sum(dim=0).clamp(max=len(scores) - 1)
        return order.values.gather(0, places.unsqueeze(0)).squeeze(0)

    no, level, yes = levels.T
    if shares is not None:
        known = shares > 0
        own = [quantile(1 - part * shares.nan_to_num(0).to(scale)) for part in (1, 0.5)]
        level, yes = torch.where(known, own[0], level), torch.where(known, own[1], yes)
        no = no.minimum(level - scale / 2)
    plain = LevelAnswers(
        directions, level, scale, torch.zeros(len(scale), 2), torch.zeros(len(scale), DECILES)
    )
    cuts = torch.stack([(cut - level) / (RANGE * scale) + NOT_SURE for cut in (no, yes)], dim=1)
    tenths = [quantile(torch.full_like(scale, tenth / 10)) for tenth in range(1, DECILES + 1)]
    deciles = plain.of_scores(torch.stack(tenths)).T.contiguous()
    return LevelAnswers(directions, level, scale, cuts, deciles)


def word_moments(
    rule: LevelAnswers, answers: Float[Tensor, "n k"], weights: Float[Tensor, " n"]
) -> tuple[Float[Tensor, "w k"], Float[Tensor, "w k"]]:
    """Return mean and variance of the answers that each word of TOLD stands for."""
    no, yes = rule.cuts.T
    each = (weights * len(answers) / weights.sum()).unsqueeze(1).to(answers)
    middle = torch.full_like(yes, NOT_SURE)
    edges = [torch.full_like(no, -torch.inf), no, middle, yes, torch.full_like(yes, torch.inf)]
    means, variances = [], []
    for low, high in pairwise(edges):
        inside = each * ((answers > low) & (answers <= high))
        count = inside.sum(dim=0)
        mean = (inside * answers).sum(dim=0) / count.clamp_min(1)
        variance = (inside * (answers - mean).square()).sum(dim=0) / count.clamp_min(1)
        few = count < FEWEST_OF_A_WORD
        deviation = 1 / RANGE
        place = torch.where(
            low.isinf(),
            high - deviation / 2,
            torch.where(high.isinf(), low + deviation / 2, (low + high) / 2),
        )
        means.append(torch.where(few, place, mean))
        variances.append(torch.where(few, torch.full_like(mean, deviation**2), variance))
    return torch.stack(means), torch.stack(variances)


class Course(NamedTuple):
    """The evidence of held-out images after 1..T of their own questions.

    Attributes:
        log_prior: of the classes.
        evidence: untempered.
        labels: classes 0..c-1.
        weights: of the images, so that classes are as frequent as they are.
    """

    log_prior: Float[Tensor, " c"]
    evidence: Float[Tensor, "n T c"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"]


def fit_temperature(courses: Sequence[Course], lengths: Int[Tensor, " T"]) -> Float[Tensor, " 3"]:
    """Return the temperature with the least cross-entropy, a mean over images and lengths."""
    grid = torch.tensor(list(product(WEIGHTS, SCALES, GROWTHS)), dtype=torch.float64)
    weight, scale, growth = grid.T.unsqueeze(2)
    weights = weight / (1 + lengths / scale) ** growth  # of each choice and length
    at = torch.tensor([*WEIGHTS, *(share / 50 for share in range(1, 10))]).double().sort().values
    losses = torch.zeros(len(lengths), len(at), dtype=torch.float64)
    for log_prior, evidence, labels, image_weights in courses:
        shares = image_weights.unsqueeze(1) * len(labels) / image_weights.sum()
        truth = labels.view(-1, 1, 1).expand(-1, len(lengths), 1)
        for place, each in enumerate(at):
            logits = log_prior + each * evidence
            right = logits.gather(2, truth).squeeze(2)
            losses[:, place] += (shares * (logits.logsumexp(dim=2) - right)).sum(dim=0)
    right = torch.searchsorted(at, weights.contiguous()).clamp(1, len(at) - 1)
    share = ((weights - at[right - 1]) / (at[right] - at[right - 1])).clamp(0, 1)
    rows = torch.arange(len(lengths))
    loss = losses[rows, right - 1] * (1 - share) + losses[rows, right] * share
    return grid[loss.sum(dim=1).argmin()].float()
