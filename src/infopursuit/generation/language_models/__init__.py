"""Language models behind one interface: recorded answers, vLLM in this process, or a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models.answers import NotRecordedError, RecordedAnswers
from infopursuit.generation.language_models.model import (
    Answer,
    ImagePrompt,
    LanguageModel,
    Prompt,
    Sampling,
    encoded,
    prompt_key,
)
from infopursuit.generation.language_models.openai_server import OpenAIServer
from infopursuit.generation.language_models.vllm_engine import VllmEngine, where_vllm_is
from infopursuit.generation.settings import LanguageModelSettings, OpenAISettings, VllmSettings
from infopursuit.texts.checked_json import checked

__all__ = [
    "Answer",
    "ImagePrompt",
    "LanguageModel",
    "NotRecordedError",
    "Prompt",
    "RecordedAnswers",
    "Sampling",
    "encoded",
    "language_model_at",
    "open_language_model",
    "prompt_key",
    "where_vllm_is",
]

VLLM, RECORDED = "vllm:", "recorded:"
# A model that thinks on a CPU takes minutes for an answer.
TIMEOUT_SECONDS = 300.0
# Settings of a server that are no fields of its requests.
OWN = ("timeout_seconds", "max_retries", "requests_at_once")
OTHER_MODEL = "record it, or name another language model, or none"


def open_language_model(
    settings: LanguageModelSettings,
    vllm_engine: Mapping[str, Any] | None = None,
    vllm_python: str | None = None,
) -> LanguageModel:
    """Return the backend that `settings` chooses."""
    if settings.backend == "recorded":
        return RecordedAnswers(settings.recorded)
    if settings.backend == "vllm":
        return VllmEngine(settings.vllm, vllm_engine or {}, vllm_python)
    return OpenAIServer(settings.openai)


def language_model_at(
    where: str,
    name: str | None = None,
    extra: Mapping[str, Any] | None = None,
    vllm_python: str | None = None,
) -> LanguageModel:
    """Return the language model at an address.

    Args:
        where: the address of a server of OpenAI's chat completions, whose key, if it needs one, is
            in the environment variable OPENAI_API_KEY; `vllm:MODEL@REVISION`, of the hub, or
            `vllm:FOLDER`; or `recorded:FILE` of recorded answers.
        name: of the model, for a server.
        extra: more fields of each request to a server, such as reasoning_effort or max_tokens; or
            how it is asked: `OWN`.
        vllm_python: the Python of an environment with vLLM, if it is not installed here.

    Raises:
        InputError: the address is none of these, or the name is missing or too much.
    """
    if where.startswith((VLLM, RECORDED)):
        for what, given in (("name", name), ("field of requests", extra)):
            if given:
                raise InputError(
                    f"{where} names its model; expected no other {what}, found {given!r}"
                )
        if where.startswith(RECORDED):
            return RecordedAnswers(where.removeprefix(RECORDED), OTHER_MODEL)
        model, _, revision = where.removeprefix(VLLM).partition("@")
        settings = VllmSettings(model=model, revision=revision or None, engine={})
        where_vllm_is(vllm_python)  # a mistake comes before any work
        return VllmEngine(settings, {}, vllm_python)
    if not where.startswith(("http://", "https://")):
        raise InputError(
            f"the language model {where!r}: expected http://..., https://..., vllm:MODEL@REVISION, "
            "vllm:FOLDER or recorded:FILE"
        )
    if not name:
        raise InputError(f"{where}: the name of the model is missing; expected one it knows")
    fields = dict(extra or {})
    server = {
        "base_url": where,
        "model": name,
        "api_key_variable": "OPENAI_API_KEY",
        "timeout_seconds": TIMEOUT_SECONDS,
        "max_retries": 10,
        **{each: fields.pop(each) for each in OWN if each in fields},
        "extra": fields,
    }
    form = "a setting of the server, not a field of its requests"
    return OpenAIServer(checked(server, OpenAISettings, where, form))
