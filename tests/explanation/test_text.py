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
        "     before any question       giraffe = bus 50 %",
        "  1  wings?               no   bus 60 %",
        "  2  a very long neck?    yes  giraffe 97 %",
        "  Prediction: giraffe, 97 %, after 2 questions.",
        "",
    ]


def test_a_question_has_one_question_mark() -> None:
    assert question("wings") == "wings?"
    assert question("Does it have wings? ") == "Does it have wings? "


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
