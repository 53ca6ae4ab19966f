"""Which pictures are asked, which questions are counted, and what is said of each."""

import numpy as np
import pytest

from menagerie.first_questions import (
    ASKED_COLUMNS,
    AskedQuestion,
    asked_rows,
    first_question_measures,
    spread_sample,
)

QUERIES = ["striped body", "no wings"]
# Of two pictures: the first is striped, and neither has wings.
TRUTH = np.array([[True, True], [False, True]])
ASKED = [
    AskedQuestion(0, 1, "striped body", 1.0),
    AskedQuestion(0, 2, "mortgage", 1.0),
    AskedQuestion(0, 3, "no wings", 0.5),
    AskedQuestion(1, 1, "striped body", 1.0),
    AskedQuestion(1, 2, "no wings", 0.0),
]


@pytest.mark.parametrize("count", [1, 16, 100])
def test_pictures_are_spread_over_the_classes(count: int) -> None:
    labels = np.random.default_rng(3).integers(0, 16, 900)
    rows = spread_sample(labels, count, seed=0)
    assert len(rows) == len(set(rows)) == count
    of_class = np.bincount(labels[rows], minlength=16)
    assert of_class.max() - of_class.min() <= 1


def test_false_answers_and_unknown_questions_by_hand() -> None:
    found = first_question_measures(ASKED, QUERIES, TRUTH)
    assert found["pictures"] == 2
    assert found["questions"] == 5
    assert found["no_claim"] == 1
    assert found["claims"] == 4
    assert found["false"] == 2
    assert found["not_sure"] == 1
    assert found["answered"] == 3 / 4
    assert found["right"] == 1 / 3
    assert found["precision_of_yes"] == 1 / 2
    assert found["recall_of_yes"] == 1 / 3


def test_each_question_is_listed_with_its_truth() -> None:
    rows = asked_rows(ASKED, ["a", "b"], QUERIES, TRUTH)
    assert [dict(zip(ASKED_COLUMNS, row, strict=True))["image"] for row in rows] == list("aaabb")
    assert rows[0][1:] == (1, "striped body", "yes", "striped", True, True, True)
    assert rows[1][1:] == (2, "mortgage", "yes", "", "", "", "")
    assert rows[2][1:] == (3, "no wings", "neither", "wings", False, True, "")
    assert rows[4][1:] == (2, "no wings", "no", "wings", False, True, False)
