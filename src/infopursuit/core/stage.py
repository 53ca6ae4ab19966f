"""The frame of every stage script: settings in, one closing line out, bad input in one line.

    class Settings(Section):
        datasets: Datasets          # the sections of params.yaml that the stage reads
        compute: ComputeSettings

    def main(settings: Settings, dataset: str) -> RowCounts:
        ...
        return RowCounts(read=n, written=m)

    if __name__ == "__main__":
        run(main)

The arguments of `main` after the settings are the keys of the stage (`--dataset`, `--seed`, ...).
No command in dvc.yaml has them, for a shell would read what a person called a data set: a script
that DVC starts takes them from the name of its stage, which DVC puts into the environment.

What DVC records is what ran. A stage runs the library beside its params.yaml, whatever environment
it was started in. It fails if its code or settings are not what the stage `check` has noted in
artifacts/code and artifacts/settings, before or after it ran, and if it ran code or read data of
the project that its listing lacks.

An InputError, a full or read-only disk, a missing file and Ctrl-C end the script with one line
(status 1, and 130 for Ctrl-C). A script imports this module before all others, so that this holds
for Ctrl-C from there on, and that numerical libraries use the same instructions on every processor.
The closing line gives rows in, rows out and seconds, and is kept in `.scratch/seconds.csv`, outside
what DVC tracks.
"""

from __future__ import annotations

from infopursuit.core import ctrl_c, instructions  # noqa: F401 (it acts when it is imported)

# isort: split

import argparse
import hashlib
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable, Mapping
from importlib.metadata import version
from pathlib import Path
from typing import Any, NamedTuple, get_type_hints

from threadpoolctl import threadpool_limits

from infopursuit.core.code_used import CodeUsed, FilesRead, changed_since, unlisted
from infopursuit.core.errors import InputError, explain_os_error, is_user_error, one_line
from infopursuit.core.settings import Section, read_yaml, validated
from infopursuit.core.settings_used import changed_settings, noted_settings
from infopursuit.core.terminal import LogLines

logger = logging.getLogger("infopursuit")

SCRATCH = Path(".scratch")
# The libraries whose version changes what a stage computes.
COMPUTE = ("numpy", "scikit-learn", "torch")
# What code each script runs, as the stage `check` notes it, and how its files lay there.
CODE, KNOWN_CODE = Path("artifacts/code"), SCRATCH / "code.json"
# Which settings and which of that code each stage has, on which it depends.
SETTINGS = Path("artifacts/settings")
# The environment variable in which DVC gives a command the name of its stage.
DVC_STAGE = "DVC_STAGE"
# That in which a script that started itself again finds the library that it is to run.
SOURCE = "INFOPURSUIT_SOURCE"
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS")
STOPPED = (
    "stopped; finished stages are kept, and what this one generated, embedded or trained until its "
    "last checkpoint (.scratch); go on with dvc repro"
)


class RowCounts(NamedTuple):
    """How many rows a stage read and wrote, for its closing line."""

    read: int
    written: int


def run(main: Callable[..., RowCounts], params_file: str = "params.yaml") -> None:
    """Run a stage: read its settings, call `main`, log the closing line, exit 1 on bad input."""
    logged = logging.StreamHandler()
    logged.setFormatter(LogLines())
    logging.basicConfig(level=logging.INFO, handlers=[logged])
    for noisy in ("httpx", "httpx2", "openai", "datasets", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    logging.getLogger("huggingface_hub.utils._http").setLevel(logging.ERROR)
    first, *keys = inspect.signature(main).parameters.values()
    kind: type[Section] = get_type_hints(main)[first.name]
    parser = argparse.ArgumentParser(description=inspect.getmodule(main).__doc__)  # type: ignore[union-attr]
    for key in keys:
        number = key.annotation in (int, "int")
        parser.add_argument(f"--{key.name}", required=True, type=int if number else str)
    name = Path(sys.argv[0]).stem
    started = time.perf_counter()
    try:
        ctrl_c.begin()
        arguments = vars(parser.parse_args(_named_by_dvc(list(keys)) or None))
        name = "-".join([name, *map(str, arguments.values())])
        run_code_beside(Path(params_file))
        files_read = FilesRead() if DVC_STAGE in os.environ else None
        content = read_yaml(params_file)
        _check_noted(content)
        settings = validated(params_file, kind, content, partly=True)
        _check_keys(settings, arguments)
        limit_threads(settings)
        rows = main(settings, **arguments)
        ctrl_c.end()
        _check_noted(read_yaml(params_file))
        if files_read is not None:
            _check_listed(files_read)
    except InputError as error:
        logger.error("%s: %s", name, error)
        sys.exit(1)
    except OSError as error:
        if not is_user_error(error):
            raise
        logger.error("%s: %s", name, one_line(explain_os_error(error)))
        sys.exit(1)
    except (KeyboardInterrupt, Exception) as error:
        if not (isinstance(error, KeyboardInterrupt) or ctrl_c.was_pressed()):
            raise
        ctrl_c.end()
        logger.error("%s: %s", name, STOPPED)
        sys.exit(130)
    seconds = time.perf_counter() - started
    logger.info("%s: %d rows in, %d rows out, %.1f s", name, rows.read, rows.written, seconds)
    _keep(f"{name},{seconds:.2f}\n", SCRATCH / "seconds.csv")


def code_key(script: str) -> str:
    """Return 16 digits for the code that a script runs, and for the libraries that compute.

    What it keeps in `.scratch` is of these.
    """
    path = Path(script).resolve()
    versions = "".join(f"{each} {version(each)}\n" for each in COMPUTE)
    content = CodeUsed(path.parents[1]).listing(path) + versions
    return hashlib.sha256(content.encode()).hexdigest()[:16]


def _keep(line: str, path: Path) -> None:
    """Add a line to a file; a stage that has written all its outputs does not fail for it."""
    try:
        path.parent.mkdir(exist_ok=True)
        with path.open("a", encoding="utf-8") as file:
            file.write(line)
    except OSError as error:
        if not is_user_error(error):
            raise
        logger.warning("the seconds are not kept: %s", explain_os_error(error, path))


def _named_by_dvc(keys: list[inspect.Parameter]) -> list[str]:
    """Return the arguments that the name of DVC's stage stands for; [] if there are given ones.

    The name of `train` with the keys dataset and seed is `train@menagerie-0`. InputError if the
    name has another number of keys.
    """
    _, sign, joined = os.environ.get(DVC_STAGE, "").partition("@")
    if not sign or not keys or len(sys.argv) > 1:
        return []
    # A single key is taken whole, so that a message about it is one about the name.
    values = joined.split("-") if len(keys) > 1 else [joined]
    if len(values) != len(keys):
        names = "-".join(key.name.upper() for key in keys)
        raise InputError(
            f"the stage is called {joined!r}; expected {names}, names of letters, digits and '_'"
        )
    return [f"--{key.name}={value}" for key, value in zip(keys, values, strict=True)]


def _check_keys(settings: Section, arguments: dict[str, object]) -> None:
    sections = {
        "dataset": getattr(settings, "datasets", None),
        "method": getattr(settings, "methods", None),
        "corpus": getattr(getattr(settings, "queries", None), "corpora", None),
    }
    for key, value in arguments.items():
        names = sections.get(key)
        if names is not None and value not in names:
            raise InputError(f"--{key} {value}: expected one of {', '.join(names)}")


def run_code_beside(params_file: Path) -> None:
    """Start again with the library beside params.yaml, if this is that of another checkout.

    An environment may hold the library of one clone and run the stages of another, of a worktree or
    of a queued experiment, whose code DVC records.
    """
    here, there = params_file.resolve().parent / "src", Path(__file__).resolve().parents[2]
    if not (here / "infopursuit").is_dir() or here.resolve() == there:
        return
    if os.environ.get(SOURCE) == str(here):
        raise InputError(f"the code that runs is that of {there}; expected that of {here}")
    logger.info("the code in %s runs, not that of %s", here, there)
    paths = [str(here), *filter(None, [os.environ.get("PYTHONPATH")])]
    env = {**os.environ, SOURCE: str(here), "PYTHONPATH": os.pathsep.join(paths)}
    os.execve(sys.executable, [sys.executable, *sys.orig_argv[1:]], env)


def _check_noted(params: Mapping[str, Any]) -> None:
    """Raise InputError if DVC is about to record other code or settings than this stage has."""
    name = os.environ.get(DVC_STAGE, "").rpartition(":")[2]
    listing, settings = CODE / f"{Path(sys.argv[0]).stem}.txt", SETTINGS / f"{name}.json"
    if not name or name == "check":
        return
    changed = changed_since(listing, KNOWN_CODE) if listing.is_file() else []
    if settings.is_file():
        changed += [f"params.yaml: {key}" for key in changed_settings(settings, params)]
    if changed:
        more = f" and {len(changed) - 1} more" if len(changed) > 1 else ""
        raise InputError(
            f"{changed[0]}{more}: changed since the stage check noted code and settings; expected "
            "the same. Run dvc repro again, or before one stage alone: dvc repro -s check"
        )


def _check_listed(files_read: FilesRead) -> None:
    """Raise InputError if this stage ran or read what it does not depend on."""
    name = os.environ[DVC_STAGE].rpartition(":")[2]
    listing, settings = CODE / f"{Path(sys.argv[0]).stem}.txt", SETTINGS / f"{name}.json"
    if not listing.is_file() or name == "check":
        return
    missing = unlisted(files_read, listing, Path())
    if missing:
        missing = [each for each in missing if not _given(each, name, settings)]
    if missing:
        more = f" and {len(missing) - 1} more" if len(missing) > 1 else ""
        raise InputError(
            f"{missing[0]}{more}: this stage ran or read it, and would not run again if it "
            f"changed; expected it in {listing}. Import it by its full name, name it as data in a "
            "module of its folder, or give it in params.yaml"
        )


def _given(file: str, stage: str, settings: Path) -> bool:
    """Return whether a file is, or is below, a dependency of a stage or one of its settings."""
    declared = read_yaml("dvc.yaml")["stages"][stage.partition("@")[0]]
    values = list(declared.get("do", declared).get("deps", ()))
    if settings.is_file():
        values += noted_settings(settings).values()
    return any(each in (file, *map(str, Path(file).parents)) for each in map(str, values))


def limit_threads(settings: Section) -> None:
    """Let the numerical libraries use as many threads as `compute.threads` says.

    The environment limits those that are still to be imported (polars reads nothing else), and
    threadpoolctl and torch those that are loaded.
    """
    threads = getattr(getattr(settings, "compute", None), "threads", None)
    if threads is None:
        return
    os.environ.update(dict.fromkeys(THREADS, str(threads)))
    threadpool_limits(threads)
    if "torch" in sys.modules:
        sys.modules["torch"].set_num_threads(threads)
