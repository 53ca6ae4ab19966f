import math

import numpy as np
import pytest

from infopursuit.meaning.reader import reader_accuracy
from tests.meaning.made_up import drawn_roll_out, drawn_table, roll_out_of


@pytest.mark.parametrize("seed", range(5))
def test_as_reckoned_one_by_one(seed: int) -> None:
    asked, judged = drawn_roll_out(seed), drawn_table(seed)
    labels = np.random.default_rng(seed).integers(0, 5, len(asked.order))
    right = 0.0
    for image, label in enumerate(labels):
        posterior = [1.0] * 5
        for query, answer in zip(asked.order[image], asked.answers[image], strict=True):
            for each in range(5):
                says_yes = {1.0: 0.9, 0.5: 0.5}.get(float(judged[each, query]), 0.1)
                if answer == 1:
                    posterior[each] *= says_yes
                elif answer == 0:
                    posterior[each] *= 1 - says_yes
        best = [math.isclose(each, max(posterior)) for each in posterior]
        right += best[label] / sum(best)
    assert reader_accuracy(asked, judged, labels) == pytest.approx(right / len(labels))


def test_he_shares_where_classes_tie_and_learns_nothing_from_not_sure() -> None:
    judged = np.array([[1, 1], [1, 0], [0, 0]], dtype=np.float32)
    asked = roll_out_of([[0, 1], [0, 1]], [[1.0, 0.5], [1.0, 0.0]], [0, 0], 3)
    assert reader_accuracy(asked, judged, np.array([0, 0])) == 0.25
    assert reader_accuracy(asked, judged, np.array([1, 1])) == 0.75
