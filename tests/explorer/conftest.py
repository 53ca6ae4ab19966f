"""Pages in a real browser, and the server as `infopursuit serve` runs it."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import uvicorn
from playwright.sync_api import Browser, Page
from starlette.types import ASGIApp

from infopursuit.explorer import payload
from infopursuit.explorer.page import page as exported
from infopursuit.explorer.server import configured

HEIGHT = 900

Opened = Callable[..., Page]


@pytest.fixture(params=[360, 1280])
def width(request: pytest.FixtureRequest) -> int:
    """Return the width of a telephone, then that of a desktop."""
    return request.param


@pytest.fixture
def open_page(browser: Browser, tmp_path: Path) -> Iterator[Opened]:
    """Opens an exported page from its file; what the browser complains about fails the test.

    A policy that refuses a style or a script is a complaint, too.
    """
    contexts = []
    complaints: list[str] = []

    def opened(
        content: payload.Payload | str, hash: str = "long=1", width: int = 1280, **options: object
    ) -> Page:
        # `long` of the address: every answer has a row, and none is grouped.
        context = browser.new_context(
            viewport={"width": width, "height": HEIGHT},
            **{"reduced_motion": "reduce", **options},  # type: ignore[arg-type]
        )
        contexts.append(context)
        page = context.new_page()
        page.set_default_timeout(10_000)
        page.on("pageerror", lambda error: complaints.append(str(error)))
        page.on(
            "console",
            lambda said: (
                complaints.append(said.text) if said.type in ("error", "warning") else None
            ),
        )
        if isinstance(content, str) and content.startswith("http"):
            page.goto(f"{content}#{hash}")
            return page
        text = content if isinstance(content, str) else exported(content)
        path = tmp_path / f"page-{len(contexts)}.html"
        path.write_text(text, encoding="utf-8")
        page.goto(f"{path.as_uri()}#{hash}")
        return page

    opened.complaints = complaints  # type: ignore[attr-defined]
    yield opened
    for context in contexts:
        context.close()
    assert not complaints


@contextmanager
def serving(app: ASGIApp) -> Iterator[str]:
    """The application at a free port of this machine, for as long as the block runs."""
    listening = socket.create_server(("127.0.0.1", 0))
    running = uvicorn.Server(configured(app))
    thread = threading.Thread(target=running.run, kwargs={"sockets": [listening]}, daemon=True)
    thread.start()
    while not running.started:
        time.sleep(0.01)
    try:
        yield f"http://127.0.0.1:{listening.getsockname()[1]}/"
    finally:
        running.should_exit = True
        thread.join(10)
        listening.close()
