"""The informative queries: which are asked of images, which are heard, and which are kept."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.answers.moments import class_moments
from infopursuit.answers.table import AnswerTable
from infopursuit.answers.text_directions import TextDirections
from infopursuit.answers.thresholds import ThresholdFit
from infopursuit.datasets.rows import Rows, UnitRows
from infopursuit.naive_bayes import screening, selection
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.naive_bayes.selection import (
    FAINT,
    chosen_columns,
    informative_rows,
    responsive_rows,
)
from tests.answers.drawn import counts, drawn
from tests.naive_bayes import textbook


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
    weights: Tensor | None = None,
    allowed: Tensor | None = None,
    seed: int = 0,
    worth: Tensor | None = None,
) -> Tensor:
    universe, rows = UnitRows(texts, "texts"), UnitRows(images, "images")
    moments = class_moments(rows.blocks(), labels, weights)
    directions = TextDirections(universe, moments.within)
    counts = None if worth is None else lambda rows, *_: worth[rows]
    three = ThresholdFit(True)
    return informative_rows(
        universe, rows, labels, weights, directions, moments, k, seed, three, allowed, counts
    )


@pytest.mark.parametrize("k", [3, 10])
def test_informative_texts_are_those_that_tell_the_classes_apart(k: int) -> None:
    universe, images, labels = planted()
    rows = informative(universe, images, labels, k)
    assert rows.tolist() == sorted(set(rows.tolist()))
    assert len(rows) == k
    assert {0, 1, 2} <= set(rows.tolist())
    assert torch.equal(rows, informative(universe, images, labels, k))


def test_whole_weights_choose_what_repeated_images_choose() -> None:
    universe, images, labels = planted()
    repeats = counts(len(images))
    rows = torch.arange(len(images)).repeat_interleave(repeats)
    weighted = informative(universe, images, labels, 8, weights=repeats.double())
    repeated = informative(universe, images[rows], labels[rows], 8)
    assert torch.equal(weighted, repeated)
    ones = torch.ones(len(images), dtype=torch.float64)
    plain = informative(universe, images, labels, 8)
    assert torch.equal(informative(universe, images, labels, 8, weights=ones), plain)


def test_texts_that_are_not_allowed_are_never_chosen() -> None:
    universe, images, labels = planted()
    allowed = torch.ones(100, dtype=torch.bool)
    allowed[[0, 2, 50]] = False
    rows = informative(universe, images, labels, 97, allowed=allowed)
    assert rows.tolist() == allowed.nonzero().squeeze(1).tolist()
    few = informative(universe, images, labels, 5, allowed=allowed)
    assert 1 in few.tolist()
    assert not {0, 2, 50} & set(few.tolist())


def test_texts_that_count_for_nothing_are_chosen_last() -> None:
    universe, images, labels = planted()
    worth = torch.ones(100)
    worth[1] = 1e-6
    rows = informative(universe, images, labels, 5, worth=worth)
    assert {0, 2} <= set(rows.tolist())
    assert 1 not in rows.tolist()


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
    heard = spread.sort(descending=True).values[16]
    expected = [row for row, value in enumerate(spread) if value >= FAINT * heard]
    universe = UnitRows(texts, "texts")
    assert responsive_rows(universe, centre, images, 5).tolist() == expected
    assert not {*expected} & {*range(100, 160)}
    chosen = informative(texts, images, labels, 5)
    assert {0, 1, 2} <= set(chosen.tolist())
    assert int(chosen.max()) < 100


def test_faint_texts_fill_up_where_k_are_needed_and_others_are_not_allowed() -> None:
    texts, images, _ = with_faint_texts()
    universe, centre = UnitRows(texts, "texts"), texts.mean(dim=0)
    spread = ((texts - centre) @ images.T).std(dim=1, correction=0)
    most = spread.argsort(descending=True)[:150].sort().values
    assert torch.equal(responsive_rows(universe, centre, images, 150), most)
    allowed = torch.arange(160) >= 60
    found = responsive_rows(universe, centre, images, 5, allowed)
    assert found.tolist() == [
        row for row in responsive_rows(universe, centre, images, 5).tolist() if row >= 60
    ]
    faint = torch.arange(160) >= 100
    loudest = 100 + spread[100:].argsort(descending=True)[:5]
    found = responsive_rows(universe, centre, images, 5, faint)
    assert torch.equal(found, loudest.sort().values)


def test_a_universe_in_blocks_has_the_same_responsive_texts(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    texts, images, _ = with_faint_texts()
    universe, centre = UnitRows(texts, "texts"), texts.mean(dim=0)
    whole = responsive_rows(universe, centre, images, 5)
    monkeypatch.setattr(selection, "CANDIDATES", 7)
    assert torch.equal(responsive_rows(universe, centre, images, 5), whole)


def test_a_large_universe_in_half_precision_is_screened_first(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    universe, images, labels = planted()
    monkeypatch.setattr(selection, "CANDIDATES", 30)
    monkeypatch.setattr(selection, "IMAGES", 160)
    rows = informative(universe.half(), images.half(), labels, 5)
    assert {0, 1, 2} <= set(rows.tolist())


def test_screening_keeps_the_texts_most_informative_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    texts, images, labels = planted()
    monkeypatch.setattr(selection, "CANDIDATES", 30)
    monkeypatch.setattr(screening, "BLOCK", 13)
    universe = UnitRows(texts, "texts")
    source = screening.TextSource(universe.values)
    within = class_moments(Rows(images).blocks(), labels).within
    directions = TextDirections(universe, within)
    rows = torch.arange(3, 100)
    worth = torch.ones(100)
    worth[40:] = 0.01
    scores = images @ directions.usual(texts[rows]).T
    for fit in (ThresholdFit(False), ThresholdFit(True)):
        for counting in (None, lambda rows, *_: worth[rows]):
            how = screening.Screening(source, directions.maps[0], images, labels, None, fit)
            found = selection._candidates(rows, how, counting)
            told = fit.of(rows, scores, labels).information
            told = told if counting is None else told * worth[rows]
            expected = rows[told.argsort(descending=True, stable=True)[:30]].sort().values
            assert torch.equal(found, expected)


def test_screening_is_the_same_in_any_order_of_blocks_from_mapped_texts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    texts, images, labels = planted()
    stored = texts.half().numpy()
    np.save(tmp_path / "texts.npy", stored)
    mapped = np.load(tmp_path / "texts.npy", mmap_mode="r")
    universe = UnitRows(mapped, "texts")
    within = class_moments(Rows(images).blocks(), labels).within
    score_map = TextDirections(universe, within).maps[0]
    monkeypatch.setattr(screening, "BLOCK", 13)
    rows = torch.arange(3, 100)
    found = []
    for embeddings in (stored, mapped):
        source = screening.text_source(embeddings, universe)
        how = screening.Screening(source, score_map, images, labels, None, ThresholdFit(True))
        found.append(how.information(rows))
    # To a worker goes where the file is, and not the texts.
    assert len(pickle.dumps(source)) < 1000 < stored.nbytes

    def backwards(start: Any, shards: Any, cluster: Any) -> Iterator[tuple[int, Tensor]]:
        for number, shard in reversed(list(shards)):
            yield number, pickle.loads(pickle.dumps(start))()(shard)

    monkeypatch.setattr(screening, "run_shards", backwards)
    found.append(how.information(rows))
    assert torch.equal(found[0], found[1])
    assert torch.equal(found[0], found[2])


def test_a_dictionary_is_filled_even_where_few_texts_tell_anything() -> None:
    universe, images, labels = planted()
    few = universe[:3].repeat(4, 1)
    assert informative(few, images, labels, 7).unique().numel() == 7
    assert informative(few, images, labels, 12).tolist() == list(range(12))


def binary(rates: Tensor) -> AnswerTable:
    """A table of (c, k) rates of yes; all classes alike probable."""
    prior = torch.full((len(rates),), 1 / len(rates))
    return AnswerTable(torch.stack([(1 - rates).log().T, rates.log().T]), prior.log())


def credit_slowly(of: AnswerTable, answers: Tensor, weights: Tensor, budget: int) -> Tensor:
    """What each query gains where it is asked, image by image."""
    credit = torch.zeros(answers.shape[1], dtype=torch.float64)
    for given, weight in zip(answers, weights, strict=True):
        heard: dict[int, float] = {}
        for query in textbook.pursue(of, given, budget)[0]:
            credit[query] += float(weight) * textbook.gain(of, heard, query)
            heard[query] = float(given[query])
    return credit


def test_credit_is_the_information_gained_in_roll_outs() -> None:
    rates = drawn(4, 6).double().sigmoid()
    prior = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    answers, weights = textbook.answers(k=6), drawn(40, seed=1).abs().double()
    of = AnswerTable(torch.stack([(1 - rates).log().T, rates.log().T]), prior.log())
    found = selection._credit(InformationGain(of), answers, weights, 3)
    expected = credit_slowly(of, answers, weights, 3)
    torch.testing.assert_close(found, expected)


def test_the_query_that_settles_the_class_gets_the_credit() -> None:
    rates = torch.tensor([[0.99, 0.5, 0.6], [0.01, 0.5, 0.4]])
    answers = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    ones = torch.ones(2, dtype=torch.float64)
    credit = selection._credit(InformationGain(binary(rates)), answers, ones, 2)
    assert credit[0] > credit[2] > credit[1] >= 0


def test_pruning_leaves_out_what_is_never_worth_asking() -> None:
    """Columns 0 to 2 code the class; the others repeat them with noise."""
    labels = torch.arange(320) % 8
    bits = torch.stack([(labels >> axis & 1).float() for axis in range(3)], dim=1)
    generator = torch.Generator().manual_seed(0)
    flips = (torch.rand(320, 9, generator=generator) < 0.3).float()
    answers = torch.cat([(bits.repeat(1, 3) - flips).abs(), bits], dim=1)
    rates = torch.stack([answers[labels == label].mean(dim=0) for label in range(8)])
    of = binary(rates.clamp(0.01, 0.99))
    chosen = chosen_columns(answers, of, labels, None, 3, torch.Generator().manual_seed(0))
    assert sorted(chosen.tolist()) == [9, 10, 11]
    everything = chosen_columns(answers, of, labels, None, 12, torch.Generator().manual_seed(0))
    assert sorted(everything.tolist()) == list(range(12))
    worth = torch.ones(12)
    worth[9] = 0.01
    chosen = chosen_columns(
        answers, of, labels, None, 3, torch.Generator().manual_seed(0), 0.0, worth
    )
    assert 9 not in chosen.tolist()
