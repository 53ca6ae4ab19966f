import numpy as np
import pytest

from infopursuit.meaning.questions import plausible_questions, supported_yes
from tests.meaning.made_up import drawn_roll_out, drawn_table, roll_out_of


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_one_by_one(seed: int) -> None:
    asked, judged = drawn_roll_out(seed), drawn_table(seed)
    judged[:, 3] = 0
    plausible, supported = [], []
    for image in range(len(asked.order)):
        predicted = int(asked.posteriors[image, -1].argmax())
        for step in range(asked.order.shape[1]):
            query = int(asked.order[image, step])
            plausible.append(any(judged[label, query] >= 0.5 for label in range(5)))
            if asked.answers[image, step] == 1:
                supported.append(judged[predicted, query] >= 0.5)
    assert plausible_questions(asked, judged) == pytest.approx(np.mean(plausible))
    assert supported_yes(asked, judged) == pytest.approx(np.mean(supported))


def test_by_hand() -> None:
    """Query 1 fits no class. Of three yes, that to query 0 and that to query 2 fit."""
    judged = np.array([[1, 0, 0], [0, np.nan, 0.5]], dtype=np.float32)
    asked = roll_out_of([[0, 1], [2, 0]], [[1.0, 1.0], [1.0, 0.5]], [0, 1], 2)
    assert plausible_questions(asked, judged) == 0.75
    assert supported_yes(asked, judged) == pytest.approx(2 / 3)


def test_without_yes_nothing_is_supported_or_not() -> None:
    asked = roll_out_of([[0]], [[0.5]], [0], 2)
    assert supported_yes(asked, np.ones((2, 1), dtype=np.float32)) is None
