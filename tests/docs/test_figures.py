"""Figures of README and site are those of docs/records, and none is quoted that no record has."""

from __future__ import annotations

from pathlib import Path

import pytest

from docs.hooks.figures import filled
from tests.docs.test_pages import NAMES, PAGES


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_figures_of_a_page_are_those_of_the_records(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "python -m tests.docs.refresh"
