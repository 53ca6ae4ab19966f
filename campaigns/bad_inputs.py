"""Hundreds of kinds of bad input: each is refused in one line, soon and in little memory.

The kinds are rows in `bad_files`, `bad_pictures`, `bad_models` and `bad_commands`. Inputs that look
bad and are good (a CMYK photo) are rows as well, which say that the input is accepted.
"""

from __future__ import annotations

import gc
import re
import signal
import time
import warnings
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path

from benchmarks.harness import memory_kb
from campaigns import bad_commands, bad_files, bad_models, bad_pictures
from campaigns.kinds import Kind
from campaigns.watched import watched
from infopursuit.core.errors import LONGEST

# The limits of one bad input: processor seconds, and bytes on top of what was in use before.
MAX_SECONDS, MAX_BYTES = 10, 2 * 2**30
# Seconds after which a reader hangs.
HANGS = 100
# Characters of the status and the name of a command or stage, which stand before a message.
PREFIX = 100


KINDS = [*bad_files.KINDS, *bad_pictures.KINDS, *bad_models.KINDS, *bad_commands.KINDS]


@dataclass
class Trial:
    """What one bad input took, and the message of its refusal; None if it was accepted."""

    message: str | None = None
    seconds: float = 0.0
    bytes: int = 0


def tried(kind: Kind, folder: Path) -> Trial:
    """Give a bad input, made in an empty folder, to its reader, and check all promises.

    Raises:
        AssertionError: a promise is broken. Any other exception passes through.
    """
    trial, value, reader = Trial(), None, kind.reader
    given = kind.make(folder)
    with warnings.catch_warnings(), measured(trial), _watched(kind, folder), _not_for_ever(kind):
        warnings.simplefilter("ignore")
        try:
            value = reader.read(given)
        except reader.refusal as refusal:
            trial.message = str(refusal)
    assert trial.seconds <= MAX_SECONDS, f"{kind.key}: took {trial.seconds:.1f} s"
    assert trial.bytes <= MAX_BYTES, f"{kind.key}: took {trial.bytes / 2**20:.0f} MiB"
    message, expected = trial.message, kind.expected
    if message is None:
        assert not isinstance(expected, str), f"{kind.key}: accepted, gave {value!r:.300}"
        assert expected(value), f"{kind.key}: gave {value!r:.300}"
        return trial
    assert not callable(expected), f"{kind.key}: refused: {message}"
    assert len(message.splitlines()) == 1, f"{kind.key}: not one line: {message!r}"
    assert len(message) <= LONGEST + PREFIX, f"{kind.key}: a message of {len(message)} characters"
    assert re.search(expected or r"\S", message), f"{kind.key}: {message}"
    assert reader.file in message, f"{kind.key}: {message}"
    return trial


def _watched(kind: Kind, folder: Path) -> AbstractContextManager[None]:
    """Watch what a reader does; what runs commands in processes starts them, of course."""
    return nullcontext() if kind.family == "processes" else watched(folder)


@contextmanager
def _not_for_ever(kind: Kind) -> Iterator[None]:
    """End a reader that hangs, so that the campaign goes on."""

    def late(*_: object) -> None:
        raise AssertionError(f"{kind.key}: still not ended after {HANGS} s")

    before = signal.signal(signal.SIGALRM, late)
    signal.alarm(HANGS)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def measured(trial: Trial) -> Iterator[None]:
    """Measure a block of code: its processor time, and its peak memory beyond that at its start."""
    gc.collect()
    try:
        Path("/proc/self/clear_refs").write_text("5")  # the peak starts again
        before = memory_kb("VmRSS")
    except OSError:  # not allowed here: only growth beyond the peak so far is seen
        before = memory_kb("VmHWM")
    started = time.process_time()
    yield
    trial.seconds = time.process_time() - started
    trial.bytes = (memory_kb("VmHWM") - before) * 1024
