"""The page of a model of a table: rows with names and values, no images and no pictures."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
from playwright.sync_api import expect

from infopursuit import InformationPursuitClassifier, TableQuestions
from tests.explorer.conftest import Opened

CLASSES = ["Drakensbergeninae", "Hymenocallideae", "Orchidaceae"]
LONG = "scale-like, overlapping and red"


@pytest.fixture(scope="module")
def html() -> str:
    """The page of 120 plants whose leaf tells their family; 40 of them are tested."""
    rng = np.random.default_rng(0)
    y = np.repeat(CLASSES, 40)
    leaf = pd.Series(y).map(dict(zip(CLASSES, ["needle", LONG, "heart"], strict=True)))
    X = pd.DataFrame({"leaf": leaf, "length": rng.normal(size=120).round(2)})
    X.index = pd.Index([f"plant {row}" for row in range(120)])
    order = rng.permutation(120)
    train, test = order[:80], order[80:]
    model = InformationPursuitClassifier(TableQuestions(note="Ask a botanist.")).fit(
        X.iloc[train], y[train]
    )
    return model.explore(X.iloc[test], y[test]).html


@pytest.mark.parametrize("view", ["image", "you", "classes", "dictionary", "failures"])
def test_no_view_speaks_of_images(open_page: Opened, html: str, view: str, width: int) -> None:
    page = open_page(html, f"view={view}&long=1", width)
    expect(page.locator("main")).to_contain_text(re.compile("row", re.IGNORECASE))
    expect(page.locator("#bottom")).to_contain_text("Ask a botanist.")
    assert not re.search("images?\\b|picture", page.locator("body").inner_text(), re.IGNORECASE)
    assert page.evaluate("document.documentElement.scrollWidth") <= width


def test_a_row_is_picked_by_its_name_and_a_value_has_no_colour_of_yes(
    open_page: Opened, html: str
) -> None:
    page = open_page(html)
    names = page.locator(".option").all_inner_texts()
    assert len(names) == 40
    assert all(re.fullmatch(r"plant \d+", name) for name in names)
    page.locator(".option").nth(2).click()
    expect(page.locator(".picture .id")).to_have_text(names[2])
    chosen = page.locator(".choice input:checked + span").first
    expect(chosen).to_be_visible()
    green = page.evaluate(
        "() => { const probe = document.createElement('i'); probe.style.color = 'var(--yes)';"
        "document.body.append(probe); return getComputedStyle(probe).color; }"
    )
    said = chosen.evaluate("(span) => getComputedStyle(span)['background-color']")
    assert said != green


def test_what_is_long_is_not_cut(open_page: Opened, html: str) -> None:
    """A word has its line, a number its column, and a value its button."""
    page = open_page(html)
    wide = "(all) => all.every((each) => each.scrollWidth <= each.clientWidth)"
    expect(page.locator(".posterior .name").first).to_be_visible()
    heights = page.locator(".posterior .name").evaluate_all(
        "(all) => all.map((each) => each.getClientRects().length)"
    )
    assert heights == [1] * len(CLASSES)
    ends = page.locator(".posterior .number").evaluate_all(
        "(all) => all.map((each) => each.getBoundingClientRect().right)"
    )
    box = page.locator(".posterior").bounding_box()
    assert box is not None
    assert max(ends) <= box["x"] + box["width"] + 0.5
    page = open_page(html, "view=you")
    expect(page.locator(".reply").first).to_be_visible()
    assert page.locator(".reply").evaluate_all(wide)
