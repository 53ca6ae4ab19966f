import os
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling
from infopursuit.queries.language_models.vllm_engine import LIBRARY, STARTED_FROM, VllmEngine
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
    model.answer(["one", "two"], SAMPLING)
    assert len(vllm.built) == 1


def test_a_pattern_becomes_a_structured_output(vllm: FakeVllm) -> None:
    model = engine()
    model.answer(["one", "two"], replace(SAMPLING, pattern="[0-9]+"))
    [(_, parameters)] = vllm.chats
    assert [vars(each.structured_outputs) for each in parameters] == [{"regex": "[0-9]+"}] * 2


@pytest.mark.parametrize(("compute", "chunked"), [({}, False), ({"enable_chunked_prefill": 1}, 1)])
def test_no_prompt_is_cut_in_two_on_a_cpu(
    vllm: FakeVllm, compute: dict[str, Any], chunked: Any
) -> None:
    vllm.on_cpu = True
    engine(compute=compute).answer(["one", "two"], SAMPLING)
    assert vllm.built[0]["enable_chunked_prefill"] == chunked


@pytest.mark.parametrize("refusal", [ValueError, VllmError])
def test_what_vllm_refuses_is_bad_input(vllm: FakeVllm, refusal: type[Exception]) -> None:
    vllm.refusal = refusal
    model = engine()
    with pytest.raises(InputError, match=r"vllm refuses a prompt.*the prompt has 9 tokens$"):
        model.answer(["too long", "two"], SAMPLING)


@pytest.mark.parametrize(
    ("arguments", "compute", "message"),
    [
        ({"seed": 1}, {}, r"language_model\.vllm\.engine: seed is set by"),
        ({}, {"model": "x"}, r"compute\.vllm_engine: model is set by"),
        ({}, {"dtype": "half"}, r"compute\.vllm_engine: dtype changes the answers; expected under"),
        ({"swap": 1}, {"swap": 2}, r"compute\.vllm_engine: swap changes the answers"),
        ({}, {"data_parallel_size": 2}, r"set compute\.engine to ray"),
    ],
)
def test_engine_arguments_in_the_wrong_place(
    arguments: dict[str, Any], compute: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        engine(engine=arguments, compute=compute)


def test_an_engine_that_cannot_be_made(
    vllm: FakeVllm, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match="cannot load 'org/model' at revision abc123: unexpected"):
        engine(engine={"unknown": 1}).answer(["one"], SAMPLING)
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(InputError, match=r"vllm is not installed.*infopursuit\[vllm\]"):
        engine().answer(["one"], SAMPLING)
    with pytest.raises(InputError, match="'org/model' is not a local folder"):
        engine(revision=None)


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


# A stage that needs vLLM if there is none: real processes, one for each case.

STAGE = """
import importlib.util, logging, sys
from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.vllm_engine import run_where_vllm_is

python, there, *_ = sys.argv[1:]
importlib.util.find_spec = lambda name: True if there == "there" else None
logging.basicConfig(level=logging.INFO, format="%(message)s")
try:
    run_where_vllm_is(None if python == "null" else python)
except InputError as error:
    sys.exit(str(error))
print("goes on")
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "stage.py").write_text(STAGE, encoding="utf-8")
    command = [sys.executable, "-X", "utf8", "stage.py", *arguments]
    environment = {**os.environ, **environment}
    return subprocess.run(command, env=environment, cwd=folder, capture_output=True, text=True)


def other_python(folder: Path) -> Path:
    """Write a program that stands for the other environment's Python and prints its call."""
    path = folder / "other/bin/python"
    path.parent.mkdir(parents=True)
    path.write_text(f'#!/bin/sh\necho "$@"; echo ${STARTED_FROM}; echo $PATH; pwd; exit 7\n')
    path.chmod(0o755)
    return path


def test_goes_on_if_vllm_is_there(tmp_path: Path) -> None:
    assert run(tmp_path, "null", "there").stdout == "goes on\n"
    assert run(tmp_path, "null", "there", **{STARTED_FROM: LIBRARY}).stdout == "goes on\n"


def test_runs_the_same_command_in_the_other_environment(tmp_path: Path) -> None:
    path = other_python(tmp_path)
    for named in (str(path), "other/bin/python"):
        done = run(tmp_path, named, "absent", "--corpus", "a b")
        called, started_from, search, folder = done.stdout.splitlines()
        assert called == f"-X utf8 stage.py {named} absent --corpus a b"
        assert started_from == LIBRARY
        assert search.split(os.pathsep)[0] == str(path.parent)
        assert folder == str(tmp_path)
        assert done.returncode == 7
        assert f"running this stage in {named}" in done.stderr


def test_a_link_to_a_python_stays_a_link(tmp_path: Path) -> None:
    # The Python of a virtual environment is a link; what it links to knows nothing of it.
    path = other_python(tmp_path)
    link = tmp_path / "linked/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(path)
    search = run(tmp_path, str(link), "absent").stdout.splitlines()[2]
    assert search.split(os.pathsep)[0] == str(link.parent)


@pytest.mark.parametrize(
    ("python", "there", "started_from", "message"),
    [
        ("null", "absent", None, "set compute.vllm_python to the Python of an environment that"),
        ("nowhere/bin/python", "absent", None, "nowhere/bin/python is not a program"),
        (".", "absent", None, "compute.vllm_python: . is not a program"),
        (sys.executable, "absent", None, f"{sys.executable} has no vllm"),
        ("null", "there", "/elsewhere/lib", f"library of {LIBRARY}; expected that of /elsewhere"),
    ],
)
def test_an_environment_without_vllm_is_reported(
    tmp_path: Path, python: str, there: str, started_from: str | None, message: str
) -> None:
    environment = {} if started_from is None else {STARTED_FROM: started_from}
    done = run(tmp_path, python, there, **environment)
    assert done.returncode == 1
    assert message in done.stderr.splitlines()[-1]
    assert "`make vllm`" in done.stderr
