"""Answers and scores against what is true of classes, counted one by one."""

import numpy as np
import pytest

from infopursuit_study.experiments.meaning import auroc_of_texts
from infopursuit_study.experiments.meaning_tables import interval
from infopursuit_study.meaning.truth import TruthOfAnswers, truth_of_answers
from tests.study.meaning.made_up import drawn_table


def slow(answers: np.ndarray, table: np.ndarray, labels: np.ndarray) -> TruthOfAnswers:
    """Counting image by image, text by text."""
    found: dict[str, list[float]] = {name: [] for name in TruthOfAnswers._fields[:5]}
    texts = without_yes = 0
    for text in range(answers.shape[1]):
        count = dict.fromkeys(
            ["yes", "true_yes", "true", "false", "no_false", "no_true", "known", "answered"], 0
        )
        for image, label in enumerate(labels):
            truth, answer = table[label, text], answers[image, text]
            if truth not in (0, 1):
                continue
            count["known"] += 1
            count["answered"] += answer != 0.5
            count["true" if truth == 1 else "false"] += 1
            count["yes"] += answer > 0.5
            count["true_yes"] += answer > 0.5 and truth == 1
            count["no_false"] += answer < 0.5 and truth == 0
            count["no_true"] += answer < 0.5 and truth == 1
        if not count["true"] or not count["false"]:
            continue
        texts += 1
        if count["yes"]:
            found["precision_of_yes"].append(count["true_yes"] / count["yes"])
        else:
            without_yes += 1
        found["recall_of_yes"].append(count["true_yes"] / count["true"])
        found["answered"].append(count["answered"] / count["known"])
        if count["answered"]:
            right = count["true_yes"] + count["no_false"]
            found["right"].append(right / count["answered"])
        of_true = count["true_yes"] + count["no_true"]
        of_false = count["answered"] - of_true
        if of_true and of_false:
            balanced = (count["true_yes"] / of_true + count["no_false"] / of_false) / 2
            found["balanced"].append(balanced)
    means = [sum(found[name]) / len(found[name]) for name in TruthOfAnswers._fields[:5]]
    return TruthOfAnswers(*means, texts, without_yes)


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_one_by_one(seed: int) -> None:
    draw = np.random.default_rng(seed)
    table, labels = drawn_table(seed), draw.integers(0, 5, 30)
    answers = draw.integers(0, 5, (30, 9)) / 4
    answers[:, 4] = np.minimum(answers[:, 4], 0.5)  # a text that never gets a yes
    assert truth_of_answers(answers, table, labels) == pytest.approx(slow(answers, table, labels))


def test_texts_that_no_class_tells_apart_do_not_count() -> None:
    table = np.array([[1, 0, np.nan], [1, 0, 0]], dtype=np.float32)
    answers = np.ones((4, 3))
    found = truth_of_answers(answers, table, np.array([0, 1, 0, 1]))
    assert found == TruthOfAnswers(None, None, None, None, None, 0, 0)


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_pair_by_pair(seed: int) -> None:
    draw = np.random.default_rng(seed)
    table, labels = drawn_table(seed), draw.integers(0, 5, 30)
    groups, scores = draw.integers(0, 3, 30), draw.integers(0, 6, (30, 9)) / 6
    found = auroc_of_texts(scores, table, labels, groups)
    for text in range(9):
        wins = [
            1.0 if scores[a, text] > scores[b, text] else 0.5 * (scores[a, text] == scores[b, text])
            for a in range(30)
            for b in range(30)
            if groups[a] == groups[b]
            and table[labels[a], text] == 1
            and table[labels[b], text] == 0
        ]
        expected = np.mean(wins) if wins else np.nan
        assert found[text] == pytest.approx(expected, nan_ok=True)


def test_intervals_over_seeds_are_by_students_t() -> None:
    assert interval([0.25, None]) == (0.25, None)
    mean, half = interval([1.0, 2.0, 3.0])
    assert (mean, half) == (2.0, pytest.approx(4.3027 / 3**0.5, abs=1e-3))
