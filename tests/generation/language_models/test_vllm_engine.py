import os
import sys
from pathlib import Path
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models import Sampling
from infopursuit.generation.language_models.vllm_engine import (
    LIBRARY,
    STARTED_FROM,
    VllmEngine,
    run_where_vllm_is,
)
from infopursuit.generation.settings import VllmSettings

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)


def engine(
    model: str = "org/model",
    revision: str | None = "abc123",
    engine: dict[str, Any] | None = None,
    compute: dict[str, Any] | None = None,
) -> VllmEngine:
    settings = VllmSettings(model=model, revision=revision, engine=engine or {})
    return VllmEngine(settings, compute or {})


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ({"engine": {"seed": 1}}, "seed is set"),
        ({"compute": {"model": "x"}}, "model is set"),
        ({"compute": {"dtype": "half"}}, "dtype changes"),
        ({"engine": {"swap": 1}, "compute": {"swap": 2}}, "swap changes"),
        ({"compute": {"data_parallel_size": 2}}, "ray"),
        ({"revision": None}, "not a local folder"),
    ],
)
def test_an_engine_that_cannot_be_made(arguments: dict[str, Any], word: str) -> None:
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
