"""Answers and scores against what is true of classes, counted one by one."""

import numpy as np
import pytest

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
