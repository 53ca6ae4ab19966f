"""The server: what it answers, what it refuses, and that nothing it is sent goes further."""

from __future__ import annotations

import io
import json
import struct
import sys
import tempfile
import zlib
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pytest
import torch
from fastapi import FastAPI
from PIL import Image
from starlette.testclient import TestClient

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import MAX_BYTES, MAX_PIXELS, MAX_SIDE, MOST_VALUES, Served, server
from infopursuit.pursuit.prediction import prediction
from infopursuit.pursuit.pursuit import Pursuit
from tests.explorer.conftest import serving
from tests.explorer.made_up import STOP, images, naive_bayes, networks

LOCAL = "http://127.0.0.1:8000"


def seen(pursuit: Pursuit) -> Served:
    """A model whose CLIP looks at the mean colours alone."""

    def answer(pictures: Sequence[Image.Image]) -> torch.Tensor:
        means = [np.asarray(each, dtype=np.float32).mean(axis=(0, 1)) / 255 for each in pictures]
        mean = torch.from_numpy(np.stack(means))
        rows = torch.cat([mean, 1 - mean], dim=1)
        return pursuit.answers(rows / rows.norm(dim=1, keepdim=True))

    return Served(pursuit, answer, stop=STOP)


def application(model: Served, names: tuple[str, ...] = ()) -> FastAPI:
    content = contents((model.pursuit, Facts("m0", STOP)), images(model.pursuit), served=True)
    return server(model, content, names)


def client(model: Served, names: tuple[str, ...] = ()) -> TestClient:
    return TestClient(application(model, names), base_url=LOCAL, raise_server_exceptions=False)


@pytest.fixture(scope="module")
def there() -> TestClient:
    return client(seen(naive_bayes()))


def encoded(kind: str, width: int = 40, height: int = 30, color: str = "red") -> bytes:
    file = io.BytesIO()
    Image.new("RGB", (width, height), color).save(file, kind)
    return file.getvalue()


png = partial(encoded, "PNG")


def bomb(width: int, height: int) -> bytes:
    """A small PNG whose header claims `width` x `height` pixels."""
    small = png()
    header = b"IHDR" + struct.pack(">II", width, height) + small[24:29]
    return small[:12] + header + struct.pack(">I", zlib.crc32(header)) + small[33:]


def refused(response: object, status: int) -> str:
    assert response.status_code == status, response.text  # type: ignore[attr-defined]
    content = response.json()  # type: ignore[attr-defined]
    assert list(content) == ["error"]
    assert "\n" not in content["error"]
    assert "Traceback" not in content["error"]
    return content["error"]


def test_every_answer_has_the_headers(there: TestClient) -> None:
    for path in ("/", "/api/payload", "/api/schema.json", "/nothing", "/api/predict"):
        headers = there.get(path).headers
        policy = headers["content-security-policy"]
        assert policy.startswith("default-src 'none'; script-src 'sha256-")
        assert policy.endswith("frame-ancestors 'none'")
        assert "connect-src 'self'" in policy and "unsafe" not in policy
        assert headers["x-content-type-options"] == "nosniff"
        assert headers["cache-control"] == "no-store"


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


def test_what_is_known_of_a_picture_and_which_classes_there_are() -> None:
    model, row = naive_bayes(), torch.tensor([[1.0, 0, 0, 0, 1, 1]]) / 3**0.5
    asked = {"known": ["query 2=yes", "Query 5?=no"], "classes": "bus,zebra"}
    with serving(application(seen(model))) as address:
        url = f"{address}api/predict"
        found = httpx.post(url, params=asked, content=png()).json()["predictions"]["m0"]
        view = model.given({"query 2": "yes", "query 5": "no"}, ["bus", "zebra"])
        (expected,) = view.explain(model.answers(row), STOP, [found["image"]])
        assert found == json.loads(json.dumps(prediction(expected)))
        refused_ones = (
            {"known": "query 99=yes"},
            {"known": ["=" * 20] * 400},
            {"known": "query 2" + "=" * 3000},
            {"classes": "bus,zebr"},
        )
        for given in refused_ones:
            refused(httpx.post(url, params=given, content=png()), 422)


FORM = b"--x\r\n%s\r\n\r\n%s\r\n--x--\r\n"
FILE = b'Content-Disposition: form-data; name="image"; filename="a.png"'


@pytest.mark.parametrize(
    ("kind", "body", "status"),
    [
        ("boundary=x", FORM % (FILE, png()), 200),
        ("a=b;" * 8000, b"", 400),
        ("(" * 3000, b"", 400),
        ("boundary=X", b"\r\n--X" * (MAX_BYTES // 5), 400),
        ("boundary=X", b"\r\n--X\r\n\r\n" * (MAX_BYTES // 9), 400),
        ("boundary=x", FORM % (b"Content-Disposition: form-data; name=a", b"x"), 400),
        ("boundary=x", FORM % (FILE, b"none"), 415),
    ],
    ids=range(7),
)
def test_a_form_is_read_while_others_are_answered(
    there: TestClient, kind: str, body: bytes, status: int
) -> None:
    head = {"content-type": f"multipart/form-data; {kind}"}
    with serving(there.app) as address, ThreadPoolExecutor() as pool:
        sent = pool.submit(
            httpx.post, f"{address}api/predict", content=body[:MAX_BYTES], headers=head, timeout=60
        )
        while not sent.done():
            assert httpx.get(f"{address}api/nothing", timeout=5).status_code == 404
    assert sent.result().status_code == status
    assert status == 200 or list(sent.result().json()) == ["error"]


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
    large = encoded("BMP", 1000, 800)
    assert there.post("/api/images", content=large).status_code == 200
    assert there.post("/api/predict", files={"image": ("a.bmp", large)}).status_code == 200
    watching = False
    assert not opened
    assert not list(tmp_path.iterdir())


FIRST = {"query": 0, "answer": 1.0}


@pytest.mark.parametrize(
    ("path", "content", "status", "word"),
    [
        ("images", b"", 400, "Nothing"),
        ("images", bytes(MAX_BYTES + 1), 413, "large"),
        ("images", iter([bytes(10**6)]), 411, "length"),
        ("images", encoded("TIFF"), 415, "picture"),
        ("images", encoded("JPEG")[:300], 422, "damaged"),
        ("images", b"<svg xmlns='http://www.w3.org/2000/svg' onload='alert(1)'/>", 415, "picture"),
        ("images", b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n", 415, "picture"),
        ("images", bomb(2**31 - 1, 2**31 - 1), 413, "pixels"),
        ("images", bomb(MAX_PIXELS // 8000 + 1, 8000), 413, "pixels"),
        ("images", bomb(1, MAX_SIDE + 1), 413, "a side"),
        ("steps", bytes(2_000_001), 413, "MB"),
        ("steps", b'{"model": NaN', 422, ""),
        ("steps", b"\xff\xfe", 422, ""),
        ("steps", b"[" * 100_000, 400, ""),
        ("steps", b'{"model": ' + b"9" * 5000 + b"}", 400, ""),
        ("steps", b"[]", 422, "body"),
        ("steps", {"histories": [[]] * 5000}, 422, "histories"),
        ("steps", {"histories": [[FIRST | {"query": 99}]]}, 422, "99"),
        ("steps", {"histories": [[FIRST, FIRST]]}, 422, "twice"),
        ("steps", {"histories": [[FIRST | {"answer": 2}]]}, 422, "answer"),
        ("steps", {"histories": [[FIRST]], "more": 1}, 422, "more"),
    ],
    ids=range(21),
)
def test_what_cannot_be_read_is_refused(
    there: TestClient, path: str, content: Any, status: int, word: str
) -> None:
    body = json.dumps(content).encode() if isinstance(content, dict) else content
    headers = {"Content-Type": "application/json"} if path == "steps" else {}
    assert word in refused(there.post(f"/api/{path}", content=body, headers=headers), status)


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


@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("LOCALHOST:9", 200),
        ("[::1]:8000", 200),
        ("[fd00::7]:8000", 200),
        ("lab.example.org:8000", 200),
        ("192.168.0.7:8000", 400),
        ("localhost.evil.example", 400),
        ("evil.example@127.0.0.1", 400),
        ("[::1", 400),
    ],
)
def test_only_known_names_of_the_server_are_answered(host: str, status: int) -> None:
    there = client(seen(naive_bayes()), names=("Lab.example.org", "fd00::7"))
    for path in ("/", "/api/payload"):
        assert there.get(path, headers={"Host": host}).status_code == status
    with pytest.raises(InputError, match="one host"):
        client(seen(naive_bayes()), names=("*.org",))


def test_pages_of_other_sites_cannot_ask(there: TestClient) -> None:
    own = there.post("/api/images", content=png(), headers={"Origin": LOCAL})
    assert own.status_code == 200
    for origin in ("https://evil.example", "null", "http://127.0.0.1:9000", "http://[", ""):
        other = there.post("/api/images", content=png(), headers={"Origin": origin})
        assert "another site" in refused(other, 403)
    assert "access-control-allow-origin" not in own.headers


def test_an_error_of_the_server_reveals_nothing() -> None:
    for error, status in ((RuntimeError("a secret"), 500), (InputError("/a/path: damaged"), 409)):

        def fails(pictures: Sequence[Image.Image], error: Exception = error) -> torch.Tensor:
            raise error

        response = client(Served(naive_bayes(), fails)).post("/api/images", content=png())
        assert "its log" in refused(response, status).replace("the server's log", "its log")
        assert "secret" not in response.text and "path" not in response.text
        assert response.headers["x-content-type-options"] == "nosniff"
