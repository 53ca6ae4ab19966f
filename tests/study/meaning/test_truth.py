"""Answers and scores against what is true of classes, counted one by one."""

import numpy as np
import pytest

from infopursuit_study.evaluation.agreement import count_answers
from infopursuit_study.meaning.truth import TruthOfAnswers, truth_of_answers
from tests.study.meaning.made_up import drawn_table


@pytest.mark.parametrize("seed", range(5))
def test_shares_are_means_over_the_texts_that_classes_tell_apart(seed: int) -> None:
    draw = np.random.default_rng(seed)
    table, labels = drawn_table(seed), draw.integers(0, 5, 30)
    answers = draw.integers(0, 5, (30, 9)) / 4
    answers[:, 4] = np.minimum(answers[:, 4], 0.5)  # a text that never gets a yes
    rows = []
    for text, truth in enumerate(table[labels].T):
        known = (truth == 0) | (truth == 1)
        if {0, 1} <= set(truth[known]):
            counts = count_answers(answers[known, text, None], truth[known, None] == 1)
            rows.append([counts.shares[name][0] for name in TruthOfAnswers._fields[:5]])
    without_yes = int(np.isnan(rows)[:, 0].sum())
    expected = TruthOfAnswers(*np.nanmean(rows, axis=0), len(rows), without_yes)
    assert truth_of_answers(answers, table, labels) == pytest.approx(expected)


def test_texts_that_no_class_tells_apart_do_not_count() -> None:
    table = np.array([[1, 0, np.nan], [1, 0, 0]], dtype=np.float32)
    answers = np.ones((4, 3))
    found = truth_of_answers(answers, table, np.array([0, 1, 0, 1]))
    assert found == TruthOfAnswers(None, None, None, None, None, 0, 0)
