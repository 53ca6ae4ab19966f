"""`infopursuit prune`: what no stage has any more leaves dvc.lock, and nothing else changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.pipeline.prune import prune

LOCK = """schema: '2.0'
stages:
  train@birds-1:
    cmd: python train.py
    params:
      params.yaml:
        seeds:
        - 1
  check:
    cmd: python check.py
"""
STAGES = """stages:
  check:
    cmd: python check.py
  train:
    foreach: [birds-0]
    do:
      cmd: python train.py
"""


def test_entries_without_a_stage_go(tmp_path: Path) -> None:
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "dvc.yaml").write_text(STAGES, encoding="utf-8")
    (tmp_path / "dvc.lock").write_text(LOCK, encoding="utf-8")
    assert prune(tmp_path) == 1
    kept = "schema: '2.0'\nstages:\n  check:\n    cmd: python check.py\n"
    assert (tmp_path / "dvc.lock").read_text(encoding="utf-8") == kept
    assert prune(tmp_path) == 0


def test_a_folder_without_a_pipeline_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected the folder with dvc\.yaml"):
        prune(tmp_path)
