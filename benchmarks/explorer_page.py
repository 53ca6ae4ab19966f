"""The explorer's page in a real browser: from a click to its answer, and until the first paint.

A naive-Bayes model of k = 128 questions and c = 100 classes, the size that the page is made for,
with 200 pictures, and with 1,000. A click changes the answer to the first question: everything is
planned again and shown. `python -m benchmarks.explorer_page` takes a minute.
"""

from __future__ import annotations

import shutil
import tempfile
from pathlib import Path
from statistics import median

import numpy as np
from PIL import Image
from playwright.sync_api import Browser, sync_playwright

from infopursuit.explorer.contents import AnsweredImages, Chosen, Facts, contents
from infopursuit.explorer.page import page
from infopursuit.pursuit.stopping import StoppingRule
from tests.explorer.made_up import naive_bayes, unit

K, C = 128, 100
CLICKS = 40
# All that follows from a click runs before the next task of the browser.
CLICK = """
async (place) => {
  const step = document.querySelector(".step");
  const input = step.querySelectorAll("input")[place];
  const before = performance.now();
  input.click();
  await new Promise((resolve) => setTimeout(resolve, 0));
  document.body.offsetHeight;  // style and layout, too
  const after = performance.now();
  if (!document.querySelector(".step input").closest("fieldset").contains(input)) throw new Error();
  await new Promise((resolve) => setTimeout(resolve, 300));
  return after - before;
}
"""
PAINT = "performance.getEntriesByName('first-contentful-paint')[0].startTime"


def document(pictures: int) -> str:
    """Return the page with this many pictures."""
    pursuit = naive_bayes(K, tuple(f"class {number}" for number in range(C)))
    generator = np.random.default_rng(0)
    drawn = [
        Image.fromarray(generator.integers(0, 256, (8, 8, 3), dtype=np.uint8)).resize((128, 128))
        for _ in range(pictures)
    ]
    answers = pursuit.answers(unit(1000, 2))
    labels = np.arange(1000) % C
    ids = [f"image {row}" for row in range(1000)]
    images = AnsweredImages(ids, labels, answers, drawn + [None] * (1000 - pictures))
    facts = Facts("made up", StoppingRule(0.95, 20))
    return page(contents((pursuit, facts), images, title="Speed", chosen=Chosen(pictures, 0)))


def measured(browser: Browser, path: Path) -> tuple[float, list[float]]:
    """Return milliseconds until the first paint, and of each click."""
    opened = browser.new_page(viewport={"width": 1280, "height": 900})
    opened.goto(f"{path.as_uri()}#set=0y")  # which shows all questions at once
    opened.locator(".ending p").wait_for()
    painted = opened.evaluate(PAINT)
    clicks = [opened.evaluate(CLICK, number % 3) for number in range(CLICKS)]
    opened.close()
    return painted, clicks


def main() -> None:
    """Print the figures."""
    with sync_playwright() as playwright, tempfile.TemporaryDirectory() as folder:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
        for pictures in (200, 1000):
            path = Path(folder) / "page.html"
            path.write_text(document(pictures), encoding="utf-8")
            painted, clicks = measured(browser, path)
            print(
                f"{pictures} pictures, {path.stat().st_size / 1e6:.1f} MB: first paint after "
                f"{painted:.0f} ms; a click is answered in {median(clicks):.1f} ms (median of "
                f"{CLICKS}; at most {max(clicks):.1f} ms)"
            )
        browser.close()


if __name__ == "__main__":
    main()
