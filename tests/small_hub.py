"""A Hugging Face hub on this machine, for its real client: what it asks of repositories.

folder/datasets/OWNER/NAME/COMMIT/FILES and folder/models/OWNER/NAME/COMMIT/FILES; the last commit
by name is `main`. A commit with a file GATED is refused. No file lies elsewhere.
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

REPOSITORY = r"/(?:api/)?(?:(datasets|models)/)?([^/]+/[^/]+)"
ASKED = re.compile(rf"{REPOSITORY}(?:/(resolve|revision|tree|paths-info)/([^/]+)/?(.*))?")


@contextmanager
def serving(folder: Path) -> Iterator[dict[str, str]]:
    """Serve the repositories of a folder; give the environment of a process that is to see them.

    What it fetches is kept in `folder/home`. The paths that were asked for are lines of
    `folder/asked.txt`.
    """
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(_Hub, folder))
    Thread(target=server.serve_forever, args=[0.01], daemon=True).start()
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

    def do_GET(self) -> None:
        asked = ASKED.fullmatch(unquote(self.path.partition("?")[0]))
        if asked is None:
            return self._refuse("EntryNotFound")
        kind, name, action, revision, path = asked.groups()
        commits = sorted((self.folder / (kind or "models") / name).glob("*"))
        if not commits:
            return self._refuse("RepoNotFound")
        commit = commits[-1] if revision in (None, "main") else commits[0].parent / revision
        if not commit.is_dir():
            return self._refuse("RevisionNotFound")
        if (commit / "GATED").exists():
            return self._refuse("GatedRepo", f"Access to model {name} is restricted", 403)
        files = [each for each in sorted(commit.rglob("*")) if each.is_file()]
        if action == "resolve":
            if commit / path not in files:
                return self._refuse("EntryNotFound")
            content = (commit / path).read_bytes()
            tag = {"ETag": f'"{_digest(content)}"', "X-Repo-Commit": commit.name}
            return self._answer(content, 200, tag)
        if action in ("tree", "paths-info"):
            if action == "paths-info":
                body = self.rfile.read(int(self.headers["Content-Length"])).decode()
                paths = json.loads(body)["paths"] if body[0] == "{" else parse_qs(body)["paths"]
                found = [commit / each for each in paths if (commit / each).exists()]
            elif (commit / path).is_dir():
                deep = "recursive=true" in self.path.lower()
                found = sorted((commit / path).rglob("*") if deep else (commit / path).iterdir())
            else:
                return self._refuse("EntryNotFound")
            return self._answer([_entry(commit, each) for each in found])
        names = [{"rfilename": each.relative_to(commit).as_posix()} for each in files]
        about = {"id": name, "sha": commit.name, "tags": [], "private": False}
        return self._answer({**about, "siblings": names, "cardData": {"license": "mit"}})

    def do_HEAD(self) -> None:
        self.do_GET()

    def do_POST(self) -> None:
        self.do_GET()

    def _refuse(self, code: str, message: str = "not found", status: int = 404) -> None:
        self._answer(b"", status, {"X-Error-Code": code, "X-Error-Message": message})

    def _answer(self, content: Any, status: int = 200, headers: Any = None) -> None:
        body = content if isinstance(content, bytes) else json.dumps(content).encode()
        self.send_response(status)
        for name, value in {**(headers or {}), "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def _entry(commit: Path, path: Path) -> dict[str, Any]:
    name = path.relative_to(commit).as_posix()
    if path.is_dir():
        return {"type": "directory", "oid": "0" * 40, "size": 0, "path": name}
    content = path.read_bytes()
    return {"type": "file", "oid": _digest(content), "size": len(content), "path": name}


def _digest(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()
