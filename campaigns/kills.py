"""Stages that are stopped at any moment and continue: same bytes, nothing left over.

    python -m campaigns.kills [--moments 20] [--cold 5] [--seed 0]

Every stage of a small world gets SIGKILL, SIGTERM and Ctrl-C (SIGINT to its group), each at MOMENTS
moments, one drawn from each of as many equal parts of its processor time without imports (warm.py);
and at COLD moments of a new process, imports included. Before each run the outputs are removed, as
DVC does; after it the same command must end in the same bytes. The table is written to
artifacts/campaigns/kills.md after each stage.
"""

from __future__ import annotations

import argparse
import random
import signal
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

from campaigns.killed_world import STOPPED, Command, KilledWorld
from campaigns.warm import Ended
from infopursuit.core.files import write_text
from infopursuit.core.numbers import table

# Seconds of processor time in which a new process has made its first import, even if it is slow.
START = 0.1
SIGNALS = (signal.SIGKILL, signal.SIGTERM, signal.SIGINT)
TABLE = Path("artifacts/campaigns/kills.md")
HEADER = ("stage", "seconds", "SIGKILL", "SIGTERM", "Ctrl-C", "something to resume", "broken")


@dataclass
class Tally:
    """What happened to one stage.

    Attributes:
        stage: its name in tables.
        seconds: processor time of the undisturbed stage, without imports.
        moments: how often each signal was sent.
        stopped: how often each signal ended the stage before its end.
        resumable: how often a stopped stage had left something in `.scratch`.
        broken: the broken promises, a sentence each.
    """

    stage: str
    seconds: float
    moments: int
    stopped: Counter[signal.Signals] = field(default_factory=Counter)
    resumable: int = 0
    broken: list[str] = field(default_factory=list)

    def row(self) -> list[str]:
        """Return the row of the table."""
        ended = [f"{self.stopped[number]} of {self.moments}" for number in SIGNALS]
        broken = " ".join("; ".join(self.broken).replace("|", "/").split())[:500] or "none"
        return [self.stage, f"{self.seconds:.1f}", *ended, str(self.resumable), broken]


def faults_of_end(number: signal.Signals, ended: Ended, early: bool) -> list[str]:
    """Return what is wrong with the end of a stage after a signal, `early` while Python starts."""
    output, status = ended.output, ended.status
    if status == 0 and "Traceback" not in output:
        return []  # it had ended before
    if number != signal.SIGINT:
        return [] if status == -number else [f"status {status}: {output}"]
    # Until the first import of a script has ended, Python answers the signal itself.
    if status == -signal.SIGINT and (early or not output):
        return []
    lines = [line for line in output.splitlines() if "stopped" in line]
    good = status == 130 and len(lines) == 1 and "Traceback" not in output
    return [] if good else [f"Ctrl-C, status {status}: {output}"]


def stop_and_repeat(
    world: KilledWorld, command: Command, number: signal.Signals, after: float, cold: bool
) -> tuple[Ended, bool, list[str]]:
    """Stop a stage, check the files, run it again, and check the files again.

    Returns:
        How it ended, whether it left something to resume, and the broken promises.
    """
    world.clear(command)
    ended = world.stop(command, number, after, cold)
    broken = faults_of_end(number, ended, cold and after < START)
    broken += [f"when stopped: {fault}" for fault in world.differences(ended=False)]
    resumable = world.scratch_files() != world.scratch
    broken += world.repeated(command)
    how = f"{number.name} after {after:.2f} s{', imports included' if cold else ''}"
    return ended, resumable, [f"{how}: {fault}" for fault in broken]


def tally(world: KilledWorld, command: Command, moments: int, cold: int, seed: int) -> Tally:
    """Stop a stage at many moments by each of the signals."""
    stage = Tally(command.name, world.seconds[command.name], moments + cold)
    cold_seconds = stage.seconds
    if cold:
        world.clear(command)
        undisturbed = world.run_cold(sys.executable, *command.arguments)
        cold_seconds = undisturbed.seconds
        if undisturbed.status or world.differences():
            stage.broken.append(f"undisturbed: {undisturbed.output} {world.differences()}")
    drawn = random.Random(f"{seed} {command.name}")
    for number in SIGNALS:
        for is_cold, count in ((False, moments), (True, cold)):
            for moment in range(count):
                seconds = cold_seconds if is_cold else stage.seconds
                after = (moment + drawn.random()) / count * seconds
                ended, resumable, broken = stop_and_repeat(world, command, number, after, is_cold)
                stage.stopped[number] += ended.status != 0
                stage.resumable += resumable
                stage.broken += broken
                if broken:
                    world.restore()
    return stage


def main() -> int:
    """Stop all stages and write the table; return 1 if a promise is broken."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--moments", type=int, default=20)
    parser.add_argument("--cold", type=int, default=5)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    stages: list[Tally] = []
    note = (
        f"{given.moments} moments a signal and stage in the work, {given.cold} in a new process "
        "with its imports. *Seconds*: processor time of the undisturbed stage, without imports. "
        "*n of m*: the signal ended the stage n times; the other times it had come to its end. "
        "*Something to resume*: how often a stopped stage had left checkpoints or chunks. After "
        "each of these runs the command was repeated."
    )
    with tempfile.TemporaryDirectory() as folder:
        world = KilledWorld(Path(folder))
        for command in STOPPED.values():
            stages.append(tally(world, command, given.moments, given.cold, given.seed))
            print(*stages[-1].row(), sep=" | ", flush=True)
            rows = table(HEADER, [stage.row() for stage in stages])
            write_text(TABLE, f"{rows}\n\n{note}\n")
        world.warm.close()
    return int(any(stage.broken for stage in stages))


if __name__ == "__main__":
    sys.exit(main())
