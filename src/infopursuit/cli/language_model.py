"""The language model that the options of a command name."""

from __future__ import annotations

import argparse
from typing import Any

from infopursuit.core.errors import InputError


def language_model_of(chosen: argparse.Namespace) -> Any:
    """Return the language model that --llm names; None without it.

    If the command has --vllm, and vLLM is not installed here, this does not return: the command
    starts again where that says.
    """
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
    from infopursuit.generation import language_models  # needs the packages of the pipeline

    if chosen.llm.startswith(language_models.VLLM) and "vllm_python" in chosen:
        language_models.run_where_vllm_is(vllm_python)
    extra = None if chosen.llm_option is None else dict(chosen.llm_option)
    return language_models.language_model_at(chosen.llm, chosen.llm_model, extra)
