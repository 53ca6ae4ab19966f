import os
import sys
from dataclasses import replace
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models import Answer, Sampling, open_language_model
from infopursuit.queries.language_models.vllm_engine import VllmEngine

SAMPLING = Sampling(temperature=0.5, top_p=0.9, max_tokens=30, seed=3)


class VllmError(Exception):
    """Stands in for vllm.exceptions.VLLMClientError, which is no ValueError."""


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
    settings = {"model": "org/model", "revision": "abc123", "engine": {"max_model_len": 2048}}
    how = {"tensor_parallel_size": 2, "enable_prefix_caching": True}
    model = open_language_model({"backend": "vllm", "vllm": settings}, how)
    answers = model.answer(["one", "two"], SAMPLING)
    assert answers == [Answer("to one", "stop"), Answer("to two", "unknown")]
    [(conversations, parameters)] = vllm.chats
    assert conversations == [
        [{"role": "user", "content": "one"}],
        [{"role": "user", "content": "two"}],
    ]
    common = {"temperature": 0.5, "top_p": 0.9, "max_tokens": 30, "structured_outputs": None}
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
            "tensor_parallel_size": 2,
            "enable_prefix_caching": True,
        }
    ]
    model.answer(["one", "two"], SAMPLING)
    assert len(vllm.built) == 1


def test_a_pattern_becomes_a_structured_output(vllm: FakeVllm) -> None:
    model = VllmEngine("org/model", "abc123", {}, {})
    model.answer(["one", "two"], replace(SAMPLING, pattern="[0-9]+"))
    [(_, parameters)] = vllm.chats
    assert [vars(each.structured_outputs) for each in parameters] == [{"regex": "[0-9]+"}] * 2


@pytest.mark.parametrize(("compute", "chunked"), [({}, False), ({"enable_chunked_prefill": 1}, 1)])
def test_no_prompt_is_cut_in_two_on_a_cpu(
    vllm: FakeVllm, compute: dict[str, Any], chunked: Any
) -> None:
    vllm.on_cpu = True
    VllmEngine("org/model", "abc123", {}, compute).answer(["one", "two"], SAMPLING)
    assert vllm.built[0]["enable_chunked_prefill"] == chunked


@pytest.mark.parametrize("refusal", [ValueError, VllmError])
def test_what_vllm_refuses_is_bad_input(vllm: FakeVllm, refusal: type[Exception]) -> None:
    vllm.refusal = refusal
    model = VllmEngine("org/model", "abc123", {}, {})
    with pytest.raises(InputError, match=r"vllm refuses a prompt.*the prompt has 9 tokens$"):
        model.answer(["too long", "two"], SAMPLING)


@pytest.mark.parametrize(
    ("engine", "compute", "message"),
    [
        ({"seed": 1}, {}, r"language_model\.vllm\.engine: seed is set by"),
        ({}, {"model": "x"}, r"compute\.vllm_engine: model is set by"),
        ({}, {"dtype": "half"}, r"compute\.vllm_engine: dtype changes the answers; expected under"),
        ({"swap": 1}, {"swap": 2}, r"compute\.vllm_engine: swap changes the answers"),
        ({}, {"data_parallel_size": 2}, r"set compute\.engine to ray"),
    ],
)
def test_engine_arguments_in_the_wrong_place(
    engine: dict[str, Any], compute: dict[str, Any], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        VllmEngine("org/model", "abc123", engine, compute)


def test_without_vllm_the_message_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    monkeypatch.setenv("VLLM_ENABLE_V1_MULTIPROCESSING", "1")
    with pytest.raises(InputError, match=r"vllm is not installed.*infopursuit\[vllm\]"):
        VllmEngine("org/model", "abc123", {}, {}).answer(["one"], SAMPLING)


def test_a_model_that_cannot_be_loaded_is_named(vllm: FakeVllm) -> None:
    with pytest.raises(InputError, match="cannot load 'org/model' at revision abc123: unexpected"):
        VllmEngine("org/model", "abc123", {"unknown": 1}, {}).answer(["one"], SAMPLING)


def test_only_a_local_folder_may_go_without_revision(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="'org/model' is no local folder"):
        VllmEngine("org/model", None, {}, {})
    assert VllmEngine(str(tmp_path), None, {}, {}).identity["files"] == []


def test_identity_tells_models_apart(tmp_path: Path) -> None:
    (tmp_path / "config.json").write_text("{}", encoding="utf-8")
    before = VllmEngine(str(tmp_path), None, {}, {}).identity
    assert before == VllmEngine(str(tmp_path), None, {}, {}).identity
    (tmp_path / "config.json").write_text("{} ", encoding="utf-8")
    assert before != VllmEngine(str(tmp_path), None, {}, {}).identity
    faster = VllmEngine("org/model", "a", {}, {"tensor_parallel_size": 2}).identity
    hub = VllmEngine("org/model", "a", {}, {}).identity
    assert hub != VllmEngine("org/model", "b", {}, {}).identity
    assert hub != VllmEngine("org/model", "a", {"dtype": "half"}, {}).identity
    assert hub == faster
