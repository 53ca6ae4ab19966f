"""The command: `python -m benchmarks.gpu_check [--device cuda|cpu] [--tiny]`.

Ends with status 0 where all parts ran, all results are exact and every goal is met, else with 1;
with 2 where it cannot begin.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import threading
import time
from dataclasses import asdict
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, NoReturn

if TYPE_CHECKING:
    from benchmarks.gpu_check.rows import Report

ROOT = Path(__file__).parents[2]
# What the engine imports; infopursuit itself is found on the path.
NEEDED = ("numpy", "torch", "jaxtyping", "pyarrow", "tqdm")
OLDEST_PYTHON, OLDEST_TORCH = (3, 11), (2, 11)
DEVICES = ("cuda", "cpu")


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
    """End with one line where the command cannot do its work here."""
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


def refuse(why: str) -> NoReturn:
    """End with one line."""
    print(f"gpu-check: {why}", file=sys.stderr)
    raise SystemExit(2)


def run_all(device: str, tiny: bool, end: float, out: Path) -> int:
    """All parts until the monotonic clock says `end`, with the files written after every row."""
    from benchmarks.gpu_check.parts import LEAST_SECONDS, PARTS
    from benchmarks.gpu_check.rows import Report, Row

    about = {"machine": machine_of(device), "device": device, "tiny": tiny}
    report = Report(out, about, [part.title for part in PARTS.values()])
    report.write()
    for name, part in PARTS.items():
        left = end - time.monotonic()
        if left < LEAST_SECONDS:
            words = f"skipped: {max(left, 0):.0f} s of the budget are left"
            report.add(Row(part.title, words, failed=True))
        else:
            collect(name, device, tiny, left if tiny else min(part.limit, left), report)
        report.ended(part.title)
    print(f"\n{report.markdown()}\nWritten to {out}/gpu_check.json and gpu_check.md.")
    return int(not all(row.good for row in report.rows))


def machine_of(device: str) -> str:
    """What this runs on; a GPU is asked in a process of its own, as this one leaves it alone."""
    if device == "cpu":
        from benchmarks.harness import machine

        return machine()
    code = "from benchmarks.harness import machine; print(machine())"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, check=False, capture_output=True, text=True
    )
    if done.returncode:  # what is measured counts, nevertheless
        return f"a machine that does not say what it is ({done.stderr.strip().splitlines()[-1]})"
    return done.stdout.strip()


def collect(name: str, device: str, tiny: bool, limit: float, report: Report) -> None:
    """Rows of a part from a process of its own, which may hang, crash or run out of memory."""
    from benchmarks.gpu_check.parts import PARTS
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
                row = Row(**json.loads(line))
                report.add(row)
                print(row.line(), flush=True)
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
    from benchmarks.gpu_check.checks import reason
    from benchmarks.gpu_check.parts import PARTS, rows_of
    from benchmarks.gpu_check.rows import Row
    from infopursuit.core.repeatable import compute_repeatably

    threading.Thread(target=end_with_parent, daemon=True).start()
    rows, sys.stdout = sys.stdout, sys.stderr  # whatever else is printed is for people
    compute_repeatably()

    def tell(row: Row) -> None:
        print(json.dumps(asdict(row)), file=rows, flush=True)

    try:
        for row in rows_of(name, device, tiny):
            tell(row)
    except Exception as error:
        import traceback

        traceback.print_exc()
        tell(Row(PARTS[name].title, f"failed: {reason(error)}", failed=True))
    return 0


def end_with_parent() -> None:
    """End this process when the one that started it is gone, however that went."""
    while os.read(0, 1):
        pass
    os._exit(1)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
