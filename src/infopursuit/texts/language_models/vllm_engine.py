"""vLLM's offline engine, in this process: batched, seeded, for a whole corpus of captions."""

from __future__ import annotations

import importlib
import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.errors import InputError
from infopursuit.texts.language_models.model import Answer, Sampling

INSTALL = "install it with `pip install 'infopursuit[vllm]'`, or set another language_model.backend"


class VllmEngine:
    """The backend that loads a model into this process, once the first prompt needs it."""

    # Enough to keep the engine's batches full, few enough to lose little.
    chunk = 1024

    def __init__(self, model: str, revision: str | None, engine: Mapping[str, Any]) -> None:
        """Note which model to load.

        Args:
            model: name on the Hugging Face hub, or a local folder.
            revision: the exact commit on the hub; None only for a local folder.
            engine: further arguments of `vllm.LLM`.

        Raises:
            InputError: a model of the hub without a revision.
        """
        if revision is None and not Path(model).is_dir():
            raise InputError(
                f"language_model.vllm.model: {model!r} is no local folder and vllm.revision is "
                "null; expected the commit of the model on the hub"
            )
        self.model = model
        self.revision = revision
        self.engine = dict(engine)
        self._llm: Any = None

    @property
    def identity(self) -> Mapping[str, Any]:
        """Model, revision and engine arguments; of a local folder also which files it holds."""
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
            InputError: vLLM is not installed, or cannot load the model.
        """
        llm, vllm = self._loaded(sampling.seed)
        parameters = [
            vllm.SamplingParams(
                temperature=sampling.temperature,
                top_p=sampling.top_p,
                max_tokens=sampling.max_tokens,
                seed=sampling.seed_for(prompt),
            )
            for prompt in prompts
        ]
        conversations = [[{"role": "user", "content": prompt}] for prompt in prompts]
        outputs = llm.chat(conversations, sampling_params=parameters, use_tqdm=False)
        completions = [output.outputs[0] for output in outputs]
        return [Answer(each.text, each.finish_reason or "unknown") for each in completions]

    def _loaded(self, seed: int) -> tuple[Any, Any]:
        # Read when vLLM is imported: with its scheduler in a process of its own, batches vary.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        try:
            vllm = importlib.import_module("vllm")
        except ModuleNotFoundError as error:
            raise InputError(
                f"language_model.backend: vllm is not installed ({error}); {INSTALL}"
            ) from error
        if self._llm is None:
            try:
                self._llm = vllm.LLM(
                    model=self.model,
                    revision=self.revision,
                    tokenizer_revision=self.revision,
                    seed=seed,
                    **self.engine,
                )
            except (OSError, RuntimeError, TypeError, ValueError) as error:
                raise InputError(
                    f"language_model.vllm: vllm cannot load {self.model!r} at revision "
                    f"{self.revision}: {' '.join(str(error).split())}"
                ) from error
        return self._llm, vllm


def _files(folder: Path) -> list[list[str | int]]:
    paths = sorted(path for path in folder.rglob("*") if path.is_file())
    return [
        [str(path.relative_to(folder)), path.stat().st_size, path.stat().st_mtime_ns]
        for path in paths
    ]
