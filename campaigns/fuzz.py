"""Fuzz every parser and reader: a value of the documented type, or one line that says why not.

    python -m campaigns.fuzz [--seconds 600] [--seed 0] [--only NAME ...]

The readers take turns, with new examples each time, until the seconds are used. An example that
ends in another exception, in a value of another type or after too long is made as small as can be,
and told.
"""

from __future__ import annotations

import argparse
import sys
import tempfile
import time
import traceback
import warnings
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from hypothesis import HealthCheck, Phase, given, seed, settings

from campaigns import write_tables
from campaigns.readers import ROOT, Reader, readers
from infopursuit.core.errors import LONGEST

NAME = "fuzz"
# Processor seconds that one small input may take at most.
LONGEST_SECONDS = 10
ROUND = 50
OURS = f"{ROOT}/"
TAKEN, REFUSED = "taken", "refused"


def outcome(reader: Reader, value: Any) -> str:
    """Give one input to a reader and see that it keeps its promise.

    Raises:
        AssertionError: it does not. Any other exception that it raises passes through.
    """
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        started = time.process_time()
        try:
            found = reader.read(value, Path(folder))
        except reader.refusal as refusal:
            told = str(refusal)
            assert told.strip(), "the message is empty"
            assert len(told.splitlines()) == 1, f"{len(told.splitlines())} lines: {told!r}"
            assert len(told) <= LONGEST, f"a message of {len(told)} characters"
            result = REFUSED
        else:
            assert reader.fits(found), f"gave {found!r:.200}"
            result = TAKEN
        seconds = time.process_time() - started
        assert seconds <= LONGEST_SECONDS, f"took {seconds:.1f} s"
    return result


@dataclass
class Tally:
    """What became of the examples of one reader."""

    outcomes: Counter[str] = field(default_factory=Counter)
    seconds: float = 0.0
    slowest: float = 0.0
    failures: dict[str, str] = field(default_factory=dict)


def fuzz(reader: Reader, tally: Tally, number: int, examples: int) -> None:
    """Try so many examples of a reader; the numbers of two runs give different ones."""

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
    def each(value: Any) -> None:
        started = time.process_time()
        tally.outcomes[outcome(reader, value)] += 1
        tally.slowest = max(tally.slowest, time.process_time() - started)

    started = time.monotonic()
    try:
        each()
    except BaseException as error:
        if isinstance(error, KeyboardInterrupt | SystemExit):
            raise
        frames = [each for each in traceback.extract_tb(error.__traceback__) if OURS in each[0]]
        last = frames[-1]
        key = f"{type(error).__name__} at {Path(last.filename).name}:{last.lineno}"
        notes = " ".join(getattr(error, "__notes__", []))
        case = notes[notes.find("Failing test case") :]
        tally.failures.setdefault(key, f"{error!s:.500}\n{case:.1500}")
    tally.seconds += time.monotonic() - started


def main(arguments: list[str] | None = None) -> int:
    """Fuzz all readers in turn; 1 where one breaks its promise."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=600)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--only", nargs="+", default=None)
    chosen = parser.parse_args(arguments)
    known = {
        name: each for name, each in readers().items() if chosen.only is None or name in chosen.only
    }
    tallies = {name: Tally() for name in known}
    started, number = time.monotonic(), chosen.seed
    while time.monotonic() - started < chosen.seconds:
        for name, reader in known.items():
            before = set(tallies[name].failures)
            if len(before) < 3:  # enough to mend; the others get its time
                fuzz(reader, tallies[name], number, ROUND)
            for key in set(tallies[name].failures) - before:
                print(f"{name}: {key}: {tallies[name].failures[key]}", flush=True)
            if time.monotonic() - started >= chosen.seconds:
                break
        number += 1
        _write(tallies, time.monotonic() - started)
    return int(any(tally.failures for tally in tallies.values()))


def _write(tallies: dict[str, Tally], seconds: float) -> None:
    rows = [
        (
            name,
            f"{tally.outcomes.total():,}",
            f"{tally.outcomes[TAKEN]:,}",
            f"{tally.outcomes[REFUSED]:,}",
            f"{tally.slowest:.2f}",
            str(len(tally.failures)),
        )
        for name, tally in tallies.items()
    ]
    total = sum(tally.outcomes.total() for tally in tallies.values())
    header = ("reader", "examples", "taken", "refused", "slowest, s", "failures")
    note = f"{total:,} examples in {seconds:.0f} s of one core, shared with other work."
    write_tables(NAME, header, rows, note)


if __name__ == "__main__":
    sys.exit(main())
