"""The page of an identification key, in a real browser."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from playwright.sync_api import Page, expect

from infopursuit.explorer import contents
from infopursuit.keys.command import open_key, write_page
from infopursuit.keys.key import Key
from infopursuit.keys.models import key_model
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.pursuit import Pursuit
from tests.explorer.conftest import Opened
from tests.explorer.conftest import open_page as open_page
from tests.keys.test_command import MORE

pytestmark = pytest.mark.slow  # minutes in a browser

# An iris, of nearly a metre and a half.
ANSWERS = {"leaves?": "basal", "flowers yellow?": "yes", "height (cm)?": "more than 125"}
WRONG = {"leaves?": "opposite", "flowers yellow?": "no", "height (cm)?": "at most 25"}


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


def made(plants: Path, reliability: float) -> tuple[Key, Pursuit, str]:
    key = open_key(plants)
    pursuit = key_model(key, reliability)
    write_page(pursuit, key, out := plants.with_suffix(".html"))
    return key, pursuit, out.read_text(encoding="utf-8")


def asked(page: Page) -> str:
    return page.locator(".stage h2").inner_text()


def answer(page: Page, word: str) -> None:
    before = page.url
    page.locator(f'[data-answer="{word}"]').click()
    page.wait_for_url(lambda url: url != before)


def probabilities(page: Page, classes: tuple[str, ...]) -> np.ndarray:
    found = page.evaluate(
        "async () => { const {explorer} = window; const p = explorer.predictor;"
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
    key, pursuit, text = made(plants, 0.9)
    page = open_page(text)
    expect(page.locator("#views")).to_be_hidden()
    dialogue = Dialogue(pursuit)
    for step in range(3):
        question = asked(page)
        assert question == dialogue.next_question()
        said = [WRONG, ANSWERS][step > 0][question]
        said = {"yes": "probably"}.get(said, said)
        answer(page, said)
        dialogue.answer(said)
        expected = np.array(list(dialogue.posterior.values()))
        assert np.allclose(probabilities(page, key.classes), expected, atol=1e-6)
    # The wrong answer is changed; those after it stay.
    first = page.locator(".said li").first
    first.locator("select").select_option(label=ANSWERS[f"{first.inner_text().split('?')[0]}?"])
    assert asked(page) == "Iris"
    assert page.locator(".stage img").count() == 1
    page.get_by_label("What your answers say of").select_option(label="Thistle")
    row = page.locator(".left tbody tr", has_text="flowers yellow?")
    expect(row).to_contain_text("less probable")
    page.get_by_role("button", name="Start again").click()
    expect(page.locator(".said li")).to_have_count(0)


def test_a_link_keeps_five_degrees(plants: Path, open_page: Opened) -> None:
    _, pursuit, text = made(plants, 0.99)
    yellow, top = pursuit.number("flowers yellow?"), pursuit.rule.levels - 1
    for level, word in enumerate(pursuit.words[yellow]):
        if word:
            said = {0: "n", top: "y"}.get(level, f"v{round(1000 * level / top)}")
            page = open_page(text, f"view=you&you={yellow}{said}&sure=100")
            chosen = page.locator(".said select")
            assert chosen.locator("option:checked").inner_text() == word
    while page.locator(".reply").count():
        answer(page, ANSWERS[asked(page)])
    expect(page.get_by_role("button", name="Ask on, to be surer")).to_be_disabled()


def test_states_are_a_list_and_a_number_can_be_typed(plants: Path, open_page: Opened) -> None:
    page = open_page(made(plants, 0.9)[2])
    shown = {}
    while page.locator(".reply").count():
        question = asked(page)
        shown[question] = page.locator(".reply").all_inner_texts()
        field = page.get_by_label("or a number")
        assert field.count() == (question == "height (cm)?")
        if field.count():
            field.fill("much")
            field.press("Enter")
            expect(page.locator(".stage [role=status]")).to_have_text(
                "Expected a number, such as 2.5."
            )
            before = page.url
            field.fill("131,5")
            field.press("Enter")
            page.wait_for_url(lambda url, before=before: url != before)
        else:
            answer(page, ANSWERS[question])
    assert shown["leaves?"] == ["alternate", "basal", "opposite", "not sure"]
    assert shown["flowers yellow?"] == ["yes", "probably", "not sure", "probably not", "no"]
    expect(page.locator(".said li", has_text="height")).to_contain_text("more than 125")
