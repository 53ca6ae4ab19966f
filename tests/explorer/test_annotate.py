"""A person answers questions about pictures: which ones, in a real browser, and the file."""

from __future__ import annotations

import csv
import errno
from collections import Counter
from pathlib import Path
from unittest.mock import Mock

import httpx
import pytest
from fastapi import FastAPI
from PIL import Image
from playwright.sync_api import expect
from starlette.testclient import TestClient

from infopursuit.core.errors import InputError
from infopursuit.explorer.annotating import ENOUGH, SESSION, Annotating, Cell, worth_answering
from infopursuit.explorer.contents import Facts, contents, no_images
from infopursuit.explorer.server import Served, server
from infopursuit.pursuit.rollout import roll_out
from infopursuit.pursuit.stopping import StoppingRule
from tests.explorer.conftest import Opened, serving
from tests.explorer.made_up import STOP, naive_bayes, unit, with_scores

NAMES = ["cat/a.png", "cat/b.png", "dog/c.png"]
CELLS = [Cell(2, 0), Cell(0, 4), Cell(1, 4)]


@pytest.fixture
def pictures(tmp_path: Path) -> list[Path]:
    files = []
    for name, color in zip(NAMES, ("red", "green", "blue"), strict=True):
        files.append(tmp_path / name)
        files[-1].parent.mkdir(exist_ok=True)
        Image.new("RGB", (900, 600), color).save(files[-1])
    return files


def application(path: Path, pictures: list[Path], by: str = "anna") -> FastAPI:
    pursuit = naive_bayes()
    empty = no_images(pursuit)
    content = contents((pursuit, Facts("model", STOP)), empty, served=True)
    asking = Annotating(path, NAMES, pictures, pursuit, CELLS, by)
    return server(Served(pursuit, None), content.model_copy(update={"annotate": True}), (), asking)


def rows(path: Path) -> list[list[str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.reader(file))


def test_questions_come_by_what_they_tell_and_how_uncertain_they_are() -> None:
    with pytest.raises(InputError, match="steps"):
        worth_answering(naive_bayes(), unit(2, 11), STOP)
    pursuit, images, stop = with_scores(), unit(40, 11), StoppingRule(0.9, 5)
    cells = worth_answering(pursuit, images, stop, unsure=True)
    assert len(set(cells)) == len(cells)
    answers = pursuit.answers(images)
    worth = {}
    for row in range(len(images)):  # one by one
        rolled = roll_out(
            pursuit.querier, pursuit.classifier, pursuit.answers(images[row : row + 1]), 5, None, 1
        )
        for step in range(int(stop.steps(rolled.posteriors)[0])):
            query = int(rolled.order[0, step])
            deviation = answers[:, query].std(correction=0)
            away = float((answers[row, query] - 0.5).abs() / deviation)
            gain = float(rolled.values[0, step, 0])
            worth[Cell(row, query)] = gain, gain * 2.718281828**-away
    gains, worth = ({c: v[part] for c, v in worth.items() if v[0] > 0} for part in (0, 1))
    assert set(cells) == set(worth)
    first = cells[0].query
    yes = [cell for cell in gains if cell.query == first and answers[cell] > 0.5]
    of_text = [cell for cell in cells if cell.query == first]
    assert [each in yes for each in of_text[:4]] == [False, True] * 2  # by turns
    for alike in (set(yes), set(of_text) - set(yes)):
        values = [worth[cell] for cell in of_text if cell in alike]
        assert values == pytest.approx(sorted(values, reverse=True), rel=1e-4)

    drawn = [worth_answering(pursuit, images, stop, seed=seed) for seed in range(100)]
    assert drawn[-1] == worth_answering(pursuit, images, stop, seed=99)
    firsts = Counter(next(cell for cell in each if cell in yes) for each in drawn)
    for cell in yes:  # of many draws the first is each in proportion to its gain
        share = gains[cell] / sum(gains[each] for each in yes)
        assert abs(firsts[cell] / 100 - share) < 4 * (share * (1 - share) / 100) ** 0.5 + 1e-9


@pytest.mark.parametrize("unsure", [False, True])
def test_few_texts_are_asked_often(unsure: bool) -> None:
    """In a session of ten minutes each text that is asked gets the answers that it needs."""
    pursuit, images = with_scores(), unit(300, 11)
    cells = worth_answering(pursuit, images, StoppingRule(max_queries=20), unsure)
    assert len({cell.query for cell in cells}) > 2 * SESSION // ENOUGH
    for start in (0, 2 * SESSION):  # each has more turns than it needs, then others come
        counts = Counter(cell.query for cell in cells[start : start + SESSION])
        assert 0 < len(counts) <= SESSION // ENOUGH
        assert min(counts.values()) >= ENOUGH


@pytest.mark.slow
def test_a_person_answers_with_keys_goes_back_and_resumes(
    tmp_path: Path, pictures: list[Path], open_page: Opened, width: int
) -> None:
    path = tmp_path / "said.csv"
    path.write_text("image,text,answer,by\ncat/a.png,query 4,no,bert\n", encoding="utf-8")
    with serving(application(path, pictures)) as address:
        page = open_page(address, width=width)
        heading, shown = page.locator(".stage h2"), page.locator(".stage img")
        expect(heading).to_have_text("query 0?")
        expect(shown).to_have_attribute("alt", "dog/c.png")
        assert page.evaluate("document.querySelector('.stage img').naturalWidth") == 800
        page.keyboard.press("y")
        expect(heading).to_have_text("query 4?")
        expect(shown).to_have_attribute("alt", "cat/a.png")
        assert rows(path)[1:] == [
            ["cat/a.png", "query 4", "no", "bert"],
            ["dog/c.png", "query 0", "yes", "anna"],
        ]
        page.get_by_role("button", name="no n", exact=True).click()
        expect(shown).to_have_attribute("alt", "cat/b.png")
        page.keyboard.press("ArrowLeft")
        expect(page.get_by_role("button", pressed=True)).to_have_text("no n")
        page.keyboard.press("Space")  # another answer to the same
        expect(shown).to_have_attribute("alt", "cat/b.png")
        assert rows(path)[-1] == ["cat/a.png", "query 4", "not sure", "anna"]
        page.mouse.wheel(0, 0)
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    with serving(application(path, pictures)) as address:  # the next day
        page = open_page(address, width=width)
        expect(page.locator(".stage img")).to_have_attribute("alt", "cat/b.png")
        expect(page.locator(".annotate-view > .quiet")).to_contain_text("2 of 3 questions answered")
        expect(page.locator(".annotate-view > .quiet")).to_contain_text("after 5 yes and 4 no more")
        page.keyboard.press("n")
        expect(page.locator(".stage h2")).to_have_text("All questions are answered.")
    assert len(rows(path)) == 5
    with serving(application(path, pictures, "carl")) as address:  # another person begins
        assert httpx.get(f"{address}api/annotations").json()["answers"] == [None, None, None]


def test_what_others_write_into_the_file_stays(tmp_path: Path) -> None:
    path, pursuit = tmp_path / "said.csv", naive_bayes()
    names = [" a\rb.png", "c\u2028/d.png", "\u2028e.png"]

    def person(by: str) -> Annotating:
        return Annotating(path, names, [], pursuit, CELLS, by)

    anna, bob = person("anna "), person("bob")
    for asking, place, answer in ((anna, 0, "yes"), (bob, 0, "no"), (anna, 1, "no")):
        asking.answer(place, answer)
    older = path.read_bytes()
    anna.answer(2, "not sure")
    bob.answer(0, "yes")
    edited = b'"x.png","query 1","no","carl"\n'
    path.write_bytes(older + edited)  # somebody had it open, and saves it
    bob.answer(1, "no")
    anna.answer(0, "no")
    assert rows(path)[1:] == [
        [names[2], "query 0", "no", "anna"],
        [names[2], "query 0", "no", "bob"],
        [names[0], "query 4", "no", "anna"],
        ["x.png", "query 1", "no", "carl"],
        [names[0], "query 4", "no", "bob"],
        [names[1], "query 4", "not sure", "anna"],
    ]
    assert person("anna").answers() == anna.answers() == ["no", "no", "not sure"]
    path.write_text("image,text,answer\n,warm,yes\n")
    with pytest.raises(InputError, match=r"said\.csv: row 2: expected an image and a text"):
        anna.answer(0, "yes")
    assert path.read_text() == "image,text,answer\n,warm,yes\n"
    assert anna.answers() == ["no", "no", "not sure"]


def test_what_cannot_be_is_refused_over_http(
    tmp_path: Path, pictures: list[Path], monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "said.csv"
    there = TestClient(application(path, pictures), base_url="http://127.0.0.1")
    where = "/api/annotations"
    assert there.get(f"{where}/3").status_code == 404
    for place, answer, status in ((3, "yes", 404), (0, "perhaps", 422), (-1, "yes", 422)):
        assert there.post(where, json={"place": place, "answer": answer}).status_code == status
    assert not path.exists()
    no = {"place": 0, "answer": "no"}
    assert there.post(where, json=no, headers={"Origin": "http://x"}).status_code == 403
    pictures[2].unlink()
    assert "dog/c.png" in there.get(f"{where}/0").json()["error"]
    with monkeypatch.context() as patch:  # a read-only disk refuses the lock first
        refused = OSError(errno.EROFS, "read-only", f"{path}.lock")
        patch.setattr("infopursuit.explorer.annotating.add_annotations", Mock(side_effect=refused))
        said = f"{path}: cannot be written, the disk is read-only."
        assert there.post(where, json=no).json()["error"].endswith(said)
    path.mkdir()  # cannot be written
    assert there.post(where, json=no).status_code == 409
    assert there.get(where).json()["answers"] == [None] * 3
