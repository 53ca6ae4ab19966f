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
