import sys
from pathlib import Path
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models import Sampling
from infopursuit.generation.language_models.vllm_engine import VllmEngine
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


# Without vLLM here it runs in another Python, which has little besides.

STUB = """
import sys, types
from types import SimpleNamespace as Any

class LLM:
    def __init__(self, model, **arguments):
        assert model.endswith("weights")
    def chat(self, conversations, sampling_params, use_tqdm):
        print("progress on the standard output")
        prompts = [each[0]["content"] for each in conversations]
        if "true:" in prompts[0]:
            answers = [f"true: {len(each) % 7 + 1}\\nsometimes: none" for each in prompts]
        else:
            answers = ["1. a violet door"]
        return [Any(outputs=[Any(text=each, finish_reason="stop")]) for each in answers]

class Absent:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ABSENT:
            raise ModuleNotFoundError(f"No module named '{name}'")

sys.meta_path.insert(0, Absent())
modules = {
    "vllm": {"LLM": LLM, "SamplingParams": Any},
    "vllm.platforms": {"current_platform": Any(is_cpu=lambda: True)},
    "vllm.exceptions": {},
    "vllm.sampling_params": {"StructuredOutputsParams": Any},
}
for name, content in modules.items():
    module = sys.modules[name] = types.ModuleType(name)
    module.__spec__, module.__path__ = Any(name=name), []
    vars(module).update(content)
"""
# What `make vllm` does not install.
ABSENT = ("shtab", "open_clip", "sklearn", "scipy", "torchvision", "dvc", "openai", "fastapi")


def program(path: Path, script: str) -> str:
    path.write_text(f"#!/bin/sh\n{script}\n")
    path.chmod(0o755)
    return str(path)


def python_with_vllm(folder: Path) -> str:
    """A Python like that of `make vllm`, with a vLLM that says what it is given."""
    (folder / "sitecustomize.py").write_text(STUB.replace("ABSENT", repr(ABSENT)))
    paths = f"PYTHONPATH={folder}"
    return program(folder / "python", f'{paths} exec {sys.executable} "$@"')


@pytest.mark.parametrize(
    ("python", "word"),
    [
        (None, "not installed"),
        ("nowhere/bin/python", "nowhere/bin/python is not a program"),
        (".", "not a program"),
        ("exit 3", "status 3"),
        ("""read line; echo '{"error": "vllm is not there"}'""", "vllm is not there"),
    ],
)
def test_an_environment_without_vllm_is_reported(
    tmp_path: Path, python: str | None, word: str
) -> None:
    if python is not None and " " in python:
        python = program(tmp_path / "python", python)
    away = VllmEngine(VllmSettings(model="a", revision="b", engine={}), {}, python)
    with pytest.raises(InputError, match=word):
        away.answer(["one"], SAMPLING)
