"""Stages that are stopped at any moment, and go on: same bytes, nothing left over.

    python -m tests.campaigns.kills [--moments 20] [--seed 0]

Every stage of a small world gets SIGKILL, SIGTERM and Ctrl-C (SIGINT to its group), each at MOMENTS
moments, drawn one from each of as many equal parts of the processor time that it takes undisturbed.
Every fourth run is a new process, whose time includes its imports; the others are forks of one that
has imported all (warm.py), so that more of the moments meet the work. Before each run the outputs
are removed, as DVC does; after it the same command must end in the same bytes. Then come folders
that disappear, clocks, full and read-only disks, and two `dvc repro` at once (surroundings.py).
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from infopursuit.benchmark.tables import table
from tests.campaigns.killed_world import STOPPED, Command, KilledWorld
from tests.campaigns.record import write_tables
from tests.campaigns.surroundings import SURROUNDINGS, Tried
from tests.campaigns.warm import Ended

SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
COLD_EVERY = 4


@dataclass
class Tally:
    """What happened to one stage.

    Attributes:
        stage: as tables call it.
        seconds: processor time of an undisturbed new process.
        runs: by signal, how often it was sent.
        stopped: by signal, how often it ended the stage, which had else come to its end.
        resumable: how often a stopped stage had left something in `.scratch`.
        broken: the promises that did not hold, a sentence each.
    """

    stage: str
    seconds: float
    runs: Counter[signal.Signals] = field(default_factory=Counter)
    stopped: Counter[signal.Signals] = field(default_factory=Counter)
    resumable: int = 0
    broken: list[str] = field(default_factory=list)

    def row(self) -> list[str]:
        ended = [f"{self.stopped[each]} of {self.runs[each]}" for each in SIGNALS]
        broken = "; ".join(self.broken) or "none"
        return [self.stage, f"{self.seconds:.1f}", *ended, str(self.resumable), broken]


HEADER = ("stage", "seconds", "SIGKILL", "SIGTERM", "Ctrl-C", "something to resume", "broken")


def promises_of_the_end(number: signal.Signals, ended: Ended) -> list[str]:
    """What is wrong with how a stage ended that was sent a signal."""
    if ended.status == 0 and "Traceback" not in ended.output:
        return []  # it had come to its end before
    if number != signal.SIGINT:
        return [] if ended.status == -number else [f"status {ended.status}: {ended.output}"]
    told = [line for line in ended.output.splitlines() if "stopped" in line]
    # Before it runs any code of a script, Python ends by the signal itself.
    before = ended.status == -signal.SIGINT and not ended.output
    if before or (ended.status == 130 and len(told) == 1 and "Traceback" not in ended.output):
        return []
    return [f"Ctrl-C, status {ended.status}: {ended.output}"]


def stop_and_repeat(
    world: KilledWorld, command: Command, number: signal.Signals, after: float, cold: bool
) -> tuple[Ended, bool, list[str]]:
    """Stop a stage, look, run it again, look.

    Returns:
        How it ended, whether it left something to resume, and the promises that did not hold.
    """
    world.clear(command)
    ended = world.stop(command.arguments, number, after, cold)
    broken = promises_of_the_end(number, ended)
    broken += [f"half a file: artifacts/{name}" for name in world.half_files()]
    resumable = world.files_of_scratch() != world.scratch
    again = world.warm.run(*command.arguments)
    if again.status != 0:
        broken.append(f"the repetition ended with {again.status}: {again.output}")
    broken += world.differences()
    how = f"{number.name} after {after:.2f} s{', imports included' if cold else ''}"
    return ended, resumable, [f"{how}: {each}" for each in broken]


def tally(world: KilledWorld, command: Command, moments: int, seed: int) -> Tally:
    """Stop a stage at many moments by each of the signals."""
    world.clear(command)
    undisturbed = world.run_cold(sys.executable, *command.arguments)
    found = Tally(command.name, undisturbed.seconds)
    if undisturbed.status or world.differences():
        found.broken.append(f"undisturbed: {undisturbed.output} {world.differences()}")
    drawn = random.Random(f"{seed} {command.name}")
    for number in SIGNALS:
        for moment in range(moments):
            cold = moment % COLD_EVERY == 0
            # The cold ones spread over all the time, too, and not over its beginning.
            places = range(0, moments, COLD_EVERY) if cold else range(moments)
            part = (places.index(moment) + drawn.random()) / len(places)
            seconds = found.seconds if cold else world.seconds[command.name]
            ended, resumable, broken = stop_and_repeat(world, command, number, part * seconds, cold)
            found.runs[number] += 1
            found.stopped[number] += ended.status != 0
            found.resumable += resumable
            found.broken += broken
            if broken:
                world.restore()
    return found


def note(moments: int, seconds: float, tried: list[Tried]) -> str:
    """What was run, and the table of the surroundings."""
    cold = len(range(0, moments, COLD_EVERY))
    said = (
        f"{moments} moments a signal and stage, {cold} of them in new processes; "
        f"{seconds / 60:.0f} minutes on one of two shared cores. *Seconds*: processor time of an "
        "undisturbed new process. *n of m*: the signal ended the stage n times; the other times it "
        "had come to its end. *Something to resume*: how often a stopped stage had left "
        "checkpoints or chunks. After each of these runs the command was repeated."
    )
    rows = [[each.what, each.how, each.found, "; ".join(each.broken) or "none"] for each in tried]
    return said + "\n\n" + table(("what", "how", "found", "broken"), rows)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    started = time.monotonic()
    tallies: list[Tally] = []
    tried: list[Tried] = []

    def write() -> None:
        minutes = time.monotonic() - started
        rows = [each.row() for each in tallies]
        write_tables("kills", HEADER, rows, note(given.moments, minutes, tried))

    with tempfile.TemporaryDirectory() as folder:
        world = KilledWorld(Path(folder))
        for command in STOPPED:
            tallies.append(tally(world, command, given.moments, given.seed))
            print(*tallies[-1].row(), sep=" | ", flush=True)
            write()
        for surrounding in SURROUNDINGS:
            tried += surrounding(world)
            print(*tried[-1], sep=" | ", flush=True)
            write()
        world.warm.close()
    return int(any(each.broken for each in (*tallies, *tried)))


if __name__ == "__main__":
    sys.exit(main())
