import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.language_models.vllm_engine import (
    LIBRARY,
    STARTED_FROM,
    VllmEngine,
    run_where_vllm_is,
)
from infopursuit.queries.settings import VllmSettings

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)


def engine(
    model: str = "org/model",
    revision: str | None = "abc123",
    engine: dict[str, Any] | None = None,
    compute: dict[str, Any] | None = None,
) -> VllmEngine:
    settings = VllmSettings(model=model, revision=revision, engine=engine or {})
    return VllmEngine(settings, compute or {})


class VllmError(Exception):
    """Stands in for vllm.exceptions.VLLMClientError, which is not a ValueError."""


class FakeVllm(ModuleType):
    """Stands in for vllm: records how the engine is built and called."""

    def __init__(self, on_cpu: bool = False) -> None:
        super().__init__("vllm")
        self.on_cpu = on_cpu
        self.refusal: type[Exception] = ValueError
        self.built: list[dict[str, Any]] = []
        self.chats: list[tuple[list[Any], Any]] = []
        self.SamplingParams = SimpleNamespace

    def LLM(self, **arguments: Any) -> Any:  # noqa: N802
        self.built.append(arguments)
        if "unknown" in arguments:
            raise TypeError("unexpected argument 'unknown'")
        return SimpleNamespace(chat=self._chat)

    def _chat(self, conversations: list[Any], sampling_params: Any, use_tqdm: bool) -> list[Any]:
        self.chats.append((conversations, sampling_params))
        assert os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] == "0"
        completions = [
            SimpleNamespace(text=f"to {conversation[0]['content']}", finish_reason=reason)
            for conversation, reason in zip(conversations, ["stop", None], strict=True)
        ]
        if "too long" in conversations[0][0]["content"]:
            raise self.refusal("the prompt has\n9 tokens")
        return [SimpleNamespace(outputs=[completion]) for completion in completions]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> FakeVllm:
    fake = FakeVllm()
    names = ("exceptions", "platforms", "sampling_params")
    exceptions, platforms, sampling_params = map(ModuleType, names)
    exceptions.VLLMClientError = VllmError  # type: ignore[attr-defined]
    platforms.current_platform = SimpleNamespace(is_cpu=lambda: fake.on_cpu)  # type: ignore[attr-defined]
    sampling_params.StructuredOutputsParams = SimpleNamespace  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setitem(sys.modules, "vllm.exceptions", exceptions)
    monkeypatch.setitem(sys.modules, "vllm.platforms", platforms)
    monkeypatch.setitem(sys.modules, "vllm.sampling_params", sampling_params)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    return fake


def test_asks_each_prompt_as_one_message_of_a_seeded_request(vllm: FakeVllm) -> None:
    how = {"tensor_parallel_size": 2, "enable_prefix_caching": True}
    model = engine(engine={"max_model_len": 2048}, compute=how)
    answers = model.answer(["one", "two"], SAMPLING)
    assert answers == [Answer("to one", "stop"), Answer("to two", "unknown")]
    [(conversations, parameters)] = vllm.chats
    assert conversations == [[{"role": "user", "content": text}] for text in ("one", "two")]
    common = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 30, "structured_outputs": None}
    seeds = [SAMPLING.seed_for("one"), SAMPLING.seed_for("two")]
    assert [vars(each) for each in parameters] == [{**common, "seed": seed} for seed in seeds]
    named = {"model": "org/model", "revision": "abc123", "tokenizer_revision": "abc123"}
    assert vllm.built == [{**named, "seed": 3, "max_model_len": 2048, **how}]
    model.answer(["one", "two"], replace(SAMPLING, pattern="[0-9]+"))
    assert [vars(each.structured_outputs) for each in vllm.chats[1][1]] == [{"regex": "[0-9]+"}] * 2
    assert len(vllm.built) == 1


def test_no_prompt_is_cut_in_two_on_a_cpu(vllm: FakeVllm) -> None:
    vllm.on_cpu = True
    for compute in ({}, {"enable_chunked_prefill": True}):
        engine(compute=compute).answer(["one", "two"], SAMPLING)
    assert [built["enable_chunked_prefill"] for built in vllm.built] == [False, True]


@pytest.mark.parametrize("refusal", [ValueError, VllmError])
def test_what_vllm_refuses_is_bad_input(vllm: FakeVllm, refusal: type[Exception]) -> None:
    vllm.refusal = refusal
    with pytest.raises(InputError, match="the prompt has 9 tokens"):
        engine().answer(["too long", "two"], SAMPLING)


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"engine": {"seed": 1}}, "seed is set"),
        ({"compute": {"model": "x"}}, "model is set"),
        ({"compute": {"dtype": "half"}}, "dtype changes"),
        ({"engine": {"swap": 1}, "compute": {"swap": 2}}, "swap changes"),
        ({"compute": {"data_parallel_size": 2}}, "ray"),
        ({"revision": None}, "not a local folder"),
        ({"engine": {"unknown": 1}}, "cannot load"),
    ],
)
def test_an_engine_that_cannot_be_made(
    vllm: FakeVllm, arguments: dict[str, Any], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        engine(**arguments).answer(["one", "two"], SAMPLING)


def test_vllm_that_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(InputError, match="vllm is not installed"):
        engine().answer(["one"], SAMPLING)


def test_identity_covers_all_that_changes_answers(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = engine(str(tmp_path), None).identity
    assert before == engine(str(tmp_path), None).identity
    (tmp_path / "config.json").write_text("{} ", encoding="utf-8")
    assert before != engine(str(tmp_path), None).identity
    hub = engine().identity
    assert hub == engine(compute={"tensor_parallel_size": 2}).identity
    assert hub != engine(revision="b").identity
    assert hub != engine(engine={"dtype": "half"}).identity


# A stage that needs vLLM if there is none. The slow tests start another Python for real.


class Replaced(Exception):  # noqa: N818
    """Another program takes the place of this one."""


def start(
    monkeypatch: pytest.MonkeyPatch, python: str | None, there: bool, started_from: str | None
) -> list[str]:
    """What takes the place of this program; nothing if it goes on."""

    def execv(program: Path, arguments: list[str]) -> None:
        assert str(program) == arguments[0]
        raise Replaced(*arguments)

    monkeypatch.setattr(os, "execv", execv)
    monkeypatch.setattr("importlib.util.find_spec", lambda name: there or None)
    monkeypatch.setattr(sys, "orig_argv", ["python", "-X", "utf8", "stage.py", "a b"])
    monkeypatch.setenv("PATH", "/bin")
    monkeypatch.delenv(STARTED_FROM, raising=False)
    if started_from is not None:
        monkeypatch.setenv(STARTED_FROM, started_from)
    try:
        run_where_vllm_is(python)
    except Replaced as other:
        return list(other.args)
    return []


@pytest.mark.parametrize("started_from", [None, LIBRARY])
def test_goes_on_if_vllm_is_there(
    monkeypatch: pytest.MonkeyPatch, started_from: str | None
) -> None:
    assert start(monkeypatch, None, True, started_from) == []
    assert STARTED_FROM not in os.environ


def test_runs_the_same_command_in_the_other_environment(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    # The Python of a virtual environment is a link; what it links to knows nothing of it.
    link = tmp_path / "linked/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(sys.executable)
    monkeypatch.chdir(tmp_path)
    for named in (str(link), "linked/bin/python"):
        called = start(monkeypatch, named, False, None)
        assert called == [str(link), "-X", "utf8", "stage.py", "a b"]
        assert os.environ[STARTED_FROM] == LIBRARY
        assert os.environ["PATH"] == f"{link.parent}{os.pathsep}/bin"


@pytest.mark.parametrize(
    ("python", "there", "started_from", "word"),
    [
        (None, False, None, "set compute.vllm_python"),
        ("nowhere/bin/python", False, None, "nowhere/bin/python is not a program"),
        (".", False, None, "not a program"),
        (sys.executable, False, LIBRARY, "has no vllm"),
        (None, True, "/elsewhere/lib", "expected that of /elsewhere"),
    ],
)
def test_an_environment_without_vllm_is_reported(
    monkeypatch: pytest.MonkeyPatch,
    python: str | None,
    there: bool,
    started_from: str | None,
    word: str,
) -> None:
    with pytest.raises(InputError, match=f"{word}.*`make vllm`"):
        start(monkeypatch, python, there, started_from)
