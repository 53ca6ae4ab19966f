"""Around the server's answers: who may ask, how much, and what a browser may do with it."""

from __future__ import annotations

import ipaddress
from collections.abc import Collection
from typing import Any
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from infopursuit.explorer.uploads import MAX_BYTES, too_large

LOCAL = "localhost"
HEADERS = {
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), microphone=(), geolocation=()",
    "Cache-Control": "no-store",
}


class Guard:
    """Refuses other hosts, other sites and large bodies, and adds headers to every answer.

    A page of another site could let its own name lead to this machine (DNS rebinding), and would
    then be of the same site as this server. Its requests still carry that name: only addresses in
    numbers, `localhost` and names that were allowed are answered.

    Args:
        app: what answers.
        policy: the content security policy of the page.
        names: other names of this server.
    """

    def __init__(self, app: ASGIApp, policy: str, names: Collection[str] = ()) -> None:
        self.app = app
        self.headers = {**HEADERS, "Content-Security-Policy": f"{policy}; frame-ancestors 'none'"}
        self.names = {LOCAL, *(name.lower() for name in names)}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            await send(message)

        refused = self._refused(Headers(scope=scope))
        if refused is not None:
            status, reason = refused
            await JSONResponse({"error": reason}, status)(scope, receive, headed)
            return
        await self.app(scope, _limited(receive), headed)

    def _refused(self, headers: Headers) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._known(host):
            return 421, (
                f"This server is not called {host[:100]!r}; start it with --allow and that name."
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return 403, "The request comes from a page of another site."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > MAX_BYTES:
            return 413, str(too_large())
        return None

    def _known(self, host: str) -> bool:
        name = urlsplit(f"//{host}").hostname if _splits(host) else None
        if name is None:
            return False
        if name in self.names:
            return True
        try:
            ipaddress.ip_address(name)
        except ValueError:
            return False
        return True


def _splits(host: str) -> bool:
    try:
        return urlsplit(f"//{host}").netloc == host and "@" not in host
    except ValueError:
        return False


def _limited(receive: Receive) -> Receive:
    """The same body, as long as it keeps to the limit; its length need not have been told."""
    taken = 0

    async def limited() -> Message:
        nonlocal taken
        message: Any = await receive()
        taken += len(message.get("body", b""))
        if taken > MAX_BYTES:
            raise HTTPException(413, str(too_large()))
        return message

    return limited
