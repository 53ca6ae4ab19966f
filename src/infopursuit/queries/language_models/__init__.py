"""Language models behind one interface: recorded answers, vLLM in this process, or a server."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from infopursuit.queries.language_models.model import Answer, LanguageModel, Sampling
from infopursuit.queries.language_models.openai_server import OpenAIServer
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.language_models.vllm_engine import VllmEngine
from infopursuit.queries.settings import LanguageModelSettings

__all__ = ["Answer", "LanguageModel", "Sampling", "open_language_model"]


def open_language_model(
    settings: LanguageModelSettings, vllm_engine: Mapping[str, Any] | None = None
) -> LanguageModel:
    """Return the backend that `settings` chooses."""
    if settings.backend == "recorded":
        return RecordedAnswers(settings.recorded)
    if settings.backend == "vllm":
        return VllmEngine(settings.vllm, vllm_engine or {})
    return OpenAIServer(settings.openai)
