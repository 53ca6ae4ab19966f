"""Every stage stopped once while it works; a few as new processes, in their imports."""

from __future__ import annotations

import random
import signal
from collections.abc import Iterator

import pytest

from campaigns.killed_world import STOPPED, Command, KilledWorld
from campaigns.kills import SIGNALS, stop_and_repeat

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KilledWorld]:
    world = KilledWorld(tmp_path_factory.mktemp("killed"))
    yield world
    world.warm.close()


@pytest.mark.parametrize(
    ("command", "number"),
    [(command, SIGNALS[place % 3]) for place, command in enumerate(STOPPED.values())],
    ids=lambda value: getattr(value, "name", None),
)
def test_a_stage_that_is_stopped_ends_in_the_same_bytes(
    world: KilledWorld, command: Command, number: signal.Signals
) -> None:
    after = random.Random(command.name).uniform(0.2, 0.9) * world.seconds[command.name]
    _, _, broken = stop_and_repeat(world, command, number, after, cold=False)
    assert broken == []


def test_ctrl_c_in_the_imports_is_one_line(world: KilledWorld) -> None:
    train = STOPPED["train naive_bayes"]
    ended, _, broken = stop_and_repeat(world, train, signal.SIGINT, 0.6, cold=True)
    assert broken == []
    assert ended.output == "train: stopped before it began; go on with dvc repro\n"
    assert ended.status == 130
