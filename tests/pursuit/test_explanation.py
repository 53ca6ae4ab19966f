"""Explanations as data and as words: back from JSON unchanged, and the same lines of text."""

from __future__ import annotations

from dataclasses import replace
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.pursuit.explanation import (
    Candidate,
    Explanation,
    Step,
    answer_value,
    ending,
    rival,
)
from infopursuit.report.words import explanation_text


def explained(**changes: object) -> Explanation:
    """Two questions about a giraffe; fields may be replaced."""
    steps = (
        Step("wings", 0.0, (0.4, 0.5, 0.1), 0.943, 0.21, (Candidate("sails", 0.2),)),
        Step("a <very> long neck", 1.0, (0.97, 0.02, 0.01), 0.154, None, (), True),
    )
    fields = {
        "image": "photo <1>.jpg",
        "class_names": ("giraffe", "school <bus>", "a & b"),
        "prior": (0.5, 0.3, 0.2),
        "steps": steps,
        "ended": "probability",
        "true_class": "giraffe",
    }
    return Explanation(**{**fields, **changes})


def test_the_prediction_is_the_most_probable_class_and_the_first_of_equals() -> None:
    explanation = explained()
    predicted = explanation.predicted_class, explanation.probability, explanation.correct
    assert predicted == ("giraffe", 0.97, True)
    assert [step.leader for step in explanation.steps] == [1, 0]
    assert replace(explanation, true_class="a & b").correct is False
    assert replace(explanation, true_class=None).correct is None
    without = explained(steps=())
    assert (without.posterior, without.predicted_class) == (without.prior, "giraffe")
    tied = Explanation("x", ("a", "b", "c", "d"), (0.1, 0.4, 0.4, 0.1), (), "maximum")
    assert tied.top_classes(3) == [1, 2, 0]
    assert tied.top_classes(9) == [1, 2, 0, 3]
    assert tied.predicted_class == "b"


def test_answers_as_people_give_them() -> None:
    given = ("yes", "probably", "not sure", "probably not", "no", 1.0, 0.25, True)
    expected = [1.0, 0.75, 0.5, 0.25, 0.0, 1.0, 0.25, 1.0]
    assert [answer_value(answer) for answer in given] == expected
    given = ("YES", "Probably  Not", np.int64(1), np.float32(0.25), np.True_, np.str_("no"))
    expected = [1.0, 0.25, 1.0, 0.25, 1.0, 0.0]
    assert [answer_value(answer) for answer in given] == expected
    given, expected = (torch.tensor(0.75), np.array(False)), [0.75, 0.0]
    assert [answer_value(answer) for answer in given] == expected


@pytest.mark.parametrize(
    "answer", ["maybe", "", 1.5, -0.1, float("nan"), None, np.int64(2), np.ones(2), ["yes"]]
)
def test_other_answers_are_refused(answer: str | float) -> None:
    with pytest.raises(InputError, match="'probably not', 'no', or a number from 0 to 1"):
        answer_value(answer)


def test_notebooks_show_a_table_whose_words_are_not_markup() -> None:
    page = ElementTree.fromstring(f"<x>{explained()._repr_html_()}</x>")
    words = " ".join(text.strip() for text in page.itertext())
    for text in ("photo <1>.jpg", "a <very> long neck?", "school <bus>, 50 %", "giraffe, 97 %"):
        assert text in words


def test_questions_answers_and_classes_line_up() -> None:
    steps = (
        Step("wings", 0.0, (0.4, 0.6), 0.67),
        Step("a very long neck", 1.0, (0.97, 0.03), 0.13),
    )
    explanation = Explanation("photo.jpg", ("giraffe", "bus"), (0.5, 0.5), steps, "probability")
    assert str(explanation) == explanation_text(explanation)
    assert explanation_text(explanation).split("\n") == [
        "photo.jpg",
        "     before any question                  giraffe = bus 50 %",
        "  1  Does it have wings?             no   bus 60 %",
        "  2  Does it show a very long neck?  yes  giraffe 97 %",
        "  Prediction: giraffe, 97 %, after 2 questions.",
        "",
    ]
    short = replace(explanation, steps=steps[:1], ended="maximum", familiarity=0.004)
    assert explanation_text(short).endswith(
        "  Prediction: bus, 60 %, not certain: after 1 question it may ask no more.\n"
        "  It looks like none of the classes: fewer than 1 % of held-out images have answers as "
        "unlikely.\n"
    )
    assert ending(replace(explanation, steps=())) == "after 0 questions"


@pytest.mark.parametrize(
    ("ended", "changes", "said"),
    [
        ("probability", {}, "after 4 questions"),
        ("entropy", {}, "after 4 questions"),
        (
            "stability",
            {},
            "not certain: the last 2 of 4 questions did not change the class",
        ),
        (
            "stability",
            {"prior": (0.3, 0.6, 0.1)},
            "not certain of so common a class: 4 questions did not change the class",
        ),
        ("maximum", {}, "not certain: after 4 questions it may ask no more"),
        ("questions", {}, "not certain: after 4 questions none is left"),
        ("unfinished", {}, "not certain: stopped after 4 questions"),
    ],
)
def test_the_last_line_says_why_it_ended(ended: str, changes: dict, said: str) -> None:
    """The class is the first one's until the second answer, where two are equal."""
    course = [(0.5, 0.4, 0.1), (0.4, 0.4, 0.2), (0.3, 0.5, 0.2), (0.2, 0.6, 0.2)]
    if "prior" in changes:
        course[:2] = [(0.3, 0.5, 0.2), (0.4, 0.5, 0.1)]
    steps = tuple(Step(f"q{number}", 1.0, each, 0.5) for number, each in enumerate(course))
    explanation = explained(steps=steps, ended=ended, **changes)
    assert ending(explanation) == said
    assert explanation.confident is (ended in ("probability", "entropy"))
    assert f"Prediction: school <bus>, 60 %, {said}.\n" in str(explanation)


@pytest.mark.parametrize(
    ("before", "after", "expected"),
    [
        ((0.5, 0.3, 0.2), (0.3, 0.6, 0.1), (0, True)),  # led before
        ((0.5, 0.3, 0.2), (0.7, 0.1, 0.2), (1, True)),  # lost most
        ((0.6, 0.3, 0.1), (0.5, 0.3, 0.2), (2, False)),  # gained most
        ((0.4, 0.4, 0.2), (0.3, 0.2, 0.5), (1, True)),  # two led: the one that lost most
    ],
)
def test_not_sure_is_explained_by_the_rival(before: tuple, after: tuple, expected: tuple) -> None:
    assert rival(before, after) == expected


def two(*beliefs: float, prior: float = 0.3) -> Explanation:
    """A course of beliefs in a giraffe, which is a bus otherwise."""
    answers = (1.0, 0.0, 0.5, 0.0, 1.0)
    steps = tuple(
        Step(f"word {number}", answers[number % 5], (belief, round(1 - belief, 6)), 0.5)
        for number, belief in enumerate(beliefs)
    )
    return Explanation("photo.jpg", ("giraffe", "bus"), (prior, 1 - prior), steps, "questions")


@pytest.mark.parametrize(
    ("explanation", "runs"),
    [
        # In sum, not only one by one.
        (two(0.7, 0.74, 0.78, 0.82, 0.86), [[0], [1, 2], [3, 4]]),
        # There and back: the band counts, not the ends.
        (two(0.7, 0.78, 0.71, 0.65, 0.7), [[0], [1, 2], [3, 4]]),
        # Another class leads, by however little.
        (two(0.9, 0.49, 0.51, 0.52, 0.53), [[0], [1], [2], [3, 4]]),
        # From a tie to a class.
        (two(0.9, 0.5, 0.51, 0.52, 0.53), [[0], [1], [2], [3, 4]]),
        # The class predicted in the end stays, others do not.
        (
            replace(
                two(0.9, 0.5, 0.5),
                class_names=("a", "b", "c"),
                prior=(0.5, 0.1, 0.4),
                steps=tuple(
                    Step(each, 0.0, posterior, 1.0)
                    for each, posterior in (
                        ("p", (0.5, 0.4, 0.1)), ("q", (0.5, 0.1, 0.4)), ("r", (0.5, 0.1, 0.4)),
                    )
                ),
            ),
            [[0], [1], [2]],
        ),
        # Nothing would be left to show: the three that moved a class most are.
        (
            two(0.3, 0.3, 0.36, 0.36, 0.36, 0.31, 0.31, 0.34, 0.34),
            [[0, 1], [2], [3, 4], [5], [6], [7], [8]],
        ),
        (two(0.3, 0.3), [[0], [1]]),
    ],
)  # fmt: skip
def test_a_fold_moved_no_class_by_much(explanation: Explanation, runs: list) -> None:
    assert explanation.folded() == runs


def test_answers_that_changed_little_are_one_line() -> None:
    """Yes moves the class by 40 points, the next three by less, and the last by 15."""
    beliefs = (0.7, 0.71, 0.65, 0.7, 0.85)
    answers = (1.0, 0.0, 0.5, 0.0, 1.0)
    steps = tuple(
        Step(f"word {number}", answer, (belief, 1 - belief), 0.5)
        for number, (answer, belief) in enumerate(zip(answers, beliefs, strict=True))
    )
    explanation = Explanation("photo.jpg", ("giraffe", "bus"), (0.3, 0.7), steps, "questions")
    assert explanation.folded() == [[0], [1, 2, 3], [4]]
    folded, whole = str(explanation), explanation.to_text(everything=True)
    assert "  2-4  3 answers moved no class by more than 6 points: 2 no, 1 not sure" in folded
    assert [f"word {number}?" in folded for number in range(5)] == [True, *3 * [False], True]
    assert all(f"word {number}?" in whole for number in range(5))
    same = replace(explanation, steps=(*steps[:2], replace(steps[3], posterior=(0.704, 0.296))))
    assert "2 answers moved no class by more than 1 point: 2 no" in str(same)
    person = tuple(replace(step, overridden=True) for step in steps)
    shown = replace(explanation, steps=person)
    assert shown.folded() == [[number] for number in range(5)]
