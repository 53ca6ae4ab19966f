"""What can go wrong with the page: its file, its model, its texts, its link, its server."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest
import torch
from PIL import Image
from playwright.sync_api import expect

from infopursuit.core.numbers import percent
from infopursuit.core.renderers import FramedPage
from infopursuit.explorer import payload
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.page import page as exported
from infopursuit.explorer.server import Served, server
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from tests.explorer.conftest import Opened, serving
from tests.explorer.made_up import HOSTILE, PLAIN, images, naive_bayes, networks, small_payload

pytestmark = pytest.mark.slow  # a browser for each test

STOP = StoppingRule(0.9, 8)


def test_a_file_that_was_cut_off(open_page: Opened) -> None:
    text = exported(small_payload())
    start = text.index('id="payload">') + 2000
    end = text.index("</script>", start)
    page = open_page(text[:start] + text[end:])
    expect(page.get_by_role("alert")).to_contain_text("cut off or damaged")


def test_hostile_texts_are_shown_and_run_nowhere(open_page: Opened, width: int) -> None:
    page = open_page(small_payload(HOSTILE), width=width)
    page.evaluate("void (window.alert = () => { document.title = 'it ran'; })")
    shown = ""
    for view in ("image", "you", "classes", "dictionary", "failures"):
        page.evaluate(f"location.hash = 'view={view}'")
        expect(page.locator("nav [aria-current]")).to_have_text(re.compile(view, re.IGNORECASE))
        page.wait_for_timeout(150)
        shown += page.locator("main").inner_text()
        assert page.locator("main script, main img[src='x']").count() == 0
        assert page.evaluate("document.documentElement.scrollWidth - innerWidth") <= 0, view
    for text in HOSTILE:
        assert text.replace("\u200f", "") in shown.replace("\u200f", "")
    assert page.title() != "it ran"


def test_a_link_that_holds_nonsense(open_page: Opened) -> None:
    page = open_page(
        small_payload(),
        hash="long=1&view=nowhere&image=gone&set=99y.0z&strike=77&ask=1&sure=1000&class=x"
        "&known=1y.98y&you=1n&classes=77",
    )
    notice = page.get_by_role("alert")
    for part in ("view=nowhere", "image=gone", "set=99y", "set=0z", "strike=77", "ask=1"):
        expect(notice).to_contain_text(part)
    for part in ("sure=1000", "known=98y", "you=1n", "classes=77"):
        expect(notice).to_contain_text(part)
    expect(page.locator("h1")).to_have_text("What does it ask, and what does it conclude?")
    assert page.locator(".step").count() > 0
    notice.get_by_role("button", name="Close").click()
    expect(notice).to_have_count(0)


def test_in_a_frame_without_an_address(open_page: Opened) -> None:
    """A notebook shows the page inside another one."""
    framed = FramedPage(exported(small_payload()), "Explorer")._repr_html_()
    outer = open_page(f"<!doctype html><title>notebook</title>{framed}")
    page = outer.frame_locator("iframe")
    expect(page.locator(".step, .group").first).to_be_visible()
    page.get_by_role("link", name="Failures").click()
    expect(page.locator("h1")).to_have_text("Where is it wrong?")
    page.get_by_role("link", name="You").click()
    page.get_by_role("button", name="yes", exact=True).click()
    expect(page.locator(".said li")).to_have_count(1)
    page.get_by_role("button", name="Copy link").click()
    expect(page.get_by_label("Link to this state")).to_be_focused()
    [refused] = open_page.complaints  # type: ignore[attr-defined]
    assert "Clipboard API has been blocked" in refused
    open_page.complaints.clear()  # type: ignore[attr-defined]


# With a server.


def answered(pursuit: Pursuit) -> Any:
    """A stand-in for CLIP: any picture answers yes to every other question."""
    row = torch.tensor([[float(query % 2) for query in range(len(pursuit.queries))]])
    return lambda pictures: row.repeat(len(pictures), 1)


def remote_payload(pursuit: Pursuit, count: int = 12) -> payload.Payload:
    """A page of networks that stay on the server."""
    facts = Facts("remote", STOP, sees=True)
    content = contents((pursuit, facts), images(pursuit, count), None, "Served", served=True)
    model = content.model.model_copy(update={"networks": None})
    return content.model_copy(update={"model": model})


def test_a_model_that_computes_on_the_server(open_page: Opened) -> None:
    pursuit = networks(9, PLAIN)
    app = server(Served(pursuit, answered(pursuit)), remote_payload(pursuit))
    with serving(app) as address:
        page = open_page(address)
        expected = pursuit.explain(images(pursuit, 12).answers[:1], STOP, ["image 0"])[0]
        expect(page.locator(".step")).to_have_count(len(expected.steps))
        assert page.locator(".step input:checked + span").all_inner_texts() == list(
            expected.answers
        )
        page.get_by_role("link", name="Failures").click()
        ending = pursuit.ask_until(images(pursuit, 12).answers, STOP)
        right = (ending.posterior.argmax(dim=1) == torch.arange(12) % 6).double().mean()
        expect(page.locator(".lead")).to_contain_text(f"{100 * right:.1f}\u00a0% of 12")
        page.evaluate("location.hash = 'view=you&known=2y&classes=1.4'")
        dialogue = Dialogue(pursuit.given({pursuit.queries[2]: 1.0}, [PLAIN[1], PLAIN[4]]))
        question = dialogue.next_question()
        assert question is not None
        expect(page.locator(".stage h2")).to_have_text(pursuit.question(question))
        said = [f"{name} {percent(share)}" for name, share in dialogue.posterior.items()]
        shown = page.locator(".posterior li").all_inner_texts()
        assert {" ".join(each.split()) for each in shown} == {" ".join(s.split()) for s in said}


def test_a_picture_of_the_reader(open_page: Opened, tmp_path: Path) -> None:
    pursuit = naive_bayes(9, PLAIN)
    content = contents(
        (pursuit, Facts("sees", STOP, sees=True)), images(pursuit, 12), None, "Own", served=True
    )
    answer = answered(pursuit)
    path = tmp_path / "my <b>cat.png"
    Image.new("RGB", (80, 60), (200, 30, 30)).save(path)
    with serving(server(Served(pursuit, answer), content)) as address:
        page = open_page(address)
        with page.expect_file_chooser() as chooser:
            page.get_by_text("choose a file").click()
        chooser.value.set_files(path)
        expect(page.locator(".picture .id")).to_contain_text("my <b>cat.png")
        expected = pursuit.explain(answer([None]), STOP, ["own"])[0]
        expect(page.locator(".step")).to_have_count(len(expected.steps))
        assert page.locator(".step input:checked + span").all_inner_texts() == list(
            expected.answers
        )
        damaged = tmp_path / "damaged.png"
        damaged.write_bytes(b"no picture")
        with page.expect_file_chooser() as chooser:
            page.get_by_text("choose a file").click()
        chooser.value.set_files(damaged)
        expect(page.get_by_role("alert")).to_be_visible()
    open_page.complaints.clear()  # type: ignore[attr-defined]  # the picture that was refused
