"""vLLM in an environment of its own: a stage that needs it runs itself again there.

vLLM pins its own torch, which need not be the one of the pipeline. The stages exchange files only,
so each may have the Python it needs (`compute.vllm_python`; `make vllm` sets one up).
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
from pathlib import Path

from infopursuit.core.errors import InputError

logger = logging.getLogger(__name__)

# Set for the stage that was started again, to the folder of the library that started it.
STARTED_FROM = "INFOPURSUIT_STARTED_FROM"
LIBRARY = str(Path(__file__).resolve().parents[2])
REMEDY = "`make vllm` sets up an environment with vllm and says what to set"


def run_where_vllm_is(vllm_python: str | None) -> None:
    """Go on in this process where it has vllm; start its command again in `vllm_python` otherwise.

    In the second case this function does not return: the new process takes the place of this one,
    with the same script, arguments and folder.

    Args:
        vllm_python: the Python of an environment with vllm and this library.

    Raises:
        InputError: there is no vllm here and `vllm_python` is not set, is no program, has no vllm
            either, or has another copy of this library.
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
            f"language_model.backend is vllm, which {sys.executable} has not; set "
            f"compute.vllm_python to the Python of an environment that has it: {REMEDY}"
        )
    # Not resolved: the link's own place tells Python which environment it belongs to.
    python = Path(vllm_python).absolute()
    if not python.is_file() or not os.access(python, os.X_OK):
        raise InputError(
            f"compute.vllm_python: {vllm_python} is no program; expected the Python of an "
            f"environment with vllm; {REMEDY}"
        )
    logger.info("no vllm here: running this stage in %s", vllm_python)
    os.environ[STARTED_FROM] = LIBRARY
    # What vLLM compiles with lies beside its Python.
    os.environ["PATH"] = f"{python.parent}{os.pathsep}{os.environ.get('PATH', '')}"
    sys.stdout.flush()
    sys.stderr.flush()
    os.execv(python, [str(python), *sys.orig_argv[1:]])
