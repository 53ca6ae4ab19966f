"""Hashes that say what a run came from: of files by content, of settings by value."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def file_sha256(path: str | Path) -> str:
    """SHA-256 of a file's bytes, as 64 hexadecimal digits."""
    with Path(path).open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def table_sha256(path: str | Path) -> str:
    """SHA-256 of a table: of its one file, or of the names and SHA-256 of all its shards."""
    path = Path(path)
    if not path.is_dir():
        return file_sha256(path)
    shards = {file.name: file_sha256(file) for file in sorted(path.iterdir())}
    return settings_sha256(shards)


def settings_sha256(settings: Mapping[str, Any]) -> str:
    """SHA-256 of JSON-like settings, independent of the order of their keys."""
    return hashlib.sha256(json.dumps(settings, sort_keys=True).encode()).hexdigest()
