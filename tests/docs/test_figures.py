"""Figures of README and site are those of docs/records, and none is quoted that no record has."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from docs.hooks.figures import filled
from tests.docs.test_pages import NAMES, PAGES

# What is no prose: code, formulas, addresses, tables that the build fills.
NO_PROSE = re.compile(
    r"^ *```.*?^ *```$|`[^`\n]*`|\\\(.*?\\\)|\\\[.*?\\\]|\]\([^)]*\)|<!-- tables .*?<!-- end -->",
    re.DOTALL | re.MULTILINE,
)
QUOTED = re.compile(r"(?<![\w.,:/-])\d[\d,]*(?:\.\d+(?: %)?| %)(?!\w|<!--| GB)")
# Settings, definitions and versions, which are no results, and neither are sizes of downloads.
SETTINGS = {
    *("0.25", "0.3", "0.35", "0.5", "0.7", "0.75", "0.8", "0.95"),
    *("1.0", "1.4", "1.44", "2.8", "3.11", "3.2", "4.0"),
    *("5 %", "45 %", "50 %", "85 %", "95 %"),
}


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_figures_of_a_page_are_those_of_the_records(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    assert filled(text) == text, "python -m tests.docs.refresh"


@pytest.mark.parametrize("page", NAMES)
def test_no_page_quotes_a_result_that_no_record_has(page: str) -> None:
    text = NO_PROSE.sub("", (PAGES[0].parent / page).read_text(encoding="utf-8"))
    # Decimals and percentages that have no mark and are no settings.
    found = [each for each in QUOTED.findall(text) if each not in SETTINGS]
    assert not found, "a mark behind it names its record (docs/contributing.md)"
