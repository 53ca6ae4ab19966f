"""The informative queries, and which images are sampled or held out by their keys."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from functools import partial

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.datasets.matrix import Matrix, UnitMatrix
from infopursuit.pursuit.answers.directions import TextDirections
from infopursuit.pursuit.answers.moments import class_moments
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.answers.thresholds import ThresholdFit
from infopursuit.pursuit.naive_bayes import credit, selection, sharded_set, training_set
from infopursuit.pursuit.naive_bayes.selection import (
    FAINT,
    CandidateTexts,
    informative_rows,
    responsive_rows,
)
from infopursuit.pursuit.naive_bayes.sharded_set import SmallestKeys
from infopursuit.pursuit.naive_bayes.training_set import (
    EQUAL_ROWS,
    InMemorySet,
    KeyCounts,
    even_shares,
    key_counts,
)
from infopursuit.texts.text_table import SharedEmbeddings
from tests.pursuit.answers.drawn import drawn
from tests.pursuit.naive_bayes import textbook


def planted(images: int = 300) -> tuple[Tensor, Tensor, Tensor]:
    """Eight classes, the corners of a cube; texts 0 to 2 are its axes, the others are noise."""
    labels = torch.arange(images) % 8
    corners = torch.tensor(
        [[(label >> axis & 1) * 2.0 - 1 for axis in range(3)] for label in range(8)]
    )
    embedded = torch.cat([corners[labels], torch.zeros(images, 13)], dim=1)
    embedded += 0.3 * drawn(images, 16, seed=5)
    texts = torch.cat([torch.eye(16)[:3], torch.cat([torch.zeros(97, 3), drawn(97, 13)], dim=1)])
    return normalize(texts, dim=1), normalize(embedded, dim=1), labels


def informative(
    texts: Tensor,
    images: Tensor,
    labels: Tensor,
    k: int,
    allowed: Tensor | None = None,
    query_weights: Tensor | None = None,
) -> Tensor:
    universe, rows = UnitMatrix(texts, "texts"), UnitMatrix(images, "images")
    data = InMemorySet(rows, labels, None, np.arange(int(labels.max()) + 1))
    directions = TextDirections(universe, data.moments.within, len(data.classes))
    counts = None if query_weights is None else lambda rows, *_: query_weights[rows]
    candidates = CandidateTexts(universe, directions, ThresholdFit(False), counts)
    return informative_rows(candidates, data, k, 0, allowed)


@pytest.mark.parametrize("k", [3, 10])
def test_informative_texts_are_those_that_tell_the_classes_apart(k: int) -> None:
    universe, images, labels = planted()
    rows = informative(universe, images, labels, k)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == k
    assert {0, 1, 2} <= set(rows.tolist())
    assert torch.equal(rows, informative(universe, images, labels, k))
    little = torch.ones(100)
    little[0] = 0.001
    assert 0 not in informative(universe, images, labels, 3, None, little)
    few = universe[:3].repeat(4, 1)  # filled, though only three texts differ
    assert informative(few, images, labels, k).unique().numel() == k


def with_faint_texts() -> tuple[Tensor, Tensor, Tensor]:
    """Texts 100 to 159 lie near the mean text, in the directions that tell the classes apart."""
    universe, images, labels = planted()
    faint = torch.zeros(60, 16)
    faint[:, :3] = 0.01 * drawn(60, 3, seed=9)
    faint += universe.mean(dim=0) - faint.mean(dim=0)
    # Texts are of unit norm: what they share is a direction of its own.
    shared = torch.full((160, 1), 1.0)
    texts = torch.cat([torch.cat([universe, faint]), shared], dim=1)
    return normalize(texts, dim=1), torch.cat([images, torch.zeros(300, 1)], dim=1), labels


def test_a_text_whose_scores_hardly_differ_is_not_chosen() -> None:
    texts, images, labels = with_faint_texts()
    centre = texts.mean(dim=0)
    spread = ((texts - centre) @ images.T).std(dim=1, correction=0)
    scale = spread.sort(descending=True).values[16]
    expected = [row for row, value in enumerate(spread) if value >= FAINT * scale]
    universe = UnitMatrix(texts, "texts")
    assert responsive_rows(universe, centre, images, 5).tolist() == expected
    assert not {*expected} & {*range(100, 160)}
    chosen = informative(texts, images, labels, 5)
    assert {0, 1, 2} <= set(chosen.tolist())
    assert int(chosen.max()) < 100
    # Faint texts fill up if k are needed and others are not allowed.
    most = spread.argsort(descending=True)[:150].sort().values
    assert torch.equal(responsive_rows(universe, centre, images, 150), most)
    allowed = responsive_rows(universe, centre, images, 5, torch.arange(160) >= 60)
    assert allowed.tolist() == [row for row in expected if row >= 60]
    faint = torch.arange(160) >= 100
    loudest = 100 + spread[100:].argsort(descending=True)[:5]
    found = responsive_rows(universe, centre, images, 5, faint)
    assert torch.equal(found, loudest.sort().values)


def test_a_large_universe_is_screened_for_the_texts_most_informative_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, images, labels = planted()
    monkeypatch.setattr(selection, "CANDIDATES", 30)
    monkeypatch.setattr(selection, "BLOCK", 13)
    universe = UnitMatrix(texts, "texts")
    source = SharedEmbeddings(universe.values)
    within = class_moments(Matrix(images).blocks(), labels).within
    directions = TextDirections(universe, within, 9)
    rows = torch.arange(3, 100)
    query_weights = torch.ones(100)
    query_weights[40:] = 0.01
    scores = images @ directions.maps[0].directions(texts[rows]).T
    for fit in map(ThresholdFit, (False, True)):
        how = CandidateTexts(
            universe, directions, fit, lambda rows, *_: query_weights[rows], source
        )
        found = selection._most_informative_alone(rows, how, images, labels, None)
        alone = fit.fit(rows, scores, labels).information * query_weights[rows]
        expected = rows[alone.argsort(descending=True, stable=True)[:30]].sort().values
        assert torch.equal(found, expected)
    monkeypatch.setattr(training_set, "SCREENED_IMAGES", 160)
    chosen = informative(texts.half(), images.half(), labels, 5)
    assert {0, 1, 2} <= set(chosen.tolist())


def test_credit_is_the_information_gained_in_roll_outs(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(credit, "BUDGET", 3)
    rates = drawn(4, 6).double().sigmoid()
    prior = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    answers, weights = textbook.answers(k=6), drawn(40, seed=1).abs().double()
    of = AnswerTable(torch.stack([(1 - rates).log().T, rates.log().T]), prior.log())
    expected = torch.zeros(6, dtype=torch.float64)
    for given, weight in zip(answers, weights, strict=True):
        asked: dict[int, float] = {}
        for query in textbook.pursue(of, given, 3)[0]:
            expected[query] += float(weight) * textbook.gain(of, asked, query)
            asked[query] = float(given[query])
    torch.testing.assert_close(credit.credit_of(of, answers.double(), weights), expected)


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
    monkeypatch.setattr(sharded_set, "MERGED_FROM", 20)
    most = np.array([3, 10, 0, 1000])
    gathered = SmallestKeys(most)
    for start in range(0, 500, shard):
        part = slice(start, start + shard)
        gathered.add(key_counts(LABELS[part], KEYS[part]).smallest(most))
    found = gathered.merged()
    for label in range(4):
        everything = Counter(KEYS[label == LABELS].tolist())
        expected = {key: everything[key] for key in sorted(everything)[: most[label]]}
        assert of_class(found, label) == expected


@pytest.mark.parametrize("kind", [Matrix, partial(UnitMatrix, where="X")])
def test_equal_rows_of_tables_are_split_and_equal_images_are_not(kind: Callable) -> None:
    generator = torch.Generator().manual_seed(0)
    pattern = torch.randint(6, (2000,), generator=generator)
    labels = torch.randint(2, (2000,), generator=generator)
    values = normalize(torch.randn(6, 8, generator=generator), dim=1)
    data = InMemorySet(kind(values[pattern]), labels, None, np.arange(2))
    train, held = data.split(0.2)
    assert held is not None
    assert len(train) + len(held) == 2000
    folds = [len(others) for _, others in data.folds(4, 2)]
    both = set(train.checksums) & set(held.checksums)
    if kind is Matrix:
        assert len(both) == 6
        assert len(held) == pytest.approx(400, abs=10)
        assert folds == pytest.approx([500] * 4, abs=10)
        together = Counter(zip(labels.tolist(), data.keys.tolist(), strict=True))
        assert max(together.values()) == EQUAL_ROWS
    else:
        assert len(set(data.keys)) == 6


@pytest.mark.parametrize("size", [0, 1, 5, 6, 9, 11, 16, 17, 100])
def test_shares_of_a_sample_are_as_even_as_the_classes_allow(size: int) -> None:
    counts = np.array([1, 7, 0, 3, 5])
    shares = even_shares(counts, size)
    assert shares.sum() == min(size, counts.sum())
    assert (shares <= counts).all()
    smaller = shares[shares < counts]
    assert not len(smaller) or shares.max() - smaller.min() <= 1
