"""Answers by prompt: recorded ones, and those that are kept so that nothing is asked twice."""

import json
import pickle
from collections.abc import Generator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.generation.answering import answer_prompts
from infopursuit.generation.language_models import (
    Answer,
    NotRecordedError,
    RecordedAnswers,
    Sampling,
)
from infopursuit.generation.language_models.answers import KeptAnswers
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.templates import FilledPrompt, PromptTemplate
from tests.generation.recordings import Recording, write_recorded

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=0)
CONCEPTS = "At most {{ max_concepts }} concepts.\n\nCaption: {{ caption }}\n"
CLASSES = "Classes:{% for name in classes %}\n- {{ name }}{% endfor %}\nWrite {{ k }}.\nBe brief."
KNOWN = "{{ texts }} of {{ class_name }}"


@pytest.fixture
def recorded(tmp_path: Path) -> Path:
    path = tmp_path / "recorded.jsonl"
    dog = {"caption": "A dog\u2028é.", "max_concepts": 20}
    cat = {"caption": "A cat.", "max_concepts": 20}
    classes = {"classes": ["zebra", "bus"], "k": 2}
    known = {"class_name": "bus", "texts": ["wheels", "fur"]}
    write_recorded(
        path,
        {"concepts": CONCEPTS, "classes": CLASSES, "known": KNOWN},
        [
            Recording("concepts", dog, Answer("1. four legs\n2. tail", "length")),
            Recording("concepts", cat, Answer("1. whiskers", "stop")),
            Recording("classes", classes, Answer("1. stripes\n2. wheels", "stop")),
            Recording("known", known, Answer("true: 1\nsometimes:", "stop")),
        ],
    )
    return path


OTHER_PROMPT = PromptTemplate("p", "{{ caption }} {{ k }} {{ class_name }} {{ texts }}")


def filled(**variables: Any) -> FilledPrompt:
    """A prompt that was never recorded, about something."""
    offered = dict.fromkeys(OTHER_PROMPT.variables(), "")
    prompt = OTHER_PROMPT.render(**offered | variables)
    prompt.variables = variables
    return prompt


@pytest.mark.parametrize(
    ("variables", "answer"),
    [
        ({"caption": "A cat.", "max_concepts": 3}, "1. whiskers"),
        ({"caption": "a  cat"}, "1. whiskers"),
        ({"classes": ["zebra", "bus"], "k": 9}, "1. stripes\n2. wheels"),
        ({"classes": ["Bus", "zebra"], "k": 1}, "1. stripes\n2. wheels"),
        ({"class_name": "bus", "texts": ["wheels", "fur"], "classes": []}, "true: 1\nsometimes:"),
    ],
)
def test_any_prompt_is_answered_by_what_it_is_about(
    recorded: Path, variables: dict[str, Any], answer: str
) -> None:
    for prompt in (filled(**variables), pickle.loads(pickle.dumps(filled(**variables)))):
        [found] = RecordedAnswers(recorded).answer([prompt], SAMPLING)
        assert found == Answer(answer, "stop")


@pytest.mark.parametrize(
    ("variables", "word"),
    [
        ({"caption": "A cow."}, "visual_vocabulary"),
        ({"classes": ["zebra", "car"], "k": 2}, r"run\.inits"),
        ({"class_name": "bus", "texts": ["fur", "hat"]}, "no_knowledge"),
        ({"colour": "red"}, "prompts"),
    ],
)
def test_what_is_not_recorded_is_an_error_if_nothing_else_is_asked(
    recorded: Path, variables: dict[str, Any], word: str, caplog: pytest.LogCaptureFixture
) -> None:
    model = RecordedAnswers(recorded)
    with pytest.raises(NotRecordedError, match=rf"recorded\.jsonl: .*{word}"):
        model.answer([filled(**variables)], SAMPLING)
    known, unknown = model.answer([filled(caption="A cat."), filled(**variables)], SAMPLING)
    assert (known.text, unknown) == ("1. whiskers", Answer("", "not recorded"))
    assert "1 of 2 prompts" in caplog.text


def test_the_very_prompt_comes_first_then_the_longest_answer(tmp_path: Path) -> None:
    answers = {2: "1. a\n2. b", 4: "1. c\n2. d\n3. e\n4. f", 3: "1. g\n2. h\n3. i"}
    write_recorded(
        tmp_path / "r.jsonl",
        {"classes": CLASSES},
        [
            Recording("classes", {"classes": ["bus"], "k": k}, Answer(text, "stop"))
            for k, text in answers.items()
        ],
    )
    model = RecordedAnswers(tmp_path / "r.jsonl")
    same = [PromptTemplate("p", CLASSES).render(classes=["bus"], k=k) for k in answers]
    assert [each.text for each in model.answer(same, SAMPLING)] == list(answers.values())
    assert model.answer([filled(classes=["bus"], k=2)], SAMPLING)[0].text == answers[4]


@pytest.mark.parametrize(
    ("kind", "names", "others", "expected"),
    [
        ("class_name", [], [], [("bus", ["wheels", "fur"])]),
        ("class_name", ["Bus", "car"], ["Fur"], [("bus", ["wheels", "fur"])]),
        ("class_name", ["bus"], ["hat"], None),
        ("class_name", ["car"], [], None),
        ("classes", ["bus"], [], None),
        ("classes", ["bus", "zebra"], [], [("bus, zebra", [])]),
    ],
)
def test_what_answers_are_about(
    recorded: Path, kind: str, names: list[str], others: list[str], expected: Any
) -> None:
    model = RecordedAnswers(recorded)
    if expected is None:
        with pytest.raises(NotRecordedError, match=names[0]):
            model.recorded(kind, names, others)
    else:
        assert model.recorded(kind, names, others) == expected


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('{"template": "x", "text": ', "JSON"),
        ('{"template": "x"}', "variables"),
        ('{"template": "x", "variables": {}, "answer": "", "finish_reason": ""}', "earlier line"),
        ('{"template": "x", "text": "{{ a"}', "Jinja"),
    ],
)
def test_a_broken_recording_is_named(recorded: Path, line: str, word: str) -> None:
    lines = recorded.read_text("utf-8").split("\n")[:4]
    recorded.write_text("\n".join([*lines, line]), encoding="utf-8")
    with pytest.raises(InputError, match=rf"recorded\.jsonl: line 5.*{word}"):
        RecordedAnswers(recorded)


@given(st.integers(), st.text())
def test_seeds_fit_every_server(seed: int, prompt: str) -> None:
    assert 0 <= replace(SAMPLING, seed=seed).seed_for(prompt) < 2**31


# What is kept.

PROMPTS = [f"prompt {number} \u2028é" for number in range(25)]


class Echo:
    """A language model that answers with what it was asked, and with which batch it came."""

    def __init__(self, name: str = "echo", fail_after: int | None = None) -> None:
        self.identity = {"backend": "echo", "model": name}
        self.chunk = 4
        self.asked: list[str] = []
        self.fail_after = fail_after

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise InputError("the server is down")
        self.asked += prompts
        return [Answer(f"{prompt} in a batch with {prompts[0]}\n", "stop") for prompt in prompts]


def test_answers_in_order_and_equal_prompts_asked_once(tmp_path: Path) -> None:
    model = Echo()
    answers = answer_prompts(model, ["b", "a", "b"], SAMPLING, tmp_path)
    assert [answer.text.split()[0] for answer in answers] == ["b", "a", "b"]
    assert model.asked == ["b", "a"]


@pytest.mark.parametrize("fail_after", [4, 8, 24])
def test_a_failed_run_resumes(tmp_path: Path, fail_after: int) -> None:
    whole = answer_prompts(Echo(), PROMPTS, SAMPLING, tmp_path / "whole")
    first, second = Echo(fail_after=fail_after), Echo()
    with pytest.raises(InputError, match="down"):
        answer_prompts(first, PROMPTS, SAMPLING, tmp_path / "parts")
    assert answer_prompts(second, PROMPTS, SAMPLING, tmp_path / "parts") == whole
    assert first.asked + second.asked == PROMPTS


@pytest.mark.parametrize(
    "changed", [{"seed": 1}, {"temperature": 0.0}, {"top_p": 0.5}, {"max_tokens": 99}, {}]
)
def test_answers_of_other_settings_are_not_used(tmp_path: Path, changed: dict[str, Any]) -> None:
    answer_prompts(Echo(), PROMPTS, SAMPLING, tmp_path)
    model = Echo() if changed else Echo("other")
    answer_prompts(model, PROMPTS, replace(SAMPLING, **changed), tmp_path)
    assert model.asked == PROMPTS


def test_a_model_without_identity_is_asked_again(tmp_path: Path) -> None:
    for _ in range(2):
        model = Echo()
        model.identity = None
        answer_prompts(model, PROMPTS, SAMPLING, tmp_path)
        assert model.asked == PROMPTS
    assert list(tmp_path.iterdir()) == []


def test_a_model_that_loses_an_answer_is_caught(tmp_path: Path) -> None:
    class Forgetful(Echo):
        def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
            return super().answer(prompts, sampling)[1:]

    with pytest.raises(InputError, match="3 answers to 4 prompts"):
        answer_prompts(Forgetful(), PROMPTS, SAMPLING, tmp_path)


@given(st.dictionaries(st.text(), st.tuples(st.text(), st.text()), min_size=1))
def test_any_text_is_kept(tmp_path_factory: pytest.TempPathFactory, kept: dict) -> None:
    answers = {prompt: Answer(*answer) for prompt, answer in kept.items()}
    folder = KeptAnswers(tmp_path_factory.mktemp("kept"), {"model": "m"})
    folder.add(list(answers), list(answers.values()))
    assert folder.load(list(answers)) == answers
    assert folder.load(["never asked, surely"]) == {}


@pytest.mark.parametrize("line", ['{"prompt": "', "[1]", '{"prompt": "a"}', "5"])
def test_a_damaged_file_of_kept_answers_is_named(tmp_path: Path, line: str) -> None:
    kept = KeptAnswers(tmp_path, {"model": "m"})
    kept.add(["a"], [Answer("b", "stop")])
    [path] = tmp_path.rglob("*.jsonl")
    with path.open("a", encoding="utf-8") as file:
        file.write(f"{line}\n")
    with pytest.raises(InputError, match=f"{path.name}: .*delete it"):
        kept.load(["a"])


def test_answers_of_a_server_that_broke_off_are_kept_one_by_one(tmp_path: Path) -> None:
    class OneByOne(Echo, OpenAIServer):
        identity: Any = None
        broken = ""

        def answer_one_by_one(
            self, prompts: Sequence[Any], sampling: Sampling
        ) -> Generator[tuple[int, Answer]]:
            for place, prompt in enumerate(prompts):
                if prompt == self.broken:
                    raise InputError("the server is down")
                self.asked.append(prompt)
                yield place, Answer(f"to {prompt}", "stop")

    first, second = OneByOne(), OneByOne()
    first.broken = "d"
    with pytest.raises(InputError, match="down"):
        answer_prompts(first, ["a", "b", "c", "d"], SAMPLING, tmp_path)
    [kept] = tmp_path.rglob("*.jsonl")
    assert [json.loads(line)["answer"][-1] for line in kept.read_text().splitlines()] == [*"abc"]
    kept.write_bytes(kept.read_bytes()[:-5])  # as if killed while it wrote of c
    answers = answer_prompts(second, ["a", "b", "c", "d"], SAMPLING, tmp_path)
    assert (first.asked, second.asked) == (["a", "b", "c"], ["c", "d"])
    assert answers == [Answer(f"to {prompt}", "stop") for prompt in "abcd"]


@pytest.mark.parametrize(
    "code",
    [
        "caption.__class__.__mro__[1].__subclasses__()",
        "caption.format.__globals__",
        "self.__init__.__globals__.__builtins__.open('made', 'w')",
        "'{0.__class__.__mro__}'.format(caption)",
    ],
)
def test_a_prompt_from_a_stranger_runs_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="prompt: "):
        PromptTemplate("prompt", f"{{{{ caption }}}} {{{{ {code} }}}}").render(caption="x")
    assert not list(tmp_path.iterdir())
