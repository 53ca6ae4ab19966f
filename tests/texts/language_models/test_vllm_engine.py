import os
import sys
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infopursuit.errors import InputError
from infopursuit.texts.language_models import Answer, Sampling
from infopursuit.texts.language_models.vllm_engine import VllmEngine

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)


class FakeVllm(ModuleType):
    """Stands in for vllm: records how the engine is built and called."""

    def __init__(self) -> None:
        super().__init__("vllm")
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
        return [SimpleNamespace(outputs=[completion]) for completion in completions]


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> FakeVllm:
    fake = FakeVllm()
    monkeypatch.setitem(sys.modules, "vllm", fake)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    return fake


def test_asks_each_prompt_as_one_message_of_a_seeded_request(vllm: FakeVllm) -> None:
    model = VllmEngine("org/model", "abc123", {"max_model_len": 2048})
    answers = model.answer(["one", "two"], SAMPLING)
    assert answers == [Answer("to one", "stop"), Answer("to two", "unknown")]
    [(conversations, parameters)] = vllm.chats
    assert conversations == [
        [{"role": "user", "content": "one"}],
        [{"role": "user", "content": "two"}],
    ]
    common = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 30}
    assert [vars(each) for each in parameters] == [
        {**common, "seed": SAMPLING.seed_for("one")},
        {**common, "seed": SAMPLING.seed_for("two")},
    ]
    assert vllm.built == [
        {
            "model": "org/model",
            "revision": "abc123",
            "tokenizer_revision": "abc123",
            "seed": 3,
            "max_model_len": 2048,
        }
    ]
    model.answer(["one", "two"], SAMPLING)
    assert len(vllm.built) == 1


def test_without_vllm_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    with pytest.raises(InputError, match=r"vllm is not installed.*infopursuit\[vllm\]"):
        VllmEngine("org/model", "abc123", {}).answer(["one"], SAMPLING)


def test_a_model_that_cannot_be_loaded_is_named(vllm: FakeVllm) -> None:
    with pytest.raises(InputError, match="cannot load 'org/model' at revision abc123: unexpected"):
        VllmEngine("org/model", "abc123", {"unknown": 1}).answer(["one"], SAMPLING)


def test_only_a_local_folder_may_go_without_revision(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'org/model' is no local folder"):
        VllmEngine("org/model", None, {})
    assert VllmEngine(str(tmp_path), None, {}).identity["files"] == []


def test_identity_tells_models_apart(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = VllmEngine(str(tmp_path), None, {}).identity
    assert before == VllmEngine(str(tmp_path), None, {}).identity
    (tmp_path / "config.json").write_text("{} ", encoding="utf-8")
    assert before != VllmEngine(str(tmp_path), None, {}).identity
    hub = VllmEngine("org/model", "a", {}).identity
    assert hub != VllmEngine("org/model", "b", {}).identity
    assert hub != VllmEngine("org/model", "a", {"dtype": "half"}).identity
