"""The page for everybody: axe, keyboard alone, screen readers, small windows, print, motion."""

from __future__ import annotations

import re
from functools import cache
from typing import Any

import numpy as np
import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from infopursuit.explorer import payload
from infopursuit.explorer.contents import Facts, contents
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable
from tests.explorer.conftest import Opened
from tests.explorer.made_up import PLAIN, images, naive_bayes

pytestmark = pytest.mark.slow  # minutes in a browser

VIEWS = ("image", "you", "classes", "dictionary", "failures")
STOP = StoppingRule(0.8, 8)
RULES = ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa", "best-practice"]


@cache
def document() -> payload.Payload:
    pursuit = naive_bayes()
    known = KnowledgeTable(PLAIN, ("query 0",), np.ones((len(PLAIN), 1), np.float32))
    truth = {"query 0": payload.Truth(right=0.75, answered=1.0)}
    facts = Facts("first", STOP, truth=truth, knowledge=known)
    return contents((pursuit, facts), images(pursuit, 40), images(pursuit, 20, seed=3), "Access")


def states(page: Page) -> Any:
    """All that a reader can open, view by view."""
    for view in VIEWS:
        page.evaluate(f"location.hash = 'view={view}'")
        expect(page.locator("nav [aria-current]")).to_have_count(1)
        page.wait_for_timeout(200)
        for _ in range(2):  # and those inside
            page.evaluate(
                "document.querySelectorAll('main details').forEach((d) => (d.open = true))"
            )
            page.wait_for_timeout(50)
        yield view
    page.evaluate("location.hash = 'view=image&set=0y.1n.2u&strike=3&ask=1-5'")
    expect(page.locator(".outcome").first).to_contain_text("Before your changes")
    yield "image, changed"
    page.evaluate("location.hash = 'view=you&you=0y.1n.2u.3y.4y.5n.6n.7y&was=1'")
    expect(page.locator(".compared")).to_be_visible()
    yield "you, at the end"
    page.get_by_role("button", name="Keys").click()
    yield "keys"


# Colours depend on the scheme, and what there is on the width.
@pytest.mark.parametrize(("scheme", "width"), [("light", 360), ("dark", 1280)])
def test_axe_finds_nothing(open_page: Opened, scheme: str, width: int) -> None:
    page = open_page(document(), width=width, color_scheme=scheme)
    options = {"runOnly": {"type": "tag", "values": RULES}}
    violations = [
        (state, found["id"], found["impact"], node["html"][:160], node.get("failureSummary"))
        for state in states(page)
        for found in Axe().run(page, options=options).response["violations"]
        for node in found["nodes"][:3]
    ]
    assert not violations


@pytest.mark.parametrize("width", [320, 360, 800])
def test_nothing_is_wider_than_the_window(open_page: Opened, width: int) -> None:
    page = open_page(document(), width=width)
    for state in states(page):
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, state


def focused(page: Page) -> str:
    return page.evaluate(
        "document.activeElement.getAttribute('aria-label') || document.activeElement.value ||"
        " document.activeElement.textContent.trim()"
    )


def test_the_keyboard_alone(open_page: Opened, width: int) -> None:
    page = open_page(document(), width=width)
    page.keyboard.press("Tab")
    assert focused(page) == "Skip to the content"
    page.keyboard.press("Enter")
    assert page.evaluate("document.activeElement.id") == "main"
    for _ in range(4):
        page.keyboard.press("Tab")
        if focused(page).startswith("image 0"):
            break
    assert focused(page).startswith("image 0")
    page.keyboard.press("ArrowRight")
    second = focused(page)
    assert second != "image 0, zebra"
    expect(page.get_by_role("option", name=second)).to_have_attribute("aria-selected", "true")
    # On to the answer of the first question: one stop for its three choices, then arrows.
    for _ in range(20):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement.type") == "radio":
            break
    name = page.evaluate("document.activeElement.name")
    before = page.evaluate("document.activeElement.value")
    page.keyboard.press("ArrowRight")
    expect(page.locator(".tag", has_text="your answer")).to_have_count(1)
    assert page.evaluate("document.activeElement.name") == name  # the focus stays
    assert page.evaluate("document.activeElement.value") != before
    page.keyboard.press("Tab")
    assert "Why this question?" in focused(page)
    page.keyboard.press("Enter")
    expect(page.locator(".reasons").first).to_be_visible()


def test_the_focus_is_never_lost(open_page: Opened) -> None:
    """If a control disappears when used, the focus moves to the heading above it."""
    page = open_page(document())
    focus = "document.activeElement.tagName + ' ' + document.activeElement.textContent"
    for name in ("Strike this question", "Ask instead"):
        page.locator(".why:not([open]) summary").first.click()
        page.locator(".step").first.get_by_role("button", name=name).first.press("Enter")
        assert page.evaluate(focus) == "H2 Questions and answers"
    page.get_by_role("button", name="Take back").first.press("Enter")
    assert page.evaluate(focus) == "H2 Questions and answers"
    page.get_by_role("button", name="Reset").press("Enter")
    page.get_by_role("button", name="Try it").first.press("Enter")
    expect(page.locator(".outcome.another")).to_be_visible()
    expect(page.get_by_role("heading", name="What would change its mind?")).to_be_focused()


def test_shortcuts(open_page: Opened) -> None:
    page = open_page(document())
    page.keyboard.press("2")
    expect(page.locator("h1")).to_have_text("You are the image")
    for count, key in enumerate(("y", "n", "u"), start=1):
        page.keyboard.press(key)
        expect(page.locator(".said li")).to_have_count(count)
    page.keyboard.press("z")
    expect(page.locator(".said li")).to_have_count(2)
    page.keyboard.press("/")
    page.keyboard.type("1z?")  # typed, not pressed
    expect(page.get_by_label("Search")).to_have_value("1z?")
    page.get_by_label("Search").blur()
    page.keyboard.press("1")
    total = page.locator(".step").count()
    page.keyboard.press("ArrowLeft")
    expect(page.locator(".step")).to_have_count(total - 1)
    page.keyboard.press("?")
    page.get_by_label("keys do this").uncheck()
    page.keyboard.press("Escape")
    page.keyboard.press("2")
    expect(page.locator("h1")).to_have_text("What does it ask, and what does it conclude?")


def test_questions_answers_and_posteriors_are_read_out(open_page: Opened) -> None:
    page = open_page(document())
    spoken = page.get_by_role("status").first
    page.get_by_role("button", name="Back").click()
    page.get_by_role("button", name="Next").click()
    question = page.locator(".step .question p").last.inner_text()
    answer = page.locator(".step input:checked + span").last.inner_text()
    leader = page.locator(".step .belief .name").last.inner_text()
    said = page.locator("#announcer").inner_text()
    total = page.locator(".step").count()
    assert said.startswith(f"Question {total}: {question} {answer}. {leader} ")
    assert "Prediction: " in said
    page.locator(".step").first.locator("label", has_text=re.compile("^not sure$")).click()
    expect(page.locator("#announcer")).to_contain_text(re.compile(r"Planned again: .* after \d"))
    expect(spoken).to_be_attached()
    page.keyboard.press("2")
    page.keyboard.press("y")
    expect(page.locator("#announcer")).to_contain_text(re.compile(r"^yes\. .*\d.%.*\?$"))


def test_nothing_moves_if_motion_is_reduced_and_print_shows_no_controls(open_page: Opened) -> None:
    page = open_page(document(), color_scheme="dark")
    assert page.locator(".step").count() > 0  # not one after another
    page.get_by_role("listbox").get_by_role("option").nth(3).click()
    assert page.evaluate("document.getAnimations().length") == 0
    page.emulate_media(media="print")
    for part in ("nav", ".picker", ".sliders"):
        expect(page.locator(part)).to_be_hidden()
    expect(page.locator(".step").first).to_be_visible()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
    moving = open_page(document(), reduced_motion="no-preference")
    expect(moving.get_by_role("button", name="Pause")).to_be_visible()
