"""What training promises, on every device there is."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator

import pytest
import torch

from infopursuit.core.repeatable import compute_repeatably
from tests.devices import DEVICES
from tests.vip.device_checks import check_never_waits, check_repeats, check_resumes


@pytest.fixture(autouse=True)
def repeatable(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(os, "environ", os.environ.copy())
    compute_repeatably()
    yield
    torch.set_deterministic_debug_mode("default")


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("check", [check_repeats, check_resumes, check_never_waits])
def test_training_on_a_device(device: str, check: Callable[[str], None]) -> None:
    check(device)
