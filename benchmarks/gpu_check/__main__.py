"""The command: `python -m benchmarks.gpu_check [--device cuda|cpu] [--tiny]`.

Ends with status 0 if all results are exact and every goal is met, else with 1; with 2 if it cannot
begin.
"""

from __future__ import annotations

import argparse
import sys
from importlib.util import find_spec
from pathlib import Path
from typing import NoReturn

# What the engine imports; infopursuit itself is found on the path.
NEEDED = ("numpy", "torch", "jaxtyping", "pyarrow", "tqdm")
OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)


def main(arguments: list[str]) -> int:
    """Check and time the engine; write the table after every row."""
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--device", default="cuda", choices=("cuda", "cpu"))
    parser.add_argument("--tiny", action="store_true", help="next to nothing to compute")
    parser.add_argument("--out", type=Path, default=Path("artifacts/benchmarks"))
    given = parser.parse_args(arguments)
    check_machine(given.device)
    from benchmarks.gpu_check import checks, engine
    from benchmarks.gpu_check.rows import Row, write
    from benchmarks.harness import machine
    from infopursuit.core.repeatable import compute_repeatably

    compute_repeatably()
    about = {"machine": machine(), "device": given.device, "tiny": given.tiny}
    rows: list[Row] = []
    text = ""
    for part in (checks, engine):
        for row in part.rows(given.device, given.tiny):
            rows.append(row)
            text = write(given.out, about, rows)
            print(" | ".join(row.cells()), flush=True)
    print(f"\n{text}\nWritten to {given.out}/gpu_check.json and gpu_check.md.")
    return int(not all(row.good for row in rows))


def check_machine(device: str) -> None:
    """End with one line if the command cannot work here."""
    if sys.version_info < OLDEST_PYTHON:
        refuse(f"Python {sys.version.split()[0]}; expected 3.11 or newer")
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        refuse(f"no package {', '.join(missing)} in {sys.executable}; expected {', '.join(NEEDED)}")
    import torch

    if tuple(map(int, torch.__version__.split(".")[:2])) < OLDEST_TORCH:
        refuse(f"torch {torch.__version__}; expected 2.11 or newer")
    if device == "cuda" and not torch.cuda.is_available():
        refuse(f"torch {torch.__version__} finds no CUDA device; expected one, or --device cpu")


def refuse(reason: str) -> NoReturn:
    """End with one line."""
    print(f"gpu-check: {reason}", file=sys.stderr)
    raise SystemExit(2)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
