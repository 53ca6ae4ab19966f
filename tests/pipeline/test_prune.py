"""`infopursuit prune`: what no stage has any more leaves dvc.lock, and nothing else changes."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
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
    deps: [made]
  train:
    foreach: [birds-0]
    do:
      cmd: python train.py
      outs: ["made/${item}.txt"]
"""


def test_entries_and_outputs_without_a_stage_go(tmp_path: Path) -> None:
    for command in (["git", "init", "-q"], ["dvc", "init", "-q"]):
        subprocess.run(command, cwd=tmp_path, check=True)
    (tmp_path / "dvc.yaml").write_text(STAGES, encoding="utf-8")
    (tmp_path / "dvc.lock").write_text(LOCK, encoding="utf-8")
    for name in ("birds-0", "birds-1"):
        write_text(tmp_path / f"made/{name}.txt", name)
    assert prune(tmp_path) == 1
    kept = "schema: '2.0'\nstages:\n  check:\n    cmd: python check.py\n"
    assert (tmp_path / "dvc.lock").read_text(encoding="utf-8") == kept
    assert [path.name for path in (tmp_path / "made").iterdir()] == ["birds-0.txt"]
    assert (tmp_path / ".scratch/leftovers/made/birds-1.txt").is_file(), "moved, not lost"
    assert prune(tmp_path) == 0


def test_a_folder_without_a_pipeline_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"expected the folder with dvc\.yaml"):
        prune(tmp_path)
