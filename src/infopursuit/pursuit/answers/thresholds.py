"""Where an answer turns to yes: each query has its own thresholds.

Of a few thresholds the one is taken whose answer tells most of the class. A query names something,
and most things are absent from most images: at most half of the training images say yes, and of
thresholds that tell almost as much as the best, the one with the fewest yes is taken.

Three-valued answers have two thresholds. Below the lower one an image says no, above the upper one
yes, and in between it is not sure. A yes is said of few images: the upper threshold is the highest
that still tells a fair share of what the best one tells. Both reach down to where the answer
depends on little but the class. If a knowledge table says how many images a text is true of, the
share of yes follows it (docs/method/answers.md).

Five-valued answers split the images that say no, and those that say yes, once more: half of each,
those with the most extreme scores, say it firmly, the others say probably (not).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.gain import binary_entropy

# Shares of the training images that may say yes.
SHARES_OF_YES = tuple(share / 20 for share in range(10, 0, -1))
# The same for three-valued answers, which may say yes of a single class among many.
FINE_SHARES = (*SHARES_OF_YES[:-1], 0.075, 0.05, 0.04, 0.03, 0.02, 0.015, 0.01, 0.0075, 0.005)
# What a threshold must tell, as a share of what the most informative one tells: a binary one, ...
ALMOST = 0.95
# ... one that is chosen because its answer depends on little but the class, and an upper one.
PURE, UPPER = 0.25, 0.3
# Of three-valued answers, a yes is said of at least this share of the images of one class.
PART_OF_A_CLASS = 0.75
# Of five answers, this share of the images that say no, and of those that say yes, are certain.
CERTAIN = 0.5
# Of more images than these, thresholds are fitted on a sample of this size.
THRESHOLD_IMAGES = 32768
# Queries that are fitted at once: few enough that their scores stay in the cache.
COLUMNS = 256


class Thresholds(NamedTuple):
    """One threshold a query, or two.

    Attributes:
        values: an image answers no if its score is at most this.
        information: mutual information of answer and class on the training images, in nats.
        upper: an image answers yes if its score is above; None if there are two answers, and it
            answers yes above `values`.
        certain: an image answers a firm no if its score is at most the first, a firm yes if it is
            above the second; None if all are firm.
    """

    values: Float[Tensor, " m"]
    information: Float[Tensor, " m"]
    upper: Float[Tensor, " m"] | None = None
    certain: Float[Tensor, "m 2"] | None = None

    @property
    def cuts(self) -> tuple[Tensor, Tensor | None, Tensor | None]:
        """The thresholds as `ThresholdAnswers` has them."""
        return self.values, self.upper, self.certain


class ThresholdFit(NamedTuple):
    """How the thresholds of texts are fitted.

    Attributes:
        certain: whether there are five answers, not three.
        true_shares: (u,) of how many images each text of the universe is true, NaN or 0 if that is
            not known; None if nothing is.
        drafted: whether nobody wrote what is true: such a share takes yes back, and adds none.
    """

    certain: bool = True
    true_shares: Float[Tensor, " u"] | None = None
    drafted: bool = False

    def fit(
        self,
        rows: Int[Tensor, " m"],
        scores: Float[Tensor, "n m"],
        labels: Int[Tensor, " n"],
        weights: Float[Tensor, " n"] | None = None,
    ) -> Thresholds:
        """Fit the thresholds of texts, given by their rows in the universe, on scored images."""
        shares = None if self.true_shares is None else self.true_shares[rows]
        return fit_graded(scores, labels, weights, shares, self.certain, adds=not self.drafted)


class _Candidates(NamedTuple):
    """s thresholds of a block of m queries to choose from, those with the most yes first."""

    values: Float[Tensor, "s m"]
    information: Float[Tensor, "s m"]  # that a binary answer gives of the class
    share: Float[Tensor, "s m"]  # of images that say yes, classes smoothed
    yes: Float[Tensor, "s c m"]  # images of each class that say yes


def fit_thresholds(
    scores: Float[Tensor, "n m"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
) -> Thresholds:
    """Return the threshold of each of m queries: almost the most informative one, with few yes.

    Args:
        scores: of n training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
    """
    blocks: list[Thresholds] = []
    for _, _, candidates in _blocks(scores, labels, weights, SHARES_OF_YES):
        information = candidates.information
        last = _last(information >= ALMOST * information.amax(dim=0))
        blocks.append(Thresholds(_at(candidates.values, last), _at(information, last)))
    return Thresholds(
        torch.cat([each.values for each in blocks]),
        torch.cat([each.information for each in blocks]),
    )


def fit_graded(
    scores: Float[Tensor, "n m"],
    labels: Int[Tensor, " n"],
    weights: Float[Tensor, " n"] | None = None,
    true_shares: Float[Tensor, " m"] | None = None,
    certain: bool = True,
    adds: bool = True,
) -> Thresholds:
    """Return the two thresholds of each of m queries that three answers have, or the four of five.

    Args:
        scores: of n training images.
        labels: their classes 0..c-1.
        weights: of the images; None for 1 each.
        true_shares: of how many of the images each query is true; NaN or 0 if that is not known.
            None if nothing is known.
        certain: whether there are five answers.
        adds: whether `true_shares` may add yes to those that the images alone tell.
    """
    classes = int(labels.max()) + 1
    share = torch.tensor(FINE_SHARES).unsqueeze(1)
    # A yes of less than a class says nothing of classes; the most frequent yes is always allowed.
    of_a_class = (share >= PART_OF_A_CLASS / classes) | (share == share.max())
    of_binary = (share >= SHARES_OF_YES[-1]) | (share == share.max())
    blocks: list[Thresholds] = []
    for place, block, candidates in _blocks(scores, labels, weights, FINE_SHARES):
        most = candidates.information.amax(dim=0)
        binary = candidates.information.masked_fill(~of_binary, -1)
        informative = _last(binary >= ALMOST * binary.amax(dim=0))
        purity = candidates.information / binary_entropy(candidates.share).clamp_min(1e-12)
        tells_little = candidates.information < PURE * most
        pure = purity.masked_fill(~of_a_class | tells_little, -1).argmax(dim=0)
        low = torch.minimum(informative, pure)
        high = _last(of_a_class & (candidates.information >= UPPER * most))
        high = torch.maximum(high, pure)
        if true_shares is not None:
            target = true_shares[place]
            distance = (share.log() - target.clamp_min(1e-9).log()).abs().nan_to_num(torch.inf)
            by_truth = distance.argmin(dim=0)
            by_truth = by_truth if adds else torch.maximum(by_truth, high)
            high = torch.where(target > 0, by_truth, high)  # NaN is not above 0
            low = torch.minimum(low, high)
        high = torch.maximum(low, high)
        lower, upper = _at(candidates.values, low), _at(candidates.values, high)
        above, ends = [_yes(candidates, low), _yes(candidates, high)], None
        if certain:
            first, last = block.certain(lower, upper)
            above = [block.above(first), *above, block.above(last)]
            ends = torch.stack([first, last], dim=1)
        blocks.append(Thresholds(lower, _information(above, block.counts), upper, ends))
    values, information, upper, ends = zip(*blocks, strict=True)
    return Thresholds(
        torch.cat(values),
        torch.cat(information),
        torch.cat(upper),
        torch.cat(ends) if certain else None,
    )


class _Scores(NamedTuple):
    scores: Float[Tensor, "n m"]
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None
    counts: Float[Tensor, "c 1"]  # images of each class
    above_it: Float[Tensor, "n m"]  # overwritten: a new array takes longer to get than to fill

    def above(
        self, threshold: Float[Tensor, " m"], out: Float[Tensor, "c m"] | None = None
    ) -> Float[Tensor, "c m"]:
        """Count the images of each class above the threshold of each query, in zeros if given."""
        above = torch.gt(self.scores, threshold, out=self.above_it)
        if self.weights is not None:
            above *= self.weights.unsqueeze(1)
        if out is None:
            out = above.new_zeros(len(self.counts), above.shape[1])
        return out.index_add_(0, self.labels, above)

    def certain(
        self, lower: Float[Tensor, " m"], upper: Float[Tensor, " m"]
    ) -> Float[Tensor, "2 m"]:
        """Return thresholds that split the images that say no, and those that say yes."""
        no, yes = self.scores <= lower, self.scores > upper
        weights = self.scores.new_ones(len(self.scores)) if self.weights is None else self.weights
        of_no, of_yes = (weights @ side.to(weights.dtype) / weights.sum() for side in (no, yes))
        shares = torch.stack([1 - CERTAIN * of_no, CERTAIN * of_yes])
        ends = _quantiles(self.scores, self.weights, shares)
        return torch.stack([torch.minimum(ends[0], lower), torch.maximum(ends[1], upper)])


def _blocks(
    scores: Tensor, labels: Tensor, weights: Tensor | None, shares: Sequence[float]
) -> Iterator[tuple[slice, _Scores, _Candidates]]:
    weights = None if weights is None else weights.to(scores.dtype)
    ones = scores.new_ones(len(scores)) if weights is None else weights
    counts = ones.new_zeros(int(labels.max()) + 1).index_add_(0, labels, ones).unsqueeze(1)
    room = scores.new_empty(len(scores), min(COLUMNS, scores.shape[1]))
    for start in range(0, scores.shape[1], COLUMNS):
        place = slice(start, min(start + COLUMNS, scores.shape[1]))
        these = scores[:, place].contiguous()
        block = _Scores(these, labels, weights, counts, room[:, : these.shape[1]])
        yield place, block, _candidates(block, shares)


def _candidates(block: _Scores, shares: Sequence[float]) -> _Candidates:
    values = _quantiles(
        block.scores, block.weights, torch.tensor(shares, dtype=torch.float64).unsqueeze(1)
    )
    counts = block.counts
    prior = (counts / counts.sum()).squeeze(1)
    information, share = torch.empty_like(values), torch.empty_like(values)
    yes = values.new_zeros(len(values), len(counts), values.shape[1])
    for place, threshold in enumerate(values):
        # Half an image of each answer is added: a class of few images is never certain.
        rates = (block.above(threshold, out=yes[place]) + 0.5).div_(counts + 1)
        share[place] = prior @ rates
        gained = binary_entropy(share[place]) - prior @ binary_entropy(rates)
        information[place] = gained.clamp_min(0)  # rounding goes below
    return _Candidates(values, information, share, yes)


def _information(
    above: Sequence[Float[Tensor, "c m"]], counts: Float[Tensor, "c 1"]
) -> Float[Tensor, " m"]:
    """Return what answers tell of the class.

    `above` counts the images of each class above each threshold, `counts` all.
    """
    prior = (counts / counts.sum()).squeeze(1)
    all_of_them = torch.stack([counts.expand_as(above[0]), *above])
    answers = all_of_them - torch.cat([all_of_them[1:], torch.zeros_like(all_of_them[:1])])
    rates = (answers + 0.5) / (counts + 0.5 * len(answers))
    of_all = torch.special.entr(torch.einsum("c,vcm->vm", prior, rates)).sum(dim=0)
    return of_all - prior @ torch.special.entr(rates).sum(dim=0)


def _last(good: Tensor) -> Tensor:
    """Return (m,) the last row of each column that is good; each has one."""
    rows = torch.arange(len(good), device=good.device).unsqueeze(1)
    return torch.where(good, rows, -1).amax(dim=0)


def _at(values: Tensor, rows: Tensor) -> Tensor:
    return values.gather(0, rows.unsqueeze(0))[0]


def _yes(candidates: _Candidates, rows: Tensor) -> Tensor:
    places = rows.expand(1, candidates.yes.shape[1], -1)
    return candidates.yes.gather(0, places)[0]


def _quantiles(
    scores: Float[Tensor, "n m"], weights: Float[Tensor, " n"] | None, shares: Tensor
) -> Float[Tensor, "s m"]:
    """Return of each column the scores that these shares (s, m or 1) of the images exceed."""
    shares = shares.double().expand(-1, scores.shape[1]).to(scores.device)
    if weights is None:
        # 0.7 * 90 is a hair below 63.
        places = ((1 - shares) * len(scores) + 1e-6).long().clamp(0, len(scores) - 1)
        return _sorted(scores).gather(1, places.T).T.contiguous()
    order = scores.argsort(dim=0)
    ordered = scores.gather(0, order)
    below = weights[order].cumsum(dim=0) / weights.sum()
    targets = (1 - shares).to(scores.dtype).T.contiguous()
    places = torch.searchsorted(below.T.contiguous(), targets, right=True)
    return ordered.gather(0, places.T.clamp_max(len(scores) - 1))


def _sorted(scores: Tensor) -> Tensor:
    rows = scores.T.contiguous()
    if scores.device.type != "cpu":
        return rows.sort(dim=1).values
    # Ten times as fast as torch's on a CPU.
    return torch.from_numpy(np.sort(rows.numpy(force=True), axis=1))
