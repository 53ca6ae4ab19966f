"""The engine computes what the naive implementation computes, from the same weights and draws."""

from __future__ import annotations

from typing import Literal

import pytest

from benchmarks import naive_checks
from tests.devices import DEVICES


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("phase", ["random", "biased"])
def test_steps_equal_the_naive_steps(device: str, phase: Literal["random", "biased"]) -> None:
    naive_checks.check_steps(device, phase)


@pytest.mark.parametrize("device", DEVICES)
def test_masks_of_a_roll_out_equal_the_naive_masks(device: str) -> None:
    naive_checks.check_histories(device)


@pytest.mark.parametrize("device", DEVICES)
def test_evaluation_equals_the_naive_evaluation(device: str) -> None:
    naive_checks.check_evaluation(device)
