"""Every stage stopped once while it works; a few as new processes, in their imports."""

from __future__ import annotations

import os
import random
import signal
from collections.abc import Iterator

import pytest

from campaigns.killed_world import STOPPED, Command, KilledWorld
from campaigns.kills import SIGNALS, stop_and_repeat
from campaigns.surroundings import full_disk, lost_folders, two_at_once

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


def test_a_folder_may_be_deleted_while_a_stage_runs(world: KilledWorld) -> None:
    for tried in lost_folders(world, ["embed_images"]):
        assert tried.broken == []


def test_two_at_once_end_in_the_same_bytes(world: KilledWorld) -> None:
    [tried] = two_at_once(world)
    assert tried.broken == []


@pytest.mark.skipif(os.getuid() != 0, reason="a small disk can be mounted by root alone")
def test_a_disk_that_is_full_or_read_only_is_reported(world: KilledWorld) -> None:
    disks = [("artifacts/models", "train naive_bayes", 4096), ("artifacts/report", "report", 4096)]
    [full] = full_disk(world, disks)
    assert full.broken == []
    disks = [("artifacts/evaluation", "evaluate", 0)]
    [read_only] = full_disk(world, disks, read_only=True)
    assert read_only.broken == []
