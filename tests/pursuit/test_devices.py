"""Answers and questions are the same on every device there is."""

from __future__ import annotations

import pytest

from tests.devices import DEVICES
from tests.pursuit.device_checks import check_answers, check_questions


@pytest.mark.parametrize("device", DEVICES)
def test_answers_are_the_same(device: str) -> None:
    check_answers(device)


@pytest.mark.parametrize("device", DEVICES)
def test_questions_are_the_same(device: str) -> None:
    check_questions(device)
