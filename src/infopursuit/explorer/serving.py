"""The server in action: binds, says where it is, and ends with Ctrl-C."""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable

import uvicorn
from starlette.types import ASGIApp

from infopursuit.core.errors import InputError
from infopursuit.explorer.connections import CONNECTIONS, Connection

logger = logging.getLogger("infopursuit")

ANYWHERE = ("0.0.0.0", "::")
# Seconds for answers under way when the server ends.
GRACE = 3


class Announcing(uvicorn.Server):
    """Says when it is up."""

    def __init__(self, config: uvicorn.Config, up: Callable[[], None]) -> None:
        super().__init__(config)
        self.up = up

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        """Start, and tell."""
        await super().startup(sockets)
        if self.started:
            self.up()


def bound(host: str, port: int) -> socket.socket:
    """A socket for the server; port 0 is any that is free.

    Raises:
        InputError: the port is in use, or the address is none of this machine.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    try:
        return socket.create_server((host, port), family=family)
    except (OSError, UnicodeError) as error:
        raise InputError(
            f"--host {host} --port {port}: the server cannot listen there ({error}); expected "
            "another --port, or 0 for any that is free"
        ) from error


def address(listening: socket.socket) -> str:
    """What to type into a browser on this machine."""
    host, port = listening.getsockname()[:2]
    if host in ANYWHERE:
        host = "localhost"
    return f"http://{f'[{host}]' if ':' in host else host}:{port}/"


def configured(app: ASGIApp) -> uvicorn.Config:
    """How the application is served: limits, and few words."""
    return uvicorn.Config(
        app,
        http=Connection,
        ws="none",
        log_level="warning",
        access_log=False,
        server_header=False,
        proxy_headers=False,
        limit_concurrency=CONNECTIONS,
        timeout_graceful_shutdown=GRACE,
    )


def run(app: ASGIApp, listening: socket.socket) -> None:
    """Serve until Ctrl-C.

    Raises:
        KeyboardInterrupt: it ended that way.
    """
    where = address(listening)
    server = Announcing(
        configured(app), lambda: logger.info("explore at %s (Ctrl-C ends it)", where)
    )
    with listening:
        server.run(sockets=[listening])
