"""Weights over HTTP: from a hub, asked by its own client, and from an address like OpenAI's."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import urlsplit

import numpy as np
import open_clip
import pytest
import torch
from safetensors.torch import load_file

from infopursuit.clip import download, weights
from infopursuit.clip.towers import load_clip
from infopursuit.clip.weights import clip_source, find_clip_files
from infopursuit.core.errors import InputError
from tests.clip.conftest import MODEL, write_archive

FIRST, SECOND = "a" * 40, "b" * 40
TEXTS = ["a red bird", "four legs"]
CONFIG, SAFE, BIN = weights.CONFIG, *weights.OF_OPEN_CLIP


class Web:
    """What the server has and does: files by path, and commits of repositories, the last `main`."""

    def __init__(self, url: str) -> None:
        self.url = url
        self.files: dict[str, bytes] = {}
        self.repositories: dict[str, dict[str, dict[str, bytes]]] = {}
        self.gated: set[str] = set()
        self.breaks: list[int] = []  # the next answers end after so many bytes
        self.asked: list[str] = []

    def add(self, repository: str, commit: str, folder: Path, *names: str) -> None:
        files = {name: (folder / name).read_bytes() for name in names}
        self.repositories.setdefault(repository, {})[commit] = files


class Handler(BaseHTTPRequestHandler):
    web: Web
    protocol_version = "HTTP/1.1"

    def log_message(self, format: str, *args: object) -> None:
        self.web.asked.append(f"{self.command} {self.path} {self.headers.get('Range') or ''}")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_GET(self) -> None:
        path = urlsplit(self.path).path
        if path.lstrip("/") in self.web.files:
            self.give(self.web.files[path.lstrip("/")], {})
            return
        found = re.fullmatch(r"/(?:api/models/)?(\w+/[\w.-]+)/(resolve|tree)/(\w+)/?(.*)", path)
        commits = self.web.repositories.get(found[1]) if found else None
        if found is None or commits is None:
            self.refuse(401 if found else 404, "RepoNotFound", "Repository not found")
        elif found[1] in self.web.gated:
            self.refuse(403, "GatedRepo", f"Access to model {found[1]} is restricted")
        elif (commit := found[3].replace("main", list(commits)[-1])) not in commits:
            self.refuse(404, "RevisionNotFound", f"Invalid rev id: {commit}")
        elif found[2] == "tree":
            files = commits[commit].items()
            rows = [{"type": "file", "path": n, "size": len(b), "oid": "0" * 40} for n, b in files]
            self.give(json.dumps(rows).encode(), {"Content-Type": "application/json"})
        elif found[4] not in commits[commit]:
            self.refuse(404, "EntryNotFound", "Entry not found", {"X-Repo-Commit": commit})
        else:
            body = commits[commit][found[4]]
            tag = hashlib.sha256(body).hexdigest()
            self.give(body, {"X-Repo-Commit": commit, "ETag": f'"{tag}"'})

    def refuse(self, status: int, code: str, message: str, more: dict | None = None) -> None:
        told = {"X-Error-Code": code, "X-Error-Message": message, "Content-Length": "0"}
        self.start(status, told | (more or {}))

    def give(self, body: bytes, headers: dict[str, str]) -> None:
        asked = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range") or "")
        start = int(asked[1]) if asked else 0
        if start >= len(body):
            self.start(416, {"Content-Length": "0"})
            return
        if asked:
            headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
        self.start(206 if asked else 200, headers | {"Content-Length": str(len(body) - start)})
        if self.command == "GET":
            end = start + self.web.breaks.pop(0) if self.web.breaks else len(body)
            self.wfile.write(body[start:end])
            self.close_connection = end < len(body)

    def start(self, status: int, headers: dict[str, str]) -> None:
        self.send_response(status)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()


@pytest.fixture
def web(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Web]:
    """A server that the hub's client and OpenAI's address lead to; caches in the test's folder."""
    from huggingface_hub import close_session, constants

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        Handler.web = web = Web(f"http://127.0.0.1:{server.server_port}")
        monkeypatch.setenv("HOME", str(tmp_path))
        monkeypatch.setenv(download.HOSTS, "127.0.0.1")
        monkeypatch.setattr(download, "PAUSES", (0, 0))
        monkeypatch.setattr(constants, "ENDPOINT", web.url)
        template = constants.HUGGINGFACE_CO_URL_TEMPLATE.partition("{")[2]
        monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", f"{web.url}/{{{template}")
        monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
        monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield web
        close_session()
        server.shutdown()


# -- the hub ---------------------------------------------------------------------------------


def test_a_repository_by_its_name_is_the_commit_that_main_was(
    web: Web, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    web.add("some/tiny", FIRST, tiny_clip, CONFIG, SAFE)
    source = clip_source("hf-hub:some/tiny")
    assert source == f"hf-hub:some/tiny@{FIRST}"
    web.repositories["some/tiny"][SECOND] = {"README.md": b"all else is gone"}
    clip, here = load_clip(source, "cpu"), load_clip(tiny_clip, "cpu")
    assert clip.name == here.name
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), here.encode_texts(TEXTS))
    asked = len(web.asked)
    assert find_clip_files(source).sha256 == find_clip_files(tiny_clip).sha256
    assert len(web.asked) == asked, "a commit in the cache needs no network"
    with pytest.raises(InputError, match=r"some/tiny has no file open_clip_config.*has README\.md"):
        clip_source("hf-hub:some/tiny")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    assert find_clip_files(clip_source(source)).name == here.name


def test_weights_as_a_pickle_are_found_by_a_repository_s_name(
    web: Web, tiny_clip: Path, tmp_path: Path
) -> None:
    torch.save(load_file(tiny_clip / SAFE), tmp_path / BIN)
    shutil.copy(tiny_clip / CONFIG, tmp_path)
    web.add("some/old", FIRST, tmp_path, CONFIG, BIN)
    wanted = load_clip(tiny_clip, "cpu").encode_texts(TEXTS)
    np.testing.assert_array_equal(load_clip("hf-hub:some/old").encode_texts(TEXTS), wanted)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"hub: some/old\nrevision: {FIRST}\n")
    with pytest.raises(InputError, match=rf"pinned.*no file {SAFE} at aaaa.*it has.*{BIN}"):
        find_clip_files(pinned)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("hf-hub:some/gated", r"Access to model some/gated is restricted.*accept its licence.*log"),
        ("hf-hub:some/nothing", r"Repository Not Found.*\); check the name; a private one needs a"),
        (f"hf-hub:some/tiny@{SECOND}", r"Invalid rev id: bbbb.*\); check the commit"),
        (f"hf-hub:some/siglip@{FIRST}", r"package transformers.*pip install 'infopursuit\[siglip"),
    ],
)
def test_what_the_hub_says_is_told(
    web: Web,
    tiny_clip: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    source: str,
    message: str,
) -> None:
    web.add("some/tiny", FIRST, tiny_clip, CONFIG, SAFE)
    web.add("some/gated", FIRST, tiny_clip, CONFIG, SAFE)
    web.gated.add("some/gated")
    text = {**MODEL["text_cfg"], "hf_tokenizer_name": "some/siglip"}
    (tmp_path / CONFIG).write_text(json.dumps({"model_cfg": {**MODEL, "text_cfg": text}}))
    web.add("some/siglip", FIRST, tmp_path, CONFIG)
    monkeypatch.setattr(weights.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(InputError, match=message):
        find_clip_files(source)
    assert not any(SAFE in line for line in web.asked if source.endswith(FIRST))


# -- OpenAI's address ------------------------------------------------------------------------


@pytest.fixture
def openai(web: Web, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    """An archive of the tiny CLIP at OpenAI's address, and its copy on the hub; its SHA-256."""
    quick = MODEL | {"quick_gelu": True}
    monkeypatch.setitem(open_clip.factory._MODEL_CONFIGS, "tiny-quickgelu", quick)
    digest = write_archive(load_file(tiny_clip / SAFE), tmp_path / "made" / "tiny.pt")
    web.files[f"{digest}/tiny.pt"] = (tmp_path / "made" / "tiny.pt").read_bytes()
    web.add("some/copy", FIRST, tiny_clip, SAFE)
    safe = hashlib.sha256((tiny_clip / SAFE).read_bytes()).hexdigest()
    copy = {"hub": "some/copy", "revision": FIRST, "sha256": safe}
    for module in ("towers", "weights"):
        monkeypatch.setattr(f"infopursuit.clip.{module}.OPENAI_SHA256", {digest})
    monkeypatch.setattr(weights, "OPENAI", {"tiny": f"{digest}/tiny.pt"})
    monkeypatch.setattr(weights, "OPENAI_URL", web.url)
    monkeypatch.setattr(weights, "COPIES", {digest: copy})
    return digest


def test_a_broken_download_goes_on_where_it_ended(web: Web, openai: str, tmp_path: Path) -> None:
    size = len(web.files[f"{openai}/tiny.pt"])
    web.repositories.clear()  # no copy
    web.breaks = [1000, 2000, 3000]
    ended = rf"ended after 6,000 of {size:,} bytes\), nor its copy some/copy.*run it again"
    with pytest.raises(InputError, match=ended):
        find_clip_files("tiny:openai")
    web.breaks = [4000]
    found = find_clip_files("tiny:openai")
    assert found.weights == tmp_path / ".cache" / "clip" / "tiny.pt"
    assert found.weights.read_bytes() == web.files[f"{openai}/tiny.pt"]
    ranges = [line.split()[2:] for line in web.asked if "tiny.pt" in line]
    starts = ([], ["bytes=1000-"], ["bytes=3000-"], ["bytes=6000-"], ["bytes=10000-"])
    assert tuple(ranges) == starts
    assert not list(found.weights.parent.glob("*incomplete"))


def test_without_the_archive_its_copy_on_the_hub_gives_the_same_space(
    web: Web, openai: str, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    archive = load_clip("tiny:openai", "cpu")
    wanted = archive.encode_texts(TEXTS)
    shutil.rmtree(tmp_path / ".cache")
    web.files.clear()
    clip = load_clip("tiny:openai", "cpu")
    assert "(HTTP Error 404: Not Found); its copy is taken: some/copy" in caplog.text
    assert clip.name == archive.name == f"open_clip:tiny-quickgelu:{openai[:12]}"
    np.testing.assert_array_equal(clip.encode_texts(TEXTS), wanted)
    asked = len(web.asked)
    found = find_clip_files("tiny:openai")
    assert len(web.asked) == asked, "a copy in the cache needs no network"
    found.weights.write_bytes(b"something else")
    with pytest.raises(InputError, match=r"safetensors: its SHA-256 is .*; expected .*remove the"):
        find_clip_files("tiny:openai")


def test_both_sources_are_named_if_both_fail(web: Web, openai: str) -> None:
    web.files.clear()
    web.gated.add("some/copy")
    told = (
        rf"tiny:openai: cannot download {web.url}/{openai}/tiny.pt \(HTTP Error 404: Not Found\), "
        rf"nor its copy some/copy at {FIRST} from the Hugging Face hub \(.*is restricted.*\); place"
    )
    with pytest.raises(InputError, match=told):
        find_clip_files("tiny:openai")
