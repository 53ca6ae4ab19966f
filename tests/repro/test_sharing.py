"""What one clone made and pushed another one gets without making it: over a folder, SSH and S3.

    pytest tests/repro/test_sharing.py

docs/sharing.md says what is tested here in words for users.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.repro.planted import RUN, plant
from tests.repro.remotes import REMOTES, Remote
from tests.repro.world import KEY, World

pytestmark = [pytest.mark.slow, pytest.mark.timeout(900)]

MODEL = f"artifacts/models/{RUN}"
TRAIN, UNIVERSE = f"train@{RUN}", "build_universe"
# The texts beside the dictionary have 7.
SHORTER_TEXTS: dict[KEY, Any] = {("universe", "max_characters"): 6}
WHO = ("-c", "user.name=Test", "-c", "user.email=test@example.org")
FEWER_WORDS: dict[KEY, Any] = {("universe", "max_words"): 4}


class Made(NamedTuple):
    """A world that has been reproduced, with the bytes that came out."""

    world: World
    artifacts: dict[str, bytes]
    shorter: dict[str, bytes]  # of the commit before, with shorter texts


class Shared(NamedTuple):
    """What was made, the remote it was pushed to, and the repository that all clone."""

    made: Made
    remote: Remote
    origin: Path
    own: Path | None  # one person's settings, kept out of the repository


@pytest.fixture(scope="module", autouse=True)
def someone(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A user without settings or keys of their own; S3's keys come from the environment."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HOME", str(tmp_path_factory.mktemp("home")))
        patch.setenv("AWS_ACCESS_KEY_ID", "somebody")
        patch.setenv("AWS_SECRET_ACCESS_KEY", "a word that only tests know")
        patch.setenv("AWS_DEFAULT_REGION", "us-east-1")
        patch.setenv("no_proxy", "127.0.0.1")
        patch.setenv("NO_PROXY", "127.0.0.1")
        patch.delenv("SSH_AUTH_SOCK", raising=False)
        yield


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    """The planted world up to its trained model, after a detour to shorter texts."""
    world = World(tmp_path_factory.mktemp("made"))
    plant(world)
    ran = world.repro(TRAIN)
    assert ran[-1] == TRAIN
    assert len(ran) == 9
    artifacts = world.artifacts()
    world.edit(SHORTER_TEXTS)
    assert world.repro(UNIVERSE) == [UNIVERSE]
    shorter = world.artifacts()
    assert shorter["universe/texts.parquet"] != artifacts["universe/texts.parquet"]
    world.commit("shorter texts")
    world.edit({("universe", "max_characters"): 60})
    assert world.repro(TRAIN) == [], "its own run cache has them"
    assert world.artifacts() == artifacts
    world.commit("texts of up to 60 characters again")
    return Made(world, artifacts, shorter)


@pytest.fixture(scope="module", params=list(REMOTES))
def shared(
    request: pytest.FixtureRequest, made: Made, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[Shared]:
    """That world pushed to one of the remotes, as docs/sharing.md says."""
    folder = tmp_path_factory.mktemp(request.param)
    with REMOTES[request.param](folder) as remote:
        world = copied(made.world, folder / "maker")
        world.do("dvc", "remote", "add", "--default", "team", remote.url)
        for option, value in {"verify": "true", **remote.shared}.items():
            world.do("dvc", "remote", "modify", "team", option, value)
        for option, value in remote.own.items():
            world.do("dvc", "remote", "modify", "--local", "team", option, value)
        world.commit("artifacts are shared")
        # `--all-commits` pushes a commit to the remote that the commit itself names: only those
        # from here on. So the two settings are committed again.
        for commit in ("HEAD~2", "HEAD~2"):
            world.do("git", "checkout", "-q", commit, "--", "params.yaml", "dvc.lock")
            world.commit(f"as in {commit}")
        world.do("dvc", "push", "--run-cache", "--all-commits")
        origin = folder / "origin.git"
        git(folder, "clone", "--quiet", "--bare", str(world.folder), str(origin))
        own = world.folder / ".dvc/config.local"
        assert ".dvc/config.local" not in world.do("git", "ls-files")
        yield Shared(made, remote, origin, own if own.exists() else None)


@pytest.fixture
def clone(shared: Shared, tmp_path: Path) -> World:
    """A fresh clone that may use the remote."""
    git(tmp_path, "clone", "--quiet", str(shared.origin), "clone")
    clone = World.at(tmp_path / "clone")
    if shared.own is not None:
        shutil.copy(shared.own, clone.folder / ".dvc")
    return clone


def test_a_clone_pulls_everything_and_an_earlier_setting_without_a_run(
    shared: Shared, clone: World
) -> None:
    clone.do("dvc", "pull", "--run-cache", "--with-deps", TRAIN)
    assert clone.artifacts() == shared.made.artifacts
    assert contents(clone.folder / "data") == contents(shared.made.world.folder / "data")
    assert clone.repro(TRAIN) == []
    status, output = clone.run("dvc", "repro", TRAIN)
    assert status == 0, output
    assert output.strip().endswith("Data and pipelines are up to date.")

    clone.edit(SHORTER_TEXTS)
    status, output = clone.run("dvc", "repro", "--pull", UNIVERSE)
    assert status == 0, output
    assert f"Stage '{UNIVERSE}' is cached - skipping run" in output
    assert re.findall("Running stage '(.*)'", output) == ["check"]
    assert clone.artifacts() == shared.made.shorter
    assert nothing_ran(clone)


def test_a_trained_model_alone(shared: Shared, tmp_path: Path) -> None:
    options = [f"{option}={value}" for option, value in shared.remote.own.items()]
    command = ["dvc", "get", str(shared.origin), MODEL, "--out", "model"]
    anywhere(tmp_path, *command, *(["--remote-config", *options] if options else []))
    assert contents(tmp_path / "model") == contents(shared.made.world.folder / MODEL)


@pytest.mark.parametrize("shared", ["folder"], indirect=True)
def test_a_version_of_the_trained_model(shared: Shared, tmp_path: Path) -> None:
    command = ["dvc", "artifacts", "get", str(shared.origin), "trained", "--out", "model"]
    git(shared.origin, *WHO, "tag", "--annotate", "trained@v1.0.0", "--message", "eight classes")
    anywhere(tmp_path, *command, "--rev", "v1.0.0")
    assert contents(tmp_path / "model") == contents(shared.made.world.folder / MODEL)
    load = "import infopursuit; print(len(infopursuit.load('model').queries_))"
    assert anywhere(tmp_path, sys.executable, "-c", load).split() == ["8"]


def test_a_spoiled_or_lost_object_is_reported(shared: Shared, clone: World) -> None:
    """The last test of each remote: it is not whole afterwards."""
    lock = (clone.folder / "dvc.lock").read_text(encoding="utf-8")
    match = re.search(
        r"path: artifacts/datasets/planted/annotations.csv\s+hash: md5\s+md5: (\w{32})", lock
    )
    assert match is not None
    shared.remote.spoil(match[1])
    pull = ["dvc", "pull", "--with-deps", UNIVERSE]
    failed = "Checkout failed for following targets:\nartifacts/datasets/planted/annotations.csv"
    status, output = clone.run(*pull)
    assert status == 1, output
    assert failed in output
    shared.remote.lose(match[1])
    status, output = clone.run(*pull)
    assert status == 1, output
    assert f"Missing cache files:\nmd5: {match[1]}" in output
    assert failed in output


def test_both_sides_of_a_conflict_in_the_lock_file_lead_to_the_same(
    made: Made, tmp_path: Path
) -> None:
    world = copied(made.world, tmp_path / "clone")
    world.do("git", "checkout", "-q", "-b", "fewer_words")
    world.edit(FEWER_WORDS)
    assert world.repro(UNIVERSE) == [UNIVERSE]
    world.commit("fewer words")
    world.do("git", "checkout", "-q", "-b", "shorter_texts", "HEAD^")
    world.edit(SHORTER_TEXTS)
    assert world.repro(UNIVERSE) == []
    world.commit("shorter texts")

    status, output = world.run("git", *WHO, "merge", "fewer_words")
    assert status == 1
    assert "Merge conflict in dvc.lock" in output
    assert "params.yaml" in world.do("git", "diff", "--cached", "--name-only"), "both edits stand"
    status, output = world.run("dvc", "repro", UNIVERSE)
    assert status != 0
    assert "'./dvc.lock' is invalid (possible merge conflicts)" in output

    world.do("git", "checkout", "--ours", "dvc.lock")
    assert world.repro(UNIVERSE) == [UNIVERSE], "neither side has run this combination"
    ours = (world.folder / "dvc.lock").read_bytes()
    world.do("git", "checkout", "--theirs", "dvc.lock")
    assert world.repro(UNIVERSE) == []
    assert (world.folder / "dvc.lock").read_bytes() == ours
    settings = (world.folder / f"artifacts/settings/{UNIVERSE}.json").read_text(encoding="utf-8")
    assert '"universe.max_characters": 6' in settings
    assert '"universe.max_words": 4' in settings
    world.commit("both")
    assert world.do("git", "status", "--short") == ""


def copied(world: World, folder: Path) -> World:
    """The same world at another place, cache included."""
    return World.at(shutil.copytree(world.folder, folder, symlinks=True))


def nothing_ran(world: World) -> bool:
    """Whether no stage but the check has left its closing line."""
    kept = world.folder / ".scratch/seconds.csv"
    lines = kept.read_text(encoding="utf-8").splitlines() if kept.exists() else []
    return {line.split(",")[0] for line in lines} <= {"check"}


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in sorted(folder.rglob("*"))
        if path.is_file()
    }


def git(folder: Path, *arguments: str) -> None:
    subprocess.run(["git", *arguments], cwd=folder, check=True)


def anywhere(folder: Path, *command: str) -> str:
    """Run a command outside of all clones; it must succeed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        command, cwd=folder, env={**os.environ, "PATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout
