"""The server: what it answers, what it refuses, and that nothing it is sent goes further."""

from __future__ import annotations

import io
import json
import socket
import struct
import sys
import tempfile
import time
import zlib
from base64 import b64decode
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit

import httpx
import numpy as np
import pytest
import torch
from PIL import Image
from starlette.responses import HTMLResponse
from starlette.testclient import TestClient

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import (
    MAX_BYTES,
    MAX_PIXELS,
    MOST_VALUES,
    Guard,
    Served,
    Worker,
    address,
    bound,
    server,
)
from infopursuit.pursuit.prediction import prediction
from infopursuit.pursuit.pursuit import Pursuit
from tests.explorer.conftest import serving
from tests.explorer.made_up import STOP, images, naive_bayes, networks

LOCAL = "http://127.0.0.1:8000"
POSTED = ("images", "predict", "steps")


def seen(pursuit: Pursuit) -> Served:
    """A model whose CLIP looks at the mean colours alone."""

    def answer(pictures: Sequence[Image.Image]) -> torch.Tensor:
        means = [np.asarray(each, dtype=np.float32).mean(axis=(0, 1)) / 255 for each in pictures]
        mean = torch.from_numpy(np.stack(means))
        rows = torch.cat([mean, 1 - mean], dim=1)
        return pursuit.answers(rows / rows.norm(dim=1, keepdim=True))

    return Served(pursuit, answer, stop=STOP)


def application(model: Served, names: tuple[str, ...] = ()) -> Guard:
    content = contents((model.pursuit, Facts("m0", STOP)), images(model.pursuit), served=True)
    return server(model, content, names)


def client(model: Served, names: tuple[str, ...] = ()) -> TestClient:
    return TestClient(application(model, names), base_url=LOCAL, raise_server_exceptions=False)


@dataclass
class Slow:
    """A CLIP that has looked at pictures when a test says so; `sizes` has the widths of each batch.

    Attributes:
        working: set once the first pictures are there.
        ready: to be set by the test.
    """

    working: Event = field(default_factory=Event)
    ready: Event = field(default_factory=Event)
    sizes: list[list[int]] = field(default_factory=list)

    def __call__(self, pictures: Sequence[Image.Image]) -> torch.Tensor:
        self.sizes.append([each.width for each in pictures])
        self.working.set()
        assert self.ready.wait(30)
        return torch.ones(len(pictures), 9)


@pytest.fixture(scope="module")
def there() -> TestClient:
    """A client of a table."""
    return client(seen(naive_bayes()))


def encoded(kind: str, width: int = 40, height: int = 30, color: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), color).save(file, kind)
    return file.getvalue()


png = partial(encoded, "PNG")


def bomb(width: int, height: int) -> bytes:
    """A PNG of a few hundred bytes that claims `width` x `height` pixels."""

    def chunk(kind: bytes, content: bytes) -> bytes:
        check = zlib.crc32(kind + content)
        return struct.pack(">I", len(content)) + kind + content + struct.pack(">I", check)

    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    pixels = zlib.compress(bytes(1000))
    return (
        b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", pixels) + chunk(b"IEND", b"")
    )


def refused(response: object, status: int) -> str:
    """The one sentence of a refusal."""
    assert response.status_code == status, response.text  # type: ignore[attr-defined]
    content = response.json()  # type: ignore[attr-defined]
    assert list(content) == ["error"]
    assert "\n" not in content["error"]
    assert "Traceback" not in content["error"]
    return content["error"]


def test_the_page_and_its_payload_are_served(there: TestClient) -> None:
    page, content = there.get("/"), there.get("/api/payload")
    assert page.headers["content-type"] == "text/html; charset=utf-8"
    assert content.headers["content-type"] == "application/json"
    given = payload.read(content.text)
    assert given.served
    assert given.model.kind == "naive_bayes"
    assert content.text in page.text  # the same, inside the page


@pytest.mark.parametrize(
    "path",
    [
        "/",
        "/api/payload",
        "/api/schema.json",
        "/nothing",
        "/api/images",
        "/api/predict",
        "/api/steps",
    ],
)
def test_every_answer_has_the_headers(there: TestClient, path: str) -> None:
    headers = there.get(path).headers
    policy = headers["content-security-policy"]
    assert policy.startswith("default-src 'none'; script-src 'sha256-")
    assert "connect-src 'self'" in policy
    assert policy.endswith("frame-ancestors 'none'")
    assert "unsafe" not in policy
    assert headers["x-content-type-options"] == "nosniff"
    assert headers["x-frame-options"] == "DENY"
    assert headers["cache-control"] == "no-store"
    assert headers["referrer-policy"] == "no-referrer"
    assert "server" not in headers


@pytest.mark.parametrize(("model", "count"), [(naive_bayes(), 3), (networks(), 2)])
def test_a_picture_is_answered(model: Pursuit, count: int) -> None:
    there = client(seen(model))
    found = there.post("/api/images", content=png()).json()
    row = torch.tensor([[1.0, 0, 0, 0, 1, 1]]) / 3**0.5
    levels = ((count - 1) * model.answers(row)).int().numpy()
    assert found["answers"] == payload.levels(levels, count)
    assert found["thumbnail"].startswith("data:image/webp;base64,")
    assert found["id"].startswith("your image ")
    again = there.post("/api/images", content=png()).json()
    assert again == found
    assert there.post("/api/images", content=png(color="blue")).json()["id"] != found["id"]


@pytest.mark.parametrize("model", [naive_bayes(), networks()])
def test_a_form_with_a_picture_is_predicted_in_words(model: Pursuit) -> None:
    there = client(seen(model))
    for picture in (png(), png() + b"\r\n\r\n--x\r\n"):
        form = there.post("/api/predict", files={"image": ("a.png", picture, "image/png")})
        found = there.post("/api/predict", content=picture).json()
        assert form.json() == found
    assert list(found["predictions"]) == ["m0"]
    said = found["predictions"]["m0"]
    row = torch.tensor([[1.0, 0, 0, 0, 1, 1]]) / 3**0.5
    expected = model.explain(model.answers(row), STOP, ["any"])[0]
    assert said["class"] == expected.predicted_class
    assert [each["answer"] for each in said["answers"]] == list(expected.answers)
    no_file = there.post("/api/predict", files={"image": (None, "x")})
    assert "has no file" in refused(no_file, 400)
    head = {"content-type": "multipart/form-data"}
    assert "has no file" in refused(there.post("/api/predict", content=png(), headers=head), 400)


@pytest.mark.parametrize("model", [naive_bayes(), networks()])
def test_what_is_known_of_a_picture_and_which_classes_there_are(model: Pursuit) -> None:
    row = torch.tensor([[1.0, 0, 0, 0, 1, 1]]) / 3**0.5
    answers, known = model.answers(row), {"query 2": "yes", "query 5": "no"}
    asked = [("known", "query 2=yes"), ("known", "Query 5?=no"), ("among", "bus,zebra")]
    with serving(application(seen(model))) as address:
        url = f"{address}api/predict"
        for classes, given in ((None, asked[:2]), (["bus", "zebra"], asked)):
            found = httpx.post(url, params=given, content=png()).json()["predictions"]["m0"]
            view = model.given(known, classes)
            (expected,) = view.explain(answers, STOP, [found["image"]])
            assert found == json.loads(json.dumps(prediction(expected)))
        assert {each["class"] for each in found["top"]} == {"bus", "zebra"}
        assert [each["answer"] for each in found["known"]] == ["yes", "no"]
        plain = httpx.post(url, content=png()).json()["predictions"]["m0"]
        assert plain["known"] == []
        for given, message in (
            ({"known": "query 2"}, "'query 2'; expected QUESTION=ANSWER"),
            ({"known": "query 99=yes"}, "the model has no question 'query 99'"),
            ({"known": "=" * 9000}, "the model has no question ''"),
            ({"known": "query 2=perhaps"}, "the answer 'perhaps'"),
            ({"among": "bus,zebr"}, "no class 'zebr'; expected one such as 'zebra'"),
        ):
            assert message in refused(httpx.post(url, params=given, content=png()), 422)


def wait_until(holds: Callable[[], bool]) -> None:
    for _ in range(3000):
        if holds():
            return
        time.sleep(0.01)
    raise AssertionError("it does not come about")


def form(head: bytes, boundary: bytes = b"x") -> bytes:
    """A form of one part, whose head this is."""
    return (
        b"--" + boundary + b"\r\n" + head + b"\r\n\r\n" + png() + b"\r\n--" + boundary + b"--\r\n"
    )


FILE = b'Content-Disposition: form-data; name="image"; filename="a.png"'


@pytest.mark.parametrize("kind", ["boundary=x", 'boundary="x"', "charset=utf-8;Boundary=x; a=b"])
def test_the_boundary_of_a_form_is_found(there: TestClient, kind: str) -> None:
    head = {"content-type": f"multipart/form-data; {kind}"}
    expected = there.post("/api/predict", content=png()).json()
    for before in (b"", b"some words\r\n", b"--x\r\nContent-Disposition: form-data\r\n\r\nno\r\n"):
        found = there.post("/api/predict", content=before + form(FILE), headers=head)
        assert found.json() == expected


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("a=b;" * 8000, b"", 400),
        ("a0*=b;" * 5000, b"", 400),
        ("(" * 3000, b"", 400),
        ("(" * 150, b"", 400),
        ('boundary="' + "x" * 150, b"", 400),
        ("boundary=X", b"\r\n--X", 400),
        ("boundary=X", b"\r\n--X\r\n\r\n", 400),
        ("boundary=X", b"\r\n--", 400),
        ("boundary=x", form(b"x: y"), 400),
        ("boundary=x", form(FILE).replace(png(), b"none"), 415),
    ],
    ids=range(10),
)
def test_others_are_answered_while_a_strange_form_is_read(
    there: TestClient, kind: str, body: bytes, status: int
) -> None:
    head = {"content-type": f"multipart/form-data; {kind}"}
    body *= MAX_BYTES // len(body) if body else 0
    with serving(there.app) as address, ThreadPoolExecutor() as pool:
        sent = pool.submit(
            httpx.post, f"{address}api/predict", content=body, headers=head, timeout=60
        )
        waited = []
        while not sent.done() or not waited:
            started = time.perf_counter()
            assert httpx.get(f"{address}api/nothing", timeout=60).status_code == 404
            waited.append(time.perf_counter() - started)
        refused(sent.result(), status)
    assert sorted(waited)[len(waited) // 2] < 1


def test_pictures_that_wait_are_answered_together(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each as if it were alone, whatever is wrong with the others."""
    slow, worker, model = Slow(), Worker(), seen(naive_bayes())
    alone, clip = client(model), model.answer
    assert clip is not None

    def answer(pictures: Sequence[Image.Image]) -> torch.Tensor:
        slow(pictures)
        if any(each.width == 7 for each in pictures):
            raise RuntimeError("this picture is not liked")
        return clip(pictures)

    monkeypatch.setattr("infopursuit.explorer.server.Worker", lambda: worker)
    monkeypatch.setattr("infopursuit.explorer.server.BATCH", 6)
    monkeypatch.setattr("infopursuit.explorer.server.BATCH_PIXELS", 100 * 100)
    app = application(replace(model, answer=answer))
    sent = [
        ("predict", png(9, color="red")),
        ("predict", png(10, color="green")),
        ("images", png(11, color="blue")),
        ("predict", b"no picture"),
        ("predict", png(7)),
        ("predict", png(12, color="yellow")),
        ("predict", png(100, 100, color="white")),  # with it the batch has enough pixels
        ("predict", png(13, color="black")),
        ("images", png(14)),
    ]
    with serving(app) as address, ThreadPoolExecutor(len(sent)) as pool:
        under_way = []
        for path, body in sent:
            url = f"{address}api/{path}"
            under_way.append(pool.submit(httpx.post, url, content=body, timeout=60))
            wait_until(lambda: len(worker.waiting) == len(under_way))
            assert slow.working.wait(30)
        slow.ready.set()
        found = [each.result() for each in under_way]
    assert slow.sizes == [[9], [10, 7, 12, 100], [10], [7], [12], [100], [11, 14], [13]]
    assert [each.status_code for each in found] == [200, 200, 200, 415, 500, 200, 200, 200, 200]
    for (path, body), each in zip(sent, found, strict=True):
        if each.status_code == 200:
            assert each.json() == alone.post(f"/api/{path}", content=body).json()


@pytest.mark.parametrize(
    ("limit", "most", "waiting"),
    [("MOST_WAITING", 2, 2), ("MAX_BYTES_AT_ONCE", len(png(300, 300)) * 3 // 2, 1)],
)
def test_what_waits_has_a_limit(
    monkeypatch: pytest.MonkeyPatch, limit: str, most: int, waiting: int
) -> None:
    """While so many pictures or bytes wait for their model, one more is too much; then not."""
    slow, worker, content = Slow(), Worker(), png(300, 300)
    monkeypatch.setattr("infopursuit.explorer.server.Worker", lambda: worker)
    monkeypatch.setattr(f"infopursuit.explorer.server.{limit}", most)
    app = application(Served(naive_bayes(), slow))
    with serving(app) as address, ThreadPoolExecutor() as pool:
        url, under_way = f"{address}api/images", []
        for _ in range(waiting):
            under_way.append(pool.submit(httpx.post, url, content=content, timeout=60))
            wait_until(lambda: len(worker.waiting) == len(under_way))
            assert slow.working.wait(30)
        another = httpx.post(url, content=content)
        assert "try again" in refused(another, 503)
        assert int(another.headers["retry-after"]) > 0
        slow.ready.set()
        assert {each.result().status_code for each in under_way} == {200}
        assert httpx.post(url, content=content, timeout=60).status_code == 200


def test_each_yes_of_a_picture_has_its_place() -> None:
    model = seen(naive_bayes())
    maps = np.arange(9 * 6, dtype=np.uint8).reshape(1, 9, 2, 3)
    mapped = replace(model, maps=lambda pictures: (maps, [(0.0, 0.0, 1.0, 1.0)]))
    found = client(mapped).post("/api/images", content=png()).json()
    row = torch.tensor([[1.0, 0, 0, 0, 1, 1]]) / 3**0.5
    yes = (model.pursuit.answers(row)[0] > 0.5).nonzero().flatten().tolist()
    assert yes
    places = found["places"]
    assert places["size"] == [2, 3]
    assert np.frombuffer(b64decode(places["queries"]), dtype="<u2").tolist() == yes
    assert b64decode(places["maps"]) == maps[0, yes].tobytes()
    assert client(model).post("/api/images", content=png()).json()["places"] is None


def test_nothing_that_is_sent_is_stored(
    there: TestClient, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    opened: list[object] = []
    watching = True

    def hook(event: str, arguments: tuple[object, ...]) -> None:
        if watching and event == "open" and isinstance(arguments[1], str):
            opened.extend([arguments] if set(arguments[1]) & set("wax+") else [])

    sys.addaudithook(hook)  # it stays for good, so that a flag stops it
    assert there.post("/api/images", content=png(1000, 1000)).status_code == 200
    watching = False
    assert not opened
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"", 400, "Nothing was sent"),
        (bytes(MAX_BYTES + 1), 413, "This is too large"),
        (b"#!/bin/sh\necho hello", 415, "not a picture that can be read"),
        (encoded("TIFF"), 415, "not a picture that can be read"),
        (encoded("JPEG")[:300], 422, "The picture is damaged"),
        (b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", 415, "not a picture"),
        (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 415, "not a picture"),
        (b"GIF89a<script>alert(1)</script>", 415, "not a picture"),
        (bomb(20_000, 20_000), 413, "pixels"),
        (bomb(2**31 - 1, 2**31 - 1), 413, "pixels"),
        (bomb(MAX_PIXELS // 8000 + 1, 8000), 413, "8001 x 8000 pixels; expected at most 64 mill"),
    ],
    ids=range(11),
)
def test_what_is_not_a_picture_is_refused(
    there: TestClient, content: bytes, status: int, message: str
) -> None:
    assert message in refused(there.post("/api/images", content=content), status)


def test_a_body_of_unknown_length_is_limited(there: TestClient) -> None:
    taken = []

    def chunks() -> Iterator[bytes]:
        for _ in range(100):
            taken.append(1)
            yield bytes(10**6)

    assert "at most 20 MB" in refused(there.post("/api/images", content=chunks()), 413)
    headers = {"Content-Type": "application/json"}
    assert "at most 2 MB" in refused(
        there.post("/api/steps", content=chunks(), headers=headers), 413
    )
    assert "at most 2 MB" in refused(there.post("/api/steps", content=bytes(2_000_001)), 413)


def test_an_answer_has_a_limit() -> None:
    pursuit = naive_bayes(500)
    there = client(seen(pursuit))
    values = 500 + len(pursuit.class_names)
    most = MOST_VALUES // values
    for count, status in ((most, 200), (most + 1, 422)):
        asked = {"histories": [[]] * count}
        response = there.post("/api/steps", json=asked)
        assert response.status_code == status
    assert f"are too many for {values} queries and classes" in response.json()["error"]


def test_an_answer_that_is_not_taken_counts(monkeypatch: pytest.MonkeyPatch) -> None:
    """Who reads slowly keeps an answer in the memory of the server."""
    monkeypatch.setattr("infopursuit.explorer.server.MAX_BYTES_AT_ONCE", 10**6)
    body = json.dumps({"histories": [[]] * 900}).encode()
    head = f"POST /api/steps HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(body)}\r\n"
    with serving(application(seen(naive_bayes(500)))) as address:
        slow = socket.create_connection(("127.0.0.1", urlsplit(address).port or 0))
        slow.sendall(head.encode() + b"Content-Type: application/json\r\n\r\n" + body)
        assert slow.recv(15) == b"HTTP/1.1 200 OK"
        assert "try again" in refused(httpx.get(address), 503)
        slow.close()
        for _ in range(50):
            if httpx.get(address).status_code == 200:
                return
            time.sleep(0.1)
    raise AssertionError("the answer is still counted")


def test_no_work_is_done_for_clients_who_left_before_their_turn() -> None:
    """One sends more bytes than its request, which keeps the server from seeing it leave."""
    slow = Slow()
    app = application(Served(naive_bayes(), slow))
    with serving(app) as address, ThreadPoolExecutor() as pool:
        first = pool.submit(httpx.post, f"{address}api/images", content=png(1), timeout=60)
        assert slow.working.wait(30)
        for further in (b"", b"x"):
            host, body = urlsplit(address), png(2)
            head = f"POST /api/images HTTP/1.1\r\nHost: {host.netloc}\r\n"
            head += f"Content-Length: {len(body)}\r\n\r\n"
            with socket.create_connection((host.hostname, host.port)) as leaving:
                leaving.sendall(head.encode() + body)
                time.sleep(0.3)  # its turn does not come yet
                leaving.sendall(further)
        last = pool.submit(httpx.post, f"{address}api/images", content=png(3), timeout=60)
        time.sleep(0.3)
        slow.ready.set()
        assert first.result().status_code == last.result().status_code == 200
    assert slow.sizes == [[1], [3]]


def test_clients_who_leave_are_no_lines_in_the_log(caplog: pytest.LogCaptureFixture) -> None:
    at_once = struct.pack("ii", 1, 0)  # closing resets the connection, so the next write fails
    with serving(Guard(HTMLResponse(bytes(2**21)), "")) as address:
        for _ in range(20):
            with socket.create_connection(("127.0.0.1", urlsplit(address).port or 0)) as there:
                there.sendall(b"GET / HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
                there.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, at_once)
        assert httpx.get(address).status_code == 200
    assert caplog.messages == []


@pytest.mark.parametrize("make", [naive_bayes, networks])
def test_steps_are_those_of_a_dialogue(make: object) -> None:
    pursuit = make()  # type: ignore[operator]
    there = client(seen(pursuit))
    histories = [[], [(3, 1.0)], [(8, 0.0), (0, 1.0)], [(q, 1.0) for q in range(9)]]
    asked = [[{"query": query, "answer": answer} for query, answer in each] for each in histories]
    found = there.post("/api/steps", json={"histories": asked}).json()["steps"]
    for history, step in zip(histories, found, strict=True):
        answers, mask = torch.zeros(1, 9), torch.zeros(1, 9)
        for query, answer in history:
            answers[0, query], mask[0, query] = answer, 1
        posterior = pursuit.classifier(answers, mask).softmax(dim=1)[0]
        assert np.allclose(step["posterior"], posterior.detach().numpy(), atol=1e-6)
        outputs = pursuit.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
        values = pursuit.querier.values(outputs)[0].tolist()
        given = {query for query, _ in history}
        assert [each is None for each in step["values"]] == [q in given for q in range(9)]
        left = [query for query in range(9) if query not in given]
        assert np.allclose([step["values"][q] for q in left], [values[q] for q in left])


FIRST = {"query": 0, "answer": 1.0}


@pytest.mark.parametrize(
    ("content", "status", "message"),
    [
        (b"{", 422, ""),
        (b'{"model": NaN', 422, ""),
        (b"\xff\xfe", 422, ""),
        (b"[" * 100_000, 400, ""),
        (b'{"model": ' + b"9" * 5000 + b"}", 400, ""),
        (b"[]", 422, "The request is malformed: body"),
        ({"histories": [[]] * 5000}, 422, "histories"),
        ({"histories": [[FIRST | {"query": 99}]]}, 422, "no query 99; expected 0 to"),
        ({"histories": [[FIRST, FIRST]]}, 422, "twice"),
        ({"histories": [[FIRST | {"answer": 2}]]}, 422, "answer"),
        ({"histories": [[FIRST]], "more": 1}, 422, "more"),
    ],
    ids=range(11),
)
def test_malformed_steps_are_refused(
    there: TestClient, content: bytes | dict, status: int, message: str
) -> None:
    body = content if isinstance(content, bytes) else json.dumps(content).encode()
    headers = {"Content-Type": "application/json"}
    assert message in refused(there.post("/api/steps", content=body, headers=headers), status)
    refused(there.post("/api/steps", content=b"{}", headers={"Content-Type": "text/plain"}), 422)


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:8000", 200),
        ("localhost", 200),
        ("LOCALHOST:9", 200),
        ("[::1]:8000", 200),
        ("192.168.0.7:8000", 200),
        ("lab.example.org:8000", 200),
        ("evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("localhost.evil.example", 421),
        ("evil.example@127.0.0.1", 421),
        ("127.0.0.1:8000/evil", 421),
        ("[::1", 421),
        ("", 421),
    ],
)
def test_only_known_names_of_the_server_are_answered(host: str, status: int) -> None:
    there = client(seen(naive_bayes()), names=("Lab.example.org",))
    for path in ("/", "/api/payload"):
        response = there.get(path, headers={"Host": host})
        assert response.status_code == status
        if status != 200:
            assert "--allow" in refused(response, 421)


def test_pages_of_other_sites_cannot_ask(there: TestClient) -> None:
    own = there.post("/api/images", content=png(), headers={"Origin": LOCAL})
    assert own.status_code == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9000", "http://[", ""):
        other = there.post("/api/images", content=png(), headers={"Origin": origin})
        assert "another site" in refused(other, 403)
    assert "access-control-allow-origin" not in own.headers


@pytest.mark.parametrize(
    "path",
    [
        "/../../../../etc/passwd",
        "/%2e%2e/%2e%2e/etc/passwd",
        "/page/main.js",
        "/api/../../pyproject.toml",
        "//etc/passwd",
        "/docs",
        "/openapi.json",
        "/<script>alert(1)</script>",
    ],
)
def test_no_files_can_be_fetched(there: TestClient, path: str) -> None:
    assert refused(there.get(path), 404) == "There is nothing here."


def test_an_error_of_the_server_reveals_nothing() -> None:
    for error, status, sentence in (
        (RuntimeError("a secret"), 500, "The server failed; its log says why."),
        (
            InputError("/a/path: damaged"),
            409,
            "The CLIP cannot be loaded; the server's log says why.",
        ),
    ):

        def fails(pictures: Sequence[Image.Image], error: Exception = error) -> torch.Tensor:
            raise error

        response = client(Served(naive_bayes(), fails)).post("/api/images", content=png())
        assert refused(response, status) == sentence
        assert response.headers["x-content-type-options"] == "nosniff"


def test_a_busy_port_and_a_strange_address_are_named() -> None:
    with bound("127.0.0.1", 0) as first:
        port = first.getsockname()[1]
        with pytest.raises(InputError, match=rf"--port {port}: .*expected another --port"):
            bound("127.0.0.1", port)
        assert address(first) == f"http://127.0.0.1:{port}/"
    with pytest.raises(InputError, match=r"--host 203.0.113.7"):
        bound("203.0.113.7", 0)
    with bound("0.0.0.0", 0) as everywhere:
        assert address(everywhere) == f"http://localhost:{everywhere.getsockname()[1]}/"
