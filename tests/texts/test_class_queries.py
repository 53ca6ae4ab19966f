from collections.abc import Sequence
from pathlib import Path

import pytest

from infopursuit.errors import InputError
from infopursuit.texts.class_queries import ask_dictionary, read_dictionary
from infopursuit.texts.language_models import Answer, Sampling
from infopursuit.texts.templates import PromptTemplate

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=5)
TEMPLATE = PromptTemplate("prompt.jinja", "{{ k }} for {{ classes | join(', ') }}")
CLASSES = ["Zebra", "bus"]


class Scripted:
    """A language model that gives an answer for each seed."""

    chunk = 1

    def __init__(self, answers: dict[int, str], kept: bool = True) -> None:
        self.identity = {"backend": "scripted"} if kept else None
        self.answers = answers
        self.asked: list[tuple[str, Sampling]] = []

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        self.asked += [(prompt, sampling) for prompt in prompts]
        return [Answer(self.answers[sampling.seed], "stop") for _ in prompts]


def test_one_answer_with_enough_queries(tmp_path: Path) -> None:
    model = Scripted({5: "1. Stripes\n2. four legs\n3. wheels"})
    assert ask_dictionary(model, TEMPLATE, CLASSES, 2, SAMPLING, tmp_path) == [
        "stripes", "four legs",
    ]  # fmt: skip
    [(prompt, sampling)] = model.asked
    assert prompt == "2 for Zebra, bus"
    assert sampling == SAMPLING


def test_further_answers_top_up(tmp_path: Path) -> None:
    model = Scripted({5: "1. stripes\n2. zebra", 6: "1. stripes\n2. wheels", 7: "1. tail\n2. ear"})
    found = ask_dictionary(model, TEMPLATE, CLASSES, 3, SAMPLING, tmp_path)
    assert found == ["stripes", "wheels", "tail"]
    assert [sampling.seed for _, sampling in model.asked] == [5, 6, 7]


def test_too_few_after_all_tries(tmp_path: Path) -> None:
    answers = dict.fromkeys(range(5, 9), "1. stripes\n2. black or white\n3. bus")
    message = (
        r"k = 3 distinct queries for 2 classes, found 1 in 4 answers.*'or': 4, 'class name': 4"
    )
    with pytest.raises(InputError, match=message):
        ask_dictionary(Scripted(answers), TEMPLATE, CLASSES, 3, SAMPLING, tmp_path)


def test_recorded_answers_are_asked_once(tmp_path: Path) -> None:
    model = Scripted({5: "1. stripes"}, kept=False)
    with pytest.raises(InputError, match=r"prompt\.jinja: expected k = 3.*found 1 in 1 answer;"):
        ask_dictionary(model, TEMPLATE, CLASSES, 3, SAMPLING, tmp_path)


def test_long_dictionaries_get_the_tokens_they_need(tmp_path: Path) -> None:
    model = Scripted({5: "\n".join(f"{i}. query number {i}" for i in range(1, 101))})
    assert len(ask_dictionary(model, TEMPLATE, CLASSES, 100, SAMPLING, tmp_path)) == 100
    assert model.asked[0][1].max_tokens == 1600


def test_a_given_list_must_have_k_lines(tmp_path: Path) -> None:
    path = tmp_path / "queries.txt"
    path.write_text("Stripes\nlong tail\n", encoding="utf-8")
    assert read_dictionary(path, 2) == ["Stripes", "long tail"]
    with pytest.raises(InputError, match=r"queries\.txt: expected k = 3 queries.*found 2"):
        read_dictionary(path, 3)
