"""vLLM's offline engine, in this process: batched, seeded, for a whole corpus of captions."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.model import Answer, Sampling

INSTALL = "install it with `pip install 'infopursuit[vllm]'`, or set another language_model.backend"

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
    """The backend that loads a model into this process, once the first prompt needs it."""

    # Enough to keep the engine's batches full, few enough to lose little.
    chunk = 2048

    def __init__(
        self,
        model: str,
        revision: str | None,
        engine: Mapping[str, Any],
        compute: Mapping[str, Any],
    ) -> None:
        """Note which model to load.

        Args:
            model: name on the Hugging Face hub, or a local folder.
            revision: the exact commit on the hub; None only for a local folder.
            engine: arguments of `vllm.LLM` that change answers, `language_model.vllm.engine`.
            compute: those that do not, such as `tensor_parallel_size`: `compute.vllm_engine`.

        Raises:
            InputError: a model of the hub without a revision, or an engine argument in the wrong
                place.
        """
        _check_arguments(engine, compute)
        if revision is None and not Path(model).is_dir():
            raise InputError(
                f"language_model.vllm.model: {model!r} is no local folder and vllm.revision is "
                "null; expected the commit of the model on the hub"
            )
        self.model = model
        self.revision = revision
        self.engine = dict(engine)
        self.compute = dict(compute)
        self._llm: Any = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Model, revision and what changes answers; of a local folder also which files it holds."""
        return {
            "backend": "vllm",
            "model": self.model,
            "revision": self.revision,
            "engine": self.engine,
            "files": _files(Path(self.model)) if self.revision is None else None,
        }

    def answer(self, prompts: Sequence[str], sampling: Sampling) -> list[Answer]:
        """Put each prompt to the model as one user message.

        Every request has a seed of its own. vLLM repeats itself exactly for equal batches on equal
        hardware.

        Raises:
            InputError: vLLM is not installed, cannot load the model, or refuses a prompt or its
                sampling.
        """
        llm, vllm = self._loaded(sampling.seed)
        form = None
        if sampling.pattern is not None:
            settings = importlib.import_module("vllm.sampling_params")
            form = settings.StructuredOutputsParams(regex=sampling.pattern)
        parameters = [
            vllm.SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                max_tokens=sampling.max_tokens,
                seed=sampling.seed_for(prompt),
                structured_outputs=form,
            )
            for prompt in prompts
        ]
        conversations = [[{"role": "user", "content": prompt}] for prompt in prompts]
        try:
            outputs = llm.chat(conversations, sampling_params=parameters, use_tqdm=False)
        except _refusals() as error:
            raise InputError(
                f"language_model.vllm: vllm refuses a prompt or its sampling: {_one_line(error)}"
            ) from error
        completions = [output.outputs[0] for output in outputs]
        return [Answer(each.text, each.finish_reason or "unknown") for each in completions]

    def _loaded(self, seed: int) -> tuple[Any, Any]:
        # Read when vLLM is imported: with its scheduler in a process of its own, batches vary.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        # Its progress is told by the stage; whoever wants more sets these.
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        try:
            vllm = importlib.import_module("vllm")
        except ModuleNotFoundError as error:
            raise InputError(
                f"language_model.backend: vllm is not installed ({error}); {INSTALL}"
            ) from error
        if self._llm is None:
            arguments = {**self.engine, **self.compute}
            if importlib.import_module("vllm.platforms").current_platform.is_cpu():
                # vllm 0.32 on a CPU cannot take back what a request with a seed drew, as it must
                # where it cuts a prompt in two.
                arguments.setdefault("enable_chunked_prefill", False)
            try:
                self._llm = vllm.LLM(
                    model=self.model,
                    revision=self.revision,
                    tokenizer_revision=self.revision,
                    seed=seed,
                    **arguments,
                )
            except (OSError, RuntimeError, TypeError, *_refusals()) as error:
                raise InputError(
                    f"language_model.vllm: vllm cannot load {self.model!r} at revision "
                    f"{self.revision}: {_one_line(error)}"
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
    """What vLLM raises where the request is at fault: a ValueError before it had its own."""
    exceptions = importlib.import_module("vllm.exceptions")
    return ValueError, getattr(exceptions, "VLLMClientError", ValueError)


def _one_line(error: Exception) -> str:
    return " ".join(str(error).split())


def _files(folder: Path) -> list[list[str | int]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns]
        for path in paths
    ]
