"""Questions, answers and a reader, against counts one by one."""

import math

import numpy as np
import pytest

from infopursuit_study.meaning.question_quality import (
    plausible_questions,
    reader_accuracy,
    supported_yes,
)
from tests.study.meaning.made_up import drawn_roll_out, drawn_table, roll_out_of


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_one_by_one(seed: int) -> None:
    asked, reference = drawn_roll_out(seed), drawn_table(seed)
    reference[:, 3] = 0
    plausible, supported = [], []
    for image in range(len(asked.order)):
        predicted = int(asked.posteriors[image, -1].argmax())
        for step in range(asked.order.shape[1]):
            query = int(asked.order[image, step])
            plausible.append(any(reference[label, query] >= 0.5 for label in range(5)))
            if asked.answers[image, step] == 1:
                supported.append(reference[predicted, query] >= 0.5)
    assert plausible_questions(asked, reference) == pytest.approx(np.mean(plausible))
    assert supported_yes(asked, reference) == pytest.approx(np.mean(supported))


def test_without_yes_nothing_is_supported_or_not() -> None:
    asked = roll_out_of([[0]], [[0.5]], [0], 2)
    assert supported_yes(asked, np.ones((2, 1), dtype=np.float32)) is None


@pytest.mark.parametrize("seed", range(5))
def test_as_reckoned_one_by_one(seed: int) -> None:
    asked, reference = drawn_roll_out(seed), drawn_table(seed)
    labels = np.random.default_rng(seed).integers(0, 5, len(asked.order))
    right = 0.0
    for image, label in enumerate(labels):
        posterior = [1.0] * 5
        for query, answer in zip(asked.order[image], asked.answers[image], strict=True):
            for each in range(5):
                says_yes = {1.0: 0.9, 0.5: 0.5}.get(float(reference[each, query]), 0.1)
                if answer == 1:
                    posterior[each] *= says_yes
                elif answer == 0:
                    posterior[each] *= 1 - says_yes
        best = [math.isclose(each, max(posterior)) for each in posterior]
        right += best[label] / sum(best)
    assert reader_accuracy(asked, reference, labels) == pytest.approx(right / len(labels))
