"""The live page of the documentation.

make repro && python -m tests.docs.live_page     # its payload, taken from a run of the pipeline
"""

from __future__ import annotations

from pathlib import Path

from infopursuit.core.files import write_text
from infopursuit.explorer import payload

ROOT = Path(__file__).parents[2]
PAYLOAD = ROOT / "docs/hooks/menagerie.json"
PAGE = ROOT / "artifacts/report/explorer/menagerie.html"
TITLE, NAME = "The menagerie", "jointly normal scores"
BEGIN, END = 'id="payload">', "</script>"


def main(page: Path = PAGE) -> None:
    """Write the payload, under a title for readers."""
    text = page.read_text(encoding="utf-8")
    start = text.index(BEGIN) + len(BEGIN)
    content = payload.read(text[start : text.index(END, start)])
    named = content.model.model_copy(update={"name": NAME})
    shown = content.model_copy(update={"title": TITLE, "model": named})
    write_text(PAYLOAD, payload.written(shown) + "\n")


if __name__ == "__main__":
    main()
