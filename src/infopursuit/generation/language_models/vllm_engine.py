"""vLLM's offline engine: batched, seeded, for a whole corpus of captions.

vLLM pins its own torch, which need not be the one here. If this environment has no vLLM, the engine
runs in a process of another one (`--vllm`, `compute.vllm_python`; `make vllm` sets one up):

That process (`answer_lines`) takes the settings as one line of JSON, then prompts and sampling, a
line each, and gives back a line with answers, or with what a person can mend.
"""

from __future__ import annotations

import contextlib
import importlib
import importlib.util
import json
import logging
import os
import subprocess
import sys
import weakref
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.generation.language_models.model import Answer, Prompt, Sampling
from infopursuit.generation.settings import VllmSettings

logger = logging.getLogger(__name__)

REMEDY = "`make vllm` sets up an environment with vllm and says what to set"
# This library answers there, and all that it needs comes from that environment.
LIBRARY = str(Path(__file__).parents[2] / "__init__.py")
START = f"""
import sys, importlib.util as util
spec = util.spec_from_file_location("infopursuit", {LIBRARY!r})
sys.modules["infopursuit"] = library = util.module_from_spec(spec)
spec.loader.exec_module(library)
from {__name__} import answer_lines
answer_lines()
"""
NAMES_IT = "--vllm, or compute.vllm_python"

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
    """The backend that loads a model once the first prompt needs it: here, or in `python`.

    Of prompts it takes texts alone; pictures go to vLLM's server.
    """

    # Enough to keep the engine's batches full, few enough to lose little.
    chunk = 2048

    def __init__(
        self, settings: VllmSettings, compute: Mapping[str, Any], python: str | None = None
    ) -> None:
        _check_arguments(settings.engine, compute)
        if settings.revision is None and not Path(settings.model).is_dir():
            raise InputError(
                f"language_model.vllm.model: {settings.model!r} is not a local folder and "
                "vllm.revision is null; expected the commit of the model on the hub"
            )
        self.settings = settings
        self.compute, self.python = dict(compute), python
        self._llm: Any = None
        self._elsewhere: subprocess.Popen[str] | None = None

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
        python = where_vllm_is(self.python)
        if python is not None:
            return self._asked_of(python, prompts, sampling)
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

    def _asked_of(
        self, python: Path, prompts: Sequence[Prompt], sampling: Sampling
    ) -> list[Answer]:
        """Let the process of another environment answer; it ends with this one, or before."""
        if self._elsewhere is None:
            logger.info("no vllm here: it answers in %s", self.python)
            # What vLLM compiles with lies next to its Python.
            path = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
            self._elsewhere = subprocess.Popen(  # noqa: S603 - the person names it
                [str(python), "-c", START],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                encoding="utf-8",
                env={**os.environ, "PATH": path},
            )
            weakref.finalize(self, _ended, self._elsewhere)
            self._told({"settings": self.settings.model_dump(), "compute": self.compute})
        reply = self._told({"prompts": list(prompts), "sampling": asdict(sampling)})
        return [Answer(*each) for each in reply["answers"]]

    def _told(self, line: Mapping[str, Any]) -> dict[str, Any]:
        process = self._elsewhere
        assert process is not None
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            process.stdin.write(f"{json.dumps(line)}\n")
            process.stdin.flush()
            reply = json.loads(process.stdout.readline())
        except (OSError, ValueError) as error:
            self._elsewhere, status = None, _ended(process)
            raise InputError(
                f"{self.python}: its vllm ended with status {status} and no answer; what it wrote "
                f"says why: a package may be missing there, or memory; {REMEDY}"
            ) from error
        if "error" in reply:
            raise InputError(reply["error"])
        return reply

    def _loaded(self, seed: int) -> tuple[Any, Any]:
        # Read when vLLM is imported: with its scheduler in another process, batches vary.
        os.environ["VLLM_ENABLE_V1_MULTIPROCESSING"] = "0"
        # The stage reports the progress; a person who wants more sets these.
        os.environ.setdefault("VLLM_LOGGING_LEVEL", "WARNING")
        os.environ.setdefault("VLLM_NO_USAGE_STATS", "1")
        vllm = importlib.import_module("vllm")
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


def where_vllm_is(python: str | None) -> Path | None:
    """Return the Python whose environment has vllm; None if it is this one.

    Raises:
        InputError: vllm is not here, and `python` names no program.
    """
    if importlib.util.find_spec("vllm") is not None:
        return None
    if python is None:
        raise InputError(
            f"vllm is not installed in {sys.executable}; expected the Python of an environment "
            f"that has it ({NAMES_IT}); {REMEDY}"
        )
    # Not resolved: the link's own place tells Python which environment it belongs to.
    program = Path(python).absolute()
    if not program.is_file() or not os.access(program, os.X_OK):
        raise InputError(
            f"{python} is not a program; expected the Python of an environment with vllm "
            f"({NAMES_IT}); {REMEDY}"
        )
    return program


def _ended(process: subprocess.Popen[str]) -> int:
    """Send no more prompts; return the status when the process ends."""
    for stream in (process.stdin, process.stdout):
        with contextlib.suppress(OSError):  # what was not taken is lost
            if stream is not None:
                stream.close()
    return process.wait()


def answer_lines() -> None:
    """Answer what `VllmEngine` sends to its other process, a line for each line."""
    answers = os.fdopen(os.dup(1), "w", encoding="utf-8")
    os.dup2(2, 1)  # what vLLM prints does not mix with the answers
    engine: VllmEngine | None = None
    for line in sys.stdin:
        message = json.loads(line)
        try:
            if engine is None:
                where_vllm_is(None)
                engine = VllmEngine(VllmSettings(**message["settings"]), message["compute"])
                reply: dict[str, Any] = {}
            else:
                reply = {
                    "answers": engine.answer(message["prompts"], Sampling(**message["sampling"]))
                }
        except InputError as error:
            reply = {"error": str(error)}
        answers.write(f"{json.dumps(reply)}\n")
        answers.flush()
