"""The page of an identification key, in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from infopursuit.cli.key import open_key, write_page
from infopursuit.estimators.from_knowledge import key_model
from infopursuit.explorer import contents
from infopursuit.pursuit.dialogue import Dialogue
from tests.cli.test_key import MORE
from tests.explorer.conftest import Opened

BEGINNINGS = ("leaves: basal", "flowers yellow", "height")  # an iris, of nearly a metre and a half
WORDS = {1.0: "yes", 0.75: "probably", 0.5: "not sure", 0.25: "probably not", 0.0: "no"}


@pytest.fixture
def plants(tmp_path: Path) -> Path:
    Image.new("RGB", (40, 30), "gold").save(tmp_path / "iris.png")
    rows = MORE.strip().split("\n")
    rows = [
        rows[0] + ",picture",
        *(f"{row},{'iris.png' if 'Iris' in row else ''}" for row in rows[1:]),
    ]
    path = tmp_path / "plants.csv"
    path.write_text("\n".join(rows), encoding="utf-8")
    return path


def asked(page: Page) -> str:
    return page.locator(".stage h2").inner_text()


def answer(page: Page, word: str) -> None:
    before = page.url
    page.locator(f'[data-answer="{word}"]').click()
    page.wait_for_url(lambda url: url != before)


def probabilities(page: Page, classes: tuple[str, ...]) -> np.ndarray:
    found = page.evaluate(
        "async () => { const {explorer} = window; const p = explorer.predictors[0];"
        "return Array.from(p.predict(explorer.state.you).posterior); }"
    )
    assert len(found) == len(classes)
    return np.array(found)


@pytest.mark.parametrize("coded", [False, True])
def test_a_plant_is_found_with_one_wrong_answer(
    plants: Path, open_page: Opened, monkeypatch: pytest.MonkeyPatch, coded: bool
) -> None:
    if coded:  # as large tables are written
        monkeypatch.setattr(contents, "LARGE", 0)
    key, _ = open_key(plants)
    pursuit = key_model(key, 0.9).pursuit
    write_page(pursuit, key, plants.with_suffix(".html"))
    page = open_page(plants.with_suffix(".html").read_text(encoding="utf-8"))
    expect(page.locator("#views")).to_be_hidden()
    dialogue = Dialogue(pursuit)
    for step in range(5):
        question = asked(page)
        assert question == dialogue.next_question()
        value = [0.0, 1.0][question.startswith(BEGINNINGS)]
        value = 1 - value if step == 0 else [value, 0.25 + value / 2][step == 2]  # wrong, and vague
        answer(page, WORDS[value])
        dialogue.answer(value)
        expected = np.array(list(dialogue.posterior.values()))
        assert np.allclose(probabilities(page, key.classes), expected, atol=1e-6)
    # The wrong answer is changed; those after it stay.
    first = page.locator(".said select").first
    now = {"1": "0", "0": "1"}[first.input_value()]
    first.select_option(now)
    while page.locator(".reply").count():
        answer(page, "yes" if asked(page).startswith(BEGINNINGS) else "no")
    assert asked(page) == "Iris"
    assert page.locator(".stage img").count() == 1
    page.get_by_label("What your answers say of").select_option(label="Thistle")
    row = page.locator(".left tbody tr", has_text="flowers yellow?")
    expect(row).to_contain_text("less probable")
    page.get_by_role("button", name="Start again").click()
    expect(page.locator(".said li")).to_have_count(0)


def test_a_link_keeps_five_degrees(plants: Path, open_page: Opened) -> None:
    key, _ = open_key(plants)
    write_page(key_model(key, 0.99).pursuit, key, plants.with_suffix(".html"))
    text = plants.with_suffix(".html").read_text(encoding="utf-8")
    page = open_page(text, "view=you&you=0p.1q.2u&sure=50")
    chosen = [page.locator(".said select").nth(i).input_value() for i in range(3)]
    assert chosen == ["0.75", "0.25", "0.5"]
    while page.locator(".reply").count():
        answer(page, "yes" if asked(page).startswith(BEGINNINGS) else "no")
    page.get_by_role("button", name="Ask on, to be surer").click()
    expect(page.locator(".reply")).not_to_have_count(0)
