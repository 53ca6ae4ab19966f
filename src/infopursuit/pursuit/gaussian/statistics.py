"""What jointly normal scores are made of; more labelled images add to it, one by one or at once."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, NamedTuple, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.gaussian.scores import NormalScores
from infopursuit.pursuit.parts import Expected, Sizes

if TYPE_CHECKING:
    from infopursuit.pursuit.pursuit import Pursuit

# Share of the variance of a score that no other score shares, at least.
LEAST_OWN = 0.1
# Variances of scores are at least this: of images that are all alike.
LEAST_VARIANCE = 1e-10


def trust(
    means: Float[Tensor, "c k"], variance: Float[Tensor, " k"], images: Float[Tensor, " c"]
) -> Float[Tensor, " k"]:
    """Return how far class means of scores are believed, by how well they are known.

    Empirical Bayes: the share of their differences that is not due to few images.
    """
    noise = variance * (1 / images).mean()
    real = (means.var(dim=0) - noise).clamp_min(LEAST_VARIANCE)
    return real / (real + noise)


def shrunk(
    covariance: Float[Tensor, "k k"], freedom: float | Tensor
) -> tuple[Float[Tensor, "k k"], float]:
    """Return a covariance drawn towards its diagonal, and how far.

    By the oracle approximating shrinkage (Chen, Wiesel, Eldar and Hero 2010) of the correlations,
    which is the less the more degrees of freedom there are; at least LEAST_OWN.
    """
    k, variance = len(covariance), covariance.diagonal().clamp_min(LEAST_VARIANCE)
    squares = (covariance / torch.outer(variance.sqrt(), variance.sqrt())).square().sum()
    above = (1 - 2 / k) * squares + k**2
    below = (freedom + 1 - 2 / k) * (squares - k)
    own = max(LEAST_OWN, min(1.0, float(above / below)) if below > 0 else 1.0)
    return (1 - own) * covariance + own * torch.diag(variance), own


class ScoreStatistics(NamedTuple):
    """Moments of the answers of images to the questions; float64.

    Attributes:
        images: of each class, or the sum of their weights.
        prior: the share of each class.
        means: of the answers of each class.
        within: covariance of the answers of images of a class.
        freedom: its degrees of freedom.
    """

    images: Float[Tensor, " c"]
    prior: Float[Tensor, " c"]
    means: Float[Tensor, "c k"]
    within: Float[Tensor, "k k"]
    freedom: Float[Tensor, ""]

    def plus(
        self, answers: Float[Tensor, "n k"], labels: Int[Tensor, " n"], weights: Float[Tensor, " n"]
    ) -> ScoreStatistics:
        """Return the same of n more images."""
        rows, each = answers.double(), weights.unsqueeze(1)
        images = self.images.index_add(0, labels, weights)
        sums = (self.images.unsqueeze(1) * self.means).index_add_(0, labels, each * rows)
        old, means = self.prior * self.images.sum(), sums / images.unsqueeze(1)
        # Each row around the mean before and the one after: what rows add to a scatter, at once.
        scatter = (each * (rows - self.means[labels])).T @ (rows - means[labels])
        freedom = self.freedom + weights.sum()
        within = (self.within * self.freedom + (scatter + scatter.T) / 2) / freedom
        prior = (old + images - self.images) / images.sum()
        return ScoreStatistics(images, prior, means, within, freedom)

    def scores(
        self,
        word_means: Float[Tensor, "w k"],
        word_variances: Float[Tensor, "w k"],
        temperature: Float[Tensor, " 3"],
    ) -> NormalScores:
        """Return what is expected of the answers of each class."""
        centre = self.prior @ self.means
        believed = trust(self.means, self.within.diagonal(), self.images)
        means = centre + believed * (self.means - centre)
        covariance = shrunk(self.within, self.freedom)[0].float()
        prior = self.prior.log().float()
        return NormalScores(
            prior, means.float(), covariance, word_means, word_variances, temperature
        )

    def refit(self, pursuit: Pursuit) -> Pursuit:
        """Return a pursuit that asks the same questions and expects these answers.

        What words mean, the temperature, and what new images are compared with stay.
        """
        before = cast(Any, pursuit.classifier)
        old = before.scores
        scores = self.scores(old.word_means, old.word_variances, old.temperature)
        classifier = before.on(scores.to(pursuit.device))
        querier = pursuit.querier.for_classifier(classifier)
        return replace(pursuit, querier=querier, classifier=classifier)

    def without(self, dropped: Collection[int]) -> ScoreStatistics:
        """Return the same of the other questions."""
        kept = [number for number in range(self.means.shape[1]) if number not in dropped]
        within = self.within[kept][:, kept]
        return self._replace(means=self.means[:, kept], within=within)

    def tensors(self) -> dict[str, Tensor]:
        """Return all of it, by name."""
        return self._asdict()

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of each tensor."""
        number = Expected((), torch.float64, above=0)
        return {
            "images": number._replace(shape=(sizes.c,)),
            "prior": number._replace(shape=(sizes.c,), most=1),
            "means": Expected((sizes.c, sizes.k), torch.float64),
            "within": Expected((sizes.k, sizes.k), torch.float64),
            "freedom": number,
        }

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor]) -> ScoreStatistics:
        """Return what `tensors` gave."""
        return cls(**tensors)
