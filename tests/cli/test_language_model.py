"""`infopursuit fit --llm` against a real HTTP server, and the knowledge table it leaves."""

from __future__ import annotations

import csv
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import infopursuit
from infopursuit.generation.language_models import Answer
from infopursuit.texts.vocabulary import visual_vocabulary
from tests.cli.conftest import tiny_clip as tiny_clip
from tests.generation.language_models.test_openai_server import completion, prompt_of, serving
from tests.generation.language_models.test_vllm_engine import python_with_vllm
from tests.generation.recordings import Recording, write_recorded
from tests.planted import PHOTO_TEXTS, write_folder

# What the server says is true of which class, and sometimes.
TRUE = {"red": ["red", "a red wall"], "green": ["green grass"], "blue": ["blue sky"]}
SOMETIMES = {"red": ["a dark stripe"], "green": ["four legs"], "blue": []}
ASKED = ["a red wall", "a violet door", "plain wall", "deep water"]


def lines(true: list[int], sometimes: list[int]) -> str:
    """The two lines of an answer."""
    parts = [", ".join(map(str, numbers)) or "none" for numbers in (true, sometimes)]
    return f"true: {parts[0]}\nsometimes: {parts[1]}"


def reply(prompt: str) -> str:
    """Answer both prompts from the table above."""
    last = prompt.strip().splitlines()[-1]
    block = prompt.rsplit("\n\n", 2)[1]
    named = [re.sub(r"^\d+\. ", "", line) for line in block.splitlines()[1:]]
    if last.startswith("Class: "):
        name = last.removeprefix("Class: ")
        numbered = list(enumerate(named, start=1))
        return lines(
            [i for i, text in numbered if text in TRUE[name]],
            [i for i, text in numbered if text in SOMETIMES[name]],
        )
    return "\n".join(f"{i}. {text}" for i, text in enumerate(ASKED, start=1))


@pytest.fixture(autouse=True)
def short_pauses_and_few_texts(monkeypatch: pytest.MonkeyPatch) -> None:
    few = visual_vocabulary()[:220]
    monkeypatch.setattr("openai._base_client.INITIAL_RETRY_DELAY", 0.001)
    monkeypatch.setattr("infopursuit.estimators.plan.visual_vocabulary", lambda: few)


@pytest.fixture
def arguments(tmp_path: Path, tiny_clip: Path) -> list[Any]:
    """`fit` with four questions, on pictures of three colours."""
    write_folder(tmp_path / "photos" / "train", 6)
    write_folder(tmp_path / "photos" / "test", 2, first=100)
    (tmp_path / "texts.txt").write_text("\n".join([*PHOTO_TEXTS, "a violet door"]))
    return [
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 4, "--out", tmp_path / "model",
    ]  # fmt: skip


def test_one_command_asks_and_fits(run: Callable, tmp_path: Path, arguments: list[Any]) -> None:
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, requests):
        llm = ["--llm", url, "--llm-model", "some"]
        status, _, log = run(*arguments, *llm)
        assert status == 0, log
        asked = len(requests)
        assert run(*arguments, *llm)[0] == 0  # nothing is asked twice
        assert len(requests) == asked
    # One prompt for questions, one for each class.
    assert "asked at most 16 times (questions 4, knowledge 12), 4 times if all" in log
    assert asked == 4
    model = infopursuit.load(tmp_path / "model")
    assert list((tmp_path / "model" / "answers").rglob("*.jsonl"))
    known = model.knowledge_
    assert known is not None
    assert set(ASKED) & set(known.texts)
    for text in known.texts:
        [column] = known.for_classes_and_texts(sorted(TRUE), [text]).T.tolist()
        assert column == [
            1.0 if text in TRUE[name] else 0.5 if text in SOMETIMES[name] else 0.0
            for name in sorted(TRUE)
        ]


def test_vllm_of_another_environment_answers(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    python = python_with_vllm(tmp_path)
    (tmp_path / "weights").mkdir()
    llm = ["--llm", f"vllm:{tmp_path / 'weights'}", "--vllm", python]
    status, _, log = run(*arguments, *llm)
    assert status == 0, log
    known = infopursuit.load(tmp_path / "model").knowledge_
    assert known is not None
    assert (known.values.sum(axis=1) == 1).all()


def test_a_stopped_fit_goes_on_where_it_was(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    broken = True

    def until_the_last(request: dict[str, Any]) -> Any:
        if broken and prompt_of(request).strip().endswith("Class: red"):
            return 500, {}
        return completion(reply(prompt_of(request)))

    with serving(until_the_last) as (url, requests):
        llm = ["--llm", url, "--llm-model", "some"]
        status, _, log = run(*arguments, *llm)
        assert status == 1
        assert "answers so far are kept" in log
        kept = infopursuit.load(tmp_path / "model")
        assert "status 500" in kept.provenance_["language_model"]["of_no_use"]
        broken = False
        before = len(requests)
        assert run(*arguments, *llm)[0] == 0
        assert len(requests) == before + 1


def test_recorded_knowledge_is_used_without_recorded_questions(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    known = {"red": "true: 1\nsometimes: none", "green": "true: none\nsometimes: 2"}
    write_recorded(
        tmp_path / "recorded.jsonl",
        {"known": "{{ class_name }} {{ texts }}"},
        [
            Recording("known", {"class_name": name, "texts": PHOTO_TEXTS[:2]}, Answer(text, "stop"))
            for name, text in known.items()
        ],
    )
    status, _, log = run(*arguments, "--llm", f"recorded:{tmp_path / 'recorded.jsonl'}")
    assert status == 0, log
    assert "no answer is recorded about queries for classes such as 'blue, green, red'" in log
    assert "1 of 3 classes ('blue')" in log
    table = infopursuit.load(tmp_path / "model").knowledge_
    assert table is not None
    values = table.for_classes_and_texts(["red", "green", "blue"], PHOTO_TEXTS[:2])
    np.testing.assert_array_equal(values, [[1, 0], [0, 0.5], [np.nan, np.nan]])


@pytest.mark.parametrize("useful", ["knowledge", "questions"])
def test_answers_of_no_use_end_the_asking(
    run: Callable, tmp_path: Path, arguments: list[Any], useful: str
) -> None:
    def thinking(request: dict[str, Any]) -> Any:
        prompt = prompt_of(request)
        kind = "questions" if "true:" not in prompt else "knowledge"
        if request["body"].get("reasoning_effort") == "none" or kind in useful.split():
            return completion(reply(prompt))
        message = {"content": "", "reasoning": "The user wants two lines. " * 20}
        return 200, {"choices": [{"message": message, "finish_reason": "length"}]}

    without_texts = [each for each in arguments if each not in ("--texts", tmp_path / "texts.txt")]
    with serving(thinking) as (url, requests):
        llm = ["--llm", url, "--llm-model", "some"]
        status, _, log = run(*without_texts, *llm)
        [most] = re.findall("at most ([0-9,]+) times", log)
        assert len(requests) <= int(most.replace(",", ""))
        assert status == 1
        assert re.search(r"no more, .*(reasoning|truncated).*'length'.*--llm-option", log)
        model = infopursuit.load(tmp_path / "model")
        assert "<think>" in model.provenance_["language_model"]["of_no_use"]
        assert model.knowledge_ is None
        assert run(*without_texts, *llm, "--llm-option", "reasoning_effort=none")[0] == 0
        assert requests[-1]["body"]["reasoning_effort"] == "none"
    model = infopursuit.load(tmp_path / "model")
    assert "of_no_use" not in model.provenance_["language_model"]


def test_an_edited_table_is_read_back(run: Callable, tmp_path: Path, arguments: list[Any]) -> None:
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, _):
        run(*arguments, "--llm", url, "--llm-model", "some", "--keep", "a violet door")
    table = tmp_path / "table.csv"
    assert run("knowledge", tmp_path / "model", "--out", table)[0] == 0
    with table.open(newline="") as file:
        rows = list(csv.reader(file))
    column = rows[0].index("a violet door")
    assert {row[column] for row in rows[1:]} == {"0"}
    for row in rows[1:]:
        row[column] = "1" if row[0] == "blue" else "0.5"
    table.write_text("\n".join(",".join(row) for row in rows))
    without_texts = [each for each in arguments if each not in ("--texts", tmp_path / "texts.txt")]
    status, _, log = run(*without_texts, "--knowledge", table, "--keep", "a violet door")
    assert status == 0, log
    model = infopursuit.load(tmp_path / "model")
    assert set(model.queries_) <= set(rows[0][1:])  # the texts of the table, not the vocabulary
    known = model.knowledge_
    assert known is not None
    violet = known.for_classes_and_texts(["blue", "red"], ["a violet door"])
    np.testing.assert_array_equal(violet, [[1.0], [0.5]])


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--llm", "localhost:11434"], "http://"),
        (["--llm", "http://127.0.0.1:1/v1"], "name"),
        (["--llm", "vllm:some/model"], "vllm"),
        (["--llm", "recorded:none.jsonl", "--llm-model", "some"], "model"),
        (
            ["--llm", "http://a/v1", "--llm-model", "b", "--llm-option", "requests_at_once=0"],
            "requests_at_once",
        ),
        (["--llm-model", "some"], "--llm"),
        (["--llm-option", "a=b"], "--llm"),
        (["--llm", "http://a/v1", "--llm-model", "b", "--knowledge", "k.csv"], "--knowledge"),
    ],
)
def test_mistakes_come_before_any_work(
    run: Callable, arguments: list[Any], options: list[str], word: str
) -> None:
    status, _, log = run(*arguments, *options)
    assert (status, word in log) == (1, True), log
