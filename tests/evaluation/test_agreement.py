import numpy as np
import pytest

from infopursuit.evaluation.agreement import ClaimMeasures, agreement, claim_measures


def columns(*rows: str) -> np.ndarray:
    """One string of 1 and 0 a query, its characters the images."""
    return np.array([[letter == "1" for letter in row] for row in rows]).T


def test_shares_of_each_query_by_hand() -> None:
    found = agreement(columns("1100", "1111"), columns("1000", "0111"))
    assert found.agreement.tolist() == [0.75, 0.75]
    assert found.yes.tolist() == [0.5, 1.0]
    assert found.true.tolist() == [0.25, 0.75]
    assert found.yes_of_true.tolist() == [1.0, 1.0]
    assert found.no_of_false.tolist() == pytest.approx([2 / 3, 0.0])
    assert found.balanced.tolist() == pytest.approx([5 / 6, 0.5])
    metrics = found.metrics("asked")
    assert metrics == pytest.approx(
        {
            "asked_queries": 2,
            "asked_agreement": 0.75,
            "asked_answered": 1.0,
            "asked_share_of_yes": 0.75,
            "asked_share_true": 0.5,
            "asked_balanced_agreement": 2 / 3,
        }
    )


def test_answers_that_know_nothing_agree_often_with_what_is_rare_but_not_in_balance() -> None:
    draw = np.random.default_rng(0)
    truth, answers = draw.random((4000, 20)) < 0.05, draw.random((4000, 20)) < 0.05
    metrics = agreement(answers, truth).metrics("x")
    assert metrics["x_agreement"] > 0.9
    assert metrics["x_balanced_agreement"] == pytest.approx(0.5, abs=0.02)


def test_queries_that_are_true_of_every_image_do_not_count_in_the_balance() -> None:
    found = agreement(columns("1100", "1100"), columns("1111", "1100"))
    assert np.isnan(found.balanced).tolist() == [True, False]
    assert found.metrics("x")["x_balanced_agreement"] == 1.0
    assert found.metrics("x")["x_agreement"] == 0.75
    alone = agreement(columns("1100"), columns("1111")).metrics("x")
    assert "x_balanced_agreement" not in alone


def test_without_queries_there_is_nothing_to_tell() -> None:
    nothing = np.zeros((4, 0), dtype=bool)
    assert agreement(nothing, nothing).metrics("x") == {"x_queries": 0}


def test_not_sure_is_no_answer() -> None:
    """Of four images the second query answers none, and the first two: one right, one wrong."""
    answers = np.array([[1.0, 0.5], [1.0, 0.5], [0.5, 0.5], [0.5, 0.5]])
    found = agreement(answers, columns("1010", "1100"))
    assert found.agreement.tolist() == pytest.approx([0.5, np.nan], nan_ok=True)
    assert found.answered.tolist() == [0.5, 0.0]
    assert found.yes.tolist() == [0.5, 0.0]
    assert found.yes_of_true.tolist() == pytest.approx([1.0, np.nan], nan_ok=True)
    assert found.no_of_false.tolist() == pytest.approx([0.0, np.nan], nan_ok=True)
    metrics = found.metrics("x")
    assert metrics["x_agreement"] == 0.5
    assert metrics["x_answered"] == 0.25
    assert metrics["x_balanced_agreement"] == 0.5


def test_claims_together_by_hand() -> None:
    """True: yes, yes, no, not sure. False: yes, no, no, no, not sure."""
    answers = np.array([1, 1, 0, 0.5, 1, 0, 0, 0, 0.5])
    truth = np.array([True] * 4 + [False] * 5)
    found = claim_measures(answers, truth)
    expected = ClaimMeasures(9, 2, 2, 7 / 9, 5 / 7, 2 / 3, 2 / 4, (2 / 3 + 3 / 4) / 2)
    assert found == pytest.approx(expected)
    assert claim_measures(answers.reshape(3, 3), truth.reshape(3, 3)) == found
    assert claim_measures(answers * 0.2 + 0.4, truth) == found, "soft answers say the same"


def test_claims_without_answers_or_without_a_kind_have_no_shares() -> None:
    none = claim_measures(np.zeros(0), np.zeros(0, dtype=bool))
    assert none == ClaimMeasures(0, 0, 0, None, None, None, None, None)
    unsure = claim_measures(np.full(3, 0.5), np.array([True, False, False]))
    assert unsure == ClaimMeasures(3, 0, 3, 0.0, None, None, 0.0, None)
    true = claim_measures(np.array([1.0, 0.0]), np.array([True, True]))
    assert true == ClaimMeasures(2, 1, 0, 1.0, 0.5, 1.0, 0.5, None)
