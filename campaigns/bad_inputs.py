"""A hundred kinds of bad input and more: each is refused in one line, soon, in little memory.

    python -m campaigns.bad_inputs

The kinds are in `bad_files`, `bad_pictures`, `bad_models` and `bad_commands`, a row each. Kinds
that look bad and are good (a CMYK photo) are rows, too: they say that the input is accepted.
"""

from __future__ import annotations

import gc
import re
import resource
import sys
import tempfile
import time
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from campaigns import bad_commands, bad_files, bad_models, bad_pictures, write_tables
from campaigns.kinds import ACCEPTED, Kind
from infopursuit.core.errors import LONGEST

NAME = "bad_inputs"
# What one bad input may take at most: processor seconds, and bytes beyond what was in use before.
LONGEST_SECONDS, MOST_BYTES = 10, 2 * 2**30
# Characters of the status and of the name of a command or a stage, which stand before a message.
BEFORE = 100


def all_kinds() -> list[Kind]:
    """Every kind, family by family."""
    kinds = [
        *bad_files.kinds(),
        *bad_pictures.kinds(),
        *bad_models.kinds(),
        *bad_commands.kinds(),
    ]
    names = [kind.key for kind in kinds]
    assert len(set(names)) == len(names), "two kinds have one name"
    return kinds


@dataclass(frozen=True)
class Trial:
    """What became of one bad input: the message, or None where it was accepted."""

    told: str | None
    seconds: float
    peak: int


def tried(kind: Kind, folder: Path) -> Trial:
    """Give a bad input to its reader and see that all promises are kept.

    Args:
        kind: of bad input.
        folder: an empty one.

    Raises:
        AssertionError: a promise is broken. Any other exception passes through.
    """
    given = kind.make(folder)
    with warnings.catch_warnings(), _peak() as peak:
        warnings.simplefilter("ignore")
        started = time.process_time()
        try:
            found = kind.read(given)
            told = None
        except kind.refusal as refusal:
            found, told = None, str(refusal)
        seconds = time.process_time() - started
    assert seconds <= LONGEST_SECONDS, f"{kind.key}: took {seconds:.1f} s"
    assert peak.bytes <= MOST_BYTES, f"{kind.key}: took {peak.bytes / 2**20:.0f} MiB"
    if kind.told == ACCEPTED:
        assert told is None, f"{kind.key}: refused: {told}"
        assert kind.fits(found), f"{kind.key}: gave {found!r:.300}"
        return Trial(None, seconds, peak.bytes)
    assert told is not None, f"{kind.key}: accepted, gave {found!r:.300}"
    assert len(told.splitlines()) == 1, f"{kind.key}: {len(told.splitlines())} lines: {told}"
    assert len(told) <= LONGEST + BEFORE, f"{kind.key}: a message of {len(told)} characters"
    assert re.search(kind.told, told), f"{kind.key}: {told}"
    assert kind.place is None or kind.place in told, f"{kind.key}: {told}"
    return Trial(told, seconds, peak.bytes)


class _peak:  # noqa: N801
    """How many bytes of memory a block of code takes at most beyond what was in use before it.

    Linux forgets the peak of a process when it is asked to; elsewhere the growth of the peak since
    the process began is what is told.
    """

    bytes = 0

    def __enter__(self) -> _peak:
        gc.collect()
        try:
            Path("/proc/self/clear_refs").write_text("5")
            self.before = _resident("VmRSS")
        except OSError:
            self.before = _most()
        return self

    def __exit__(self, *_: object) -> None:
        known = Path("/proc/self/status").exists()
        self.bytes = (_resident("VmHWM") if known else _most()) - self.before


def _resident(key: str) -> int:
    found = re.search(rf"^{key}:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert found is not None
    return int(found[1]) * 1024


def _most() -> int:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024


def families(kinds: Sequence[Kind]) -> Iterator[tuple[str, list[Kind]]]:
    """The kinds of each family, in order."""
    for family in dict.fromkeys(kind.family for kind in kinds):
        yield family, [kind for kind in kinds if kind.family == family]


def main() -> int:
    """Try all kinds; 1 where a promise is broken."""
    kinds = all_kinds()
    rows, broken = [], 0
    for family, members in families(kinds):
        trials, failures = [], 0
        for kind in members:
            with tempfile.TemporaryDirectory() as folder:
                try:
                    trials.append(tried(kind, Path(folder)))
                except Exception as error:
                    failures += 1
                    print(f"{kind.key}: {type(error).__name__}: {error}", flush=True)
        broken += failures
        accepted = sum(trial.told is None for trial in trials)
        rows.append(
            (
                family,
                str(len(members)),
                str(accepted),
                f"{max((trial.seconds for trial in trials), default=0):.1f}",
                f"{max((trial.peak for trial in trials), default=0) / 2**20:.0f}",
                str(failures),
            )
        )
        header = (
            "family",
            "kinds",
            "of these accepted",
            "slowest, s",
            "most memory, MiB",
            "broken",
        )
        done = sum(int(row[1]) for row in rows)
        write_tables(NAME, header, rows, f"{done} kinds, each tried once, on a shared core.")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main())
