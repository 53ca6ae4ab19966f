"""The explorer's server in a thread of the test, as `infopursuit serve` sets it up."""

from __future__ import annotations

import socket
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import uvicorn
from starlette.types import ASGIApp

from infopursuit.explorer.serving import configured


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
