"""Images of shards that naive Bayes is fitted on, read one shard at a time.

Shards are read in two passes, in this process or on a cluster:

    keys      which images there are, by class and checksum
    sample    the images of a sample, and sums of all images (class moments)

The result of a pass is a sum of whole numbers, or is put in order by shard: it has the same bits
for any number of workers. A shard that is read again, because a machine was lost, counts once.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any, ClassVar, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.core.executors import RayCluster, run_shards
from infopursuit.datasets.labelled_images import EmbeddedShards, ImageShards
from infopursuit.datasets.matrix import Matrix, UnitMatrix
from infopursuit.pursuit.answers.moments import ClassMoments, MomentSums, moment_sums
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.fit import HELD_OUT
from infopursuit.pursuit.naive_bayes.training_set import (
    HELD_OUT_OF_A_CLASS,
    InMemorySet,
    KeyCounts,
    TrainingSet,
    WantedKeys,
    even_shares,
    key_counts,
    last_keys,
)

R = TypeVar("R")

# Images to learn from of which there is a sample.
SAMPLED = 4096
# Keys of a class that are kept beyond those of its sample, for classes that others leave room.
SPARE = 64
# Keys that wait at least before they are merged.
MERGED_FROM = 2**20


class ShardedSet(TrainingSet):
    """Images of shards; memory does not grow with their number.

    `split` reads all shards twice. What follows (`sample`, `moments`) is of the images to learn
    from, which `split` returns.
    """

    def __init__(
        self,
        shards: ImageShards,
        left_out: Bool[np.ndarray, " n"] | None = None,
        cluster: RayCluster | None = None,
    ) -> None:
        images = sum(shards.sizes)
        if left_out is not None and len(left_out) != images:
            raise InputError(
                f"left_out has {len(left_out)} values for the {images} images of {shards.where}; "
                "expected one each"
            )
        self.shards, self.left_out, self.cluster = shards, left_out, cluster
        self.classes = np.array(shards.class_names)
        self._checksum, self._held_images = "", 0

    @classmethod
    def of(cls, X: Any) -> ShardedSet | None:
        """Return images in shards, as people give them; None if these are rows in memory."""
        if isinstance(X, cls):
            return X
        shards = EmbeddedShards(X) if isinstance(X, str | Path) else X
        return cls(shards) if isinstance(shards, ImageShards) else None

    @property
    def total(self) -> int:
        """How many images there are to learn from."""
        left_out = 0 if self.left_out is None else int(self.left_out.sum())
        return int(self.shards.counts.sum()) - left_out - self._held_images

    def facts(self, held_out: InMemorySet | None) -> dict[str, Any]:
        """Return the number and checksum of the images and the number of those held out.

        `split` has to run before.
        """
        return {
            "images": self.total + self._held_images,
            "images_checksum": self._checksum,
            # `held_out` may be a sample of the images that `split` held out.
            "held_out_images": self._held_images or (0 if held_out is None else len(held_out)),
        }

    def split(self, share: float) -> tuple[ShardedSet, InMemorySet | None]:
        """Return these images less those held out, and at most 4,096 of the latter."""
        shards, classes = self.shards, len(self.classes)
        # This many keys of a class tell how many there are to hold out, and reach to its sample.
        least = math.ceil(HELD_OUT_OF_A_CLASS / share) + 1 if share else 0
        reach = HELD_OUT_OF_A_CLASS + 2 * even_shares(shards.counts, SAMPLED) + SPARE
        keys = self._keys(np.minimum(shards.counts, np.maximum(least, reach)))
        distinct = keys.of_class(np.ones_like(keys.counts), classes)
        if not distinct.all():
            name = shards.class_names[int(distinct.argmin())]
            raise InputError(f"{shards.where}: the class {name!r} has no image to learn from")
        inside = keys.held_out(share, classes)
        training, out = keys.only(~inside), keys.only(inside)
        self._last_held = last_keys(keys, inside, classes)
        samples = training.sample(SAMPLED, classes), out.sample(HELD_OUT, classes)
        self._sample, held_out, self._moments = self._samples(samples)
        self._held_images = int(out.counts.sum())
        held = torch.from_numpy(out.of_class(out.counts, classes)).double()
        self._counts = self._moments.weights
        if held.max() >= HELD_OUT_OF_A_CLASS:  # of a large class a smaller share
            self._counts = self._counts + held
        return self, self._in_memory(held_out) if len(held_out.labels) else None

    @property
    def prior(self) -> Float[Tensor, " c"]:
        """The share of each class in all images; `split` has to run before."""
        return self._counts / self._counts.sum()

    @property
    def moments(self) -> ClassMoments:
        """The moments of the images to learn from; `split` has to run before."""
        return self._moments

    @property
    def distinct(self) -> int:
        """How many images there are to learn from: equal ones are not told apart."""
        return self.total

    def folds(self, count: int, least: int) -> Iterator[tuple[InMemorySet, InMemorySet]]:
        """Yield those of images that the sample has all of; of more images, nothing."""
        if self.total == len(self._sample.labels):
            yield from self.sample(self.total).folds(count, least)

    def sample(self, size: int, seed: int = 0) -> InMemorySet:
        """Return at most `size` images: of each class those whose keys come first, for any seed."""
        available = np.bincount(self._sample.labels, minlength=len(self.classes))
        return self._in_memory(self._sample.first(even_shares(available, size)))

    def table(self, rule: AnswerRule) -> AnswerTable:
        """Raise InputError: the answers of images in shards are not counted."""
        raise InputError(
            f"{self.shards.where}: pursuit 'naive_bayes' counts answers of rows in memory, not of "
            "shards; expected rows, or texts to ask about"
        )

    def _keys(self, most: Int64[np.ndarray, " c"]) -> KeyCounts:
        gathered = SmallestKeys(most)
        digests: dict[int, bytes] = {}
        for number, (keys, digest) in self._run(KeyPass(self.shards, most), "images: keys"):
            gathered.add(keys)
            digests[number] = digest
        self._checksum = sha256(b"".join(digests[number] for number in sorted(digests))).hexdigest()
        return gathered.merged()

    def _samples(self, wanted: tuple[WantedKeys, ...]) -> tuple[Sample, Sample, ClassMoments]:
        """Return samples to learn from and of the held-out images, and moments of the former."""
        work = SamplePass(self.shards, self._last_held, wanted)
        gathered: tuple[list[Sample], list[Sample]] = ([], [])
        total: MomentSums | None = None
        for _, (samples, sums) in self._run(work, "images: sample and moments"):
            for parts, sample in zip(gathered, samples, strict=True):
                parts.append(sample)
            if sums is not None:
                total = sums if total is None else total.plus(sums)
        assert total is not None  # each class keeps an image
        train, held = (
            joined_samples(parts, each.shares) for parts, each in zip(gathered, wanted, strict=True)
        )
        return train, held, total.moments()

    def _run(self, work: Callable[[], Callable[[Part], R]], what: str) -> Iterator[tuple[int, R]]:
        parts, first = [], 0
        for number, size in enumerate(self.shards.sizes):
            out = None if self.left_out is None else self.left_out[first : first + size]
            parts.append((number, Part(number, out)))
            first += size
        with closing(run_shards(work, parts, self.cluster)) as results:
            yield from tqdm(results, what, total=len(parts), unit="shard", disable=None)

    def _in_memory(self, sample: Sample) -> InMemorySet:
        rows = UnitMatrix(sample.embeddings, self.shards.where)
        return InMemorySet(rows, torch.from_numpy(sample.labels), None, self.classes)


class SmallestKeys:
    """Gathers the `most` smallest keys of each class; its size does not grow with the images."""

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
            self.merged()

    def merged(self) -> KeyCounts:
        """Return the smallest keys of all images so far."""
        parts = [self._kept, *self._waiting]
        codes, places = np.unique(
            np.concatenate([each.codes for each in parts]), return_inverse=True
        )
        counts = np.zeros(len(codes), dtype=np.int64)
        np.add.at(counts, places, np.concatenate([each.counts for each in parts]))
        self._kept, self._waiting = KeyCounts(codes, counts).smallest(self._most), []
        return self._kept


class Part(NamedTuple):
    """A shard to read, by its number, and which of its images are passed over; None for none."""

    number: int
    left_out: Bool[np.ndarray, " m"] | None


class ShardImages(NamedTuple):
    """The images of a shard that count: rows, classes, keys, and their places in the shard."""

    rows: Matrix
    labels: Int64[np.ndarray, " m"]
    keys: Int64[np.ndarray, " m"]
    places: Int64[np.ndarray, " m"]

    def before(self, last: Int64[np.ndarray, " c"]) -> Bool[np.ndarray, " m"]:
        """Return which of them come first in their classes, up to the last key of each."""
        return self.keys <= last[self.labels]

    def only(self, which: Bool[np.ndarray, " m"]) -> ShardImages:
        """Return some of them."""
        places = np.flatnonzero(which)
        rows = self.rows.subset(torch.from_numpy(places))
        return ShardImages(rows, self.labels[places], self.keys[places], self.places[places])


@dataclass(frozen=True)
class _ShardPass:
    """What every pass has: the shards, how one of them is read, and `run`, which does one."""

    shards: ImageShards
    run: ClassVar[Callable[..., Any]]

    def __call__(self) -> Callable[[Part], Any]:
        return self.run

    def read(self, part: Part) -> ShardImages:
        shard = self.shards.read(part.number)
        rows = UnitMatrix(shard.embeddings, f"{self.shards.where}, shard {part.number}")
        images = ShardImages(rows, shard.labels, rows.checksums(), np.arange(len(rows)))
        return images if part.left_out is None else images.only(~part.left_out)


@dataclass(frozen=True)
class KeyPass(_ShardPass):
    """The smallest keys of a shard, and a digest of all keys and labels."""

    most: Int64[np.ndarray, " c"]

    def run(self, part: Part) -> tuple[KeyCounts, bytes]:
        """Do one shard."""
        images = self.read(part)
        digest = sha256(images.keys.tobytes() + images.labels.tobytes()).digest()
        return key_counts(images.labels, images.keys).smallest(self.most), digest


class Sample(NamedTuple):
    """Some images: embeddings as stored, classes, keys, and (m, 2) shard and place in the shard."""

    embeddings: Float[Tensor, "m d"]
    labels: Int64[np.ndarray, " m"]
    keys: Int64[np.ndarray, " m"]
    origins: Int64[np.ndarray, "m 2"]

    def first(self, shares: Int64[np.ndarray, " c"]) -> Sample:
        """Return `shares` images of each class, those whose keys come first, in shard order."""
        shard, place = self.origins[:, 0], self.origins[:, 1]
        order = np.lexsort((place, shard, self.keys, self.labels))
        ordered = self.labels[order]
        ranks = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
        chosen = order[ranks < shares[ordered]]
        chosen = chosen[np.lexsort((place[chosen], shard[chosen]))]
        rows = self.embeddings[torch.from_numpy(chosen)]
        return Sample(rows, self.labels[chosen], self.keys[chosen], self.origins[chosen])


def joined_samples(parts: list[Sample], shares: Int64[np.ndarray, " c"]) -> Sample:
    """Return the sample of all shards, from that of each."""
    embeddings, *columns = zip(*parts, strict=True)
    return Sample(torch.cat(embeddings), *map(np.concatenate, columns)).first(shares)


@dataclass(frozen=True)
class SamplePass(_ShardPass):
    """The images of a shard that are sampled, and the sums of those to learn from."""

    last_held: Int64[np.ndarray, " c"]
    wanted: tuple[WantedKeys, ...]

    def run(self, part: Part) -> tuple[tuple[Sample, ...], MomentSums | None]:
        """Do one shard."""
        images = self.read(part)
        held = images.before(self.last_held)
        train = images.only(~held)
        samples = tuple(
            self._sampled(some, wanted, part.number)
            for some, wanted in zip((train, images.only(held)), self.wanted, strict=True)
        )
        labels = torch.from_numpy(train.labels)
        sums = moment_sums(train.rows.blocks(), labels, classes=len(self.shards.class_names))
        return samples, None if sums is None else sums.whole()

    @staticmethod
    def _sampled(images: ShardImages, wanted: WantedKeys, number: int) -> Sample:
        some = images.only(images.before(wanted.last))
        origins = np.stack([np.full(len(some.labels), number), some.places], axis=1)
        sample = Sample(some.rows.as_stored(), some.labels, some.keys, origins)
        return sample.first(wanted.shares)  # of equal images no more than are wanted in all
