"""Labelled rows in shards to fit on: what `TrainingRows` gives, from passes that hold one shard.

Of each class at most HELD_OUT_OF_A_CLASS images are held out, and samples are of a stated size:
memory does not grow with the number of images.
"""

from __future__ import annotations

import math

import numpy as np
import torch
from jaxtyping import Int64

from infopursuit.answers.rules import AnswerRule
from infopursuit.answers.table import AnswerTable
from infopursuit.answers.thresholds import THRESHOLD_IMAGES
from infopursuit.core.errors import InputError
from infopursuit.datasets.rows import UnitRows
from infopursuit.estimators.training_rows import HELD_OUT_OF_A_CLASS, TrainingRows
from infopursuit.naive_bayes.fit import HELD_OUT
from infopursuit.naive_bayes.image_passes import Passes, Sample
from infopursuit.naive_bayes.key_counts import Cut, KeyCounts, cut_at, even_shares
from infopursuit.naive_bayes.selection import screened_images

# Keys of a class that are kept beyond those of its sample, for classes that others leave room.
SPARE = 64


class ShardedRows:
    """Images of shards, less those held out.

    Three passes read the shards: one when this is made, for their keys; one for samples and
    moments; and one for each `table`.

    Args:
        passes: over the shards.
        share: of each class, held out.

    Attributes:
        classes: (c,) the class names, in the order of the labels.
        weights: None, 1 each.
        moments: of the images.
        held_out: a sample of at most 4,096 of those held out; None where there are none.
        facts: what a fitted model tells of its images.
        cluster: whose workers read the shards; None for this process.

    Raises:
        InputError: a class has no image.
    """

    weights = None

    def __init__(self, passes: Passes, share: float) -> None:
        shards, classes = passes.shards, passes.classes
        self._passes, self.cluster = passes, passes.cluster
        self.classes = np.array(shards.class_names)
        size = max(THRESHOLD_IMAGES, screened_images(classes))
        # So many keys of a class tell how many there are to hold out, and reach to its sample.
        least = math.ceil(HELD_OUT_OF_A_CLASS / share) + 1 if share else 0
        reach = HELD_OUT_OF_A_CLASS + 2 * even_shares(shards.counts, size) + SPARE
        found, checksum = passes.keys(np.minimum(shards.counts, np.maximum(least, reach)))
        distinct = found.of_class(np.ones_like(found.counts), classes)
        if not distinct.all():
            name = shards.class_names[int(distinct.argmin())]
            raise InputError(f"{shards.where}: the class {name!r} has no image to learn from")
        held = np.minimum(np.round(share * distinct), distinct - 1).clip(max=HELD_OUT_OF_A_CLASS)
        inside = found.places() < held[found.classes]
        out, kept = (
            KeyCounts(found.codes[which], found.counts[which]) for which in (inside, ~inside)
        )
        self._held_cut = cut_at(found, inside, classes)
        cuts, shares = zip(
            *(_sampled(keys, wanted, classes) for keys, wanted in ((kept, size), (out, HELD_OUT))),
            strict=True,
        )
        self._sample, held_sample, self.moments = passes.sample(self._held_cut, cuts, shares)
        self.held_out = self._rows(held_sample) if len(held_sample.labels) else None
        left_out = 0 if passes.left_out is None else int(passes.left_out.sum())
        self.facts = {
            "images": int(shards.counts.sum()) - left_out,
            "images_checksum": checksum,
            "held_out_images": int(out.counts.sum()),
        }

    def sample(self, size: int, seed: int = 0) -> TrainingRows:
        """At most so many images, of each class as many as of any other, in their order.

        Of each class those whose checksums come first, whatever the seed.

        Args:
            size: at most that of the sample that was gathered.
            seed: as `TrainingRows` takes it.
        """
        there = np.bincount(self._sample.labels, minlength=len(self.classes))
        return self._rows(self._sample.first(even_shares(there, size)))

    def to_screen(self) -> TrainingRows:
        """The images on which texts are screened."""
        return self.sample(screened_images(len(self.classes)))

    def table(self, rule: AnswerRule) -> AnswerTable:
        """The rates of each answer in each class, of all images."""
        return self._passes.table(rule, self._held_cut, self.moments)

    def _rows(self, sample: Sample) -> TrainingRows:
        rows = UnitRows(sample.embeddings, self._passes.shards.where)
        return TrainingRows(rows, torch.from_numpy(sample.labels), None, self.classes)


def _sampled(keys: KeyCounts, size: int, classes: int) -> tuple[Cut, Int64[np.ndarray, " c"]]:
    """Up to where the keys of a sample go, and how many images of each class are in it."""
    shares = even_shares(keys.of_class(keys.counts, classes), size)
    return cut_at(keys, keys.images_before() < shares[keys.classes], classes), shares
