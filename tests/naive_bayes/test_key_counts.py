"""Which images are held out or sampled, by their keys, however they are cut into shards."""

from __future__ import annotations

from collections import Counter

import numpy as np
import pytest

from infopursuit.estimators.training_rows import HELD_OUT_OF_A_CLASS, held_out_rows
from infopursuit.naive_bayes import key_counts as module
from infopursuit.naive_bayes.key_counts import (
    KeyCounts,
    SmallestKeys,
    cut_at,
    even_shares,
    key_counts,
)

GENERATOR = np.random.default_rng(0)
LABELS = GENERATOR.integers(0, 4, 500)
KEYS = GENERATOR.integers(0, 150, 500) * 2**24 + 7


def of_class(found: KeyCounts, label: int) -> dict[int, int]:
    mine = found.classes == label
    keys = found.codes[mine] - (label << 32)
    return dict(zip(keys.tolist(), found.counts[mine].tolist(), strict=True))


@pytest.mark.parametrize("shard", [1, 7, 100, 500])
def test_the_smallest_keys_are_those_of_all_images_at_once(
    shard: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "MERGED_FROM", 20)
    most = np.array([3, 10, 0, 1000])
    gathered = SmallestKeys(most)
    for start in range(0, 500, shard):
        part = slice(start, start + shard)
        gathered.add(key_counts(LABELS[part], KEYS[part]).smallest(most))
    found = gathered.found()
    for label in range(4):
        everything = Counter(KEYS[label == LABELS].tolist())
        expected = {key: everything[key] for key in sorted(everything)[: most[label]]}
        assert of_class(found, label) == expected


def test_places_and_images_before_a_key_are_counted_within_its_class() -> None:
    found = key_counts(np.array([0, 0, 0, 2, 2]), np.array([5, 3, 3, 9, 4]))
    assert (found.codes & (2**32 - 1)).tolist() == [3, 5, 4, 9]
    assert found.places().tolist() == [0, 1, 0, 1]
    assert found.images_before().tolist() == [0, 2, 0, 1]
    assert found.of_class(found.counts, 3).tolist() == [3, 0, 2]


def test_a_cut_holds_those_that_come_first_and_none_of_a_class_without() -> None:
    found = key_counts(LABELS, KEYS)
    inside = found.places() < np.array([4, 0, 1, 1000])[found.classes]
    held = cut_at(found, inside, 4).holds(LABELS, KEYS)
    for label, count in enumerate((4, 0, 1, 1000)):
        first = sorted(set(KEYS[label == LABELS].tolist()))[:count]
        np.testing.assert_array_equal(held[label == LABELS], np.isin(KEYS[label == LABELS], first))


@pytest.mark.parametrize("share", [0.0, 0.1, 0.5])
def test_shards_hold_out_what_an_array_does(share: float) -> None:
    found = key_counts(LABELS, KEYS)
    distinct = found.of_class(np.ones_like(found.counts), 4)
    count = np.minimum(np.round(share * distinct), distinct - 1)
    held = cut_at(found, found.places() < count[found.classes], 4).holds(LABELS, KEYS)
    np.testing.assert_array_equal(held, held_out_rows(KEYS, LABELS, share))


def test_of_a_large_class_no_more_than_so_many_are_held_out() -> None:
    keys = np.random.default_rng(1).permutation(30_000)
    labels = (np.arange(30_000) >= 25_000).astype(np.int64)
    held = held_out_rows(keys, labels, 0.1)
    assert held[:25_000].sum() == HELD_OUT_OF_A_CLASS == 1024
    assert held[25_000:].sum() == 500
    np.testing.assert_array_equal(
        np.sort(keys[:25_000])[:1024], np.sort(keys[:25_000][held[:25_000]])
    )


@pytest.mark.parametrize("size", [0, 1, 5, 6, 9, 11, 16, 17, 100])
def test_shares_of_a_sample_are_as_even_as_the_classes_allow(size: int) -> None:
    counts = np.array([1, 7, 0, 3, 5])
    shares = even_shares(counts, size)
    assert shares.sum() == min(size, counts.sum())
    assert (shares <= counts).all()
    smaller = shares[shares < counts]
    assert not len(smaller) or shares.max() - smaller.min() <= 1
