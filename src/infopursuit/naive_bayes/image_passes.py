"""Passes over images in shards: each does one shard at a time, in this process or on a cluster.

    keys      which images there are, by class and checksum
    sample    the images of a sample, and sums of all images (class moments)
    answers   how many images of each class give each answer

What a pass gives is a sum of whole numbers, or is put in order by shard: it has the same bits
whatever the number of workers. A shard that is done again, because a machine was lost, counts once.
"""

from __future__ import annotations

from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, NamedTuple, TypeVar

import numpy as np
import torch
from jaxtyping import Bool, Float, Int64
from torch import Tensor
from tqdm import tqdm

from infopursuit.answers.moments import ClassMoments, WholeSums, moment_sums
from infopursuit.answers.rates import count_yes
from infopursuit.answers.rules import AnswerRule
from infopursuit.answers.table import AnswerTable
from infopursuit.core.errors import InputError
from infopursuit.datasets.image_shards import ImageShards
from infopursuit.datasets.rows import Rows, UnitRows
from infopursuit.executors import RayCluster, run_shards
from infopursuit.naive_bayes.fit import at_least, table_of_counts
from infopursuit.naive_bayes.key_counts import Cut, KeyCounts, SmallestKeys, key_counts

R = TypeVar("R")


class Part(NamedTuple):
    """A shard to do.

    Attributes:
        number: of the shard.
        left_out: which of its images are passed over; None for none.
    """

    number: int
    left_out: Bool[np.ndarray, " m"] | None


class Images(NamedTuple):
    """The images of a shard that count.

    Attributes:
        rows: (m, d), read as float32 of unit norm.
        labels: (m,) classes.
        keys: (m,) checksums of the rows.
        places: (m,) their numbers in the shard.
    """

    rows: Rows
    labels: Int64[np.ndarray, " m"]
    keys: Int64[np.ndarray, " m"]
    places: Int64[np.ndarray, " m"]

    def only(self, which: Bool[np.ndarray, " m"]) -> Images:
        """Some of them."""
        places = np.flatnonzero(which)
        rows = self.rows.subset(torch.from_numpy(places))
        return Images(rows, self.labels[places], self.keys[places], self.places[places])


class Passes:
    """Runs passes over the shards of a data set.

    Args:
        shards: the images.
        left_out: which images are passed over, (n,) in the order of the shards; None for none.
        cluster: whose workers read them; None for this process.
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
        self.classes = len(shards.class_names)

    def keys(self, most: Int64[np.ndarray, " c"]) -> tuple[KeyCounts, str]:
        """The smallest keys of each class, and a SHA-256 of all keys and labels.

        Args:
            most: how many distinct keys of each class.
        """
        gathered = SmallestKeys(most)
        digests: dict[int, bytes] = {}
        for number, (found, digest) in self._run(KeyPass(self.shards, most), "images: keys"):
            gathered.add(found)
            digests[number] = digest
        joined = b"".join(digests[number] for number in sorted(digests))
        return gathered.found(), sha256(joined).hexdigest()

    def sample(
        self,
        held_out: Cut,
        cuts: tuple[Cut, Cut],
        shares: tuple[Int64[np.ndarray, " c"], Int64[np.ndarray, " c"]],
    ) -> tuple[Sample, Sample, ClassMoments]:
        """Samples of the images to learn from and of those held out; and moments of the former.

        Args:
            held_out: which images are.
            cuts: up to where the keys of the two samples go.
            shares: (c,) how many images of each class there are in them.
        """
        work = SamplePass(self.shards, held_out, cuts, shares)
        gathered: tuple[list[Sample], list[Sample]] = ([], [])
        total: WholeSums | None = None
        for _, (samples, sums) in self._run(work, "images: sample and moments"):
            for found, sample in zip(gathered, samples, strict=True):
                found.append(sample)
            if sums is not None:
                total = sums if total is None else total.plus(sums)
        assert total is not None  # each class keeps an image
        train, held = (
            joined_samples(found, share) for found, share in zip(gathered, shares, strict=True)
        )
        return train, held, total.moments()

    def table(self, rule: AnswerRule, held_out: Cut, moments: ClassMoments) -> AnswerTable:
        """The rates of each answer in each class, as `fit_table` gives them.

        Args:
            rule: how images answer.
            held_out: images that do not count.
            moments: of the images that do.
        """
        counted: tuple[Tensor, Tensor] | None = None
        for _, found in self._run(AnswerPass(self.shards, held_out, rule), "images: answers"):
            if found is not None:
                if counted is not None:
                    found = counted[0] + found[0], counted[1] + found[1]
                counted = found
        assert counted is not None
        return table_of_counts(rule, *counted, moments)

    def _run(self, start: Callable[[], Callable[[Part], R]], what: str) -> Any:
        """(number of the shard, result) of each, as they become known."""
        parts, first = [], 0
        for number, size in enumerate(self.shards.sizes):
            out = None if self.left_out is None else self.left_out[first : first + size]
            parts.append((number, Part(number, out)))
            first += size
        with closing(run_shards(start, parts, self.cluster)) as found:
            yield from tqdm(found, what, total=len(parts), unit="shard", disable=None)


@dataclass(frozen=True)
class _ImagePass:
    """What every pass has: the shards, and how one of them is read."""

    shards: ImageShards

    def read(self, part: Part) -> Images:
        shard = self.shards.read(part.number)
        rows = UnitRows(shard.embeddings, f"{self.shards.where}, shard {part.number}")
        images = Images(rows, shard.labels, rows.checksums(), np.arange(len(rows)))
        return images if part.left_out is None else images.only(~part.left_out)


@dataclass(frozen=True)
class KeyPass(_ImagePass):
    """The smallest keys of a shard, and a digest of all keys and labels."""

    most: Int64[np.ndarray, " c"]

    def __call__(self) -> Callable[[Part], tuple[KeyCounts, bytes]]:
        return self.of

    def of(self, part: Part) -> tuple[KeyCounts, bytes]:
        """Of one shard."""
        images = self.read(part)
        digest = sha256(images.keys.tobytes() + images.labels.tobytes()).digest()
        return key_counts(images.labels, images.keys).smallest(self.most), digest


class Sample(NamedTuple):
    """Some images.

    Attributes:
        embeddings: (m, d) as stored.
        labels: (m,) classes.
        keys: (m,) checksums.
        origins: (m, 2) number of the shard, and of the image in it.
    """

    embeddings: Float[Tensor, "m d"]
    labels: Int64[np.ndarray, " m"]
    keys: Int64[np.ndarray, " m"]
    origins: Int64[np.ndarray, "m 2"]

    def first(self, shares: Int64[np.ndarray, " c"]) -> Sample:
        """Of each class so many, those whose keys come first; in the order of the shards."""
        order = np.lexsort((self.origins[:, 1], self.origins[:, 0], self.keys, self.labels))
        ordered = self.labels[order]
        places = np.arange(len(order)) - np.searchsorted(ordered, ordered, side="left")
        kept = order[places < shares[ordered]]
        kept = kept[np.lexsort((self.origins[kept, 1], self.origins[kept, 0]))]
        return Sample(
            self.embeddings[torch.from_numpy(kept)],
            self.labels[kept],
            self.keys[kept],
            self.origins[kept],
        )


def joined_samples(parts: list[Sample], shares: Int64[np.ndarray, " c"]) -> Sample:
    """The sample of all shards, from what came of each."""
    labels, keys, origins = (
        np.concatenate([getattr(part, name) for part in parts])
        for name in ("labels", "keys", "origins")
    )
    embeddings = torch.cat([part.embeddings for part in parts])
    return Sample(embeddings, labels, keys, origins).first(shares)


@dataclass(frozen=True)
class SamplePass(_ImagePass):
    """The images of a shard that are sampled, and the sums of those to learn from."""

    held_out: Cut
    cuts: tuple[Cut, Cut]
    shares: tuple[Int64[np.ndarray, " c"], Int64[np.ndarray, " c"]]

    def __call__(self) -> Callable[[Part], tuple[tuple[Sample, Sample], WholeSums | None]]:
        return self.of

    def of(self, part: Part) -> tuple[tuple[Sample, Sample], WholeSums | None]:
        """Of one shard."""
        images = self.read(part)
        held = self.held_out.holds(images.labels, images.keys)
        train = images.only(~held)
        samples = tuple(
            _sampled(some, cut, share, part.number)
            for some, cut, share in zip(
                (train, images.only(held)), self.cuts, self.shares, strict=True
            )
        )
        labels = torch.from_numpy(train.labels)
        sums = moment_sums(train.rows.blocks(), labels, classes=len(self.shards.class_names))
        return (samples[0], samples[1]), None if sums is None else sums.whole()


def _sampled(images: Images, cut: Cut, shares: Int64[np.ndarray, " c"], number: int) -> Sample:
    some = images.only(cut.holds(images.labels, images.keys))
    places = some.rows.places
    assert places is not None
    origins = np.stack([np.full(len(some.labels), number), some.places], axis=1)
    found = Sample(some.rows.values[places], some.labels, some.keys, origins)
    return found.first(shares)  # of equal images no more than are wanted in all


@dataclass(frozen=True)
class AnswerPass(_ImagePass):
    """How many images of each class in a shard give each answer, and how many there are."""

    held_out: Cut
    rule: AnswerRule

    def __call__(self) -> Callable[[Part], tuple[Tensor, Tensor] | None]:
        return self.of

    @torch.no_grad()
    def of(self, part: Part) -> tuple[Float[Tensor, "c m"], Float[Tensor, "c 1"]] | None:
        """Of one shard; None where all its images are held out."""
        images = self.read(part)
        train = images.only(~self.held_out.holds(images.labels, images.keys))
        if not len(train.labels):
            return None
        answers = at_least(self.rule, train.rows.blocks())
        labels = torch.from_numpy(train.labels)
        # Answers are no or yes here: float64 holds their counts exactly.
        return count_yes(answers, labels, classes=len(self.shards.class_names))
