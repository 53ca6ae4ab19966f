"""The payload of the live page in the documentation, taken from a run of the pipeline.

make repro && python -m tests.docs.live_page
"""

from __future__ import annotations

from pathlib import Path

from infopursuit.core.whole_files import write_text
from infopursuit.explorer import payload

ROOT = Path(__file__).parents[2]
PAYLOAD = ROOT / "docs/hooks/menagerie.json"
PAGE = ROOT / "artifacts/report/explorer/menagerie.html"
TITLE, NAME = "The menagerie", "naive Bayes"
BEGIN, END = 'id="payload">', "</script>"


def main(page: Path = PAGE) -> None:
    """Write the payload, under a title for readers."""
    text = page.read_text(encoding="utf-8")
    start = text.index(BEGIN) + len(BEGIN)
    content = payload.read(text[start : text.index(END, start)])
    (model,) = content.models
    named = model.model_copy(update={"name": NAME})
    shown = content.model_copy(update={"title": TITLE, "models": [named]})
    write_text(PAYLOAD, payload.written(shown) + "\n")


if __name__ == "__main__":
    main()
