"""Means over samples are means over all rows, whatever samples are drawn."""

from __future__ import annotations

import logging
from pathlib import Path

import numpy as np
import pytest

import infopursuit
from infopursuit import InformationPursuitClassifier
from infopursuit.pursuit.naive_bayes import subclasses, training_set
from infopursuit.questions import fitting, gaussian, pursuits
from infopursuit.questions.columns import TableQuestions

RARE = 0.03
DIRECTIONS = np.random.default_rng(7).normal(size=(24, 16)).astype(np.float32)


def table(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    """Rows of which few are of class 1, and pairs of columns tell."""
    rng = np.random.default_rng(seed)
    y, kind = (rng.random(count) < RARE).astype(int), rng.integers(2, size=count)
    X = rng.normal(size=(count, 3))
    X[:, 0] += y
    X[:, 1] = (kind ^ y) + X[:, 1] * 0.4
    X[:, 2] = kind
    return X, y


def images(count: int, seed: int) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    y = (rng.random(count) < RARE).astype(int)
    X = rng.normal(size=(count, 16)) + 0.5 * DIRECTIONS[y]
    return (X / np.linalg.norm(X, axis=1, keepdims=True)).astype(np.float32), y


@pytest.mark.parametrize("rates", ["counted", "subclasses", "gaussian"])
def test_a_rare_class_stays_rare(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, rates: str
) -> None:
    monkeypatch.setattr(pursuits, "MEASURED", 500)
    for module in (fitting, gaussian):
        monkeypatch.setattr(module, "KEPT", 400)
    monkeypatch.setattr(gaussian, "TEMPERED", 300)
    monkeypatch.setattr(training_set, "HELD_OUT_OF_A_CLASS", 250)
    monkeypatch.setattr(subclasses, "FITTED_ON", 1500)
    monkeypatch.setattr(subclasses, "UPDATES", (60, 40))
    if rates == "gaussian":
        texts = [f"thing {number}" for number in range(24)]
        unit = DIRECTIONS / np.linalg.norm(DIRECTIONS, axis=1, keepdims=True)
        model, draw = InformationPursuitClassifier(texts, unit, 8), images
    else:
        model, draw = InformationPursuitClassifier(rates=rates), table
    X, y = draw(12_000, 0)
    model.fit(X, y)
    new, truth = draw(8_000, 1)
    said = model.predict_proba(new)
    model.save(tmp_path / "model")
    np.testing.assert_array_equal(infopursuit.load(tmp_path / "model").predict_proba(new), said)
    right = (said.argmax(axis=1) == truth).mean()
    assert said[:, 1].mean() == pytest.approx(RARE, abs=0.007)
    assert model.provenance_["held_out_accuracy"] == pytest.approx(right, abs=0.02)
    sure = model.provenance_["held_out_confidence"]
    assert sure == pytest.approx(said.max(axis=1).mean(), abs=0.02)
    assert (model.conformity(new) <= 0.1).mean() == pytest.approx(0.1, abs=0.045)
    before = float(model.roll_out(new[:1], 1).posteriors[0, 0, 1])
    assert before == pytest.approx(y.mean(), rel=1e-5)


def test_how_many_cells_are_empty_tells_nothing() -> None:
    rng = np.random.default_rng(0)
    X, y, sign = rng.normal(size=(2400, 4)), rng.integers(2, size=2400), np.arange(4) % 2
    kind = rng.integers(2, size=2400)
    X += 0.4 * y[:, None] + 1.2 * ((kind[:, None] == sign) ^ (y[:, None] == 1))
    complete = X.copy()
    X[rng.random(X.shape) < np.array([0.1, 0.6])[y][:, None]] = np.nan
    model = InformationPursuitClassifier(TableQuestions(gaps="nothing"), rates="subclasses")
    model.fit(X[:1600], y[:1600])
    for emptied in range(4):
        rows = complete[1600:].copy()
        rows[rng.random(rows.shape).argsort(axis=1) < emptied] = np.nan
        share = model.roll_out(rows, 4).posteriors[:, -1, 1].mean()
        assert float(share) == pytest.approx(y[1600:].mean(), abs=0.06)
    # Nor does one that is asked after answers that tell.
    row = np.array([[0.3, 1.2, np.nan, np.nan]])
    told = model.roll_out(row, 4)
    empty = told.answers[0] == 0.5
    moved = told.posteriors[0].diff(dim=0).abs().amax(dim=1)
    assert empty.sum() == 2
    assert float(moved[empty].max()) == 0


def test_a_number_beyond_those_of_fit_is_named(caplog: pytest.LogCaptureFixture) -> None:
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(80, 2)).clip(-2, 2), rng.integers(2, size=80)
    model = InformationPursuitClassifier().fit(X, y)
    with caplog.at_level(logging.WARNING, "infopursuit"):
        model.predict([*X.tolist(), [2.5, -2.5]])  # a little beyond is no other unit
        assert not caplog.records
        model.predict([[0.0, 4100.0], [0.0, 50.0]])
        asked = model.dialogue()
        asked.answer("-30", model.queries_[0])
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) == 2
    assert "1? 4100 is outside" in lines[0]
    assert "-30 is outside" in lines[1]
