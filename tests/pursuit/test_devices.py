"""Answers and questions are the same on every device there is."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from tests.devices import DEVICES
from tests.pursuit.device_checks import check_answers, check_questions


@pytest.mark.parametrize("check", [check_answers, check_questions])
@pytest.mark.parametrize("device", DEVICES)
def test_a_device_agrees_with_the_cpu(device: str, check: Callable[[str], None]) -> None:
    check(device)
