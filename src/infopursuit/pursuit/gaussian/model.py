"""The querier and the classifier of jointly normal scores.

The classifier adds up evidence (`histories.Conditioned`), divided by a temperature that grows with
the number of questions. The querier asks what tells most of the class, eq. (ip) of the paper, of
the questions whose classes' means spread most for the variance that is left. The first question,
which every image is asked, is to be one that people would ask, too: the information of its answer
in words, a yes or not, counts beside that of its score.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import ClassVar, cast

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.gaussian.conformity import GaussianConformity
from infopursuit.pursuit.gaussian.histories import Conditioned
from infopursuit.pursuit.gaussian.information import (
    NEGLIGIBLE,
    mixture_information,
    word_information,
)
from infopursuit.pursuit.gaussian.scores import NormalScores, given_in_words
from infopursuit.pursuit.gaussian.statistics import ScoreStatistics
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, Expected, Sizes
from infopursuit.pursuit.querier import Criterion, IncrementalHistories

# Information is computed of this many questions: those with the largest ratio of spread to
# variance.
CANDIDATES = 8
# Means of candidates that are held at once: few enough that they, and those of all questions, stay
# in the cache.
NUMBERS = 2**13
# Values that differ by less, in nats, are equal.
ROUNDING = 1e-9


class GaussianClassifier:
    """f: the posterior from the likelihood of all answers together."""

    kind: ClassVar[str] = "gaussian"
    conformity: ClassVar[type[GaussianConformity]] = GaussianConformity
    counts: ClassVar[type[ScoreStatistics]] = ScoreStatistics

    def __init__(self, scores: NormalScores) -> None:
        self.table = self.exact = None
        self.scores, self.exact_scores = scores, scores.double()

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b c"]:
        """Return the class logits of the history that `mask` selects; the largest is 0."""
        if bool((mask > 0).all()) and not bool(given_in_words(answers).any()):
            return self.exact_scores.logits(
                self.exact_scores.evidence_of_all(answers), mask.sum(dim=1)
            )
        histories = self.incremental(len(answers))
        histories.start(answers, mask > 0)
        return histories.outputs(len(answers))

    def incremental(self, batch: int) -> _Evidence:
        """Start `batch` empty histories."""
        return _Evidence(self.exact_scores, batch)

    def beside(self, querier: IncrementalHistories) -> IncrementalHistories | None:
        """Return the evidence of the querier's histories, if it expects the same answers."""
        same = isinstance(querier, _Questions) and querier.scores.equal(self.exact_scores)
        return _Read(cast(_Questions, querier)) if same else None

    def on(self, scores: NormalScores) -> GaussianClassifier:
        """Return the classifier that expects other scores."""
        return GaussianClassifier(scores)

    def select(self, columns: Int[Tensor, " m"]) -> GaussianClassifier:
        """Return the classifier of m of the questions."""
        return GaussianClassifier(self.scores.select(columns))

    def for_classes(self, classes: Int[Tensor, " m"]) -> GaussianClassifier:
        """Return the classifier of m of the classes."""
        return GaussianClassifier(self.scores.for_classes(classes))

    def to(self, device: torch.device | str) -> GaussianClassifier:
        """Return the same on a device."""
        return GaussianClassifier(self.scores.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Return the tensors of the scores."""
        return self.scores.tensors()

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return what is expected of the scores."""
        return NormalScores.shapes(sizes, tensors)

    @classmethod
    def from_tensors(cls, tensors: Mapping[str, Tensor], sizes: Sizes) -> GaussianClassifier:
        """Return the classifier that `tensors` gave."""
        return cls(NormalScores(**tensors))


class _Evidence(Conditioned):
    def outputs(self, rows: int) -> Float[Tensor, "r c"]:
        """Return the logits of the first histories."""
        return self.logits(rows)


class _Read:
    """The logits of histories that a querier keeps."""

    def __init__(self, querier: _Questions) -> None:
        self.querier = querier

    def outputs(self, rows: int) -> Float[Tensor, "r c"]:
        return self.querier.logits(rows)

    def start(self, answers: Tensor, known: Tensor) -> None:
        """Do nothing, as `add` and `keep`: the querier's histories have done so."""

    def add(self, queries: Tensor, answers: Tensor) -> None: ...

    def keep(self, rows: Tensor) -> None: ...


class GaussianQuerier:
    """g: the expected information of the next answer about the class, in nats.

    Of the first question that of the word is added.
    """

    kind: ClassVar[str] = "gaussian"
    criterion: Criterion = "information gain"
    repeats: ClassVar[bool] = False
    rounding = ROUNDING

    def __init__(self, scores: NormalScores) -> None:
        self.scores = scores
        self.exact_scores = scores.double()

    def __call__(
        self, answers: Float[Tensor, "b k"], mask: Float[Tensor, "b k"]
    ) -> Float[Tensor, "b k"]:
        """Return the value of every question after the history that `mask` selects."""
        histories = self.incremental(len(answers))
        histories.start(answers, mask > 0)
        return histories.outputs(len(answers))

    def values(self, outputs: Float[Tensor, "b k"]) -> Float[Tensor, "b k"]:
        """Return the values themselves; -inf marks questions that are no candidates."""
        return outputs

    def incremental(self, batch: int) -> _Questions:
        """Start `batch` empty histories."""
        return _Questions(self.exact_scores, batch)

    def select(self, columns: Int[Tensor, " m"]) -> GaussianQuerier:
        """Return the querier of m of the questions."""
        return GaussianQuerier(self.scores.select(columns))

    def for_classifier(self, classifier: GaussianClassifier) -> GaussianQuerier:
        """Return the querier that tells apart the classes of a classifier."""
        return GaussianQuerier(classifier.scores)

    def to(self, device: torch.device | str) -> GaussianQuerier:
        """Return the same on a device."""
        return GaussianQuerier(self.scores.to(device))

    def tensors(self) -> dict[str, Tensor]:
        """Return none: the scores are saved with the classifier."""
        return {}

    @classmethod
    def shapes(cls, sizes: Sizes, tensors: Mapping[str, Tensor]) -> dict[str, Expected]:
        """Return that there are none."""
        return {}

    @classmethod
    def from_tensors(
        cls, tensors: Mapping[str, Tensor], sizes: Sizes, classifier: GaussianClassifier
    ) -> GaussianQuerier:
        """Return the querier beside a classifier."""
        return cls(classifier.scores)


class _Questions(Conditioned):
    def outputs(self, rows: int) -> Float[Tensor, "r k"]:
        """Return the value of the candidates of the first histories, -inf of other questions."""
        if rows < len(self.asked):
            self.keep(torch.arange(rows, device=self.asked.device))
        if not self.loadings.shape[1] and rows > 1:  # all histories are empty, and so alike
            return _Questions(self.scores, 1).outputs(1).repeat(rows, 1)
        posterior = (self.scores.log_prior + self.evidence).softmax(dim=1)
        posterior = posterior.where(posterior > NEGLIGIBLE, 0)
        posterior = posterior / posterior.sum(dim=1, keepdim=True)
        counts = (posterior > 0).sum(dim=1)
        values = torch.zeros_like(self.variance).masked_fill_(self.asked, -torch.inf)
        several = (counts > 1).nonzero().squeeze(1)  # of one class answers tell nothing more
        order, first = several[counts[several].argsort(descending=True)], 0
        while first < len(order):  # histories with about as many classes that are left
            most = int(counts[order[first]])
            some = order[first : first + max(NUMBERS // (most * CANDIDATES), 1)]
            values[some] = self._values(some, posterior[some], most)
            first += len(some)
        return values

    def _values(self, rows: Tensor, posterior: Tensor, most: int) -> Tensor:
        """Return the values of some histories, in which at most so many classes are left."""
        variance, asked = self.variance[rows], self.asked[rows]
        believed, classes = posterior.topk(most, dim=1)
        classes = classes.where(believed > 0, classes[:, :1])
        means, share = self.means(rows, classes), believed.unsqueeze(1)
        spread = (share @ (means - share @ means).square_()).squeeze(1)
        ratio = (spread / variance).masked_fill_(asked, -torch.inf)
        ratio, best = ratio.topk(min(CANDIDATES, ratio.shape[1]), dim=1)
        means = means.take_along_dim(best.unsqueeze(1), 2)
        variance = variance.gather(1, best)
        value = mixture_information(means, variance, believed)
        if len(first := (~asked.any(dim=1)).nonzero().squeeze(1)):
            value[first] += word_information(means[first], variance[first], believed[first])
        value = value.masked_fill(ratio == -torch.inf, -torch.inf)
        return torch.full_like(asked, -torch.inf, dtype=value.dtype).scatter_(1, best, value)


CLASSIFIERS.register(GaussianClassifier)
QUERIERS.register(GaussianQuerier)
