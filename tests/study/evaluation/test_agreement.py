"""Answers counted by the truth, against counts by hand."""

import numpy as np
import pytest

from infopursuit_study.evaluation.agreement import claim_measures, count_answers, mean_shares


def columns(*rows: str) -> np.ndarray:
    """One string of 1 and 0 a query, its characters the images."""
    return np.array([[letter == "1" for letter in row] for row in rows]).T


def test_shares_of_each_query_by_hand() -> None:
    counts = count_answers(columns("1100", "1111"), columns("1000", "0111"))
    assert counts.shares["right"].tolist() == [0.75, 0.75]
    assert counts.shares["yes"].tolist() == [0.5, 1.0]
    assert counts.shares["true"].tolist() == [0.25, 0.75]
    assert counts.shares["yes_of_true"].tolist() == [1.0, 1.0]
    assert counts.shares["no_of_false"].tolist() == pytest.approx([2 / 3, 0.0])
    assert counts.shares["balanced"].tolist() == pytest.approx([5 / 6, 0.5])
    assert mean_shares(counts, "asked") == pytest.approx(
        {
            "asked_queries": 2,
            "asked_agreement": 0.75,
            "asked_answered": 1.0,
            "asked_share_of_yes": 0.75,
            "asked_share_true": 0.5,
            "asked_balanced_agreement": 2 / 3,
        }
    )


def test_claims_together_by_hand() -> None:
    """True: yes, yes, no, not sure. False: yes, no, no, no, not sure."""
    answers = np.array([1, 1, 0, 0.5, 1, 0, 0, 0, 0.5])[:, None]
    truth = np.array([True] * 4 + [False] * 5)[:, None]
    measures = claim_measures(count_answers(answers, truth))
    assert measures == pytest.approx(
        {
            "claims": 9,
            "false": 2,
            "not_sure": 2,
            "answered": 7 / 9,
            "right": 5 / 7,
            "precision_of_yes": 2 / 3,
            "recall_of_yes": 2 / 4,
            "balanced": (2 / 3 + 3 / 4) / 2,
        }
    )
    square = count_answers(answers.reshape(3, 3), truth.reshape(3, 3))
    assert claim_measures(square) == measures
    soft = count_answers(answers * 0.2 + 0.4, truth)
    assert claim_measures(soft) == measures, "soft answers say the same"
    known = np.arange(9)[:, None] < 4
    assert claim_measures(count_answers(answers, truth, known))["claims"] == 4
