from collections.abc import Sequence
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.class_queries import (
    ask_dictionary,
    is_list,
    open_prompt,
    read_dictionary,
)
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.language_models.openai_server import OpenAIServer
from infopursuit.queries.language_models.recorded import Recording, write_recorded
from infopursuit.queries.templates import PromptTemplate

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=5)
TEMPLATE = PromptTemplate("prompt.jinja", "{{ k }} for {{ classes | join(', ') }}")
CLASSES = ["Zebra", "bus"]
SERVER = {
    "backend": "openai",
    "openai": {
        "base_url": "http://localhost:1/v1",
        "model": "none",
        "api_key_variable": "NO_KEY",
        "timeout_seconds": 1.0,
        "max_retries": 0,
    },
}


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


def recorded(tmp_path: Path, answer: str, text: str = TEMPLATE.text) -> Path:
    """A file that answers the prompt for two queries for CLASSES."""
    path = tmp_path / "zoo.jsonl"
    asked = {"classes": CLASSES, "k": 2}
    recording = Recording("class_queries", asked, Answer(answer, "stop"))
    write_recorded(path, {"class_queries": text}, [recording])
    return path


def ask_recorded(path: Path, classes: Sequence[str], k: int, kept_in: Path) -> list[str]:
    model, template = open_prompt(path, SERVER)
    return ask_dictionary(model, template, classes, k, SAMPLING, kept_in)


def test_a_recorded_dictionary_is_parsed_like_any_answer_and_kept_nowhere(tmp_path: Path) -> None:
    path = recorded(
        tmp_path, "Sure:\n1. Stripes\n2. stripes\n3. mane or tail\n4. four legs\n5. hat"
    )
    assert ask_recorded(path, CLASSES, 2, tmp_path / "kept") == ["stripes", "four legs"]
    assert not (tmp_path / "kept").exists()


def test_a_recorded_dictionary_that_is_too_short(tmp_path: Path) -> None:
    path = recorded(tmp_path, "1. stripes\n2. zebra\n3. mane or tail")
    message = r"zoo\.jsonl: line 1, .*expected k = 2 .*found 1 in 1 answer;.*'class name': 1"
    with pytest.raises(InputError, match=message):
        ask_recorded(path, CLASSES, 2, tmp_path)


@pytest.mark.parametrize(
    ("classes", "k", "differs"),
    [
        (
            ["Zebra", "cow"],
            2,
            r"no answer is recorded for the prompt that ends in '2 for Zebra, cow'",
        ),
        (CLASSES, 5, r"no answer is recorded for the prompt that ends in '5 for Zebra, bus'"),
    ],
)
def test_classes_and_k_that_nobody_answered(
    tmp_path: Path, classes: list[str], k: int, differs: str
) -> None:
    remedy = r"; name a file in which the template 'class_queries' is answered for these classes"
    with pytest.raises(InputError, match=rf"zoo\.jsonl: {differs}{remedy}"):
        ask_recorded(recorded(tmp_path, "1. stripes\n2. four legs"), classes, k, tmp_path)


def test_a_recording_of_other_things_is_no_dictionary(tmp_path: Path) -> None:
    path = tmp_path / "captions.jsonl"
    write_recorded(path, {"caption_concepts": "{{ caption }}"}, [])
    message = r"captions\.jsonl: expected a template 'class_queries', found caption_concepts"
    with pytest.raises(InputError, match=message):
        open_prompt(path, SERVER)
    path.write_text("", encoding="utf-8")
    with pytest.raises(InputError, match=r"expected a template 'class_queries', found none"):
        open_prompt(path, SERVER)


def test_a_recorded_prompt_that_forgets_the_classes(tmp_path: Path) -> None:
    message = r"zoo\.jsonl: line 1, .*expected a prompt with the variables classes, k, found k"
    with pytest.raises(InputError, match=message):
        open_prompt(recorded(tmp_path, "1. stripes", text="{{ k }} please"), SERVER)


def test_a_prompt_goes_to_the_language_model_of_the_settings(tmp_path: Path) -> None:
    path = tmp_path / "prompt.jinja"
    path.write_text(TEMPLATE.text, encoding="utf-8")
    model, template = open_prompt(path, SERVER)
    assert isinstance(model, OpenAIServer)
    assert template.text == TEMPLATE.text


def test_the_suffix_tells_what_a_dictionary_is() -> None:
    assert [is_list(name) for name in ("a.txt", "a.jinja", "a.jsonl")] == [True, False, False]
    with pytest.raises(InputError, match=r"a\.csv: unknown kind of dictionary '\.csv'; expected a"):
        is_list("a.csv")
