"""The explorer's server under users and attackers at once.

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
# Memory may grow by this share between the second quarter of a long run and its end.
GROWTH = 0.05
# What users ask for, and how often after the page.
KINDS = {"page": 0, "payload": 1, "steps": 10, "small picture": 4, "photo": 1}
HISTORIES = [[{"query": query, "answer": 1} for query in range(n)] for n in range(20)]


@dataclass(frozen=True)
class Load:
    """What is run, and for how long.

    Attributes:
        seconds: of the run.
        clients: users at once.
        thinking: the longest time between two requests of a user, in seconds.
        drips, slow_bodies, slow_readers: attackers of each kind.
        photo: width and height of the large pictures that are sent.
    """

    seconds: float
    clients: int
    thinking: float
    drips: int
    slow_bodies: int
    slow_readers: int
    photo: tuple[int, int]


LONG = Load(600, 32, 4.0, 64, 16, 8, (4000, 3000))
SHORT = Load(5, 8, 0.3, 16, 4, 2, (600, 400))


@dataclass
class Record:
    """What happened.

    Attributes:
        seconds: of the answers to each kind of request.
        failures: of honest requests, a sentence each.
        retries: after the server had closed an idle connection.
        attacks: how often each ended.
        memory: of the server: seconds since the start, and MB.
        complaints: the last lines of tracebacks in the server's log.
    """

    seconds: dict[str, list[float]] = field(default_factory=lambda: defaultdict(list))
    failures: list[str] = field(default_factory=list)
    retries: int = 0
    attacks: Counter[str] = field(default_factory=Counter)
    memory: list[tuple[float, float]] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)

    def growth(self) -> float:
        """Return by which share the memory of the last quarter exceeds that of the second."""
        end = self.memory[-1][0]
        second, last = (
            np.median([mb for at, mb in self.memory if low * end <= at <= (low + 0.25) * end])
            for low in (0.25, 0.75)
        )
        return float(last / second - 1)

    def slope(self) -> float:
        """Return MB a minute, fitted to all but the first quarter."""
        late = [sample for sample in self.memory if sample[0] >= self.memory[-1][0] / 4]
        return float(np.polyfit(*np.array(late).T, 1)[0] * 60)


def main() -> int:
    """Run for ten minutes; return 1 if the promise is broken."""
    record = campaign(LONG)
    rows = []
    for kind in KINDS:
        times = record.seconds[kind]
        percentiles = np.percentile(times, (50, 95, 99, 100))
        rows.append(
            [kind, f"{len(times):,}", *(f"{1000 * value:,.0f} ms" for value in percentiles)]
        )
    memory = [mb for _, mb in record.memory]
    attacks = "; ".join(f"{count:,} times {name}" for name, count in sorted(record.attacks.items()))
    note = (
        f"{LONG.clients} clients for {LONG.seconds / 60:.0f} minutes on two cores, which the "
        "server shares with clients, attackers and other work (a load of "
        f"{os.getloadavg()[2]:.0f} in the last 15 minutes). Failed or wrong answers: "
        f"{len(record.failures)}. Asked again after the server had closed an idle connection, as "
        f"browsers do: {record.retries}. "
        f"Memory of the server: {memory[0]:.0f} MB at the beginning, {max(memory):.0f} MB at most, "
        f"{memory[-1]:.0f} MB at the end, {record.slope():+.2f} MB a minute after the first "
        "quarter."
        f"\n\nAt the same time: {attacks}."
    )
    header = ["request", "answered", "median", "95 %", "99 %", "longest"]
    write_tables("server_load", header, rows, note)
    for line in (*record.failures[:20], *record.complaints[:20]):
        print(line)
    print(f"growth {record.growth():+.1%}, slope {record.slope():+.2f} MB a minute")
    return int(bool(record.failures or record.complaints) or record.growth() > GROWTH)


def campaign(load: Load) -> Record:
    """Start a server, and let users and attackers at it."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_tiny_clip(folder / "clip")
        photos = write_folder(folder / "photos", 8)
        texts = infopursuit.texts.visual_vocabulary()[:64]
        infopursuit.fit(photos, texts=texts, clip=folder / "clip").save(folder / "model")
        with _serving(folder / "model", photos, folder / "log") as (process, address):
            record = asyncio.run(users_and_attackers(load, process.pid, address, photos))
        tracebacks = (folder / "log").read_text("utf-8").split("Traceback (most recent")[1:]
        record.complaints = [text.strip().splitlines()[-1] for text in tracebacks]
    return record


@contextlib.contextmanager
def _serving(model: Path, photos: Path, log: Path) -> Iterator[tuple[subprocess.Popen, str]]:
    command = [sys.executable, "-m", "infopursuit", "serve", "--port", "0", "--device", "cpu"]
    command += ["--model", str(model), "--images", str(photos)]
    with log.open("w") as output:
        process = subprocess.Popen(command, stderr=output)
    try:
        while (match := ADDRESS.search(log.read_text(encoding="utf-8"))) is None:
            if process.poll() is not None:
                raise RuntimeError(log.read_text(encoding="utf-8"))
            time.sleep(0.05)
        yield process, match[1]
    finally:
        process.terminate()
        process.wait(60)


async def users_and_attackers(load: Load, pid: int, address: str, photos: Path) -> Record:
    """Let users and attackers at the server of process `pid`."""
    record = Record()
    end = time.monotonic() + load.seconds
    pictures = {"small picture": min(photos.rglob("*.png")).read_bytes()}
    pictures["photo"] = _photo(*load.photo)
    async with _browser(address) as browser:
        expected = {kind: await _request(browser, kind, pictures) for kind in KINDS}
    attacks: list[Attack] = [_endless, _malformed, *[_drip_head] * load.drips]
    attacks += [_drip_body] * load.slow_bodies + [_read_slowly] * load.slow_readers
    attackers = [asyncio.create_task(_repeat(attack, load, record, address)) for attack in attacks]
    users = [
        _use(load, record, address, pictures, expected, seed, end) for seed in range(load.clients)
    ]
    await asyncio.gather(_watch(pid, record, end), *users)
    # Each of the two quick attacks has to end once.
    while len({"a body without an end", "bombs and garbage"} & set(record.attacks)) < 2:
        await asyncio.sleep(0.05)
        if any(attacker.done() for attacker in attackers):
            break
    for attacker in attackers:
        attacker.cancel()
    ended = await asyncio.gather(*attackers, return_exceptions=True)
    record.failures += [repr(error) for error in ended if isinstance(error, Exception)]
    return record


def _photo(width: int, height: int) -> bytes:
    """Return a JPEG of some megabytes."""
    coarse = np.random.default_rng(0).integers(0, 256, (height // 8, width // 8, 3), np.uint8)
    photo = Image.fromarray(coarse).resize((width, height), Image.Resampling.BICUBIC)
    file = io.BytesIO()
    photo.save(file, "JPEG", quality=92)
    return file.getvalue()


async def _watch(pid: int, record: Record, end: float) -> None:
    """Sample the memory of the server."""
    start = time.monotonic()
    while time.monotonic() < end:
        resident = re.search(r"VmRSS:\s+(\d+) kB", Path(f"/proc/{pid}/status").read_text())
        assert resident is not None, "the server has ended"
        record.memory.append((time.monotonic() - start, int(resident[1]) / 1024))
        await asyncio.sleep(0.5)


# Users.


@contextlib.asynccontextmanager
async def _browser(address: str) -> AsyncIterator[httpx.AsyncClient]:
    async with httpx.AsyncClient(base_url=address, timeout=120) as client:
        yield client


async def _use(
    load: Load,
    record: Record,
    address: str,
    pictures: dict[str, bytes],
    expected: dict[str, str],
    seed: int,
    end: float,
) -> None:
    draw = random.Random(seed)
    async with _browser(address) as browser:
        while True:
            for kind in ("page", *draw.choices(list(KINDS), list(KINDS.values()), k=8)):
                await asyncio.sleep(draw.uniform(0, load.thinking))
                if time.monotonic() >= end:
                    return
                start = time.monotonic()
                try:
                    try:
                        answer = await _request(browser, kind, pictures)
                    except (httpx.RemoteProtocolError, httpx.ReadError, httpx.WriteError):
                        # A server may close an idle connection; browsers then ask once more.
                        record.retries += 1
                        answer = await _request(browser, kind, pictures)
                except (httpx.HTTPError, AssertionError) as error:
                    record.failures.append(f"{kind}: {type(error).__name__}: {error}")
                    continue
                record.seconds[kind].append(time.monotonic() - start)
                if answer != expected[kind]:
                    record.failures.append(f"{kind}: another answer than that of the idle server")


async def _request(browser: httpx.AsyncClient, kind: str, pictures: dict[str, bytes]) -> str:
    if kind in ("page", "payload"):
        response = await browser.get("/" if kind == "page" else "/api/payload")
    elif kind == "steps":
        body = {"model": 0, "histories": HISTORIES}
        response = await browser.post("/api/steps", json=body)
    else:
        response = await browser.post("/api/images", content=pictures[kind])
    assert response.status_code == 200, f"status {response.status_code}: {response.text[:200]}"
    return response.text


# Attackers. Each returns its name when the server has cut it off or answered.

Attack = Callable[[Load, str], Awaitable[str]]
POST = b"POST /api/images HTTP/1.1\r\nHost: localhost\r\n"
GET = b"GET / HTTP/1.1\r\nHost: localhost\r\n"


async def _repeat(attack: Attack, load: Load, record: Record, address: str) -> None:
    while True:
        try:
            record.attacks[await attack(load, address)] += 1
        except OSError as error:
            record.attacks[f"refused a connection ({type(error).__name__})"] += 1
            await asyncio.sleep(0.1)


@contextlib.asynccontextmanager
async def _connected(
    address: str,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    """Open a connection; an error of it ends the attack."""
    parts = urlsplit(address)
    reader, writer = await asyncio.open_connection(parts.hostname, parts.port)
    try:
        with contextlib.suppress(ConnectionError):
            yield reader, writer
    finally:
        writer.transport.abort()


async def _drip(address: str, start: bytes, rest: bytes) -> None:
    """Send the start of a request, then a byte now and then until the server hangs up."""
    async with _connected(address) as (reader, writer):
        writer.write(start)
        for byte in rest:
            if reader.at_eof():
                return
            writer.write(bytes([byte]))
            await writer.drain()
            with contextlib.suppress(TimeoutError):
                await asyncio.wait_for(reader.read(4096), 0.5)


async def _drip_head(load: Load, address: str) -> str:
    await _drip(address, b"", GET + b"X: " + b"x" * 10**4)
    return "a head that drips"


async def _drip_body(load: Load, address: str) -> str:
    await _drip(address, POST + b"Content-Length: 9000000\r\n\r\n", bytes(10**4))
    return "a body that drips"


async def _read_slowly(load: Load, address: str) -> str:
    parts = urlsplit(address)
    loop = asyncio.get_running_loop()
    with socket.socket() as small:
        small.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        small.setblocking(False)
        await loop.sock_connect(small, (parts.hostname, parts.port))
        with contextlib.suppress(ConnectionError):
            requests = (GET + b"\r\n") * 100 + GET + b"Connection: close\r\n\r\n"
            await loop.sock_sendall(small, requests)
            start = time.monotonic()
            while await loop.sock_recv(small, 100 if time.monotonic() < start + 45 else 1 << 20):
                await asyncio.sleep(0.5 if time.monotonic() < start + 45 else 0)
    return "an answer that is read slowly"


async def _endless(load: Load, address: str) -> str:
    """Send a body without a length or an end."""
    async with _connected(address) as (reader, writer):
        writer.write(POST + b"Transfer-Encoding: chunked\r\n\r\n")
        for _ in range(2 * MAX_BYTES // 10**6):
            writer.write(b"f4240\r\n" + bytes(10**6) + b"\r\n")
            await writer.drain()
        head = await asyncio.wait_for(reader.readline(), 60)
        assert b" 413 " in head, head
    await asyncio.sleep(min(2.0, load.seconds / 10))
    return "a body without an end"


async def _malformed(load: Load, address: str) -> str:
    """Send bodies that are not a picture, not a question or not HTTP."""
    unknown = {"model": 0, "histories": [[{"query": 10**30, "answer": 1}]]}
    many = b'{"model": 0, "histories": [' + b"[]," * 10**6 + b"[]]}"
    attacks = {
        "/api/images": [bomb(20_000, 20_000), b"GIF89a", bytes(10**6), bytes(MAX_BYTES + 1)],
        "/api/steps": [b"[" * 10**5, many, json.dumps(unknown).encode()],
    }
    async with _browser(address) as browser:
        for path, content in ((path, body) for path, bodies in attacks.items() for body in bodies):
            with contextlib.suppress(httpx.TransportError):
                headers = {"Content-Type": "application/json"}
                response = await browser.post(path, content=content, headers=headers)
                assert 400 <= response.status_code < 500, (path, response.status_code)
    async with _connected(address) as (reader, writer):
        # The end of a head: without it the server waits for the rest.
        writer.write(random.Random(0).randbytes(1000) + b"\r\n\r\n")
        await reader.read()
    await asyncio.sleep(min(2.0, load.seconds / 10))
    return "bombs and garbage"


if __name__ == "__main__":
    sys.exit(main())
