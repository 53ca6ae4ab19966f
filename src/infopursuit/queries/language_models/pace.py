"""When the next request to a server may start, and how many run at once, as its replies say."""

from __future__ import annotations

import contextlib
import re
import threading
import time
from collections.abc import Mapping
from datetime import datetime
from email.utils import parsedate_to_datetime
from typing import NamedTuple

# How long a server wants to be left alone: in its headers, and in the words of an error.
WAIT_HEADERS = {"retry-after-ms": "ms", "x-ms-retry-after-ms": "ms", "retry-after": "s"}
_WAIT = re.compile(
    r"(?:(?:try again|retry) (?:in|after)|retryDelay\W+)\s*"
    r"(?:(\d+)\s*m(?!s)(?:in\w*)?\s*)?(?:(\d+(?:\.\d+)?)\s*(ms)?)?",
    re.IGNORECASE,
)


class StoppedError(Exception):
    """Another request has failed for good."""


class Reply(NamedTuple):
    """What a server sent: the status, that of an error in a 200 too, the text, the headers."""

    status: int
    text: str
    headers: Mapping[str, str]
    sent: int


class Pace:
    """How many requests run at once, and from when on the next may start.

    The first request goes alone, so that only one meets what a server refuses. Where a server has
    too much to do, half as many go on; with every few answers it is one more.
    """

    def __init__(self, most: int) -> None:
        """Set the most requests that run at once."""
        self._limit = most
        self._changed = threading.Condition()
        self._most, self._running = 1, 0
        self._not_before = self._slowed = 0.0
        self._since = 0  # answers since the number was changed
        self.answered = 0

    def enter(self, stopped: threading.Event) -> None:
        """Wait until one more request may run."""
        with self._changed:
            while not stopped.is_set():
                pause = self._not_before - time.monotonic()
                if pause <= 0 and self._running < self._most:
                    self._running += 1
                    return
                self._changed.wait(pause if pause > 0 else None)
        raise StoppedError

    def leave(self, answered: bool = False) -> None:
        """Count a request that has ended."""
        with self._changed:
            self._running -= 1
            if answered:
                self.answered += 1
                self._since += 1
                if self.answered == 1:
                    self._most = self._limit
                elif self._since >= 4 * self._most and self._most < self._limit:
                    self._most, self._since = self._most + 1, 0
            self._changed.notify_all()

    def slow_down(self, sent: float, wait: float = 0.0) -> None:
        """Let fewer run, if the request was sent since that was done, and none for `wait` s."""
        with self._changed:
            now = time.monotonic()
            self._not_before = max(self._not_before, now + wait)
            if sent > self._slowed:
                self._most, self._since = max(self._most // 2, 1), 0
                self._slowed = now
            self._changed.notify_all()

    def wake(self) -> None:
        """Let those that wait see that they are stopped."""
        with self._changed:
            self._changed.notify_all()


def wanted_pause(reply: Reply) -> float | None:
    """Return how many seconds a server wants to be left alone; None if it does not say."""
    for name, unit in WAIT_HEADERS.items():
        value = reply.headers.get(name, "").strip()
        if not value:
            continue
        number = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(ms|s)?", value)
        if number is not None:
            return float(number[1]) / (1000 if (number[2] or unit) == "ms" else 1)
        with contextlib.suppress(ValueError, TypeError):
            date = reply.headers.get("date")
            now = datetime.now().astimezone() if date is None else parsedate_to_datetime(date)
            # Both are cut to whole seconds.
            return max((parsedate_to_datetime(value) - now).total_seconds(), 0.0) + 1.0
    said = _WAIT.search(reply.text)
    if said is None or not (said[1] or said[2]):
        return None
    return 60 * float(said[1] or 0) + float(said[2] or 0) / (1000 if said[3] else 1)
