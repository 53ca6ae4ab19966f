"""An explanation in lines of text, and stopping rules in words."""

import pytest

from infopursuit.explanation.explanation import Explanation, Step
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.explanation.text import ending, explanation_text, question, stops_when


def test_questions_answers_and_beliefs_line_up() -> None:
    steps = (
        Step("wings", 0.0, (0.4, 0.6), 0.67),
        Step("a very long neck", 1.0, (0.97, 0.03), 0.13),
    )
    told = Explanation("photo.jpg", ("giraffe", "bus"), (0.5, 0.5), steps, True)
    assert explanation_text(told).split("\n") == [
        "photo.jpg",
        "     before any question                  giraffe = bus 50 %",
        "  1  Does it have wings?             no   bus 60 %",
        "  2  Does it show a very long neck?  yes  giraffe 97 %",
        "  Prediction: giraffe, 97 %, after 2 questions.",
        "",
    ]


@pytest.mark.parametrize(
    ("query", "asked"),
    [
        ("four legs", "Does it have four legs?"),
        ("striped", "Is it striped?"),
        ("a vehicle that people travel in", "Does it show a vehicle that people travel in?"),
        ("chimney", "Does it show a chimney?"),
        ("Wheels.", "Does it have wheels?"),
        ("Does it have wings? ", "Does it have wings?"),
        ("Is it striped??", "Is it striped?"),
        ("petal length > 2.45", "petal length > 2.45?"),
        ("petal_length", "petal_length?"),
        ("nocturnal", "nocturnal?"),
        ("the animal has stripes", "the animal has stripes?"),
        ("lange Flügel", "lange Flügel?"),
    ],
)
def test_queries_are_put_as_questions_with_one_question_mark(query: str, asked: str) -> None:
    assert question(query) == asked


def test_the_limit_is_told() -> None:
    steps = (Step("wings", 0.0, (0.4, 0.6), 0.67),)
    told = Explanation("x", ("giraffe", "bus"), (0.5, 0.5), steps, False)
    assert explanation_text(told).endswith(
        "Prediction: bus, 60 %, after 1 question, the most allowed.\n"
    )
    assert ending(Explanation("x", ("a",), (1.0,), (), True)) == "after 0 questions"


@pytest.mark.parametrize(
    ("rule", "words"),
    [
        (StoppingRule(), "at a probability of 85 % or after 20 questions"),
        (StoppingRule(0.995, 1), "at a probability of 99.5 % or after 1 question"),
        (
            StoppingRule(None, 9, 0.3, 4),
            "at an entropy of 0.3 nats, when 4 questions did not change the prediction or after "
            "9 questions",
        ),
        (StoppingRule(None, None), "when all questions have been asked"),
    ],
)
def test_rules_in_words(rule: StoppingRule, words: str) -> None:
    assert stops_when(rule) == words
