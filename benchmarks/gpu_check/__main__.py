"""The command: `python -m benchmarks.gpu_check [--device cuda|cpu] [--tiny]`.

Ends with status 0 if all parts ran, all results are exact and every goal is met, else with 1; with
2 if it cannot begin.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
import traceback
from dataclasses import asdict
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, NoReturn

if TYPE_CHECKING:
    from benchmarks.gpu_check.rows import Report

ROOT = Path(__file__).parents[2]
# What the engine imports; infopursuit itself is found on the path.
NEEDED = ("numpy", "torch", "jaxtyping", "pyarrow", "tqdm")
OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)
DEVICES = ("cuda", "cpu")


class Part(NamedTuple):
    """Rows of one module: a title for the table until they are there, and a limit in seconds."""

    title: str
    limit: float


# Modules of this package, each with `rows(device, tiny)`.
PARTS = {
    "checks": Part("the same results as on the CPU", 120),
    "engine": Part("the engine against the naive implementation", 200),
}
# A part does not start with less.
LEAST_SECONDS = 15.0


def main(arguments: list[str]) -> int:
    """Run all parts, or one of them for the command that started this process."""
    parser = argparse.ArgumentParser(prog="gpu-check", description=__doc__)
    parser.add_argument("--device", default="cuda", help="cuda or cpu")
    parser.add_argument("--tiny", action="store_true", help="next to nothing to compute")
    parser.add_argument("--budget", type=float, default=585.0, help="seconds in all")
    parser.add_argument("--out", type=Path, default=Path("artifacts/benchmarks"))
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args(arguments)
    started = time.monotonic()
    check_machine(given.device)
    if given.part:
        return run_part(given.part, given.device, given.tiny)
    return run_all(given.device, given.tiny, started + given.budget, given.out)


def check_machine(device: str) -> None:
    """End with one line if the command cannot work here."""
    if sys.version_info < OLDEST_PYTHON:
        refuse(f"Python {sys.version.split()[0]}; expected 3.11 or newer")
    if device not in DEVICES:
        refuse(f"--device {device}; expected {' or '.join(DEVICES)}")
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


def run_all(device: str, tiny: bool, end: float, out: Path) -> int:
    """Run all parts until the monotonic clock says `end`; write the files after every row."""
    from benchmarks.gpu_check.rows import Report, Row

    about = {"machine": machine_of(device), "device": device, "tiny": tiny}
    report = Report(out, about, [part.title for part in PARTS.values()])
    report.write()
    for name, part in PARTS.items():
        left = end - time.monotonic()
        if left < LEAST_SECONDS:
            skipped = f"skipped: {max(left, 0):.0f} s of the budget are left"
            report.add(Row(part.title, skipped, failed=True))
        else:
            collect(name, device, tiny, left if tiny else min(part.limit, left), report)
        report.waiting.remove(part.title)
        report.write()
    print(f"\n{report.markdown()}\nWritten to {out}/gpu_check.json and gpu_check.md.")
    return int(not all(row.good for row in report.rows))


def machine_of(device: str) -> str:
    """Describe this machine; a process of its own asks the GPU, which this one leaves alone."""
    if device == "cpu":
        from benchmarks.harness import machine

        return machine()
    code = "from benchmarks.harness import machine; print(machine())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )
    return done.stdout.strip() or "a machine that does not say what it is"


def collect(name: str, device: str, tiny: bool, limit: float, report: Report) -> None:
    """Add the rows of a part from its own process, which may hang, crash or run out of memory."""
    from benchmarks.gpu_check.rows import Row

    command = [sys.executable, "-m", "benchmarks.gpu_check", "--part", name]
    command += ["--device", device, *(["--tiny"] if tiny else [])]
    late = threading.Event()
    # The part ends when its standard input does, so that it does not outlive this process.
    with subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:

        def cut_off() -> None:
            late.set()
            process.kill()

        timer = threading.Timer(limit, cut_off)
        timer.start()
        try:
            assert process.stdout is not None
            for line in process.stdout:
                report.add(Row(**json.loads(line)))
                print(" | ".join(report.rows[-1].cells()), flush=True)
            status = process.wait()
        finally:
            timer.cancel()
            process.kill()
    if late.is_set():
        report.add(Row(PARTS[name].title, f"cut off after {limit:.0f} s", failed=True))
    elif status:
        report.add(Row(PARTS[name].title, f"broke with status {status}", failed=True))


def run_part(name: str, device: str, tiny: bool) -> int:
    """Compute the rows of one part here, and write them to standard output as lines of JSON."""
    threading.Thread(target=end_with_parent, daemon=True).start()
    rows, sys.stdout = sys.stdout, sys.stderr  # other output is for people
    try:
        # A broken import breaks one part alone.
        from infopursuit.core.repeatable import compute_repeatably

        compute_repeatably()
        for row in import_module(f"benchmarks.gpu_check.{name}").rows(device, tiny):
            print(json.dumps(asdict(row)), file=rows, flush=True)
    except Exception as error:
        traceback.print_exc()
        message = " ".join(f"failed: {type(error).__name__}: {error}".split())[:200]
        failed = {"what": PARTS[name].title, "measured": message, "failed": True}
        print(json.dumps(failed), file=rows, flush=True)
    return 0


def end_with_parent() -> None:
    """End this process when the one that started it is gone."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
