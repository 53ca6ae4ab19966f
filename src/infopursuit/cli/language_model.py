"""The language model that the options of a command name."""

from __future__ import annotations

import argparse
from typing import Any

from infopursuit.core.errors import InputError


def language_model_of(chosen: argparse.Namespace) -> Any:
    """Return the language model that --llm names; None without it."""
    vllm_python = getattr(chosen, "vllm_python", None)
    needed = {
        "--llm-model": chosen.llm_model,
        "--llm-option": chosen.llm_option,
        "--vllm": vllm_python,
    }
    if chosen.llm is None:
        for other, value in needed.items():
            if value is not None:
                raise InputError(f"{other}: expected it with --llm")
        return None
    # It needs the packages of the pipeline.
    from infopursuit.generation.language_models import language_model_at

    extra = None if chosen.llm_option is None else dict(chosen.llm_option)
    return language_model_at(chosen.llm, chosen.llm_model, extra, vllm_python)
