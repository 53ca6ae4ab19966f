"""Slow clients: how long the server waits for them, and that they keep nobody out."""

from __future__ import annotations

import logging
import socket
from collections.abc import Iterator
from contextlib import ExitStack

import httpx
import pytest

from infopursuit.explorer.contents import contents
from infopursuit.explorer.described_model import Facts
from infopursuit.explorer.guard import Guard
from infopursuit.explorer.server import Served, server
from tests.explorer.made_up import STOP, images, naive_bayes
from tests.explorer.served import serving

HEAD = b"GET / HTTP/1.1\r\nHost: localhost\r\n\r\n"
BODY = b"POST /api/images HTTP/1.1\r\nHost: localhost\r\nContent-Length: 100\r\n\r\n"


@pytest.fixture(scope="module")
def app() -> Guard:
    pursuit = naive_bayes()
    content = contents([(pursuit, Facts("m", STOP))], images([pursuit]), served=True)
    return server([Served(pursuit, pursuit.answers)], content)  # type: ignore[arg-type]


@pytest.fixture
def address(app: Guard, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    monkeypatch.setattr("infopursuit.explorer.connections.PATIENCE", 0.5)
    monkeypatch.setattr("infopursuit.explorer.guard.BODY_SECONDS", 0.5)
    with serving(app) as address:
        yield address


def connected(address: str, content: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", httpx.URL(address).port), timeout=20)
    made.sendall(content)
    return made


def rest(connection: socket.socket) -> bytes:
    """All that comes until the server closes the connection."""
    parts = []
    try:
        while part := connection.recv(1 << 16):
            parts.append(part)
    except ConnectionResetError:
        pass
    return b"".join(parts)


@pytest.mark.parametrize("sent", [b"", HEAD[:20]], ids=["nothing", "half a head"])
def test_a_head_that_does_not_come_is_not_waited_for(address: str, sent: bytes) -> None:
    with connected(address, sent) as connection:
        assert rest(connection) == b""


def test_a_head_that_drips_gets_no_more_time(address: str) -> None:
    with connected(address) as connection:
        connection.settimeout(0.05)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(400):
                connection.sendall(b"X")
                try:
                    if not connection.recv(1):
                        raise BrokenPipeError
                except TimeoutError:
                    continue


def test_a_second_head_that_drips_is_not_waited_for(address: str) -> None:
    with connected(address, HEAD + HEAD[:20]) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 200 OK")


def test_a_body_that_drips_is_told_and_ended(address: str) -> None:
    with connected(address, BODY + b"half") as connection:
        told = rest(connection)
    assert told.startswith(b"HTTP/1.1 408 ")
    assert b"longer than" in told


def test_what_is_sent_after_a_refusal_gets_no_more_time(address: str) -> None:
    much = BODY.replace(b"100", b"99999999")
    with connected(address, much) as connection:
        assert rest(connection).startswith(b"HTTP/1.1 413 ")


def test_an_answer_that_nobody_reads_is_not_kept(address: str) -> None:
    with connected(address) as connection:
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        with pytest.raises((BrokenPipeError, ConnectionResetError)):
            for _ in range(10_000):  # the answers fill all buffers, then the requests do
                connection.sendall(HEAD * 100)


def test_connections_that_wait_make_room(
    app: Guard, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("infopursuit.explorer.serving.CONNECTIONS", 8)
    caplog.set_level(logging.WARNING)
    with serving(app) as address, ExitStack() as open_ones:
        silent = [open_ones.enter_context(connected(address, HEAD[:20])) for _ in range(20)]
        assert httpx.get(address, timeout=20).status_code == 200
        assert rest(silent[0]) == b""  # it has waited longest
    assert not caplog.messages


def test_a_client_that_leaves_is_no_fault(address: str, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING)
    connected(address, BODY + b"half").close()
    assert httpx.get(address).status_code == 200
    assert not caplog.messages
