"""A room can be taken out: its folder, its line in the command line, and all else works."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from infopursuit.cli.command_line import ROOMS

ROOT = Path(__file__).parents[1]
COMMAND_LINE = "src/infopursuit/cli/command_line.py"
COPIED = ("src", "tests", "stages", "benchmarks", "conftest.py", "pyproject.toml", "dvc.yaml",
          "params.yaml")  # fmt: skip
# What goes with a room, beside its folder and that of its tests: scripts that measure it.
WITH_IT = {
    "keys": [],
}
# Tests that run in seconds: the order of imports, and what the command line says of itself.
FEW = ["tests/test_architecture.py", "tests/cli/test_command_line.py", "-k",
       "one_way or has_its_place or example or unknown_option"]  # fmt: skip


@pytest.fixture(params=[room.split(".")[1] for room in ROOMS])
def without(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """A copy of the project without a room."""
    name = request.param
    ignored = shutil.ignore_patterns("node_modules", "__pycache__", "artifacts")
    for each in COPIED:
        if (ROOT / each).is_dir():
            shutil.copytree(ROOT / each, tmp_path / each, ignore=ignored)
        else:
            shutil.copy(ROOT / each, tmp_path / each)
    shutil.rmtree(tmp_path / "src/infopursuit" / name)
    shutil.rmtree(tmp_path / "tests" / name)
    for script in WITH_IT[name]:
        (tmp_path / script).unlink()
    path = tmp_path / COMMAND_LINE
    text, count = re.subn(
        rf'"infopursuit\.{name}\.options"(, )?', "", path.read_text(encoding="utf-8")
    )
    assert count == 1
    path.write_text(text, encoding="utf-8")
    named = re.compile(rf"\b(infopursuit|tests)[./]{name}\b")
    files = [path for path in tmp_path.rglob("*") if path.suffix in (".py", ".toml", ".yaml")]
    assert [path for path in files if named.search(path.read_text(encoding="utf-8"))] == []
    return tmp_path


def passed(project: Path, *arguments: str) -> None:
    """Run tests in a copy; whatever fails there fails here."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *arguments]
    done = subprocess.run(
        command, cwd=project, env={**os.environ, "PYTHONPATH": "src"}, capture_output=True,
        text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout[-3000:]


def test_without_a_room_the_rest_is_imported_and_works(without: Path) -> None:
    passed(without, *FEW)


@pytest.mark.slow
def test_without_a_room_the_command_line_and_its_tests_work(without: Path) -> None:
    passed(without, "tests/cli")
