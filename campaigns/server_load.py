"""The explorer's server under people and attackers at once.

    python -m campaigns.server_load

Honest clients do what the page does: load it, think, ask for steps, send a picture. Every answer
has to be that of an idle server. Attackers drip the heads and the bodies of requests, read answers
slowly, and send bodies without an end, bombs and garbage. The promise: no honest request fails, and
memory stays flat.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import itertools
import json
import os
import random
import re
import socket
import subprocess
import sys
import tempfile
import time
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from urllib.parse import urlsplit

import httpx
import numpy as np
from PIL import Image

import infopursuit
from campaigns import write_tables
from infopursuit.explorer.server import MAX_BYTES
from tests.clip.conftest import write_tiny_clip
from tests.estimators.test_pictures import write_folder
from tests.explorer.test_server import bomb

ADDRESS = re.compile(r"explore at (http://127\.0\.0\.1:\d+/) ")
# Memory may grow by so much between the second quarter of a long run and its end.
GROWTH = 0.05
KINDS = ("page", "payload", "steps", "small picture", "photo")


@dataclass
class Run:
    """What is run, and for how long.

    Attributes:
        thinking: the longest time between two requests of a person, in seconds.
        photo: width and height of the large pictures that are sent.
    """

    seconds: float
    clients: int
    thinking: float
    drips: int
    slow_bodies: int
    slow_readers: int
    photo: tuple[int, int]


LONG = Run(600, 32, 4.0, 64, 16, 8, (4000, 3000))
SHORT = Run(5, 8, 0.3, 16, 4, 2, (600, 400))


@dataclass
class Found:
    """What happened."""

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    again: int = 0
    attacks: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)  # seconds, MB
    complaints: list[str] = field(default_factory=list)

    def growth(self) -> float:
        """How much larger the memory of the last quarter is than that of the second, as a share."""
        end = self.memory[-1][0]
        quarters = [
            float(np.median([mb for at, mb in self.memory if low * end <= at <= high * end]))
            for low, high in ((0.25, 0.5), (0.75, 1.0))
        ]
        return quarters[1] / quarters[0] - 1

    def slope(self) -> float:
        """MB a minute, fitted to all but the first quarter."""
        late = [each for each in self.memory if each[0] >= self.memory[-1][0] / 4]
        return float(np.polyfit(*np.array(late).T, 1)[0] * 60)


def main() -> int:
    """Run for ten minutes; 1 where the promise is broken."""
    found = campaign(LONG)
    rows = [
        [kind, f"{len(times):,}", *(f"{1000 * each:,.0f} ms" for each in _percentiles(times))]
        for kind, times in ((kind, found.seconds[kind]) for kind in KINDS)
    ]
    memory = [mb for _, mb in found.memory]
    attacks = "; ".join(f"{count:,} times {name}" for name, count in sorted(found.attacks.items()))
    write_tables(
        "server_load",
        ["request", "answered", "median", "95 %", "99 %", "longest"],
        rows,
        f"{LONG.clients} clients for {LONG.seconds / 60:.0f} minutes on two cores, which the "
        "server shares with clients, attackers and other work (a load of "
        f"{os.getloadavg()[2]:.0f} in the last 15 minutes). Failed or wrong answers: "
        f"{len(found.failures)}. Asked again after the server had closed an idle connection, as "
        f"browsers do: {found.again}. "
        f"Memory of the server: {memory[0]:.0f} MB at the beginning, {max(memory):.0f} MB at most, "
        f"{memory[-1]:.0f} MB at the end, {found.slope():+.2f} MB a minute after the first quarter."
        f"\n\nAt the same time: {attacks}.",
    )
    for each in (*found.failures[:20], *found.complaints[:20]):
        print(each)
    print(f"growth {found.growth():+.1%}, slope {found.slope():+.2f} MB a minute, {found.attacks}")
    return int(bool(found.failures or found.complaints) or found.growth() > GROWTH)


def _percentiles(times: list[float]) -> list[float]:
    return [float(each) for each in np.percentile(times, (50, 95, 99, 100))]


def campaign(run: Run) -> Found:
    """Start a server, and let people and attackers at it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tiny_clip(folder / "clip")
        photos = write_folder(folder / "photos", 8)
        texts = infopursuit.texts.visual_vocabulary()[:64]
        infopursuit.fit(photos, texts=texts, clip=folder / "clip").save(folder / "model")
        with _serving(folder / "model", photos, folder / "log") as (process, address):
            found = asyncio.run(people_and_attackers(run, process.pid, address, photos))
        log = (folder / "log").read_text(encoding="utf-8")
        found.complaints = [
            each.strip().splitlines()[-1] for each in log.split("Traceback (most recent")[1:]
        ]
    return found


@contextlib.contextmanager
def _serving(model: Path, photos: Path, log: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    command = [sys.executable, "-m", "infopursuit", "serve", "--port", "0", "--device", "cpu"]
    with log.open("w") as written:
        process = subprocess.Popen(
            [*command, "--model", str(model), "--images", str(photos)], stderr=written
        )
    try:
        while (found := ADDRESS.search(log.read_text(encoding="utf-8"))) is None:
            if process.poll() is not None:
                raise RuntimeError(log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        yield process, found[1]
    finally:
        process.terminate()
        process.wait(60)


async def people_and_attackers(run: Run, pid: int, address: str, photos: Path) -> Found:
    """Let them at the server of process `pid`."""
    found = Found()
    ends = time.monotonic() + run.seconds
    pictures = {"small picture": next(iter(sorted(photos.rglob("*.png")))).read_bytes()}
    pictures["photo"] = _photo(*run.photo)
    async with _browser(address) as browser:
        expected = {kind: await _asked(browser, kind, pictures) for kind in KINDS}
    attacks: list[Attack] = [_untold, _malformed]
    attacks += [_drip] * run.drips + [_slow_body] * run.slow_bodies
    attacks += [_slow_reader] * run.slow_readers
    attackers = [asyncio.create_task(_again(each, run, found, address)) for each in attacks]
    people = [
        _person(run, found, address, pictures, expected, seed, ends) for seed in range(run.clients)
    ]
    await asyncio.gather(_watch(pid, found, ends), *people)
    while not {"a body without an end", "bombs and garbage"} <= set(found.attacks):
        await asyncio.sleep(0.05)
        if any(each.done() for each in attackers):
            break
    for each in attackers:
        each.cancel()
    ended = await asyncio.gather(*attackers, return_exceptions=True)
    found.failures += [repr(each) for each in ended if isinstance(each, Exception)]
    return found


def _photo(width: int, height: int) -> bytes:
    """A JPEG of some megabytes."""
    coarse = np.random.default_rng(0).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    file = io.BytesIO()
    Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC).save(
        file, "JPEG", quality=92
    )
    return file.getvalue()


async def _watch(pid: int, found: Found, ends: float) -> None:
    """Sample the memory of the server."""
    began = time.monotonic()
    status = Path(f"/proc/{pid}/status")
    while time.monotonic() < ends:
        resident = re.search(r"VmRSS:\s+(\d+) kB", status.read_text())
        assert resident is not None, "the server has ended"
        found.memory.append((time.monotonic() - began, int(resident[1]) / 1024))
        await asyncio.sleep(0.5)


# People.


@contextlib.asynccontextmanager
async def _browser(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, timeout=120) as client:
        yield client


async def _person(
    run: Run,
    found: Found,
    address: str,
    pictures: dict[str, bytes],
    expected: dict[str, str],
    seed: int,
    ends: float,
) -> None:
    draws = random.Random(seed)
    async with _browser(address) as browser:
        for _ in itertools.count():
            for kind in ("page", *draws.choices(KINDS[1:], weights=(1, 10, 4, 1), k=8)):
                await asyncio.sleep(draws.uniform(0, run.thinking))
                if time.monotonic() >= ends:
                    return
                began = time.monotonic()
                try:
                    answer = await _as_browsers_ask(found, browser, kind, pictures)
                except (httpx.HTTPError, AssertionError) as error:
                    found.failures.append(f"{kind}: {type(error).__name__}: {error}")
                    continue
                found.seconds[kind].append(time.monotonic() - began)
                if answer != expected[kind]:
                    found.failures.append(f"{kind}: another answer than that of the idle server")


async def _as_browsers_ask(
    found: Found, browser: httpx.AsyncClient, kind: str, pictures: dict[str, bytes]
) -> str:
    """A server may close a connection that is idle; browsers then ask once more."""
    try:
        return await _asked(browser, kind, pictures)
    except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
        found.again += 1
        return await _asked(browser, kind, pictures)


async def _asked(browser: httpx.AsyncClient, kind: str, pictures: dict[str, bytes]) -> str:
    if kind == "page":
        response = await browser.get("/")
    elif kind == "payload":
        response = await browser.get("/api/payload")
    elif kind == "steps":
        histories = [[{"query": query, "answer": 1} for query in range(n)] for n in range(20)]
        response = await browser.post("/api/steps", json={"model": 0, "histories": histories})
    else:
        response = await browser.post("/api/images", content=pictures[kind])
    assert response.status_code == 200, f"status {response.status_code}: {response.text[:200]}"
    return response.text


# Attackers. Each returns when it was cut off, and says by which of its ways.

Attack = Callable[[Run, str], Awaitable[str]]


async def _again(attack: Attack, run: Run, found: Found, address: str) -> None:
    while True:
        try:
            found.attacks[await attack(run, address)] += 1
        except OSError as error:
            found.attacks[f"refused a connection ({type(error).__name__})"] += 1
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def _connected(
    address: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        yield reader, writer
    finally:
        writer.transport.abort()


async def _drip(run: Run, address: str) -> str:
    async with _connected(address) as (reader, writer):
        await _dripped(reader, writer, b"GET / HTTP/1.1\r\nHost: localhost\r\nX: " + b"x" * 10**4)
    return "a head that drips"


async def _slow_body(run: Run, address: str) -> str:
    async with _connected(address) as (reader, writer):
        writer.write(
            b"POST /api/images HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9000000\r\n\r\n"
        )
        await _dripped(reader, writer, bytes(10**4))
    return "a body that drips"


async def _dripped(
    reader: asyncio.StreamReader, writer: asyncio.StreamWriter, content: bytes
) -> None:
    """Send a byte now and then, until the server closes the connection."""
    with contextlib.suppress(ConnectionError):
        for byte in content:
            if reader.at_eof():
                return
            writer.write(bytes([byte]))
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(4096), 0.5)


async def _slow_reader(run: Run, address: str) -> str:
    parts = urlsplit(address)
    loop = asyncio.get_running_loop()
    with socket.socket() as small:
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        small.setblocking(False)
        await loop.sock_connect(small, (parts.hostname, parts.port))
        with contextlib.suppress(ConnectionError):
            request = b"GET / HTTP/1.1\r\nHost: localhost\r\n"
            last = b"Connection: close\r\n\r\n"
            await loop.sock_sendall(small, (request + b"\r\n") * 100 + request + last)
            began = time.monotonic()
            while await loop.sock_recv(small, 100 if time.monotonic() < began + 45 else 1 << 20):
                await asyncio.sleep(0.5 if time.monotonic() < began + 45 else 0)
    return "an answer that is read slowly"


async def _untold(run: Run, address: str) -> str:
    """A body without a length or an end."""
    async with _connected(address) as (reader, writer):
        writer.write(
            b"POST /api/images HTTP/1.1\r\nHost: localhost\r\nTransfer-Encoding: chunked\r\n\r\n"
        )
        with contextlib.suppress(ConnectionError):
            for _ in range(2 * MAX_BYTES // 10**6):
                writer.write(b"f4240\r\n" + bytes(10**6) + b"\r\n")
                await writer.drain()
            head = await asyncio.wait_for(reader.readline(), 60)
            assert b" 413 " in head, head
    await asyncio.sleep(min(2.0, run.seconds / 10))
    return "a body without an end"


async def _malformed(run: Run, address: str) -> str:
    """What is no picture, no question or no HTTP."""
    attacks = {
        "/api/images": [bomb(20_000, 20_000), b"GIF89a", bytes(10**6), bytes(MAX_BYTES + 1)],
        "/api/steps": [
            b"[" * 10**5,
            b'{"model": 0, "histories": [' + b"[]," * 10**6 + b"[]]}",
            json.dumps({"model": 0, "histories": [[{"query": 10**30, "answer": 1}]]}).encode(),
        ],
    }
    async with _browser(address) as browser:
        for path, contents in attacks.items():
            for content in contents:
                with contextlib.suppress(httpx.TransportError):
                    headers = {"Content-Type": "application/json"}
                    response = await browser.post(path, content=content, headers=headers)
                    assert 400 <= response.status_code < 500, (path, response.status_code)
    async with _connected(address) as (reader, writer):
        with contextlib.suppress(ConnectionError):
            # The end of a head: without it the server waits for the rest.
            writer.write(random.Random(0).randbytes(1000) + b"\r\n\r\n")
            await reader.read()
    await asyncio.sleep(min(2.0, run.seconds / 10))
    return "bombs and garbage"


if __name__ == "__main__":
    sys.exit(main())
