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


@pytest.mark.parametrize(
    ("ended", "prior", "word"),
    [
        ("probability", 0.3, "after 4"),
        ("entropy", 0.3, "after 4"),
        ("stability", 0.3, "last 2 of 4"),
        ("stability", 0.6, "common"),
        ("maximum", 0.3, "may"),
        ("questions", 0.3, "left"),
        ("unfinished", 0.3, "stopped"),
    ],
)
def test_the_last_line_says_why_it_ended(ended: str, prior: float, word: str) -> None:
    """The class is the first one's until the second answer, where two are equal."""
    course = [(0.5, 0.4, 0.1), (0.4, 0.4, 0.2), (0.3, 0.5, 0.2), (0.2, 0.6, 0.2)]
    if prior > 0.5:
        course[:2] = [(0.3, 0.5, 0.2), (0.4, 0.5, 0.1)]
    steps = tuple(Step(f"q{number}", 1.0, each, 0.5) for number, each in enumerate(course))
    explanation = explained(steps=steps, ended=ended, prior=(0.9 - prior, prior, 0.1))
    assert word in ending(explanation)
    assert ("not certain" in ending(explanation)) is not explanation.confident
    assert explanation.confident is (ended in ("probability", "entropy"))


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
        # In sum, not only one by one: the answer in the middle of equals has a line.
        (two(0.7, 0.74, 0.78, 0.82, 0.86, 0.9, 0.94), [[0], [1, 2], [3], [4, 5], [6]]),
        # There and back: the band counts, not the ends.
        (two(0.7, 0.75, 0.78, 0.71, 0.68, 0.65, 0.7), [[0], [1, 2], [3], [4, 5], [6]]),
        # What moved most has a line, until no stretch moves by much.
        (
            two(0.6, 0.62, 0.7, 0.71, 0.72, 0.8, 0.83, 0.84, 0.93, 0.94, 0.95, 0.96),
            [[0], [1], [2], [3, 4], [5], [6, 7], [8], [9, 10], [11]],
        ),
        # The answer that made the model sure is no part of a group.
        (two(0.9, 0.91, 0.92, 0.95), [[0], [1, 2], [3]]),
        # Another class leads, by however little.
        (two(0.9, 0.49, 0.51, 0.52, 0.53, 0.53), [[0], [1], [2], [3, 4], [5]]),
        # From a tie to a class.
        (two(0.9, 0.5, 0.51, 0.52, 0.53, 0.53), [[0], [1], [2], [3, 4], [5]]),
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
def test_a_group_moved_no_class_by_much(explanation: Explanation, runs: list) -> None:
    assert explanation.grouped() == runs
    person = tuple(replace(step, overridden=True) for step in explanation.steps)
    alone = [[number] for number in range(len(person))]
    assert replace(explanation, steps=person).grouped() == alone


def test_a_group_is_one_line_of_text_and_equal_classes_are_named_or_counted() -> None:
    six = two(0.9, 0.91, 0.92, 0.91, 0.927, 0.95)
    columns = replace(six, steps=tuple(replace(step, word="red") for step in six.steps))
    for explanation, group in (
        (six, "2 no, 1 not sure, 1 yes"),
        (columns, "word 1, word 2, word 3 and 1 more"),
    ):
        before, first, between, last, end = map(str.split, str(explanation).splitlines()[1:])
        assert (before[-3:], first[0], last[0]) == (["bus", "70", "%"], "1", "6")
        text = f"2-5 4 answers moved no class by more than 3 points: {group} giraffe 93 %"
        assert " ".join(between) == text
        assert " ".join(end).startswith("Prediction: giraffe, 95 %, not certain: after 6 ")
        assert len(explanation.to_text(everything=True).splitlines()) == 9
    step = Step("q", 1.0, (0.4, 0.4, 0.1, 0.05, 0.05), 0.5)
    tied = Explanation("x", tuple("abcde"), (0.2,) * 5, (step,), "maximum")
    assert [line.split("  ")[-1].strip() for line in str(tied).splitlines()[1:3]] == [
        "5 classes tied at 20 %", "a = b 40 %"
    ]  # fmt: skip
    many = replace(tied, class_names=tuple(map(str, range(37))), prior=(1 / 37,) * 37, steps=())
    assert many.leaders(many.prior) == ("37 classes tied at", "2.7 %")


@pytest.mark.parametrize(("share", "text"), [(0.947, "94"), (0.89999, "89"), (0.71, "71")])
def test_a_limit_that_was_missed_is_not_reached_by_rounding(share: float, text: str) -> None:
    step = Step("q", 1.0, (share, 1 - share), 0.5)
    missed = Explanation("x", ("a", "b"), (0.5, 0.5), (step,), "stability")
    for line in (*str(missed).splitlines()[2:4], repr(missed)):
        assert f"{text} %" in line
    assert f"{share:.0%}".replace("%", " %") in str(replace(missed, ended="probability"))
