"""Stages that are stopped at any moment, and go on: same bytes, nothing left over.

    python -m campaigns.kills [--moments 20] [--cold 5] [--seed 0]

Every stage of a small world gets SIGKILL, SIGTERM and Ctrl-C (SIGINT to its group), each at MOMENTS
moments, drawn one from each of as many equal parts of the processor time that it takes undisturbed,
without its imports (a fork of a process that has imported all, warm.py); and at COLD moments of a
new process, imports included. Before each run the outputs are removed, as DVC does; after it the
same command must end in the same bytes. Then come folders that disappear, clocks, full and
read-only disks, and two `dvc repro` at once (surroundings.py).
"""

from __future__ import annotations

import argparse
import random
import resource
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from campaigns import write_tables
from campaigns.killed_world import STOPPED, Command, KilledWorld
from campaigns.surroundings import SURROUNDINGS, Tried
from campaigns.warm import Ended
from infopursuit.benchmark.tables import table

# Seconds of processor time in which a new process has made its first import, also where it is slow.
START = 0.1
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)


@dataclass
class Tally:
    """What happened to one stage.

    Attributes:
        stage: as tables call it.
        seconds: processor time of the undisturbed stage, without imports.
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
        return [self.stage, f"{self.seconds:.1f}", *ended, str(self.resumable), told(self.broken)]


HEADER = ("stage", "seconds", "SIGKILL", "SIGTERM", "Ctrl-C", "something to resume", "broken")


def told(broken: list[str]) -> str:
    """Broken promises in a cell of a table."""
    return " ".join("; ".join(broken).replace("|", "/").split())[:500] or "none"


def promises_of_the_end(number: signal.Signals, ended: Ended, early: bool) -> list[str]:
    """What is wrong with how a stage ended that was sent a signal, `early` while Python starts."""
    if ended.status == 0 and "Traceback" not in ended.output:
        return []  # it had come to its end before
    if number != signal.SIGINT:
        return [] if ended.status == -number else [f"status {ended.status}: {ended.output}"]
    lines = [line for line in ended.output.splitlines() if "stopped" in line]
    # Until the first import of a script has ended, Python answers the signal itself.
    before = ended.status == -signal.SIGINT and (early or not ended.output)
    if before or (ended.status == 130 and len(lines) == 1 and "Traceback" not in ended.output):
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
    broken = promises_of_the_end(number, ended, cold and after < START)
    broken += [f"half a file: artifacts/{name}" for name in world.half_files()]
    resumable = world.files_of_scratch() != world.scratch
    again = world.warm.run(*command.arguments)
    if again.status != 0:
        broken.append(f"the repetition ended with {again.status}: {again.output}")
    broken += world.differences()
    how = f"{number.name} after {after:.2f} s{', imports included' if cold else ''}"
    return ended, resumable, [f"{how}: {each}" for each in broken]


def tally(world: KilledWorld, command: Command, moments: int, cold: int, seed: int) -> Tally:
    """Stop a stage at many moments by each of the signals."""
    found = Tally(command.name, world.seconds[command.name])
    whole = found.seconds
    if cold:
        world.clear(command)
        undisturbed = world.run_cold(sys.executable, *command.arguments)
        whole = undisturbed.seconds
        if undisturbed.status or world.differences():
            found.broken.append(f"undisturbed: {undisturbed.output} {world.differences()}")
    drawn = random.Random(f"{seed} {command.name}")
    for number in SIGNALS:
        for new, many, seconds in ((False, moments, found.seconds), (True, cold, whole)):
            for moment in range(many):
                after = (moment + drawn.random()) / many * seconds
                ended, resumable, broken = stop_and_repeat(world, command, number, after, new)
                found.runs[number] += 1
                found.stopped[number] += ended.status != 0
                found.resumable += resumable
                found.broken += broken
                if broken:
                    world.restore()
    return found


def note(moments: int, cold: int, seconds: float, tried: list[Tried]) -> str:
    """What was run, and the table of the surroundings."""
    said = (
        f"{moments} moments a signal and stage in the work, {cold} in a new process with its "
        f"imports; {seconds / 60:.0f} minutes of processor time. *Seconds*: processor time of the "
        "undisturbed stage, without imports. *n of m*: the signal ended the stage n times; the "
        "other times it had come to its end. *Something to resume*: how often a stopped stage had "
        "left checkpoints or chunks. After each of these runs the command was repeated."
    )
    rows = [[each.what, each.how, each.found, told(each.broken)] for each in tried]
    return said + "\n\n" + table(("what", "how", "found", "broken"), rows)


def processor_time(world: KilledWorld) -> float:
    """Seconds of processor time that the campaign has used until now."""
    used = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return world.warm.used + sum(each.ru_utime + each.ru_stime for each in used)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0] if __doc__ else "")
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    tallies: list[Tally] = []
    tried: list[Tried] = []

    def write() -> None:
        rows = [each.row() for each in tallies]
        said = note(given.moments, given.cold, processor_time(world), tried)
        write_tables("kills", HEADER, rows, said)

    with tempfile.TemporaryDirectory() as folder:
        world = KilledWorld(Path(folder))
        for command in STOPPED:
            tallies.append(tally(world, command, given.moments, given.cold, given.seed))
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
