"""Which of how many stages has begun, and that the stages are those that DVC finds."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from infopursuit.core.first_run import place_in_first_run, stage_names
from infopursuit.core.settings import read_yaml

ROOT = Path(__file__).parents[2]
PIPELINE = """
stages:
  draw: {cmd: a}
  embed: {foreach: "${datasets}", do: {cmd: b}}
  ask: {foreach: [x, y], do: {cmd: c}}
  train: {matrix: {dataset: "${run.datasets}", seed: [0, 1]}, cmd: d}
  truth: {matrix: {dataset: "${run.truth}"}, cmd: e}
"""
PARAMS = "datasets: {cats: {k: 1}, dogs: {k: 2}}\nrun: {datasets: [cats], truth: []}\n"
NAMES = ["draw", "embed@cats", "embed@dogs", "ask@x", "ask@y", "train@cats-0", "train@cats-1"]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "dvc.yaml").write_text(PIPELINE, encoding="utf-8")
    (tmp_path / "params.yaml").write_text(PARAMS, encoding="utf-8")
    return tmp_path


def finish(folder: Path, *stages: str) -> None:
    lines = "".join(f"  {stage}: {{cmd: a}}\n" for stage in stages)
    (folder / "dvc.lock").write_text(f"schema: '2.0'\nstages:\n{lines}", encoding="utf-8")


def test_every_entry_of_a_foreach_and_a_matrix_is_a_stage(folder: Path) -> None:
    files = (read_yaml(folder / name, "") for name in ("dvc.yaml", "params.yaml"))
    pipeline, params = files
    assert stage_names(pipeline["stages"], params) == NAMES


def test_the_names_are_those_of_dvc() -> None:
    pipeline, params = (read_yaml(ROOT / name, "") for name in ("dvc.yaml", "params.yaml"))
    command = [sys.executable, "-m", "dvc", "stage", "list", "--name-only"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    names = stage_names(pipeline["stages"], params)
    assert sorted(names) == sorted(done.stdout.split())
    assert len(names) > 20


def test_stages_are_counted_from_the_lock(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DVC_STAGE", "embed@dogs")
    assert place_in_first_run(folder) == (1, 7)
    finish(folder, "draw", "ask@x", "of_another_pipeline")
    assert place_in_first_run(folder) == (3, 7)


def test_a_stage_that_runs_again_or_without_dvc_has_no_place(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("DVC_STAGE", raising=False)
    assert place_in_first_run(folder) is None
    finish(folder, "draw")
    monkeypatch.setenv("DVC_STAGE", "draw")
    assert place_in_first_run(folder) is None
    monkeypatch.setenv("DVC_STAGE", "other/dvc.yaml:draw")
    assert place_in_first_run(folder) is None
