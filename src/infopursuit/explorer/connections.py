"""Connections that may be slow, but not for ever, and that do not keep others out."""

from __future__ import annotations

import asyncio
from typing import Any

from uvicorn.protocols.http.h11_impl import H11Protocol

# Connections at once. A browser keeps up to six open.
CONNECTIONS = 512
# Seconds for the head of a request, counted from the connection or the last answer; and for the
# client to take what waits for it, some 64 KiB.
PATIENCE = 30.0


class Connection(H11Protocol):
    """A connection of a client, closed where it takes longer than `PATIENCE`.

    uvicorn alone waits for ever for a client that sends or reads a byte now and then, and where
    there are as many as it takes, it refuses all others. Here the one that has waited longest
    without a request makes room.
    """

    def __init__(self, *args: Any, **more: Any) -> None:
        super().__init__(*args, **more)
        # Until when a whole head has to be there; None while an answer is under way.
        self._head_by: asyncio.TimerHandle | None = None
        self._taken_by: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Begin to wait for a request, and make room for one more connection."""
        assert isinstance(transport, asyncio.Transport)
        super().connection_made(transport)
        self._wait()
        limit = self.limit_concurrency
        if limit is not None and len(self.connections) >= limit:
            waiting = [
                (each._head_by.when(), id(each), each)
                for each in self.connections
                if isinstance(each, Connection) and each._head_by is not None and each is not self
            ]
            if waiting:
                longest = min(waiting)[-1]
                longest._head_by = _cancelled(longest._head_by)
                # At once: many may come before the loop tells that this one is lost.
                self.connections.discard(longest)
                longest.transport.abort()

    def data_received(self, data: bytes) -> None:
        """Take bytes; they give no more time for a head that is not whole."""
        super().data_received(data)
        self._wait()

    def on_response_complete(self) -> None:
        """Begin to wait for the next request."""
        super().on_response_complete()
        self._wait()

    def pause_writing(self) -> None:
        """Begin to wait for a client that reads slowly."""
        super().pause_writing()
        self._taken_by = self.loop.call_later(PATIENCE, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on with a client that has read."""
        super().resume_writing()
        self._taken_by = _cancelled(self._taken_by)

    def connection_lost(self, exc: Exception | None) -> None:
        """Wait for nothing any more."""
        super().connection_lost(exc)
        self._head_by, self._taken_by = _cancelled(self._head_by), _cancelled(self._taken_by)

    def _wait(self) -> None:
        """Set the time for the next head, unless it is set, or an answer is under way."""
        if self.cycle is not None and not self.cycle.response_complete:
            self._head_by = _cancelled(self._head_by)
        elif self._head_by is None:
            self._head_by = self.loop.call_later(PATIENCE, self.transport.abort)


def _cancelled(timer: asyncio.TimerHandle | None) -> None:
    if timer is not None:
        timer.cancel()
