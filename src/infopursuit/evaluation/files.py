"""Metrics as JSON and curves as CSV, with all the digits that numbers have."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.whole_files import whole_file, write_text


def write_csv(path: str | Path, header: Sequence[str], rows: Iterable[Sequence[Any]]) -> None:
    """Write rows as CSV; floats with all their digits, so that they read back the same."""
    with (
        whole_file(path) as partial,
        partial.open("w", encoding="utf-8", newline="") as file,
    ):
        writer = csv.writer(file, lineterminator="\n")
        writer.writerow(header)
        writer.writerows(rows)


def write_json(path: str | Path, metrics: Mapping[str, Any]) -> None:
    """Write metrics as JSON with sorted keys."""
    write_text(path, json.dumps(metrics, indent=2, sort_keys=True) + "\n")
