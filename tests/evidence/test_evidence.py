"""Scores, thresholds, rates, information and selection, each against the obvious way."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor
from torch.nn.functional import normalize, one_hot

from infopursuit.evidence.forward_selection import forward_selection
from infopursuit.evidence.information import (
    binary_entropy,
    credited_information,
    information_gain,
)
from infopursuit.evidence.informative import FAINT, heard_rows, informative_rows
from infopursuit.evidence.rates import LEAST, MOST, class_rates, score_rates
from infopursuit.evidence.score_map import class_means, fit_score_map
from infopursuit.evidence.thresholds import ALMOST, SHARES_OF_YES, fit_thresholds


def drawn(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def test_a_score_depends_on_its_own_text_alone_and_discounts_what_texts_share() -> None:
    images, labels = normalize(drawn(40, 6), dim=1), torch.arange(40) % 4
    universe = drawn(500, 6, seed=1)
    universe[:, 0] *= 8  # all texts differ along one direction
    universe = normalize(universe, dim=1)
    fitted = fit_score_map(universe, images, labels)
    together = fitted.directions(universe[:5])
    for row in range(5):
        torch.testing.assert_close(fitted.directions(universe[row : row + 1])[0], together[row])
    torch.testing.assert_close(together.norm(dim=1), torch.ones(5))
    plain = normalize(universe - universe.mean(dim=0), dim=1)
    shared = fitted.directions(universe)[:, 0].abs().mean()
    assert shared < 0.9 * plain[:, 0].abs().mean()


def test_half_precision_universes_in_blocks_give_the_same_map() -> None:
    images, labels = normalize(drawn(40, 6), dim=1), torch.arange(40) % 4
    universe = normalize(drawn(20_000, 6, seed=1), dim=1)
    found, whole = (fit_score_map(u, images, labels) for u in (universe.half(), universe))
    centred = (universe - universe.mean(dim=0)).double()
    scatter = centred.T @ centred
    spread = (images - class_means(images, labels)[labels]).double()
    within = spread.T @ spread
    expected = torch.linalg.inv(
        torch.eye(6)
        + scatter / scatter.diagonal().mean() / 3
        + 0.1 * within / within.diagonal().mean()
    )
    torch.testing.assert_close(whole.discount.double(), expected, atol=1e-5, rtol=1e-4)
    torch.testing.assert_close(found.discount, whole.discount, atol=1e-3, rtol=1e-2)


def test_information_gain_is_the_mutual_information_of_answer_and_class() -> None:
    posterior = drawn(3, 4).double().softmax(dim=1)
    rates = drawn(4, 5, seed=1).double().sigmoid()
    gains = information_gain(posterior, rates)
    for image in range(3):
        for query in range(5):
            total = 0.0
            for said in (rates[:, query], 1 - rates[:, query]):
                joint = posterior[image] * said
                total += float((joint * (joint / joint.sum() / posterior[image]).log()).sum())
            assert math.isclose(float(gains[image, query]), total, rel_tol=1e-9)


def test_entropy_is_zero_where_nothing_is_open() -> None:
    assert binary_entropy(torch.tensor([0.0, 1.0])).tolist() == [0.0, 0.0]
    assert math.isclose(float(binary_entropy(torch.tensor(0.5))), math.log(2), rel_tol=1e-6)


def test_thresholds_are_the_most_informative_and_at_most_half_say_yes() -> None:
    labels = torch.arange(60) % 3
    scores = drawn(60, 4) * 0.1
    scores[:, 0] += (labels == 1).float()  # a third of the images
    found = fit_thresholds(scores, labels)
    yes = scores > found.values
    assert torch.equal(yes[:, 0], labels == 1)
    assert (yes.float().mean(dim=0) <= 0.5).all()
    rates = torch.tensor([[0.5 / 21, 20.5 / 21, 0.5 / 21]]).T
    expected = information_gain(torch.full((1, 3), 1 / 3), rates)
    torch.testing.assert_close(found.information[:1], expected[0])
    assert (found.information[1:] < found.information[0]).all()


def test_of_thresholds_that_tell_almost_the_most_the_one_with_fewest_yes_is_taken() -> None:
    labels = torch.arange(400) % 4
    scores = drawn(400, 30) + 0.5 * (labels.unsqueeze(1) == torch.arange(30) % 4)
    found = fit_thresholds(scores, labels)
    fewer = 0
    for column in range(30):
        told = {}
        for share in SHARES_OF_YES:
            value = scores[:, column].sort().values[int((1 - share) * 400)]
            yes = (scores[:, column] > value).float()
            counts = torch.stack([yes[labels == label].sum() for label in range(4)])
            rates = ((counts + 0.5) / 101).unsqueeze(1)
            told[float(value)] = information_gain(torch.full((1, 4), 0.25), rates).item()
        enough = [value for value, gain in told.items() if gain >= ALMOST * max(told.values())]
        assert found.values[column].item() == max(enough)
        assert found.information[column].item() == pytest.approx(told[max(enough)])
        fewer += max(enough) > max(told, key=told.__getitem__)
    assert fewer > 0


def test_rates_count_answers_and_are_never_certain() -> None:
    labels = torch.tensor([0, 0, 0, 0, 1, 1])
    answers = torch.tensor([[1.0], [1.0], [1.0], [0.0], [0.0], [0.0]])
    assert class_rates(answers, labels).tolist() == [[pytest.approx(4 / 6)], [0.25]]
    scores = torch.cat([torch.full((500, 1), 9.0), torch.full((500, 1), -9.0)]) + drawn(1000, 1)
    rates = score_rates(scores, torch.zeros(1), torch.arange(1000) // 500)
    assert rates.tolist() == [[pytest.approx(MOST)], [pytest.approx(LEAST)]]


def test_rates_of_scores_are_half_frequency_and_half_gaussian() -> None:
    labels = torch.arange(4000) % 2
    scores = drawn(4000, 1) + labels.unsqueeze(1)
    rates = score_rates(scores, torch.tensor([0.5]), labels)
    expected = torch.special.ndtr(torch.tensor([[-0.5], [0.5]]))
    torch.testing.assert_close(rates, expected, atol=0.02, rtol=0)


def selected_slowly(answers: Tensor, labels: Tensor, count: int) -> list[int]:
    """Each next column by solving every least-squares problem from scratch."""
    members = one_hot(labels).double()
    target = members / members.sum(dim=0).sqrt()
    target = target - target.mean(dim=0)
    columns = answers.double() - answers.double().mean(dim=0)
    chosen: list[int] = []
    for _ in range(count):
        errors = {}
        for column in set(range(columns.shape[1])) - set(chosen):
            basis = columns[:, [*chosen, column]]
            fitted = basis @ torch.linalg.lstsq(basis, target).solution
            errors[column] = float((target - fitted).square().sum())
        chosen.append(min(errors, key=errors.__getitem__))
    return chosen


def test_forward_selection_is_orthogonal_matching_pursuit() -> None:
    labels = torch.arange(90) % 5
    scores = drawn(90, 5, seed=2)[labels.sort().indices] @ drawn(5, 30, seed=3)
    answers = (scores + drawn(90, 30, seed=4) > 0).float()
    assert forward_selection(answers, labels, 12) == selected_slowly(answers, labels, 12)


def test_forward_selection_takes_no_column_twice_and_nothing_that_adds_nothing() -> None:
    labels = torch.arange(40) % 4
    useful = (drawn(40, 3) > 0).float()
    answers = torch.cat([useful, 1 - useful, torch.ones(40, 1)], dim=1)
    chosen = forward_selection(answers, labels, 7)
    assert len(chosen) == 3
    assert len({column % 3 for column in chosen}) == 3


def test_the_query_that_settles_the_class_gets_the_credit() -> None:
    rates = torch.tensor([[0.99, 0.5, 0.6], [0.01, 0.5, 0.4]])
    answers = torch.tensor([[1.0, 0.0, 1.0], [0.0, 1.0, 0.0]])
    credit = credited_information(answers, rates, torch.tensor([0.5, 0.5]), 2)
    assert credit[0] > credit[2] > credit[1] >= 0
    first = information_gain(torch.tensor([[0.5, 0.5]]), rates)[0, 0]
    torch.testing.assert_close(credit[0], 2 * first)


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


def test_informative_texts_are_those_that_tell_the_classes_apart() -> None:
    universe, images, labels = planted()
    for k in (3, 10):
        rows = informative_rows(universe, images, labels, k, seed=0)
        assert len(rows.unique()) == k
        assert {0, 1, 2} <= set(rows.tolist())
        assert torch.equal(rows, informative_rows(universe, images, labels, k, seed=0))


def test_a_text_whose_scores_hardly_differ_is_not_chosen() -> None:
    """Faint texts lie near the mean text, in the very directions that tell the classes apart."""
    universe, images, labels = planted()
    faint = torch.zeros(60, 16)
    faint[:, :3] = 0.01 * drawn(60, 3, seed=9)
    texts = torch.cat([universe, faint - faint.mean(dim=0) + universe.mean(dim=0)])
    centre = texts.mean(dim=0)
    spread = ((texts - centre) @ images.T).std(dim=1, correction=0)
    loud = spread.sort(descending=True).values[16]
    expected = [row for row, value in enumerate(spread) if value >= FAINT * loud]
    assert heard_rows(texts, centre, images, 5).tolist() == expected
    assert not {*expected} & {*range(100, 160)}
    chosen = informative_rows(texts, images, labels, 5, seed=0)
    assert {0, 1, 2} <= set(chosen.tolist())
    assert int(chosen.max()) < 100
    least = spread.argsort(descending=True)[:150].sort().values
    assert torch.equal(heard_rows(texts, centre, images, 150), least), "k are needed"


def test_a_large_universe_is_screened_first(monkeypatch: pytest.MonkeyPatch) -> None:
    universe, images, labels = planted()
    monkeypatch.setattr("infopursuit.evidence.informative.CANDIDATES", 30)
    monkeypatch.setattr("infopursuit.evidence.informative.IMAGES", 160)
    rows = informative_rows(universe.half(), images, labels, 5, seed=0)
    assert {0, 1, 2} <= set(rows.tolist())


def test_a_dictionary_is_filled_even_where_few_texts_tell_anything() -> None:
    universe, images, labels = planted()
    few = universe[:3].repeat(4, 1)
    assert informative_rows(few, images, labels, 7, seed=0).unique().numel() == 7
    assert informative_rows(few, images, labels, 12, seed=0).tolist() == list(range(12))
