"""The picture of the explorer in the README: the live page of the documentation, in a browser.

python -m tests.docs.picture          # then look at docs/images/explorer.png
"""

from __future__ import annotations

import io
import shutil
import tempfile
from pathlib import Path

from PIL import Image
from playwright.sync_api import sync_playwright

from infopursuit.explorer.page import page
from infopursuit.explorer.payload import read
from tests.docs.live_page import PAYLOAD, ROOT

PICTURE = ROOT / "docs/images/explorer.png"
SIZE = {"width": 1200, "height": 860}
COLORS = 256


def main() -> None:
    """Draw it, in few colours: the file is kept by git."""
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        path = Path(folder) / "page.html"
        path.write_text(page(read(PAYLOAD.read_text(encoding="utf-8"))), encoding="utf-8")
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        shown = browser.new_page(viewport=SIZE, reduced_motion="reduce", color_scheme="light")
        shown.goto(path.as_uri())
        shown.wait_for_timeout(6000)
        taken = shown.screenshot()
        browser.close()
    picture = Image.open(io.BytesIO(taken)).convert("RGB")
    picture.quantize(COLORS, dither=Image.Dither.NONE).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
