"""Fuzz every parser and reader: each returns a value of its documented type, or refuses in a line.

    python -m campaigns.fuzz [--seconds 600] [--seed 0] [--only NAME ...]

The readers take turns, with new examples each time, until the seconds are over. An example that
ends in another exception, in a value of another type or too late is shrunk and reported.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from campaigns import write_tables
from campaigns.bad_inputs import Trial, tried
from campaigns.kinds import Kind, Reader
from campaigns.readers import READERS, ROOT, fit_models

EXAMPLES = 50
MAX_FAILURES = 3  # of a reader, then the others get its time


def outcome(reader: Reader, value: Any) -> Trial:
    """Give one input to a reader.

    Raises:
        AssertionError: the reader breaks its promise. Any other exception of it passes through.
    """
    with tempfile.TemporaryDirectory() as folder:
        return tried(Kind("fuzzing", "an example", value, reader, None), Path(folder))


@dataclass
class Tally:
    """Outcomes of the examples of one reader, and the message of each failure by its place."""

    outcomes: Counter[str] = field(default_factory=Counter)
    slowest: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)


def fuzz(reader: Reader, tally: Tally, number: int, examples: int) -> None:
    """Try examples of a reader; another number gives other examples."""

    @seed(number)
    @settings(
        max_examples=examples,
        deadline=None,
        derandomize=False,
        database=None,
        report_multiple_bugs=False,
        phases=(Phase.generate, Phase.shrink),
        suppress_health_check=list(HealthCheck),
    )
    @given(reader.inputs)
    def try_example(value: Any) -> None:
        trial = outcome(reader, value)
        tally.outcomes["taken" if trial.message is None else "refused"] += 1
        tally.slowest = max(tally.slowest, trial.seconds)

    try:
        try_example()
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        frames = traceback.extract_tb(error.__traceback__)
        last = [frame for frame in frames if f"{ROOT}/" in frame.filename][-1]
        key = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        notes = " ".join(getattr(error, "__notes__", []))
        case = notes[notes.find("Failing test case") :]
        tally.failures.setdefault(key, f"{error!s:.500}\n{case:.1500}")


def main(arguments: list[str] | None = None) -> int:
    """Fuzz all readers in turn; return 1 if one breaks its promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=(), choices=list(READERS))
    options = parser.parse_args(arguments)
    chosen = {name: r for name, r in READERS.items() if not options.only or name in options.only}
    tallies = {name: Tally() for name in chosen}
    fit_models()
    started, number = time.monotonic(), options.seed
    while time.monotonic() - started < options.seconds:
        for name, reader in chosen.items():
            before = set(tallies[name].failures)
            if len(before) < MAX_FAILURES:
                fuzz(reader, tallies[name], number, EXAMPLES)
            for key in set(tallies[name].failures) - before:
                print(f"{name}: {key}: {tallies[name].failures[key]}", flush=True)
            if time.monotonic() - started >= options.seconds:
                break
        number += 1
        _write(tallies, time.monotonic() - started)
    return int(any(tally.failures for tally in tallies.values()))


def _write(tallies: dict[str, Tally], seconds: float) -> None:
    rows, total = [], 0
    for name, tally in tallies.items():
        counts = [tally.outcomes.total(), tally.outcomes["taken"], tally.outcomes["refused"]]
        total += counts[0]
        slowest, failures = f"{tally.slowest:.2f}", str(len(tally.failures))
        rows.append([name, *(f"{count:,}" for count in counts), slowest, failures])
    header = ("reader", "examples", "taken", "refused", "slowest, s", "failures")
    note = f"{total:,} examples in {seconds:.0f} s of one core, shared with other work."
    write_tables("fuzz", header, rows, note)


if __name__ == "__main__":
    sys.exit(main())
