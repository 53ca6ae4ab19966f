"""The frame of every stage script: settings in, one closing line out, bad input told in one line.

    def main(params: Params, dataset: str) -> Rows:
        ...
        return Rows(read=n, written=m)

    if __name__ == "__main__":
        run(main)

The arguments of `main` after `params` are the keys of the stage (`--dataset`, `--seed`, ...). An
InputError ends the script with its message and status 1; the closing line gives rows in, rows out
and seconds, and is kept in `.scratch/seconds.csv`, outside what DVC tracks.
"""

from __future__ import annotations

import argparse
import inspect
import logging
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from infopursuit.errors import InputError
from infopursuit.params import INITS, Params, load_params

logger = logging.getLogger("infopursuit")

SCRATCH = Path(".scratch")


class Rows(NamedTuple):
    """How many rows a stage read and wrote, for its closing line."""

    read: int
    written: int


def run(main: Callable[..., Rows], params_file: str = "params.yaml") -> None:
    """Run a stage: read the parameters, call `main`, log the closing line, exit 1 on bad input."""
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for noisy in ("httpx", "datasets", "fsspec"):
        logging.getLogger(noisy).setLevel(logging.WARNING)
    keys = list(inspect.signature(main).parameters.values())[1:]
    parser = argparse.ArgumentParser(description=inspect.getmodule(main).__doc__)  # type: ignore[union-attr]
    for key in keys:
        parser.add_argument(f"--{key.name}", required=True, type=_converter(key))
    arguments = vars(parser.parse_args())
    name = "-".join([Path(sys.argv[0]).stem, *map(str, arguments.values())])
    started = time.perf_counter()
    try:
        params = load_params(params_file)
        _check_keys(params, arguments)
        limit_threads(params)
        rows = main(params, **arguments)
    except InputError as error:
        logger.error("%s: %s", name, error)
        sys.exit(1)
    seconds = time.perf_counter() - started
    logger.info("%s: %d rows in, %d rows out, %.1f s", name, rows.read, rows.written, seconds)
    SCRATCH.mkdir(exist_ok=True)
    with (SCRATCH / "seconds.csv").open("a", encoding="utf-8") as file:
        file.write(f"{name},{seconds:.2f}\n")


def _check_keys(params: Params, arguments: dict[str, object]) -> None:
    """Raise InputError for a key that the parameters do not have."""
    known = {
        "corpus": params.queries.corpora,
        "dataset": params.datasets,
        "init": INITS,
        "method": params.recipes,
    }
    for key, value in arguments.items():
        if key in known and value not in known[key]:
            raise InputError(f"--{key} {value}: expected one of {', '.join(known[key])}")


def limit_threads(params: Params) -> None:
    """Let the numerical libraries use as many threads as the settings say."""
    threads = params.compute.threads
    if threads is None:
        return
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        os.environ.setdefault(variable, str(threads))
    if "torch" in sys.modules:  # imported before, it no longer reads the environment
        sys.modules["torch"].set_num_threads(threads)


def _converter(key: inspect.Parameter) -> Callable[[str], object]:
    return int if key.annotation in (int, "int") else str
