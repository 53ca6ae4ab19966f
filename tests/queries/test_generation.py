import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.answer_cache import AnswerCache
from infopursuit.queries.generation import answer_prompts
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.templates import PromptTemplate

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=0)
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


def test_more_captions_ask_only_the_new_ones(tmp_path: Path) -> None:
    few, more = Echo(), Echo()
    earlier = answer_prompts(few, PROMPTS[3:10], SAMPLING, tmp_path)
    assert answer_prompts(more, PROMPTS, SAMPLING, tmp_path)[3:10] == earlier
    assert sorted(few.asked + more.asked) == sorted(PROMPTS)
    again = Echo(fail_after=0)
    answer_prompts(again, PROMPTS[::-1], SAMPLING, tmp_path)
    assert again.asked == []


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
def test_the_cache_keeps_any_text(tmp_path_factory: pytest.TempPathFactory, kept: dict) -> None:
    answers = {prompt: Answer(*answer) for prompt, answer in kept.items()}
    cache = AnswerCache(tmp_path_factory.mktemp("cache"), {"model": "m"})
    cache.add(list(answers), list(answers.values()))
    assert cache.load(list(answers)) == answers
    assert cache.load(["never asked, surely"]) == {}


def test_a_damaged_chunk_is_named(tmp_path: Path) -> None:
    cache = AnswerCache(tmp_path, {"model": "m"})
    cache.add(["a"], [Answer("b", "stop")])
    assert json.loads((cache.folder / "settings.json").read_text()) == {"model": "m"}
    [chunk] = cache.folder.glob("*.jsonl")
    chunk.write_text('{"prompt": "', encoding="utf-8")
    with pytest.raises(InputError, match=f"{chunk.name}: not a chunk of answers.*delete it"):
        cache.load(["a"])


def test_answers_of_a_chunk_that_broke_off_are_kept_one_by_one(tmp_path: Path) -> None:
    class OneByOne(Echo):
        broken = ""

        def answer_one_by_one(
            self, prompts: Sequence[str], sampling: Sampling
        ) -> Iterator[tuple[int, Answer]]:
            for place, prompt in enumerate(prompts):
                if prompt == self.broken:
                    raise InputError("the server is down")
                self.asked.append(prompt)
                yield place, Answer(f"to {prompt}", "stop")

    first, second = OneByOne(), OneByOne()
    first.broken = "d"
    with pytest.raises(InputError, match="down"):
        answer_prompts(first, ["a", "b", "c", "d"], SAMPLING, tmp_path)
    [kept] = tmp_path.rglob("*.open")
    kept.write_bytes(kept.read_bytes()[:-5])  # as if killed while it wrote of c
    answers = answer_prompts(second, ["a", "b", "c", "d"], SAMPLING, tmp_path)
    assert (first.asked, second.asked) == (["a", "b", "c"], ["c", "d"])
    assert answers == [Answer(f"to {prompt}", "stop") for prompt in "abcd"]
    assert list(tmp_path.rglob("*.open")) == [kept], "whole chunks need no other file"


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
