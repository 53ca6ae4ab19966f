"""The smallest keys of each class and how often each occurs, of images that come in any order.

The key of an image is a checksum of its embedding. Which images are held out, and which are in a
sample, is told by their keys alone: those of a class whose keys come first. So it does not matter
how the images are cut into shards, nor who reads them, and equal images stay together.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Int64

# Keys are below 2**32; with the class in front they order by class, then by key.
KEY_BITS = 32
# Keys that wait at least before they are merged.
MERGED_FROM = 2**20


class KeyCounts(NamedTuple):
    """Distinct keys by class, ascending.

    Attributes:
        codes: (m,) class * 2**32 + key, ascending.
        counts: (m,) how many images have each.
    """

    codes: Int64[np.ndarray, " m"]
    counts: Int64[np.ndarray, " m"]

    @property
    def classes(self) -> Int64[np.ndarray, " m"]:
        """The class of each."""
        return self.codes >> KEY_BITS

    def smallest(self, most: Int64[np.ndarray, " c"]) -> KeyCounts:
        """Of each class at most so many keys, those that come first."""
        kept = self.places() < most[self.classes]
        return KeyCounts(self.codes[kept], self.counts[kept])

    def places(self) -> Int64[np.ndarray, " m"]:
        """The how-many-eth of its class each key is, from 0 on."""
        classes = self.classes
        starts = np.searchsorted(classes, classes, side="left")
        return np.arange(len(classes)) - starts

    def images_before(self) -> Int64[np.ndarray, " m"]:
        """How many images of its class have a smaller key."""
        total = self.counts.cumsum() - self.counts
        classes = self.classes
        return total - total[np.searchsorted(classes, classes, side="left")]

    def of_class(self, values: Int64[np.ndarray, " m"], classes: int) -> Int64[np.ndarray, " c"]:
        """The sum of a value of each key over its class."""
        found = np.zeros(classes, dtype=np.int64)
        np.add.at(found, self.classes, values)
        return found


def key_counts(labels: Int64[np.ndarray, " n"], keys: Int64[np.ndarray, " n"]) -> KeyCounts:
    """Of some images.

    Args:
        labels: classes 0..c-1.
        keys: below 2**32.
    """
    codes, counts = np.unique((labels << KEY_BITS) + keys, return_counts=True)
    return KeyCounts(codes, counts)


class SmallestKeys:
    """Gathers the smallest keys of each class; what it holds does not grow with the images.

    Args:
        most: (c,) how many distinct keys of each class are kept.
    """

    def __init__(self, most: Int64[np.ndarray, " c"]) -> None:
        self._most = most
        nothing = np.zeros(0, dtype=np.int64)
        self._kept = KeyCounts(nothing, nothing)
        self._waiting: list[KeyCounts] = []

    def add(self, more: KeyCounts) -> None:
        """Add the keys of other images."""
        self._waiting.append(more)
        # Merged when there is as much again as is kept: every key is sorted a few times in all.
        if sum(len(each.codes) for each in self._waiting) > max(MERGED_FROM, len(self._kept.codes)):
            self._merge()

    def found(self) -> KeyCounts:
        """The smallest keys of all images so far."""
        self._merge()
        return self._kept

    def _merge(self) -> None:
        parts = [self._kept, *self._waiting]
        codes, places = np.unique(
            np.concatenate([each.codes for each in parts]), return_inverse=True
        )
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([each.counts for each in parts]))
        self._kept = KeyCounts(codes, counts).smallest(self._most)
        self._waiting = []


class Cut(NamedTuple):
    """Which images of each class come first: those whose keys are at most `last`; -1 for none."""

    last: Int64[np.ndarray, " c"]

    def holds(
        self, labels: Int64[np.ndarray, " n"], keys: Int64[np.ndarray, " n"]
    ) -> Bool[np.ndarray, " n"]:
        """Which images are among them."""
        return keys <= self.last[labels]


def cut_at(found: KeyCounts, inside: Bool[np.ndarray, " m"], classes: int) -> Cut:
    """The cut after the last key of each class that is inside; these come first in their class."""
    last = np.full(classes, -1, dtype=np.int64)
    # Ascending, so that the last one that is written stays.
    last[found.classes[inside]] = found.codes[inside] & (2**KEY_BITS - 1)
    return Cut(last)


def even_shares(counts: Int64[np.ndarray, " c"], size: int) -> Int64[np.ndarray, " c"]:
    """How many images of each class make a sample: of each as many as of any other, or all.

    Args:
        counts: of the images there are.
        size: of the sample, at most; what does not divide goes to the first classes that have more.
    """
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
