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
from infopursuit.estimators import language_model
from infopursuit.queries.language_models import Answer, openai_server
from infopursuit.texts.knowledge_files import open_knowledge
from tests.cli.conftest import tiny_clip as tiny_clip
from tests.estimators.test_pictures import TEXTS, write_folder
from tests.queries.language_models.test_openai_server import completion, prompt_of, serving
from tests.queries.recordings import Recording, write_recorded

# What the server says is true of which class, and sometimes.
TRUE = {"red": ["red", "a red wall"], "green": ["green grass"], "blue": ["blue sky"]}
SOMETIMES = {"red": ["a dark stripe"], "green": ["four legs"], "blue": []}
ASKED = ["a red wall", "a violet door", "plain wall", "deep water"]


def lines(true: list[int], sometimes: list[int]) -> str:
    """The two lines of an answer."""
    parts = [", ".join(map(str, numbers)) or "none" for numbers in (true, sometimes)]
    return f"true: {parts[0]}\nsometimes: {parts[1]}"


def reply(prompt: str) -> str:
    """Answer each of the three prompts from the table above."""
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
    if last.startswith("Question about: "):
        text = last.removeprefix("Question about: ")
        return lines([i for i, name in enumerate(named, start=1) if text in TRUE[name]], [])
    return "\n".join(f"{i}. {text}" for i, text in enumerate(ASKED, start=1))


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_server, "FIRST_PAUSE_SECONDS", 0.001)


@pytest.fixture
def arguments(tmp_path: Path, tiny_clip: Path) -> list[Any]:
    """`fit` with four questions, on pictures of three colours."""
    write_folder(tmp_path / "photos" / "train", 6)
    write_folder(tmp_path / "photos" / "test", 2, first=100)
    (tmp_path / "texts.txt").write_text("\n".join([*TEXTS, "a violet door"]))
    return [
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 4, "--out", tmp_path / "model",
    ]  # fmt: skip


def test_one_command_asks_fits_and_judges(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, requests):
        llm = ["--llm", url, "--llm-model", "some"]
        status, _, log = run(*arguments, *llm)
        assert status == 0, log
        asked = len(requests)
        assert run(*arguments, *llm)[0] == 0  # nothing is asked twice
        assert len(requests) == asked
    # One prompt for questions, one for each class, one for each question that was chosen.
    assert "asked at most 32 times (questions 4, knowledge 12, judge 16), 8 times if all" in log
    assert asked == 8
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
    assert re.search(r"knowledge: \d of 4 questions are true of a class, without it \d of 4;", log)
    judgement = model.judgement_
    assert judgement is not None
    assert judgement.texts == model.queries_
    sensible = sum(any(text in texts for texts in TRUE.values()) for text in model.queries_)
    assert f"judge: {sensible} of 4 questions" in log
    assert "a reader of the words alone is right in" in log
    assert model.provenance_["sense"]["plausible"] == pytest.approx(sensible / 4)


def test_a_stopped_fit_goes_on_where_it_was(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    broken = True

    def until_the_judge(request: dict[str, Any]) -> Any:
        if broken and "Question about: " in prompt_of(request):
            return 500, {}
        return completion(reply(prompt_of(request)))

    with serving(until_the_judge) as (url, requests):
        llm = ["--llm", url, "--llm-model", "some"]
        status, _, log = run(*arguments, *llm)
        assert status == 1
        assert "answers so far are kept" in log
        broken = False
        before = len(requests)
        assert run(*arguments, *llm)[0] == 0
        assert all("Question about: " in prompt_of(each) for each in requests[before:])


def test_recorded_knowledge_is_used_without_recorded_questions_and_judge(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    known = {"red": "true: 1\nsometimes: none", "green": "true: none\nsometimes: 2"}
    write_recorded(
        tmp_path / "recorded.jsonl",
        {"known": "{{ class_name }} {{ texts }}"},
        [
            Recording("known", {"class_name": name, "texts": TEXTS[:2]}, Answer(text, "stop"))
            for name, text in known.items()
        ],
    )
    status, _, log = run(*arguments, "--llm", f"recorded:{tmp_path / 'recorded.jsonl'}")
    assert status == 1, "the judgement is missing"
    assert "no answer is recorded about queries for classes such as 'blue, green, red'" in log
    assert "about 1 of 3 classes ('blue') and" in log
    assert re.search(r"its judgement is left out: .*which classes texts are true of", log)
    table = infopursuit.load(tmp_path / "model").knowledge_
    assert table is not None
    values = table.for_classes_and_texts(["red", "green", "blue"], TEXTS[:2])
    np.testing.assert_array_equal(values, [[1, 0], [0, 0.5], [np.nan, np.nan]])


@pytest.mark.parametrize("useful", ["knowledge", "questions", "questions knowledge"])
def test_answers_of_no_use_end_the_asking_and_keep_the_draft(
    run: Callable, tmp_path: Path, arguments: list[Any], useful: str
) -> None:
    def thinking(request: dict[str, Any]) -> Any:
        prompt = prompt_of(request)
        kind = "questions" if "true:" not in prompt else "knowledge"
        kind = kind if "Question about: " not in prompt else "judge"
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
        assert "judge: " not in log
        model = infopursuit.load(tmp_path / "model")
        assert model.judgement_ is None
        assert "<think>" in model.provenance_["language_model"]["of_no_use"]
        by_clip = "CLIP drafted what is true" in log
        assert by_clip == (model.provenance_.get("knowledge") == "clip") == ("s k" not in useful)
        assert run(*without_texts, *llm, "--llm-option", "reasoning_effort=none")[0] == 0
        assert requests[-1]["body"]["reasoning_effort"] == "none"
    model = infopursuit.load(tmp_path / "model")
    assert model.judgement_ is not None and "of_no_use" not in model.provenance_["language_model"]


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


def test_embeddings_have_no_new_questions(run: Callable, tmp_path: Path) -> None:
    generator = np.random.default_rng(0)
    rows = generator.standard_normal((len(TEXTS), 16)).astype(np.float32)
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    labels = np.array(sorted(TRUE) * 20)
    places = [TEXTS.index(TRUE[name][0]) for name in labels]
    X = rows[places] + 0.1 * generator.standard_normal((60, 16)).astype(np.float32)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    np.savez(tmp_path / "X.npz", embeddings=X, labels=labels)
    np.savez(tmp_path / "texts.npz", texts=np.array(TEXTS), embeddings=rows)
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, requests):
        status, _, log = run(
            "fit", tmp_path / "X.npz", "--texts", tmp_path / "texts.npz", "--queries", 3,
            "--out", tmp_path / "model", "--llm", url, "--llm-model", "some",
        )  # fmt: skip
    assert status == 0, log
    assert "asked at most 24 times (knowledge 12, judge 12), 6 times if all" in log
    assert len(requests) == 6
    assert set(infopursuit.load(tmp_path / "model").queries_) == {"red", "green grass", "blue sky"}


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--llm", "localhost:11434"], "expected http://"),
        (["--llm", "http://127.0.0.1:1/v1"], "the name of the model is missing"),
        (["--llm", "vllm:some/model"], "which .* does not have"),
        (["--llm", "recorded:none.jsonl", "--llm-model", "some"], "names its model"),
        (
            ["--llm", "http://a/v1", "--llm-model", "b", "--llm-option", "requests_at_once=0"],
            "requests_at_once: .* equal to 1, found 0; a setting of the server",
        ),
        (["--llm-model", "some"], "--llm-model: expected it with --llm"),
        (["--llm-option", "a=b"], "--llm-option: expected it with --llm"),
        (["--llm", "http://a/v1", "--llm-model", "b", "--knowledge", "k.csv"], "expected one of"),
    ],
)
def test_mistakes_come_before_any_work(
    run: Callable, arguments: list[Any], options: list[str], message: str
) -> None:
    status, _, log = run(*arguments, *options)
    assert status == 1
    assert re.search(message, log)


def test_candidates_are_those_that_images_make(
    run: Callable, tmp_path: Path, arguments: list[Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_model, "CANDIDATES", 5)
    with serving(lambda request: completion(reply(prompt_of(request)))) as (url, _):
        run(*arguments, "--llm", url, "--llm-model", "some", "--keep", "four legs")
    table = open_knowledge(tmp_path / "model" / "knowledge.csv")
    assert len(table.texts) == 5
    assert "four legs" in table.texts
