"""Around the server's answers: who may ask, how much, and what a browser may do with it."""

from __future__ import annotations

import asyncio
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
# Where pictures are sent. All else that is sent is JSON, and is read all at once.
PICTURES = "/api/images"
MAX_JSON_BYTES = 2_000_000
# Bytes of all requests that are being answered: each may wait for those before it.
MAX_BYTES_AT_ONCE = 20 * MAX_BYTES
# Seconds for the body of a request: 20 MB over 1.4 Mbit/s.
BODY_SECONDS = 120.0
# An answer leaves in pieces, so that what a client does not take yet is not copied for it.
PIECE = 1 << 16
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
        self.held = 0  # bytes of the bodies of requests that are being answered

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def headed(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(self.headers)
            elif message["type"] == "http.response.body":
                body, more = memoryview(message.get("body", b"")), message.get("more_body", False)
                while len(body) > PIECE:
                    piece, body = body[:PIECE], body[PIECE:]
                    await send({"type": message["type"], "body": piece, "more_body": True})
                message = {"type": message["type"], "body": body, "more_body": more}
            await send(message)

        most = MAX_BYTES if scope["path"] == PICTURES else MAX_JSON_BYTES
        refused = self._refused(Headers(scope=scope), most)
        if refused is not None:
            status, reason = refused
            await JSONResponse({"error": reason}, status)(scope, receive, headed)
            return
        body = _Body(self, receive, most)
        try:
            await self.app(scope, body.receive, headed)
        finally:
            self.held -= body.taken

    def _refused(self, headers: Headers, most: int) -> tuple[int, str] | None:
        host = headers.get("host", "")
        if not self._known(host):
            return 421, (
                f"This server is not called {host[:100]!r}; start it with --allow and that name."
            )
        origin = headers.get("origin")
        if origin is not None and origin.partition("://")[2].lower() != host.lower():
            return 403, "The request comes from a page of another site."
        length = headers.get("content-length", "0")
        if not length.isdecimal() or int(length) > most:
            return 413, str(too_large(most))
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


class _Body:
    """The body of a request, as long as it keeps to the limits; its length need not be told."""

    def __init__(self, guard: Guard, receive: Receive, most: int) -> None:
        self.guard = guard
        self.source = receive
        self.most = most
        self.taken = 0
        self.whole = False
        self.ends = asyncio.get_running_loop().time() + BODY_SECONDS

    async def receive(self) -> Message:
        """The next part; after the last one, that the client has left."""
        if self.whole:
            return await self.source()
        try:
            async with asyncio.timeout_at(self.ends):
                message: Any = await self.source()
        except TimeoutError as error:
            reason = f"The request took longer than {BODY_SECONDS:.0f} seconds to arrive."
            raise HTTPException(408, reason, {"Connection": "close"}) from error
        size = len(message.get("body", b""))
        self.taken += size
        self.guard.held += size
        self.whole = not message.get("more_body", False)
        if self.taken > self.most:
            raise HTTPException(413, str(too_large(self.most)))
        if self.guard.held > MAX_BYTES_AT_ONCE:
            raise HTTPException(503, "The server has too much to do; try again in a moment.")
        return message
