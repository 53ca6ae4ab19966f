"""`infopursuit predict`."""

from __future__ import annotations

import csv
import io
import json
import logging
from collections.abc import Callable
from pathlib import Path

import infopursuit


def test_a_row_for_each_image(run: Callable, colors: Path, monkeypatch, tmp_path: Path) -> None:
    monkeypatch.chdir(colors)
    heic = tmp_path / "phone.heic"
    heic.write_bytes(b"\0\0\0\x18ftypheic" + bytes(40))
    given = "predict", "--model", "model", "photos", heic
    status, out, log = run(*given)
    rows = list(csv.DictReader(io.StringIO(out)))
    assert (status, len(rows)) == (1, 12)
    assert (
        log == f"not read: {heic}: HEIC, which pip install 'infopursuit[heic]' reads; or "
        "export the photo as JPEG or PNG"
    )
    explained = infopursuit.load("model").explain([Path(row["image"]) for row in rows])
    for row, each in zip(rows, explained, strict=True):
        assert row["class"] == each.predicted_class
        assert float(row["probability"]) == each.probability >= float(row["second_probability"])
        assert int(row["questions"]) == len(each.steps)
    images = json.loads(run(*given, "--format", "json", "--quiet")[1])["images"]
    assert logging.getLogger("infopursuit").level == logging.ERROR
    assert [len(image["answers"]) for image in images] == [len(each.steps) for each in explained]
    assert all(
        one in [{key: step[key] for key in ("question", "answer")} for step in image["answers"]]
        for image in images
        for one in image["decided_by"]
    )
