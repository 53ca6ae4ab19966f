"""The live page of the documentation, and its picture in the README.

make repro && python -m tests.docs.live_page     # its payload, taken from a run of the pipeline
python -m tests.docs.live_page picture           # then look at docs/images/explorer.png
"""

from __future__ import annotations

import io
import shutil
import sys
import tempfile
from pathlib import Path

from infopursuit.core.files import write_text
from infopursuit.explorer import payload
from infopursuit.explorer.page import page as exported

ROOT = Path(__file__).parents[2]
PAYLOAD = ROOT / "docs/hooks/menagerie.json"
PICTURE = ROOT / "docs/images/explorer.png"
PAGE = ROOT / "artifacts/report/explorer/menagerie.html"
TITLE, NAME = "The menagerie", "naive Bayes"
BEGIN, END = 'id="payload">', "</script>"


def main(page: Path = PAGE) -> None:
    """Write the payload, under a title for readers."""
    text = page.read_text(encoding="utf-8")
    start = text.index(BEGIN) + len(BEGIN)
    content = payload.read(text[start : text.index(END, start)])
    named = content.model.model_copy(update={"name": NAME})
    shown = content.model_copy(update={"title": TITLE, "model": named})
    write_text(PAYLOAD, payload.written(shown) + "\n")


def draw() -> None:
    """Draw the page as a browser shows it, in few colours: the file is kept by git."""
    from PIL import Image
    from playwright.sync_api import sync_playwright

    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(exported(payload.read(PAYLOAD.read_text(encoding="utf-8"))), "utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        size = {"width": 1200, "height": 860}
        shown = browser.new_page(viewport=size, reduced_motion="reduce", color_scheme="light")
        shown.goto(path.as_uri())
        shown.wait_for_timeout(6000)
        taken = shown.screenshot()
        browser.close()
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    picture.quantize(256, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    draw() if "picture" in sys.argv[1:] else main()
