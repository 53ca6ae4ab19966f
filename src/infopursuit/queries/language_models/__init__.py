"""Language models behind one interface: recorded answers, vLLM in this process, or a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infopursuit.queries.language_models.model import Answer, LanguageModel, Sampling
from infopursuit.queries.language_models.openai_server import OpenAIServer
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.language_models.vllm_engine import VllmEngine

__all__ = ["Answer", "LanguageModel", "Sampling", "open_language_model"]


def open_language_model(
    settings: Mapping[str, Any], vllm_engine: Mapping[str, Any] | None = None
) -> LanguageModel:
    """The backend that `settings` chooses.

    Args:
        settings: `backend` (recorded, vllm or openai) and, under each backend's name, its own
            settings: a path for `recorded`, the arguments of VllmEngine and OpenAIServer.
        vllm_engine: how vLLM computes, `compute.vllm_engine`; nothing of it changes an answer.

    Raises:
        InputError: the settings of the backend are no good, as its class says.
    """
    match settings["backend"]:
        case "recorded":
            return RecordedAnswers(settings["recorded"])
        case "vllm":
            return VllmEngine(**settings["vllm"], compute=vllm_engine or {})
        case "openai":
            return OpenAIServer(**settings["openai"])
        case unknown:
            raise ValueError(f"unknown backend {unknown!r}; expected recorded, vllm or openai")
