"""What is expected of all answers after some of them, updated by one answer at a time.

After the answers A the answer to question q is normal in class y with

    mean      mean_yq + covariance_qA covariance_AA^-1 (a_A - mean_yA)
    variance  the same in all classes, whatever the answers were

Each answer adds one row to a Cholesky factor: with the answer's standardised surprise z_y in each
class and its loading u_q on each question, means grow by z_y u_q, and variances fall by u_q^2.
"""

from __future__ import annotations

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.gaussian.scores import NormalScores

# Answers that there is room for at first, and for how many more if it is used up.
ROOM = 16
# Variances stay above this share of what they are before any answer.
LEAST = 1e-6


class Conditioned:
    """b histories that start empty and grow by one answer at a time, in float64.

    Attributes:
        evidence: (b, c) log-likelihood of the answers in each class, up to a constant.
        variance: (b, k) that is left of each answer.
        asked: (b, k) which questions have an answer.
        length: T, of the longest history.
    """

    @torch.no_grad()
    def __init__(self, scores: NormalScores, batch: int) -> None:
        self.scores, self.length = scores, 0
        self.own, self.means_of_all = scores.covariance.diagonal(), scores.means_by_question
        self.variance = self.own.expand(batch, -1).clone()
        self.evidence = scores.log_prior.new_zeros(batch, len(scores.log_prior))
        self.asked = torch.zeros_like(self.variance, dtype=torch.bool)
        self._surprises = self.evidence.new_empty(batch, ROOM, self.evidence.shape[1])
        self._loadings = self.variance.new_empty(batch, ROOM, self.variance.shape[1])

    @property
    def surprises(self) -> Float[Tensor, "b T c"]:
        """z of each answer."""
        return self._surprises[:, : self.length]

    @property
    def loadings(self) -> Float[Tensor, "b T k"]:
        """u of each answer."""
        return self._loadings[:, : self.length]

    @torch.no_grad()
    def start(self, answers: Float[Tensor, "b k"], known: Bool[Tensor, "b k"]) -> None:
        """Let each empty history start with the answers that `known` selects."""
        for _ in range(int(known.sum(dim=1).max()) if known.numel() else 0):
            left = known & ~self.asked
            queries, some = left.int().argmax(dim=1), left.any(dim=1)
            self._observe(queries, answers.gather(1, queries.unsqueeze(1)).squeeze(1), some)

    @torch.no_grad()
    def add(self, queries: Int[Tensor, " r"], answers: Float[Tensor, " r"]) -> None:
        """Append one question, not asked before, and its answer to the first r histories."""
        if len(queries) < len(self.asked):
            self.keep(torch.arange(len(queries), device=queries.device))
        self._observe(queries, answers, torch.ones_like(queries, dtype=torch.bool))

    def _observe(self, queries: Tensor, answers: Tensor, counts: Tensor) -> None:
        """Learn the answers of the histories that `counts` selects."""
        rows = torch.arange(len(queries), device=queries.device)
        values, noise = self.scores.observed(queries, answers)
        variance = self.variance[rows, queries] + noise
        deviation = variance.sqrt().unsqueeze(1)
        at = self.loadings[rows, :, queries].unsqueeze(1)
        loading = self.scores.covariance[queries].unsqueeze(1).baddbmm_(at, self.loadings, alpha=-1)
        loading = loading.squeeze(1).div_(deviation)
        mean = self.means_of_all[queries].unsqueeze(1).baddbmm_(at, self.surprises).squeeze(1)
        surprise = mean.neg_().add_(values.unsqueeze(1)).div_(deviation)
        told = counts & torch.isfinite(noise)
        if not bool(told.all()):
            loading[~told], surprise[~told] = 0.0, 0.0
        self.evidence = torch.addcmul(self.evidence, surprise, surprise, value=-0.5)
        self.variance = torch.addcmul(self.variance, loading, loading, value=-1)
        self.variance = self.variance.maximum(LEAST * self.own)
        self.asked[rows, queries] |= counts
        if self.length == self._surprises.shape[1]:
            for name in ("_surprises", "_loadings"):
                full = getattr(self, name)
                setattr(self, name, torch.cat([full, torch.empty_like(full[:, :ROOM])], dim=1))
        self._surprises[:, self.length], self._loadings[:, self.length] = surprise, loading
        self.length += 1

    def keep(self, rows: Int[Tensor, " r"]) -> None:
        """Go on with these histories alone, in this order."""
        if len(rows) == len(self.asked):  # as they are
            return
        for name in ("evidence", "variance", "asked"):
            setattr(self, name, getattr(self, name)[rows])
        for name in ("_surprises", "_loadings"):
            full = getattr(self, name)
            kept = full.new_empty(len(rows), *full.shape[1:])
            torch.index_select(full[:, : self.length], 0, rows, out=kept[:, : self.length])
            setattr(self, name, kept)

    def logits(self, rows: int) -> Float[Tensor, "r c"]:
        """Return the class logits of the first histories."""
        return self.scores.logits(self.evidence[:rows], self.asked[:rows].sum(dim=1))

    def means(self, rows: Int[Tensor, " r"], classes: Int[Tensor, "r l"]) -> Float[Tensor, "r l k"]:
        """Return the mean of all answers to some histories in some classes."""
        places = classes.unsqueeze(1).expand(-1, self.length, -1)
        surprises = self.surprises[rows].gather(2, places)
        return self.scores.means[classes].baddbmm_(surprises.mT, self.loadings[rows])
