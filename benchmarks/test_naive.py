"""The engine computes what the naive implementation computes, from the same weights and draws."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from benchmarks import naive_checks
from benchmarks.engine_pair import CASES
from benchmarks.gpu_check import __main__ as gpu_check
from benchmarks.gpu_check import checks
from tests.devices import DEVICES


@pytest.mark.parametrize("device", DEVICES)
def test_steps_and_evaluation_equal_the_naive_ones(device: str) -> None:
    naive_checks.check_steps(device, "random")
    naive_checks.check_steps(device, "biased")
    naive_checks.check_evaluation(device)


@pytest.mark.slow
def test_every_row_of_the_gpu_check_is_exact(tmp_path: Path) -> None:
    options = ["--device", "cpu", "--tiny", "--out", str(tmp_path)]
    gpu_check.main(options)
    report = json.loads((tmp_path / "gpu_check.json").read_text(encoding="utf-8"))
    assert len(report["rows"]) == len(checks.CHECKS) + len(CASES)
    assert all(row["exact"] for row in report["rows"])
