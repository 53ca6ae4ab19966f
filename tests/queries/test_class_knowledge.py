"""The knowledge table asked of a language model: prompts, the form of answers, what is rejected."""

import re
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.class_knowledge import (
    NEEDED,
    OFFERED,
    TEXTS_PER_PROMPT,
    Reason,
    ask_knowledge,
    knowledge_pattern,
    parse_knowledge,
)
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.templates import PromptTemplate, load_template

ROOT = Path(__file__).parents[2]
PROMPT = ROOT / "src/infopursuit/queries/prompts/class_knowledge.jinja"
SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=10, seed=5)
TEMPLATE = PromptTemplate("prompt", "{{ texts | join('|') }} of {{ class_name }}")
CLASSES = ["zebra", "bus"]


class Scripted:
    """A language model whose answer follows from prompt and seed."""

    chunk = 7

    def __init__(self, reply: Callable[[str, int], str], kept: bool = True) -> None:
        self.identity = {"backend": "scripted"} if kept else None
        self.reply = reply
        self.asked: list[tuple[str, Sampling]] = []

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        self.asked += [(prompt, sampling) for prompt in prompts]
        return [Answer(self.reply(prompt, sampling.seed), "stop") for prompt in prompts]


@pytest.mark.parametrize(
    ("text", "true", "sometimes"),
    [
        ("true: 1, 4\nsometimes: 2", [0, 3], [1]),
        ("true: none\nsometimes: none", [], []),
        ("True:4,1\n\n  SOMETIMES : None \n", [3, 0], []),
        ("<think>true: 2\nsometimes: 3</think>\ntrue: 1\nsometimes: none", [0], []),
    ],
)
def test_an_answer_of_use(text: str, true: list[int], sometimes: list[int]) -> None:
    assert parse_knowledge(Answer(text, "stop"), 4) == (true, sometimes)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", Reason.FORM),
        ("true: 1", Reason.FORM),
        ("true:\nsometimes: 2", Reason.FORM),
        ("sometimes: 2\ntrue: 1", Reason.FORM),
        ("true: 1, 4\nsometimes: 2\nNote: zebras vary.", Reason.FORM),
        ("Sure!\ntrue: 1, 4\nsometimes: 2", Reason.FORM),
        ("true: stripes\nsometimes: 2", Reason.FORM),
        ("true: 1-4\nsometimes: 2", Reason.FORM),
        ("true: 1, \nsometimes: 2", Reason.FORM),
        ("<think>true: 1\nsometimes: 2", Reason.FORM),
        ("true: 5\nsometimes: none", Reason.NO_SUCH_TEXT),
        ("true: none\nsometimes: 0", Reason.NO_SUCH_TEXT),
        ("true: 1, 1\nsometimes: none", Reason.REPEATED),
        ("true: 1\nsometimes: 2, 1", Reason.REPEATED),
    ],
)
def test_an_answer_that_is_rejected_as_a_whole(text: str, reason: Reason) -> None:
    assert parse_knowledge(Answer(text, "stop"), 4) is reason


def test_an_answer_that_was_cut_off_is_not_trusted() -> None:
    answer = Answer("true: 1\nsometimes: 2", "length")
    assert parse_knowledge(answer, 40) is Reason.TRUNCATED


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=TEXTS_PER_PROMPT))
def test_the_pattern_admits_every_answer_and_the_parser_takes_it(kinds: list[int]) -> None:
    def line(kind: int) -> str:
        return ", ".join(str(i) for i, each in enumerate(kinds, 1) if each == kind) or "none"

    text = f"true: {line(2)}\nsometimes: {line(1)}"
    assert re.fullmatch(knowledge_pattern(), text)
    known = parse_knowledge(Answer(text, "stop"), len(kinds))
    assert not isinstance(known, Reason)
    assert known.true == [i for i, each in enumerate(kinds) if each == 2]
    assert known.sometimes == [i for i, each in enumerate(kinds) if each == 1]


def test_the_pattern_admits_nothing_else() -> None:
    numbers = [
        number
        for number in range(200)
        if re.fullmatch(knowledge_pattern(), f"true: {number}\nsometimes: none")
    ]
    assert numbers == list(range(1, TEXTS_PER_PROMPT + 1))
    for text in (
        "true: 0\nsometimes: none",
        f"true: {TEXTS_PER_PROMPT + 1}\nsometimes: none",
        "true: 1\nsometimes:",
        "true: 1,2\nsometimes: none",
        "true: 1\nsometimes: none\nAll else is false.",
        "true: " + ", ".join(["1"] * (TEXTS_PER_PROMPT + 1)) + "\nsometimes: none",
    ):
        assert re.fullmatch(knowledge_pattern(), text) is None, text


def ask(model: Scripted, texts: Sequence[str], kept_in: Path) -> tuple[np.ndarray, dict, dict]:
    knowledge, rejected, counts = ask_knowledge(model, TEMPLATE, CLASSES, texts, SAMPLING, kept_in)
    assert knowledge.classes == tuple(CLASSES)
    assert knowledge.texts == tuple(texts)
    return knowledge.values, rejected, counts


def test_every_text_is_asked_once_for_every_class(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(2 * TEXTS_PER_PROMPT + 3)]

    def reply(prompt: str, seed: int) -> str:
        asked, name = prompt.split(" of ")
        numbers = [int(text.removeprefix("text ")) for text in asked.split("|")]
        wanted = 7 if name == "zebra" else 3
        lines = (
            [str(i) for i, number in enumerate(numbers, 1) if number % wanted == rest]
            for rest in (0, 1)
        )
        true, sometimes = (", ".join(line) or "none" for line in lines)
        return f"true: {true}\nsometimes: {sometimes}"

    model = Scripted(reply)
    values, rejected, counts = ask(model, texts, tmp_path)
    number = np.arange(len(texts))
    for row, wanted in enumerate((7, 3)):
        rest = number % wanted
        np.testing.assert_array_equal(values[row], (rest == 0) + 0.5 * (rest == 1))
    assert rejected["class"] == []
    assert counts == {
        "prompts": 6,
        "prompts_without_answer": 0,
        "finish_reasons": {"stop": 6},
        "rejected_answers": {},
    }
    asked = [prompt for prompt, _ in model.asked]
    assert [prompt.split(" of ")[1] for prompt in asked] == CLASSES * 3
    assert asked[0].split(" of ")[0] == asked[1].split(" of ")[0], "the same texts in a row"
    assert {sampling.max_tokens for _, sampling in model.asked} == {290}, "enough for all numbers"


def test_a_rejected_answer_is_asked_again_and_recorded(tmp_path: Path) -> None:
    def reply(prompt: str, seed: int) -> str:
        if prompt.endswith("bus"):
            return "true: 1\nsometimes: none" if seed == 7 else "Well."
        return "true: 2\nsometimes: none"

    model = Scripted(reply)
    values, rejected, counts = ask(model, ["wheels", "stripes"], tmp_path)
    np.testing.assert_array_equal(values, [[0, 1], [1, 0]])
    assert [sampling.seed for _, sampling in model.asked] == [5, 5, 6, 7]
    assert rejected == {
        "class": ["bus", "bus"],
        "texts": [["wheels", "stripes"]] * 2,
        "answer": ["Well."] * 2,
        "finish_reason": ["stop"] * 2,
        "reason": ["not the two lines asked for"] * 2,
    }
    assert counts["prompts_without_answer"] == 0
    assert counts["rejected_answers"] == {"not the two lines asked for": 2}
    assert counts["finish_reasons"] == {"stop": 4}


def test_what_is_never_answered_stays_unknown(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(TEXTS_PER_PROMPT + 2)]

    def reply(prompt: str, seed: int) -> str:
        whole = prompt.endswith("zebra") or prompt.startswith("text 0")
        return "true: 1\nsometimes: 2" if whole else "true: 3\nsometimes: none"

    model = Scripted(reply)
    values, rejected, counts = ask(model, texts, tmp_path)
    unknown = np.isnan(values)
    assert unknown[1, TEXTS_PER_PROMPT:].all()
    assert unknown.sum() == 2
    assert counts["prompts_without_answer"] == 1
    assert counts["rejected_answers"] == {"a number that no text has": 4}
    assert rejected["texts"] == [texts[TEXTS_PER_PROMPT:]] * 4


def test_a_recorded_model_is_asked_once(tmp_path: Path) -> None:
    model = Scripted(lambda prompt, seed: "UNFIT", kept=False)
    values, rejected, _ = ask(model, ["wheels"], tmp_path)
    assert np.isnan(values).all()
    assert len(model.asked) == len(rejected["reason"]) == 2


def test_the_shipped_prompt_says_which_form_its_example_has() -> None:
    template = load_template(PROMPT, NEEDED, OFFERED)
    prompt = template.render(class_name="zebra", texts=["wings", "striped coat"], classes=[])
    assert prompt.endswith("\nTexts\n1. wings\n2. striped coat\n\nClass: zebra")
    example = re.search(r"true: 1.*\nsometimes: .*", prompt)
    assert example
    assert re.fullmatch(knowledge_pattern(), example[0])
    assert parse_knowledge(Answer(example[0], "stop"), 8) == ([0, 3, 6], [1, 4, 7])


def test_a_prompt_that_forgets_the_class(tmp_path: Path) -> None:
    (tmp_path / "p.jinja").write_text("{{ texts }}", encoding="utf-8")
    with pytest.raises(InputError, match=r"p\.jinja: the prompt never uses 'class_name'"):
        load_template(tmp_path / "p.jinja", NEEDED, OFFERED)
