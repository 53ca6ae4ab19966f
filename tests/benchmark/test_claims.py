"""Claims are counted as the definition says, on explanations made by hand."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.base import BaseEstimator

from infopursuit.benchmark import claims
from infopursuit.benchmark.claims import claims_of
from infopursuit.peers.contributions import Contributions
from infopursuit.peers.peer import Peer

CLASSES = np.array(["cat", "dog"])


class Told(Peer, BaseEstimator):
    """Gives what it is given."""

    def __init__(self, told: Contributions) -> None:
        self.told, self.classes_, self.texts_ = told, told.classes, told.texts
        self.rows: list[int] = []

    def explain(self, X: np.ndarray) -> Contributions:
        rows = X[:, 0].astype(int)
        self.rows.append(len(rows))
        told = self.told
        return Contributions(
            told.classes, told.texts, told.values[rows], told.offset[rows], told.used[rows],
            told.shows[rows],
        )  # fmt: skip


def made() -> Told:
    """Two images, three texts; the first is predicted a cat, the second a dog."""
    cat = np.array([[3.0, 1.0, -0.5], [-2.0, 0.5, 1.0]])
    values = np.stack([cat, -cat], axis=1)
    used = np.array([[True, True, True], [True, True, True]])
    shows = np.array([[True, True, False], [False, True, True]])
    texts = ("whiskers", "tail", "wheel")
    return Told(Contributions(CLASSES, texts, values, np.zeros((2, 2)), used, shows))


FITS = np.array([[True, True, False], [False, True, False]])  # cat, dog


def test_claims_are_what_images_are_taken_to_show() -> None:
    found = claims_of(
        made(), np.arange(2.0)[:, None], np.array([0, 1]), FITS, ("whiskers", "tail", "wheel")
    )
    # Shown: whiskers and tail of the cat (both fit), tail and wheel of the dog (the tail fits).
    assert found.true == pytest.approx(3 / 4)
    # For the cat speak whiskers and tail. For the dog speak no shown texts: both speak for the cat.
    assert found.supported == pytest.approx(1.0)
    # Of the three texts that each decision rests on, the wheel fits no class.
    assert found.plausible == pytest.approx(4 / 6)
    assert (found.texts, found.in_model) == (3.0, 3)


def test_only_the_first_claims_count(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "FIRST", 1)
    found = claims_of(
        made(), np.arange(2.0)[:, None], np.array([0, 1]), FITS, ("whiskers", "tail", "wheel")
    )
    # The largest claims: whiskers of the cat, which fit; the wheel of the dog, which does not.
    assert found.true == pytest.approx(1 / 2)
    assert found.plausible == pytest.approx(1.0)  # whiskers twice


def test_without_a_judge_texts_are_counted_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(claims, "BLOCK", 1)
    found = claims_of(made(), np.arange(2.0)[:, None], np.array([0, 1]), None, ())
    assert found == (None, None, None, 3.0, 3)


@pytest.mark.parametrize(("values", "rows"), [(5, [1, 1]), (11, [1, 1]), (12, [2])])
def test_explanations_that_are_held_at_once_have_no_more_values_than_allowed(
    monkeypatch: pytest.MonkeyPatch, values: int, rows: list[int]
) -> None:
    """Two classes and three texts are six values an image; one image there is always."""
    monkeypatch.setattr(claims, "VALUES", values)
    model = made()
    texts = ("whiskers", "tail", "wheel")
    found = claims_of(model, np.arange(2.0)[:, None], np.array([0, 1]), FITS, texts)
    assert model.rows == rows
    assert found.true == pytest.approx(3 / 4)
