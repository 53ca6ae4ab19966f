"""vLLM's offline engine, in this process: batched, seeded, for a whole corpus of captions.

vLLM pins its own torch, which need not be the one of the pipeline. The stages exchange files only,
so a stage that needs vLLM may run itself again in another environment (`compute.vllm_python`;
`make vllm` sets one up).
"""

from __future__ import annotations

import importlib
import importlib.util
import logging
import os
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models.model import (
    Answer,
    Prompt,
    Sampling,
)
from infopursuit.generation.settings import VllmSettings

logger = logging.getLogger(__name__)

INSTALL = "install it with `pip install 'infopursuit[vllm]'`, or set another language_model.backend"
# Set for the stage that was started again, to the folder of the library that started it.
STARTED_FROM = "INFOPURSUIT_STARTED_FROM"
LIBRARY = str(Path(__file__).resolve().parents[2])
REMEDY = "`make vllm` sets up an environment with vllm and says what to set"

# The caller gives these itself.
TAKEN = frozenset({"model", "revision", "tokenizer_revision", "seed"})
# Of the arguments that change answers, those one might take for a matter of speed.
CHANGES_ANSWERS = frozenset(
    {
        "chat_template",
        "dtype",
        "hf_overrides",
        "kv_cache_dtype",
        "logits_processors",
        "max_model_len",
        "quantization",
        "reasoning_parser",
        "structured_outputs_config",
        "tokenizer",
    }
)


class VllmEngine:
    """The backend that loads a model into this process, once the first prompt needs it.

    Of prompts it takes texts alone; pictures go to vLLM's server.
    """

    # Enough to keep the engine's batches full, few enough to lose little.
    chunk = 2048

    def __init__(self, settings: VllmSettings, compute: Mapping[str, Any]) -> None:
        _check_arguments(settings.engine, compute)
        if settings.revision is None and not Path(settings.model).is_dir():
            raise InputError(
                f"language_model.vllm.model: {settings.model!r} is not a local folder and "
                "vllm.revision is null; expected the commit of the model on the hub"
            )
        self.settings = settings
        self.compute = dict(compute)
        self._llm: Any = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Model, revision and what changes answers; of a local folder also which files it holds."""
        settings = self.settings
        files = _files(Path(settings.model)) if settings.revision is None else None
        return {"backend": "vllm", **settings.model_dump(), "files": files}

    def answer(self, prompts: Sequence[Prompt], sampling: Sampling) -> list[Answer]:
        """Put each prompt to the model as one user message, each with its own seed.

        vLLM repeats itself exactly for equal batches on equal hardware.
        """
        llm, vllm = self._loaded(sampling.seed)
        form = importlib.import_module("vllm.sampling_params").StructuredOutputsParams
        regex = None if sampling.pattern is None else form(regex=sampling.pattern)
        parameters = [
            vllm.SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                max_tokens=sampling.max_tokens,
                seed=sampling.seed_for(prompt),
                structured_outputs=regex,
            )
            for prompt in prompts
        ]
        conversations = [[{"role": "user", "content": each}] for each in prompts]
        try:
            outputs = llm.chat(conversations, sampling_params=parameters, use_tqdm=False)
        except _refusals() as error:
            raise InputError(
                f"language_model.vllm: vllm refuses a prompt or its sampling: {error}"
            ) from error
        completions = [output.outputs[0] for output in outputs]
        return [Answer(each.text, each.finish_reason or "unknown") for each in completions]

    def _loaded(self, seed: int) -> tuple[Any, Any]:
        # Read when vLLM is imported: with its scheduler in another process, batches vary.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        # The stage reports the progress; a person who wants more sets these.
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        try:
            vllm = importlib.import_module("vllm")
        except ModuleNotFoundError as error:
            raise InputError(
                f"language_model.backend: vllm is not installed ({error}); {INSTALL}"
            ) from error
        if self._llm is None:
            model, revision = self.settings.model, self.settings.revision
            arguments = {**self.settings.engine, **self.compute}
            if importlib.import_module("vllm.platforms").current_platform.is_cpu():
                # vllm 0.32 on a CPU cannot take back what a request with a seed drew, as it must
                # if it cuts a prompt in two.
                arguments.setdefault("enable_chunked_prefill", False)
            arguments |= {"model": model, "revision": revision, "tokenizer_revision": revision}
            try:
                self._llm = vllm.LLM(seed=seed, **arguments)
            except (OSError, RuntimeError, TypeError, *_refusals()) as error:
                raise InputError(
                    f"language_model.vllm: vllm cannot load {model!r} at revision {revision}: "
                    f"{error}"
                ) from error
        return self._llm, vllm


def _check_arguments(engine: Mapping[str, Any], compute: Mapping[str, Any]) -> None:
    for section, arguments in (
        ("language_model.vllm.engine", engine),
        ("compute.vllm_engine", compute),
    ):
        for name in sorted(TAKEN & set(arguments)):
            raise InputError(
                f"{section}: {name} is set by language_model.vllm or its sampling; expected other "
                "arguments of vllm.LLM"
            )
    for name in sorted(set(compute) & (set(engine) | CHANGES_ANSWERS)):
        raise InputError(
            f"compute.vllm_engine: {name} changes the answers; expected under "
            "language_model.vllm.engine, and only there"
        )
    if compute.get("data_parallel_size", 1) != 1:
        raise InputError(
            "compute.vllm_engine: data_parallel_size: an engine within a stage computes alone; "
            "for several set compute.engine to ray and compute.ray.workers to their number"
        )


def _refusals() -> tuple[type[Exception], ...]:
    """Return what vLLM raises if the request is at fault: once a ValueError, now its own type."""
    exceptions = importlib.import_module("vllm.exceptions")
    return ValueError, getattr(exceptions, "VLLMClientError", ValueError)


def _files(folder: Path) -> list[list[str | int]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns]
        for path in paths
    ]


def run_where_vllm_is(vllm_python: str | None) -> None:
    """Go on in this process if it has vllm; start its command again in `vllm_python` otherwise.

    In the second case this function does not return: the new process takes the place of this one,
    with the same script, arguments and folder.
    """
    started_from = os.environ.pop(STARTED_FROM, None)
    if started_from is not None and started_from != LIBRARY:
        raise InputError(
            f"compute.vllm_python: {sys.executable} runs the library of {LIBRARY}; expected that "
            f"of {started_from}; {REMEDY}"
        )
    if importlib.util.find_spec("vllm") is not None:
        return
    if started_from is not None:
        raise InputError(f"compute.vllm_python: {sys.executable} has no vllm; {REMEDY}")
    if vllm_python is None:
        raise InputError(
            f"the backend is vllm, which {sys.executable} does not have; set "
            f"compute.vllm_python to the Python of an environment that has it: {REMEDY}"
        )
    # Not resolved: the link's own place tells Python which environment it belongs to.
    python = Path(vllm_python).absolute()
    if not python.is_file() or not os.access(python, os.X_OK):
        raise InputError(
            f"compute.vllm_python: {vllm_python} is not a program; expected the Python of an "
            f"environment with vllm; {REMEDY}"
        )
    logger.info("no vllm here: running this stage in %s", vllm_python)
    os.environ[STARTED_FROM] = LIBRARY
    # What vLLM compiles with lies next to its Python.
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(python, [str(python), *sys.orig_argv[1:]])
