import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from infopursuit.evaluation.budget_curves import accuracy_curve, area_under_curve
from infopursuit.pursuit.rollout import roll_out
from infopursuit.vip import selection
from infopursuit.vip.networks import HistoryNetwork
from infopursuit.vip.selection import curve_area

CORRECT = hnp.arrays(bool, st.tuples(st.integers(1, 8), st.integers(2, 6)))


@given(CORRECT)
def test_curve_and_area_agree_with_counting(correct: np.ndarray) -> None:
    images, budgets = correct.shape
    by_hand = [sum(bool(row[t]) for row in correct) / images for t in range(budgets)]
    assert accuracy_curve(correct).tolist() == by_hand
    area = area_under_curve(accuracy_curve(correct))
    assert float(area) == pytest.approx(sum(by_hand[1:]) / (budgets - 1))


def test_area_leaves_out_the_guess_before_the_first_query() -> None:
    assert float(area_under_curve(np.array([1.0, 0.0, 0.5]))) == 0.25
    assert area_under_curve(np.array([[1.0, 0.0, 0.5], [0.0, 1.0, 1.0]])).tolist() == [0.25, 1.0]


def test_area_is_the_one_that_training_selects_by(monkeypatch: pytest.MonkeyPatch) -> None:
    torch.manual_seed(0)
    querier, classifier = HistoryNetwork(6, 6, (8, 4)).eval(), HistoryNetwork(6, 3, (8, 4)).eval()
    answers = torch.randint(0, 2, (40, 6)).float()
    labels = torch.randint(0, 3, (40,))
    posteriors = roll_out(querier, classifier, answers, 5).posteriors
    correct = (posteriors.argmax(dim=2) == labels[:, None]).numpy()
    for at_once in (1024, 7):
        monkeypatch.setattr(selection, "images_at_once", lambda *_, count=at_once: count)
        expected = curve_area(querier, classifier, answers, labels, 5, 3)
        area = float(area_under_curve(accuracy_curve(correct)))
        assert area == pytest.approx(expected, abs=1e-12)
