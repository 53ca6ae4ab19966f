"""The site builds without a warning, and its pages need nothing from other hosts."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from html import unescape
from pathlib import Path

import pytest

from infopursuit.explorer.page import page as exported
from infopursuit.explorer.payload import read
from tests.docs import live_page
from tests.elements import Elements

pytestmark = pytest.mark.slow  # the site is built

ROOT = Path(__file__).parents[2]
# Where a page loads something from; links that a reader may follow are not among them.
LOADED = {"script": "src", "img": "src", "iframe": "src", "source": "src", "link": "href"}
# Not loaded when a page is shown: the neighbours of a page, and its own address.
NOT_LOADED = {"canonical", "next", "prev"}


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    # Not --quiet: what is not logged is no reason for --strict to fail.
    built = subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "--site-dir", folder],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src"), "NO_MKDOCS_2_WARNING": "1"},
        capture_output=True,
        text=True,
    )
    assert built.returncode == 0, built.stderr
    return folder


def test_pages_load_nothing_from_other_hosts(site: Path) -> None:
    pages = list(site.rglob("*.html"))
    assert len(pages) > 20
    for page in pages:
        loads = [
            each.get(LOADED[tag]) or ""
            for tag, each in Elements(page.read_text(encoding="utf-8")).found
            if tag in LOADED and each.get("rel") not in NOT_LOADED
        ]
        assert loads or page.name == "menagerie.html"  # all of it is inside
        elsewhere = [each for each in loads if re.match(r"(https?:)?//", each)]
        assert not elsewhere, f"{page.name}: {elsewhere}"
    for sheet in site.rglob("*.css"):
        text = sheet.read_text(encoding="utf-8")
        assert not re.search(r"(@import|url\()\s*[\"']?(https?:)?//", text), sheet.name


def test_the_site_opens_with_a_live_page(site: Path) -> None:
    assert '<iframe class="explorer" src="explorer/menagerie.html"' in (
        site / "index.html"
    ).read_text(encoding="utf-8")
    text = (site / "explorer/menagerie.html").read_text(encoding="utf-8")
    assert "Content-Security-Policy" in text
    assert len(text) < 1_500_000


def test_the_payload_of_the_live_page_is_taken_from_a_page(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    kept = live_page.PAYLOAD.read_text(encoding="utf-8")
    page, payload = tmp_path / "page.html", tmp_path / "payload.json"
    page.write_text(exported(read(kept)), encoding="utf-8")
    monkeypatch.setattr(live_page, "PAYLOAD", payload)
    live_page.main(page)
    assert payload.read_text(encoding="utf-8") == kept


def test_formulas_are_mathml_and_none_is_left_as_tex(site: Path) -> None:
    formulas = 0
    for page in site.rglob("*.html"):
        text = page.read_text(encoding="utf-8")
        assert "arithmatex" not in text, page.name
        found = re.findall(r"<math .*?</math>", text, re.DOTALL)
        assert not [each for each in found if "\\" in unescape(each)], page.name
        formulas += len(found)
    assert formulas > 20


def test_names_of_the_library_are_in_the_reference(site: Path) -> None:
    import infopursuit

    reference = "".join(page.read_text(encoding="utf-8") for page in (site / "api").glob("*.html"))
    for name in infopursuit.__all__:
        assert re.search(rf'id="infopursuit\.([\w.]*\.)?{name}"', reference), name
