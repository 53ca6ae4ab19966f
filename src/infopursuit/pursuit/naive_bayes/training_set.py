"""Labelled images that naive Bayes is fitted on: in memory, or in shards read one at a time.

Both kinds answer the same calls (`TrainingSet`). The key of an image is a checksum of its
embedding. Held-out images, and the samples of shards, are those of each class whose keys come
first. So it does not matter how the images are cut into shards or who reads them, and equal images
stay together. Equal rows of a table are no copies: there are 670 men of the Titanic's crew who
died. Of these only a few stay together (`EQUAL_ROWS`).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int, Int64
from torch import Tensor

from infopursuit.core.executors import RayCluster
from infopursuit.datasets.labelled_images import ImageShards, even_sample
from infopursuit.datasets.matrix import Matrix, UnitMatrix
from infopursuit.pursuit.answers.moments import ClassMoments, class_moments
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.fit import fit_table

# Calibration looks at 4,096 images in all: no class gives more than this to it.
HELD_OUT_OF_A_CLASS = 1024
# Keys are below 2**32; with the class in front they order by class, then by key.
KEY_BITS = 32
# At most four equal rows of a table and a class have one key: a row that is repeated four times
# and a row of weight four give one model. MIX sets the keys of further equal rows apart.
EQUAL_ROWS, MIX = 4, 0x9E3779B1


class TrainingSet(ABC):
    """Labelled rows.

    Attributes:
        classes: (c,) the labels as people gave them.
        cluster: that reads shards; None for this process.
        shards: that they are read from; None in memory.
    """

    classes: np.ndarray
    cluster: RayCluster | None
    shards: Any = None

    @property
    @abstractmethod
    def total(self) -> float:
        """The weight of all rows: their number without weights."""

    @property
    @abstractmethod
    def distinct(self) -> int:
        """How many different rows there are."""

    @property
    @abstractmethod
    def prior(self) -> Float[Tensor, " c"]:
        """The share of each class in the weight of all rows, those held out from them included."""

    @property
    @abstractmethod
    def moments(self) -> ClassMoments:
        """The moments of the rows by class."""

    @classmethod
    def in_shards(cls, X: Any) -> TrainingSet | None:
        """Return images in shards, as people give them; None if these are rows in memory."""
        if isinstance(X, cls):
            return X
        if not isinstance(X, str | Path | ImageShards):
            return None
        from infopursuit.pursuit.naive_bayes.sharded_set import ShardedSet

        return ShardedSet.of(X)

    @abstractmethod
    def facts(self, held_out: InMemorySet | None) -> dict[str, Any]:
        """Return the number and checksum of the rows and the number of those held out."""

    @abstractmethod
    def split(self, share: float) -> tuple[TrainingSet, InMemorySet | None]:
        """Return rows to learn from and those held out; None if the classes have too few images."""

    @abstractmethod
    def folds(self, count: int, least: int) -> Iterator[tuple[InMemorySet, InMemorySet]]:
        """Yield rows to learn from and others; none of many images in shards."""

    @abstractmethod
    def sample(self, size: int, seed: int = 0) -> InMemorySet:
        """Return at most `size` rows, as many of each class as of any other.

        A mean over them is no mean over all rows: `weighed` says what each counts for that.
        """

    def weighed(self, rows: InMemorySet) -> Float[Tensor, " m"]:
        """Return weights of a sample by which its classes are as frequent as `prior` says.

        They have the sum of the sample's own weights. Held-out rows are such a sample, too: of a
        large class a smaller share is held out (`HELD_OUT_OF_A_CLASS`).
        """
        own = rows.own_weights
        totals = torch.bincount(rows.labels, own, minlength=len(self.classes))
        scaled = own * (self.prior / totals)[rows.labels]
        return scaled * (own.sum() / scaled.sum())

    def spread(self, rows: InMemorySet, size: int) -> InMemorySet:
        """Return at most `size` rows of a sample, drawn by `weighed`, so that each counts 1.

        A row that weighs much may be there more than once.
        """
        order = torch.randperm(len(rows), generator=torch.Generator().manual_seed(0))
        order = order[rows.labels[order].argsort(stable=True)]
        below = self.weighed(rows)[order].cumsum(dim=0)
        count = min(size, len(rows))
        steps = (torch.arange(count) + 0.5) / count * below[-1]
        places = torch.searchsorted(below, steps).clamp_max(len(rows) - 1)
        return replace(rows.subset(order[places].sort().values), weights=None)

    @abstractmethod
    def table(self, rule: AnswerRule) -> AnswerTable:
        """Return the rates of each answer in each class."""


@dataclass(eq=False)
class InMemorySet(TrainingSet):
    """n rows with their labels 0..c-1 and weights; every class has a row.

    Attributes:
        rows: embeddings or a table.
        labels: numbers of the classes.
        weights: float64, positive; None for 1 each.
        classes: (c,) the labels as people gave them.
        whole: (c,) the weight of each class before rows were held out, if it had too many to hold
            out the share asked for; None if these rows have the shares of the classes.
    """

    rows: Matrix
    labels: Int[Tensor, " n"]
    weights: Float[Tensor, " n"] | None
    classes: np.ndarray
    cluster: RayCluster | None = None
    whole: Float[Tensor, " c"] | None = None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def own_weights(self) -> Float[Tensor, " n"]:
        """The weight of each row."""
        return torch.ones(len(self)).double() if self.weights is None else self.weights

    @property
    def total(self) -> float:
        """The weight of all rows: their number without weights."""
        return float(len(self) if self.weights is None else self.weights.sum())

    @property
    def prior(self) -> Float[Tensor, " c"]:
        """The share of each class in the weight of all rows, those held out from them included."""
        totals = self.whole
        if totals is None:
            totals = torch.bincount(self.labels, self.weights, minlength=len(self.classes)).double()
        return totals / totals.sum()

    @cached_property
    def moments(self) -> ClassMoments:  # pyright: ignore[reportIncompatibleMethodOverride]
        """The moments of the rows by class."""
        return class_moments(self.rows.blocks(), self.labels, self.weights)

    @cached_property
    def checksums(self) -> Int[np.ndarray, " n"]:
        """A checksum of each row's bytes."""
        return self.rows.checksums()

    @cached_property
    def keys(self) -> Int[np.ndarray, " n"]:
        """What decides which rows are held out: equal rows of a class with one key stay together.

        The key is the checksum, changed for every `EQUAL_ROWS` equal rows of a class in a table.
        """
        if isinstance(self.rows, UnitMatrix):
            return self.checksums
        codes = (self.labels.numpy() << KEY_BITS) + self.checksums
        order = np.argsort(codes, kind="stable")
        first = np.searchsorted(codes[order], codes[order])
        before = np.empty_like(codes)
        before[order] = np.arange(len(codes)) - first  # equal rows of the class before a row
        return self.checksums ^ ((before // EQUAL_ROWS * MIX) % 2**KEY_BITS)

    def facts(self, held_out: InMemorySet | None) -> dict[str, Any]:
        """Return the number and checksum of the rows and the number of those held out."""
        content = self.checksums.tobytes() + self.labels.numpy().tobytes()
        return {
            "images": len(self),
            "images_checksum": sha256(content).hexdigest(),
            "held_out_images": 0 if held_out is None else len(held_out),
        }

    def split(self, share: float) -> tuple[InMemorySet, InMemorySet | None]:
        """Return rows to learn from and those held out; None if the classes have too few images.

        Which are held out depends on their content (`held_out_by_content`): rows of one key stay
        together, and a row that is repeated counts as one of a larger weight.
        """
        held = held_out_by_content(self.keys, self.labels.numpy(), share)
        if not held.any():
            return self, None
        train, held_out = (
            self.subset(torch.from_numpy(np.flatnonzero(each))) for each in (~held, held)
        )
        if held_out.labels.bincount().max() >= HELD_OUT_OF_A_CLASS:
            train.whole = self.prior * self.total
        return train, held_out

    @property
    def distinct(self) -> int:
        """How many different rows there are."""
        return len(np.unique(self.keys))

    def folds(self, count: int, least: int) -> Iterator[tuple[InMemorySet, InMemorySet]]:
        """Yield rows to learn from and others: each row is among the others once.

        Rows of classes with fewer than `least` keys never are. Rows of one key stay together.
        """
        keys = self.keys
        counted = key_counts(self.labels.numpy(), keys)
        distinct = counted.of_class(np.ones_like(counted.counts), len(self.classes))
        fold = np.where(distinct[counted.classes] < least, -1, counted.ranks() % count)
        codes = (self.labels.numpy() << KEY_BITS) + keys
        of_row = fold[np.searchsorted(counted.codes, codes)]
        for number in range(count):
            others = of_row == number
            if others.any():
                yield (
                    self.subset(torch.from_numpy(np.flatnonzero(~others))),
                    self.subset(torch.from_numpy(np.flatnonzero(others))),
                )

    def sample(self, size: int, seed: int = 0) -> InMemorySet:
        """Return at most `size` rows, drawn with `seed`, as many of each class as of any other."""
        if len(self) <= size:
            return self
        return self.subset(even_sample(self.labels, size, torch.Generator().manual_seed(seed)))

    def table(self, rule: AnswerRule) -> AnswerTable:
        """Return the rates of each answer in each class."""
        table = fit_table(rule, self.rows.blocks(), self.labels, self.weights)
        return table if self.whole is None else replace(table, log_prior=self.prior.log().float())

    def subset(self, places: Int[Tensor, " m"]) -> InMemorySet:
        """Return some of the rows."""
        weights = None if self.weights is None else self.weights[places]
        some = self.rows.subset(places), self.labels[places], weights, self.classes
        return InMemorySet(*some, whole=self.whole)


# -- keys -----------------------------------------------------------------------------------------


class KeyCounts(NamedTuple):
    """Distinct keys by class, ascending.

    Attributes:
        codes: (m,) class * 2**32 + key, ascending.
        counts: (m,) the number of images that have each.
    """

    codes: Int64[np.ndarray, " m"]
    counts: Int64[np.ndarray, " m"]

    @property
    def classes(self) -> Int64[np.ndarray, " m"]:
        """The class of each."""
        return self.codes >> KEY_BITS

    def only(self, which: Bool[np.ndarray, " m"]) -> KeyCounts:
        """Return some of them."""
        return KeyCounts(self.codes[which], self.counts[which])

    def smallest(self, most: Int64[np.ndarray, " c"]) -> KeyCounts:
        """Return the `most` keys of each class that come first."""
        return self.only(self.ranks() < most[self.classes])

    def ranks(self) -> Int64[np.ndarray, " m"]:
        """Return the rank of each key in its class, from 0 on."""
        classes = self.classes
        return np.arange(len(classes)) - np.searchsorted(classes, classes, side="left")

    def images_before(self) -> Int64[np.ndarray, " m"]:
        """Return for each key the number of images of its class with a smaller one."""
        total = self.counts.cumsum() - self.counts
        classes = self.classes
        return total - total[np.searchsorted(classes, classes, side="left")]

    def of_class(self, values: Int64[np.ndarray, " m"], classes: int) -> Int64[np.ndarray, " c"]:
        """Return the sum of a value of each key over its class."""
        sums = np.zeros(classes, dtype=np.int64)
        np.add.at(sums, self.classes, values)
        return sums

    def held_out(self, share: float, classes: int) -> Bool[np.ndarray, " m"]:
        """Return which keys are held out: of each class a share, those that come first.

        The share is rounded, at most HELD_OUT_OF_A_CLASS keys; every class keeps a key.
        """
        distinct = self.of_class(np.ones_like(self.counts), classes)
        held = np.minimum(np.round(share * distinct), distinct - 1).clip(max=HELD_OUT_OF_A_CLASS)
        return self.ranks() < held[self.classes]

    def sample(self, size: int, classes: int) -> WantedKeys:
        """Return the keys of an even sample of `size` images."""
        shares = even_shares(self.of_class(self.counts, classes), size)
        return WantedKeys(
            last_keys(self, self.images_before() < shares[self.classes], classes), shares
        )


def key_counts(labels: Int64[np.ndarray, " n"], keys: Int64[np.ndarray, " n"]) -> KeyCounts:
    """Count the keys, below 2**32, of images with labels 0..c-1."""
    return KeyCounts(*np.unique((labels << KEY_BITS) + keys, return_counts=True))


class WantedKeys(NamedTuple):
    """A sample of images: the last key of each class in it, and how many images of the class."""

    last: Int64[np.ndarray, " c"]
    shares: Int64[np.ndarray, " c"]


def last_keys(
    keys: KeyCounts, inside: Bool[np.ndarray, " m"], classes: int
) -> Int64[np.ndarray, " c"]:
    """Return the last key of each class that is inside, -1 for none; these come first in it."""
    last = np.full(classes, -1, dtype=np.int64)
    # Ascending, so that the last one that is written stays.
    last[keys.classes[inside]] = keys.codes[inside] & (2**KEY_BITS - 1)
    return last


def held_out_by_content(
    keys: Int[np.ndarray, " n"], labels: Int[np.ndarray, " n"], share: float
) -> Bool[np.ndarray, " n"]:
    """Return which rows are held out: of each class a share of the distinct keys, the first ones.

    The library holds out by content, so that a repeated row and a row of weight two give one
    model. The pipeline holds out by seed (`datasets.labelled_images.held_out_by_seed`), so that
    runs differ in what they select on.
    """
    counted, classes = key_counts(labels, keys), int(labels.max()) + 1
    return keys <= last_keys(counted, counted.held_out(share, classes), classes)[labels]


def even_shares(counts: Int64[np.ndarray, " c"], size: int) -> Int64[np.ndarray, " c"]:
    """Return how many images of each class make a sample: as many of each, or all of a class."""
    if counts.sum() <= size:
        return counts.copy()
    low, high = 0, int(counts.max())
    while low < high:  # the largest number that fits
        middle = (low + high + 1) // 2
        if np.minimum(counts, middle).sum() <= size:
            low = middle
        else:
            high = middle - 1
    shares = np.minimum(counts, low)
    more = np.flatnonzero(counts > low)[: size - int(shares.sum())]
    shares[more] += 1
    return shares
