"""Questions and knowledge asked of a language model: prompts, answers, what is rejected."""

import json
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from ruamel.yaml import YAML

from infopursuit.core.files import read_text_list
from infopursuit.generation.answering import UnusableAnswersError
from infopursuit.generation.class_knowledge import (
    NEEDED,
    OFFERED,
    TEXTS_PER_PROMPT,
    Unusable,
    ask_knowledge,
    knowledge_pattern,
    most_prompts_for,
    parse_knowledge,
    tells_classes_apart,
)
from infopursuit.generation.class_queries import ask_dictionary, open_recorded_prompt
from infopursuit.generation.language_models import Answer, RecordedAnswers, Sampling
from infopursuit.generation.parsing import parse_answer
from infopursuit.generation.templates import PromptTemplate, load_template
from tests.generation.recordings import Recording, write_recorded

ROOT = Path(__file__).parents[2]
PROMPTS = ROOT / "src/infopursuit/generation/prompts"
SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=5)
TEMPLATE = PromptTemplate("prompt.jinja", "{{ k }} for {{ classes | join(', ') }}")
CLASSES = ["Zebra", "bus"]


class Scripted:
    """A language model whose answer follows from prompt and seed."""

    chunk = 7
    identity: ClassVar = {"backend": "scripted"}

    def __init__(self, reply: Callable[[str, int], str]) -> None:
        self.reply = reply
        self.asked: list[tuple[str, Sampling]] = []

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        self.asked += [(prompt, sampling) for prompt in prompts]
        return [Answer(self.reply(prompt, sampling.seed), "stop") for prompt in prompts]


@pytest.mark.parametrize(
    ("answers", "k", "found"),
    [
        (["1. Stripes\n2. four legs\n3. wheels"], 2, ["stripes", "four legs"]),
        (["1. stripes\n2. zebra", "1. stripes\n2. wheels", "1. tail\n2. ear"], 3,
         ["stripes", "wheels", "tail"]),
        (["1. stripes\n2. black or white\n3. bus"] * 4, 3, "found 1 in .*'or': 4, 'class name': 4"),
        (["\n".join(f"{i}. query {i}" for i in range(1, 101))], 100,
         [f"query {i}" for i in range(1, 101)]),
    ],
)  # fmt: skip
def test_a_dictionary_is_asked_for_until_it_has_enough(
    tmp_path: Path, answers: list[str], k: int, found: Any
) -> None:
    model = Scripted(lambda _, seed: answers[seed - SAMPLING.seed])
    if isinstance(found, str):
        with pytest.raises(UnusableAnswersError, match=found):
            ask_dictionary(model, TEMPLATE, CLASSES, k, SAMPLING, tmp_path)
    else:
        assert ask_dictionary(model, TEMPLATE, CLASSES, k, SAMPLING, tmp_path) == found
    assert [prompt for prompt, _ in model.asked] == [f"{k} for Zebra, bus"] * len(answers)
    assert [sampling.seed for _, sampling in model.asked] == list(range(5, 5 + len(answers)))
    assert model.asked[0][1].max_tokens == max(100, 16 * k)


def ask_recorded(path: Path, classes: Sequence[str], k: int, kept_in: Path) -> list[str]:
    model, template = open_recorded_prompt(path)
    return ask_dictionary(model, template, classes, k, SAMPLING, kept_in)


DATASETS = YAML(typ="safe").load((ROOT / "params/paper.yaml").read_text("utf-8"))["datasets"]


@pytest.mark.parametrize("name", DATASETS)
def test_every_line_of_a_shipped_answer_is_a_query(name: str, tmp_path: Path) -> None:
    path, k = ROOT / f"params/dictionaries/{name}.jsonl", DATASETS[name]["k"]
    template, answer = map(json.loads, path.read_text("utf-8").splitlines())
    classes = read_text_list(ROOT / DATASETS[name]["classes"])
    assert template["text"] == (PROMPTS / "class_queries.jinja").read_text("utf-8")
    assert answer["variables"] == {"classes": classes, "k": k}
    parsed = parse_answer(Answer(answer["answer"], answer["finish_reason"]), limit=k)
    assert parsed.rejected == []
    assert len(set(parsed.concepts)) == k == answer["answer"].count("\n") + 1
    assert ask_recorded(path, classes, k, tmp_path) == parsed.concepts


# What a language model knows of classes.

PAIR = PromptTemplate("prompt", "{{ texts | join('|') }} of {{ class_name }}")
NAMES = ["zebra", "bus"]


AS_ASKED = "true: 1, 4\nsometimes: 2"


@pytest.mark.parametrize(
    ("text", "true", "sometimes"),
    [
        (AS_ASKED, [0, 3], [1]),
        ("true: none\nsometimes: none", [], []),
        ("True:4,1\n\n  SOMETIMES : None \n", [3, 0], []),
        ("true:\nsometimes: 2", [], [1]),
        ("true: 1\r\nsometimes:\r\n", [0], []),
        ("true: 1 and 4.\nsometimes: n/a.", [0, 3], []),
        ("true: 1; 4,\nsometimes: -", [0, 3], []),
        ("true: 1, 4; sometimes: 2", [0, 3], [1]),
        ("**true:** 1, 4\n**sometimes**: 2", [0, 3], [1]),
        ("- true: [1, 4]\n- sometimes: [2]", [0, 3], [1]),
        ("true:\n- 1\n- 4\nsometimes:\n- 2\n", [0, 3], [1]),
        ("true: 1 (handle), 4 (a spout)\nsometimes: 2 (wood)", [0, 3], [1]),
        ('{"true": [1, 4], "sometimes": []}', [0, 3], []),
        (f"```text\n{AS_ASKED}\n```", [0, 3], [1]),
        (f"Sure! This is what is true of it:\n{AS_ASKED}\n\n3 texts vary.", [0, 3], [1]),
        (f"<answer>{AS_ASKED}</answer>", [0, 3], [1]),
        ("<think>true: 2\nsometimes: 3</think>\ntrue: 1\nsometimes: none", [0], []),
        ("sometimes: 2\ntrue: 4, 1", [3, 0], [1]),
        ("True： １、３。\nSometimes： 无", [0, 2], []),
        ("true → 2–4\nsometimes → 1", [1, 2, 3], [0]),
        ("true = #2 to #3\nsometimes = none of them", [1, 2], []),
        ("true: all texts\nsometimes: 2 & 3", [0, 3], [1, 2]),
        ("true: none\nsometimes: everything", [], [0, 1, 2, 3]),
        ("|sometimes|2|\n|:--|--|\n|true|1, 3|", [0, 2], [1]),
        ("true | sometimes\n--- | ---\n1, 3 | none", [0, 2], []),
        (r"\(\boxed{true: 3; sometimes: 1}\)", [2], [0]),
        ("Of course. true: 2; 3 sometimes: 4", [1, 2], [3]),
        ('{"sometimes": [3,], "true": [1, 2,],}', [0, 1], [2]),
        ('{"true":[1,2],"sometimes":[3]}', [0, 1], [2]),
        ("true: 1. oak door; 2. red roof\nsometimes:\n3. snow\n", [0, 1], [2]),
        ("true: 1, 2, 5\nsometimes: 3", [0, 1], [2]),
        ("true: 3, 3, 1\nsometimes: 4, 99", [2, 0], [3]),
    ],
)
def test_an_answer_that_is_used(text: str, true: list[int], sometimes: list[int]) -> None:
    assert parse_knowledge(Answer(text, "stop"), 4) == (true, sometimes, [])


def test_of_a_text_on_both_lines_nothing_is_known() -> None:
    text = "true: 1-3\nsometimes: 3, 4"
    assert parse_knowledge(Answer(text, "END_TURN"), 4) == ([0, 1], [3], [2])


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("true: 1, 4", Unusable.FORM),
        ("true: 4-1\nsometimes: 2", Unusable.FORM),
        ("true: 1, 2 ...\nsometimes: 4", Unusable.TRUNCATED),
        ("true: 1\nsometimes: 2, 3…", Unusable.TRUNCATED),
        ("true: 1, 2, and so on\nsometimes: none", Unusable.TRUNCATED),
        ("true: 0, 1, 2\nsometimes: 3", Unusable.NO_SUCH_TEXT),
        ("true: 4, 5, 6, 7\nsometimes: 1", Unusable.NO_SUCH_TEXT),
        ("true: handle\nsometimes: 2", Unusable.FORM),
        (f"{AS_ASKED}\n\nClass: bus\n{AS_ASKED}", Unusable.FORM),
        (" \n", Unusable.EMPTY),
        ("<think>true: 1\nsometimes: 2", Unusable.THOUGHTS),
        ("true: none\nsometimes: 0", Unusable.NO_SUCH_TEXT),
        ("true: 1, 2\nsometimes: 2, 1", Unusable.REPEATED),
    ],
)
def test_an_answer_that_is_rejected_as_a_whole(text: str, reason: Unusable) -> None:
    assert parse_knowledge(Answer(text, "stop"), 4) is reason
    for ending in ("length", "MAX_OUTPUT_TOKENS", "safety", "tool_calls"):
        assert parse_knowledge(Answer(text, ending), 4) is Unusable.TRUNCATED


@given(st.lists(st.sampled_from([0, 1, 2]), min_size=1, max_size=TEXTS_PER_PROMPT))
def test_the_pattern_admits_every_answer_and_the_parser_takes_it(kinds: list[int]) -> None:
    def line(kind: int) -> str:
        return ", ".join(str(i) for i, each in enumerate(kinds, 1) if each == kind) or "none"

    text = f"true: {line(2)}\nsometimes: {line(1)}"
    assert re.fullmatch(knowledge_pattern(), text)
    known = parse_knowledge(Answer(text, "stop"), len(kinds))
    assert not isinstance(known, Unusable)
    assert known.true == [i for i, each in enumerate(kinds) if each == 2]
    assert known.sometimes == [i for i, each in enumerate(kinds) if each == 1]


def test_the_pattern_admits_nothing_else() -> None:
    most = TEXTS_PER_PROMPT
    for text in (
        "true: 0\nsometimes: none",
        f"true: {most + 1}\nsometimes: none",
        "true: 1\nsometimes:",
        "true: 1,2\nsometimes: none",
        "true: 1\nsometimes: none\nAll else is false.",
        "true: " + ", ".join(["1"] * (most + 1)) + "\nsometimes: none",
    ):
        assert re.fullmatch(knowledge_pattern(), text) is None, text


def ask(model: Scripted, texts: Sequence[str], kept_in: Path) -> tuple[np.ndarray, dict, dict]:
    knowledge, rejected, counts = ask_knowledge(model, PAIR, NAMES, texts, SAMPLING, kept_in)
    assert knowledge.classes == tuple(NAMES)
    assert knowledge.texts == tuple(texts)
    return knowledge.values, rejected, counts


def test_every_text_is_asked_once_for_every_class(tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(2 * TEXTS_PER_PROMPT + 3)]

    def reply(prompt: str, seed: int) -> str:
        asked, name = prompt.split(" of ")
        numbers = [int(text.removeprefix("text ")) for text in asked.split("|")]
        wanted = 7 if name == "zebra" else 3
        first, second = (
            [str(i) for i, number in enumerate(numbers, 1) if number % wanted == rest]
            for rest in (0, 1)
        )
        return f"true: {', '.join(first) or 'none'}\nsometimes: {', '.join(second) or 'none'}"

    model = Scripted(reply)
    values, rejected, counts = ask(model, texts, tmp_path)
    number = np.arange(len(texts))
    for row, wanted in enumerate((7, 3)):
        rest = number % wanted
        np.testing.assert_array_equal(values[row], (rest == 0) + 0.5 * (rest == 1))
    assert rejected["class"] == []
    assert (counts["prompts"], counts["prompts_without_answer"]) == (6, 0)
    asked = [prompt for prompt, _ in model.asked]
    assert [prompt.split(" of ")[1] for prompt in asked] == NAMES * 3
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
    form = "not the two lines asked for"
    assert rejected["class"] == ["bus"] * 2
    assert rejected["texts"] == [["wheels", "stripes"]] * 2
    assert rejected["answer"] == ["Well."] * 2
    assert rejected["reason"] == [form] * 2
    assert counts["prompts_without_answer"] == 0
    assert counts["rejected_answers"] == {form: 2}
    assert counts["finish_reasons"] == {"stop": 4}


@pytest.mark.parametrize("useful", [0, 3, 4, 8])
def test_asking_ends_early_where_answers_are_of_no_use(useful: int, tmp_path: Path) -> None:
    texts = [f"text {number}" for number in range(4 * TEXTS_PER_PROMPT)]

    def reply(prompt: str, seed: int) -> str:
        place = int(prompt.split("|")[0].removeprefix("text ")) // TEXTS_PER_PROMPT
        answer = "true: 3\nsometimes: none" if prompt.endswith("bus") else AS_ASKED
        return answer if 2 * place + prompt.endswith("bus") < useful else "Well."

    model, most = Scripted(reply), most_prompts_for(len(NAMES), len(texts))
    if 2 * useful < 8:
        with pytest.raises(UnusableAnswersError, match=rf"{8 - useful} of 8 answers.*'Well\.'"):
            ask(model, texts, tmp_path)
        assert len(model.asked) == 8
    else:
        assert ask(model, texts, tmp_path)[2]["prompts_without_answer"] == 8 - useful
        assert len(model.asked) == 8 + 3 * (8 - useful) <= most
    assert most == 8 + 3 * 4


def test_a_few_prompts_are_all_asked_again_and_no_table_is_empty(tmp_path: Path) -> None:
    model = Scripted(lambda *_: "<think> hm")
    with pytest.raises(UnusableAnswersError, match=r"no answer': 2.*reasoning_effort=none"):
        ask(model, ["wheels"], tmp_path)
    assert len(model.asked) == most_prompts_for(2, 1) == 8


@pytest.mark.parametrize("row", ["true: none\nsometimes: all", "true: 1-50\nsometimes: none"])
def test_answers_that_say_the_same_of_everything_are_of_no_use(tmp_path: Path, row: str) -> None:
    texts = [f"text {number}" for number in range(2 * TEXTS_PER_PROMPT)]
    with pytest.raises(UnusableAnswersError, match="the same of every text and class"):
        ask(Scripted(lambda *_: row), texts, tmp_path)


@pytest.mark.parametrize(
    ("values", "apart"),
    [
        ([[1, 0, 0.5]] * 3, False),
        ([[1] * 100, [1] * 99 + [0]], False),
        ([[1, 0.5], [1, np.nan]], False),
        ([[1, 0], [0.5, 0]], True),
        ([[1, np.nan], [np.nan, 1]], True),
    ],
)
def test_a_table_tells_classes_apart(values: list[list[float]], apart: bool) -> None:
    assert tells_classes_apart(np.array(values)) is apart


NAN = np.nan


def replayed(
    folder: Path,
    pieces: Sequence[tuple[str, list[str], str]],
    classes: list[str],
    texts: list[str],
) -> np.ndarray:
    """The table that answers to prompts about a class with texts give."""
    template = PromptTemplate("p", "{{{{ {} }}}} and {{{{ {} }}}}".format(*NEEDED))
    recordings = [
        Recording("known", dict(zip(NEEDED, asked, strict=True)), Answer(answer, "stop"))
        for *asked, answer in pieces
    ]
    write_recorded(folder / "known.jsonl", {"known": template.text}, recordings)
    model = RecordedAnswers(folder / "known.jsonl")
    asked = ask_knowledge(model, template, classes, texts, SAMPLING, folder)
    assert (asked.knowledge.classes, asked.knowledge.texts) == (tuple(classes), tuple(texts))
    return asked.knowledge.values


@pytest.mark.parametrize(
    ("classes", "texts", "expected", "said"),
    [
        (["zebra", "bus"], ["stripes", "wheels", "tail"], [[1, 0, 0.5], [0, 1, 0]], ""),
        (["bus", "zebra"], ["Tail", "stripes!"], [[0, 0], [0.5, 1]], ""),
        (
            ["bus", "zebra"],
            ["hat", "tail", "roof"],
            [[NAN, 0, 1], [NAN, 0.5, NAN]],
            "2 of 3 texts ('hat', 'roof')",
        ),
        (
            ["cow", "bus"],
            ["roof", "wheels"],
            [[NAN, NAN], [1, 1]],
            "1 of 2 classes ('cow')",
        ),
    ],
    ids=["as recorded", "other order", "unknown texts", "an unknown class"],
)
def test_what_is_recorded_is_replayed_cell_by_cell(
    tmp_path: Path,
    classes: list[str],
    texts: list[str],
    expected: list[list[float]],
    said: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    pieces = [
        ("bus", ["wheels", "roof"], "true: 2\nsometimes: none"),
        ("zebra", ["stripes", "tail"], "true: 1\nsometimes: 2"),
        ("zebra", ["wheels"], "true: none\nsometimes: none"),
        ("bus", ["stripes", "wheels", "tail"], "true: 2\nsometimes: none"),
        ("bus", ["roof"], "true: 1\nsometimes: none"),
    ]
    known = replayed(tmp_path, pieces, classes, texts)
    np.testing.assert_array_equal(known, np.array(expected, np.float32))
    assert ("not known" in caplog.text) == bool(said)
    assert said in caplog.text


def test_the_shipped_prompt_says_which_form_its_example_has() -> None:
    template = load_template(PROMPTS / "class_knowledge.jinja", NEEDED, OFFERED)
    prompt = template.render(class_name="zebra", texts=["wings", "striped coat"], classes=[])
    assert prompt.endswith("\nTexts\n1. wings\n2. striped coat\n\nClass: zebra")
    example = re.search(r"true: 1.*\nsometimes: .*", prompt)
    assert example
    assert re.fullmatch(knowledge_pattern(), example[0])
    assert parse_knowledge(Answer(example[0], "stop"), 8) == ([0, 3, 6], [1, 4, 7], [])
