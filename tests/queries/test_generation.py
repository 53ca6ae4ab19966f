import json
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.core.errors import InputError
from infopursuit.queries.answer_cache import AnswerCache
from infopursuit.queries.captions import Caption
from infopursuit.queries.generation import answer_captions, answer_prompts
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


class Unkept(Echo):
    """The same without an identity, as recorded answers are."""

    def __init__(self) -> None:
        super().__init__()
        self.identity = None


def test_answers_in_order_and_equal_prompts_asked_once(tmp_path: Path) -> None:
    model = Echo()
    answers = answer_prompts(model, ["b", "a", "b"], SAMPLING, tmp_path)
    assert [answer.text.split()[0] for answer in answers] == ["b", "a", "b"]
    assert model.asked == ["b", "a"]


@pytest.mark.parametrize("fail_after", [4, 8, 24])
def test_a_failed_run_goes_on_where_it_was(tmp_path: Path, fail_after: int) -> None:
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
    ("name", "sampling"),
    [
        ("other", SAMPLING),
        ("echo", replace(SAMPLING, seed=1)),
        ("echo", replace(SAMPLING, temperature=0.0)),
        ("echo", replace(SAMPLING, top_p=0.5)),
        ("echo", replace(SAMPLING, max_tokens=99)),
    ],
)
def test_answers_of_other_settings_are_not_used(
    tmp_path: Path, name: str, sampling: Sampling
) -> None:
    answer_prompts(Echo(), PROMPTS, SAMPLING, tmp_path)
    model = Echo(name)
    answer_prompts(model, PROMPTS, sampling, tmp_path)
    assert model.asked == PROMPTS


def test_a_model_without_identity_is_asked_anew(tmp_path: Path) -> None:
    for _ in range(2):
        model = Unkept()
        answer_prompts(model, PROMPTS, SAMPLING, tmp_path)
        assert model.asked == PROMPTS
    assert list(tmp_path.iterdir()) == []


def test_captions_fill_the_template(tmp_path: Path) -> None:
    model = Echo()
    template = PromptTemplate("t", "{{ max_concepts }} concepts of {{ caption }}")
    answer_captions(model, template, [Caption("A dog.", (3,))], 7, SAMPLING, tmp_path)
    assert model.asked == ["7 concepts of A dog."]


def test_a_model_that_loses_an_answer_is_caught(tmp_path: Path) -> None:
    class Forgetful(Echo):
        def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
            return super().answer(prompts, sampling)[1:]

    with pytest.raises(InputError, match="3 answers to 4 prompts"):
        answer_prompts(Forgetful(), PROMPTS, SAMPLING, tmp_path)


KILLED = """
import sys, time
from infopursuit.queries.generation import answer_prompts
from infopursuit.queries.language_models import Answer, Sampling

class Slow:
    identity = {"backend": "slow"}
    chunk = 3

    def answer(self, prompts, sampling):
        with open(sys.argv[2], "a") as file:
            file.writelines(prompt + "\\n" for prompt in prompts)
        time.sleep(0.03)
        return [Answer(f"to {prompt} after {prompts[0]}", "stop") for prompt in prompts]

answers = answer_prompts(
    Slow(), [f"p{i}" for i in range(60)], Sampling(0.0, 1.0, 10, 0), sys.argv[1]
)
with open(sys.argv[3], "w") as file:
    file.writelines(answer.text + "\\n" for answer in answers)
"""


def test_a_killed_process_loses_one_chunk_at_most(tmp_path: Path) -> None:
    def start(name: str) -> subprocess.Popen[bytes]:
        paths = [str(tmp_path / f"{name}{end}") for end in ("", ".asked", ".answers")]
        return subprocess.Popen([sys.executable, "-c", KILLED, *paths])

    assert start("whole").wait() == 0
    process = start("killed")
    while len(list((tmp_path / "killed").glob("*/*.jsonl"))) < 5:
        assert process.poll() is None
        time.sleep(0.005)
    process.send_signal(signal.SIGKILL)
    assert process.wait() == -signal.SIGKILL
    assert not (tmp_path / "killed.answers").exists()
    assert start("killed").wait() == 0
    asked = (tmp_path / "killed.asked").read_text().splitlines()
    assert set(asked) == {f"p{i}" for i in range(60)}
    assert len(asked) <= 60 + 3
    answers = (tmp_path / "killed.answers").read_bytes()
    assert answers == (tmp_path / "whole.answers").read_bytes()


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
