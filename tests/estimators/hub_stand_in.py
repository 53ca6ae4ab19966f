"""A hub of models on 127.0.0.1 that speaks as much of the Hugging Face hub as up- and download do.

Repositories are made, files are committed as one line of JSON each, and read by commit.
"""

from __future__ import annotations

import base64
import hashlib
import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread
from typing import Any


class Hub(ThreadingHTTPServer):
    """The hub; `files` are those of each repository, `private` says who may read it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Requests)
        self.files: dict[str, dict[str, bytes]] = {}
        self.private: dict[str, bool] = {}

    @property
    def address(self) -> str:
        """Where it listens."""
        return f"http://127.0.0.1:{self.server_address[1]}"

    def commit_of(self, repository: str) -> str:
        """The commit that a repository is at: a hash of its files."""
        content = sorted(self.files[repository].items())
        return hashlib.sha1(repr(content).encode()).hexdigest()


@contextmanager
def running() -> Iterator[Hub]:
    """A hub that answers until the block ends."""
    hub = Hub()
    thread = Thread(target=hub.serve_forever, daemon=True)
    thread.start()
    try:
        yield hub
    finally:
        hub.shutdown()
        hub.server_close()
        thread.join()


class _Requests(BaseHTTPRequestHandler):
    server: Hub

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0)))
        if not self.headers.get("Authorization"):
            return self._error(401, "Unauthorized", "who is it?")
        parts = self.path.split("?")[0].strip("/").split("/")
        if parts == ["api", "repos", "create"]:
            wanted = json.loads(body)
            name = "/".join(filter(None, (wanted.get("organization", "user"), wanted["name"])))
            self.server.files.setdefault(name, {})
            visible = "private" if wanted.get("private") else wanted.get("visibility")
            self.server.private[name] = visible == "private"
            return self._json({"url": f"{self.server.address}/{name}", "name": name})
        if parts == ["api", "validate-yaml"]:
            return self._json({"errors": [], "warnings": []})
        name, action = "/".join(parts[2:4]), parts[4]
        if action == "preupload":
            files = json.loads(body)["files"]
            modes = [
                {"path": each["path"], "uploadMode": "regular", "shouldIgnore": False}
                for each in files
            ]
            return self._json({"files": modes})
        for line in body.splitlines():
            item = json.loads(line)
            if item["key"] == "file":
                content = base64.b64decode(item["value"]["content"])
                self.server.files[name][item["value"]["path"]] = content
        commit = self.server.commit_of(name)
        address = f"{self.server.address}/{name}/commit/{commit}"
        return self._json({"success": True, "commitOid": commit, "commitUrl": address})

    def do_GET(self) -> None:
        parts = self.path.split("?")[0].strip("/").split("/")
        asks_file = len(parts) > 4 and parts[2] == "resolve"
        name = "/".join(parts[:2] if asks_file else parts[2:4])
        files = self.server.files.get(name)
        if files is None:
            return self._error(404, "RepoNotFound", "Repository Not Found")
        commit = self.server.commit_of(name)
        if not asks_file:
            siblings = [{"rfilename": path} for path in files]
            tree = [
                {"type": "file", "path": p, "oid": "0", "size": len(c)} for p, c in files.items()
            ]
            if "tree" in parts:
                return self._json(tree)
            return self._json({"id": name, "sha": commit, "siblings": siblings, "private": False})
        content = files.get("/".join(parts[4:]))
        if content is None:
            return self._error(404, "EntryNotFound", "Entry Not Found")
        self._head(200, len(content), commit, content)
        if self.command == "GET":
            self.wfile.write(content)
        return None

    def do_HEAD(self) -> None:
        self.do_GET()

    def _head(self, status: int, length: int, commit: str, content: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Length", str(length))
        self.send_header("ETag", f'"{hashlib.sha1(content).hexdigest()}"')
        self.send_header("X-Repo-Commit", commit)
        self.end_headers()

    def _json(self, content: Any) -> None:
        body = json.dumps(content).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def _error(self, status: int, code: str, message: str) -> None:
        self.send_response(status)
        self.send_header("X-Error-Code", code)
        self.send_header("X-Error-Message", message)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""
