"""A Hugging Face hub on this machine, for its real client: what it asks of repositories of data.

folder/datasets/OWNER/NAME/COMMIT/FILES and folder/models/OWNER/NAME/COMMIT/FILES; the last commit
by name is `main`. Nothing is gated, and no file is so large that it lies elsewhere.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, unquote

REPOSITORY = r"/api/(datasets|models)/([^/]+/[^/]+)"


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the repositories of a folder; give the environment of a process that is to see them.

    What it fetches is kept in `folder/home`. The paths that were asked for are lines of
    `folder/asked.txt`.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, folder))
    Thread(target=server.serve_forever, daemon=True).start()
    try:
        yield {
            **{name: value for name, value in os.environ.items() if not name.startswith("HF_")},
            "HF_ENDPOINT": f"http://127.0.0.1:{server.server_port}",
            "HF_HOME": str(folder / "home"),
        }
    finally:
        server.shutdown()
        server.server_close()


def write_card(repository: Path, config: str, files: dict[str, str]) -> None:
    """Write the card of a data set: its one configuration, and a pattern of files of each split."""
    listed = [line for split, path in files.items()
              for line in (f"  - split: {split}", f"    path: {path}")]  # fmt: skip
    card = ["---", "configs:", f"- config_name: {config}", "  data_files:", *listed, "---", ""]
    (repository / "README.md").write_text("\n".join(card))


class _Hub(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def __init__(self, folder: Path, *arguments: Any) -> None:
        self.folder = folder
        super().__init__(*arguments)

    def log_message(self, format: str, *_: Any) -> None:
        with (self.folder / "asked.txt").open("a") as file:
            file.write(f"{self.path}\n")

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        asked = re.fullmatch(rf"{REPOSITORY}/paths-info/(.+)", unquote(self.path))
        commit = asked and self._commit(asked[1], asked[2], asked[3])
        if commit is None:
            return self._refuse("RevisionNotFound")
        paths = json.loads(body)["paths"] if body[0] == "{" else parse_qs(body)["paths"]
        found = [_entry(commit, commit / each) for each in paths if (commit / each).exists()]
        return self._answer(json.dumps(found).encode())

    def do_GET(self) -> None:
        path = unquote(self.path.partition("?")[0])
        if asked := re.fullmatch(r"(/datasets)?/([^/]+/[^/]+)/resolve/([^/]+)/(.+)", path):
            commit = self._commit("datasets" if asked[1] else "models", asked[2], asked[3])
            if commit is None:
                return self._refuse("RevisionNotFound")
            if not (commit / asked[4]).is_file():
                return self._refuse("EntryNotFound")
            content = (commit / asked[4]).read_bytes()
            tag = {"ETag": f'"{_digest(content)}"', "X-Repo-Commit": commit.name}
            return self._answer(content, 200, tag)
        if asked := re.fullmatch(rf"{REPOSITORY}(/(revision|tree)/([^/]+)(/.*)?)?", path):
            commit = self._commit(asked[1], asked[2], asked[5] or "main")
            if commit is None:
                return self._refuse("RepoNotFound")
            if asked[4] != "tree":
                names = [each.relative_to(commit).as_posix() for each in commit.rglob("*.*")]
                about = {"id": asked[2], "sha": commit.name, "tags": [], "private": False}
                about["siblings"] = [{"rfilename": name} for name in names]
                about["cardData"] = {"license": "mit"}
                return self._answer(json.dumps(about).encode())
            folder = commit / (asked[6] or "/")[1:]
            if not folder.is_dir():
                return self._refuse("EntryNotFound")
            deep = "recursive=true" in self.path.lower()
            listed = sorted(folder.rglob("*") if deep else folder.iterdir())
            return self._answer(json.dumps([_entry(commit, each) for each in listed]).encode())
        return self._refuse("EntryNotFound")

    def _commit(self, kind: str, name: str, revision: str) -> Path | None:
        commits = sorted((self.folder / kind / name).glob("*"))
        if revision == "main":
            return commits[-1] if commits else None
        return next((each for each in commits if each.name == revision), None)

    def _refuse(self, code: str) -> None:
        self._answer(b"{}", 404, {"X-Error-Code": code, "X-Error-Message": "not found"})

    def _answer(self, content: bytes, status: int = 200, headers: Any = None) -> None:
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(content))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(content)


def _entry(commit: Path, path: Path) -> dict[str, Any]:
    name = path.relative_to(commit).as_posix()
    if path.is_dir():
        return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
    content = path.read_bytes()
    return {"type": "file", "oid": _digest(content), "size": len(content), "path": name}


def _digest(content: bytes) -> str:
    return hashlib.sha1(b"blob %d\0" % len(content) + content).hexdigest()
