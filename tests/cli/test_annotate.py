"""`infopursuit annotate`: from a model and a folder to a page, and back into `fit`."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from fastapi import FastAPI
from starlette.testclient import TestClient

from infopursuit.explorer import server
from infopursuit.texts.annotations import read_annotations


def test_answers_of_a_person_are_read_by_fit(
    run: Callable, colors: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    photos, labels = tmp_path / "photos", tmp_path / "labels.csv"
    shutil.copytree(colors / "photos", photos)
    (photos / "red" / "broken.png").write_bytes(b"no picture")
    (photos / "red" / "0.png").rename(photos / "red" / os.fsdecode(b"caf\xe9.png"))
    served = []

    def serve(app: FastAPI, _: object) -> None:  # instead of until Ctrl-C
        served.append(TestClient(app, base_url="http://127.0.0.1"))
        there = served[-1].get("/api/annotations").json()
        for place, answer in enumerate(there["answers"]):
            assert (answer is None) == (len(served) == 1)
            asked = served[-1].get(f"/api/annotations/{place}").json()
            said = {"place": place, "answer": "yes" if "red/" in asked["image"] else "no"}
            assert served[-1].post("/api/annotations", json=said).status_code == 200

    monkeypatch.setattr(server, "run", serve)
    command = ("annotate", colors / "model", photos, "--out", labels, "--by", "anna", "--port", 0)
    status, _, log = run(*command)
    assert status == 1
    assert "broken.png" in log
    assert "questions about 12 pictures, 0 answered; answers are saved in" in log
    said = read_annotations(labels)
    assert {row.by for row in said.rows} == {"anna"}
    files = {os.fsencode(file.relative_to(photos)) for file in photos.rglob("*.png")}
    no_text = "red/caf\ufffd.png"
    named = {row.image for row in said.rows}
    assert no_text in named
    assert {os.fsencode(name) for name in named - {no_text}} <= files
    before = labels.read_bytes()
    _, _, log = run(*command)
    assert f"{len(said.rows)} answered" in log
    assert labels.read_bytes() == before


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"images": "red/0.png"}, "expected a folder with a picture"),
        ({"--out": "labels.parquet"}, "labels.parquet"),
    ],
)
def test_what_cannot_be_annotated_is_refused(
    run: Callable, colors: Path, change: dict[str, str], said: str
) -> None:
    images = colors / "photos" / change.pop("images", "")
    options = [part for pair in change.items() for part in pair]
    status, _, log = run("annotate", colors / "model", images, "--port", 0, *options)
    assert status == 1
    assert said in log
