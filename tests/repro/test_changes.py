"""Nothing is run again, whatever data sets and runs come and go; and no name reaches a shell.

    pytest tests/repro/test_changes.py

Real `dvc repro` over the planted world: in one clone, back and forth, and in another one.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from ruamel.yaml import YAML

from tests.repro.planted import plant
from tests.repro.world import World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

LIST = "noise 1\nconcept 3\nCONCEPT 3\nnoise 3\n"


def dataset(world: World) -> dict[str, Any]:
    content = YAML(typ="safe").load((world.folder / "params.yaml").read_text(encoding="utf-8"))
    return dict(content["datasets"]["planted"])


def lock(world: World) -> dict[str, Any]:
    return YAML(typ="safe").load((world.folder / "dvc.lock").read_text(encoding="utf-8"))["stages"]


def checkout(world: World, version: str) -> None:
    """Check a version out, and put the outputs of the one before out of the way."""
    world.do("git", "checkout", "-q", version)
    world.do("dvc", "checkout")
    world.do("python", "-m", "infopursuit", "prune")


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> World:
    """The planted world with an `informative` init alone, run once, at the tag `one`."""
    world = World(tmp_path_factory.mktemp("changes"))
    plant(world)
    world.edit({("run", "inits"): ["informative"], ("queries", "dictionaries"): {}})
    ran = world.repro()
    assert "train@planted-informative-gaussian-0" in ran
    assert not [name for name in ran if name.startswith(("generate_dictionary", "read_list"))]
    world.commit("one data set")
    world.do("git", "tag", "one")
    return world


@pytest.fixture(scope="module")
def both(world: World) -> World:
    """Another data set and a list of questions instead of that run; the tag `two`."""
    (world.folder / "list.txt").write_text(LIST, encoding="utf-8")
    world.edit(
        {
            ("run", "datasets"): ["second"],
            ("run", "inits"): ["list"],
            ("datasets",): {"planted": dataset(world), "second": dataset(world)},
            ("queries", "lists"): {"planted": "list.txt", "second": "list.txt"},
        }
    )
    ran = world.repro()
    assert {"read_list@second", "train@second-list-gaussian-0", "report"} < set(ran)
    assert "embed_images@planted" not in ran
    world.commit("two data sets")
    world.do("git", "tag", "two")
    return world


@pytest.fixture
def two(both: World) -> Iterator[World]:
    """That world, put back to its last version afterwards."""
    yield both
    both.do("git", "checkout", "-q", "--force", "two")


def test_back_and_forth_nothing_is_run_again(two: World) -> None:
    after_two, locked_two = two.artifacts(), lock(two)
    two.do(
        "git", "checkout", "-q", "one", "--", "params.yaml"
    )  # edits, not versions: dvc.lock stays
    assert two.repro() == [], "all of it was run before"
    left = two.folder / ".scratch/leftovers/artifacts"
    assert (left / "evaluation/second-list-gaussian-0/metrics.json").is_file(), "moved, not lost"
    assert not [name for name in two.artifacts() if re.match("(evaluation|models)/second", name)]
    two.do("git", "checkout", "-q", "one", "--", "dvc.lock")
    for name in ("build_universe", "report"):
        assert lock(two)[name] != locked_two[name]
    assert two.repro() == []
    assert two.run("dvc", "status")[1].strip().endswith("up to date.")
    two.do("git", "checkout", "-q", "two", "--", "params.yaml", "dvc.lock")
    assert two.repro() == []
    assert two.artifacts() == after_two
    assert lock(two) == locked_two


def test_another_clone_runs_nothing_again(two: World, tmp_path: Path) -> None:
    subprocess.run(["git", "clone", "-q", str(two.folder), str(tmp_path / "clone")], check=True)
    clone = World.at(tmp_path / "clone")
    cache = ["dvc", "cache", "dir", "--local", str(two.folder / ".dvc/cache")]
    clone.do(*cache)
    for version in ("two", "one"):
        checkout(clone, version)
        committed = YAML(typ="safe").load(clone.run("git", "show", f"{version}:dvc.lock")[1])
        of_version = lock(clone)
        assert clone.repro() == []
        assert lock(clone) == {name: committed["stages"][name] for name in of_version}
        clone.do("git", "checkout", "-q", "dvc.lock")  # with the stages of other versions


def test_settings_of_networks_for_a_data_set_change_ours_not(two: World) -> None:
    """`train` depends on them, whatever the method; ours is fitted in seconds."""
    train = "train@second-list-gaussian-0"
    two.edit({("datasets", "second", "variational"): {"batch_size": 64}})
    before = two.artifacts()
    assert two.repro() == [train]
    changed = {name for name, each in two.artifacts().items() if each != before.get(name)}
    assert changed == {f"settings/{train}.json"}


def test_another_data_set_leaves_a_universe_without_its_texts_alone(tmp_path: Path) -> None:
    world = World(tmp_path)
    plant(world)
    world.edit({("run", "inits"): ["informative"], ("queries", "dictionaries"): {}})
    assert "build_universe" in world.repro("build_universe")
    sets = {name: dataset(world) for name in ("planted", "second")}
    world.edit({("datasets",): sets})
    assert world.repro("build_universe") == []
    world.edit({("universe", "drop_class_names"): "artifacts/classes"})
    assert {"read_dataset@second", "build_universe"} <= set(world.repro("build_universe"))
    world.edit({("datasets",): {**sets, "third": dataset(world)}})
    assert {"read_dataset@third", "build_universe"} <= set(world.repro("build_universe"))
