"""The live page of the explorer: today's page with the payload of the menagerie that is kept here.

The payload, not the page, is kept: so the page is never older than its sources, and the site builds
without a run of the pipeline. `python -m tests.docs.live_page` takes it from `make repro`.
"""

from __future__ import annotations

from pathlib import Path

from mkdocs.config.defaults import MkDocsConfig
from mkdocs.structure.files import File, Files

from infopursuit.explorer.page import page
from infopursuit.explorer.payload import read

PAYLOAD = Path(__file__).parent / "menagerie.json"


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the page."""
    content = page(read(PAYLOAD.read_text(encoding="utf-8")))
    files.append(File.generated(config, "explorer/menagerie.html", content=content))
    return files
