"""`infopursuit serve` as a process: it says where it is, answers, and ends with Ctrl-C."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import Request, urlopen

import pytest

from infopursuit.cli.explored_models import blind
from infopursuit.core.tables import EMBEDDED_TEXTS, write_table
from tests.estimators.conftest import World

ADDRESS = re.compile(r"explore at (http://127\.0\.0\.1:\d+/) ")


@pytest.fixture
def started() -> Iterator[Callable]:
    """Starts servers: the process, and the address it tells."""
    running: list[subprocess.Popen] = []

    def start(*arguments: object) -> tuple[subprocess.Popen, str, list[str]]:
        command = [sys.executable, "-m", "infopursuit", "serve", "--port", "0"]
        process = subprocess.Popen(
            [*command, *map(str, arguments)], stderr=subprocess.PIPE, text=True
        )
        running.append(process)
        told = []
        for line in process.stderr or ():
            told.append(line)
            if found := ADDRESS.match(line):
                return process, found[1], told
        raise AssertionError("".join(told))

    yield start
    for process in running:
        process.kill()
        process.wait()
        if process.stderr is not None:
            process.stderr.close()


def fetch(address: str, content: bytes | None = None) -> tuple[int, bytes]:
    try:
        with urlopen(Request(address, content), timeout=60) as response:
            return response.status, response.read()
    except HTTPError as error:
        return error.code, error.read()


def test_pictures_of_ones_own_are_answered(started: Callable, colors: Path) -> None:
    process, address, _ = started(
        "--model", colors / "model", "--model", colors / "model", "--images", colors / "photos"
    )
    content = json.loads(fetch(f"{address}api/payload")[1])
    assert [each["name"] for each in content["models"]] == ["model", "model again"]
    assert [each["sees"] for each in content["models"]] == [True, True]
    sample = next(each for each in content["images"]["test"] if each["id"] == "red/0.png")
    status, told = fetch(f"{address}api/images", (colors / "photos/red/0.png").read_bytes())
    assert status == 200
    assert json.loads(told)["answers"] == sample["answers"]
    assert fetch(address)[1].startswith(b"<!doctype html>")
    process.send_signal(signal.SIGINT)
    assert process.wait(30) == 130
    assert process.stderr.read() == "infopursuit: stopped; nothing was stored\n"


def test_a_model_without_a_clip_is_served_and_takes_no_pictures(
    started: Callable, world: World, tmp_path: Path
) -> None:
    world.fitted().save(tmp_path / "m")
    _, address, told = started("--model", tmp_path / "m")
    assert "pictures of your own are refused: the model does not know where its CLIP is" in told[0]
    status, said = fetch(f"{address}api/images", b"x")
    assert status == 409
    assert json.loads(said)["error"].startswith("the model does not know where its CLIP is")
    assert json.loads(fetch(f"{address}api/payload")[1])["models"][0]["sees"] is False


def test_a_table_of_texts_has_no_eyes(tmp_path: Path, world: World) -> None:
    table = tmp_path / "texts.parquet"
    columns = {"text": world.texts, "source": ["a"] * len(world.texts)}
    write_table(table, EMBEDDED_TEXTS, columns | {"embedding": world.embeddings}, "a clip")
    model = world.fitted()
    model.clip_, model.clip_source_ = "a clip", str(table)
    assert "texts.parquet" in (blind({"m": model}) or "")


def test_missing_packages_are_named(
    run: Callable, colors: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infopursuit.cli.serve.find_spec", lambda name: None)
    status, _, log = run("serve", "--model", colors / "model")
    assert status == 1
    assert "pip install 'infopursuit[app]' (fastapi, uvicorn not found)" in log


def test_three_models_are_too_many(run: Callable, colors: Path) -> None:
    given = [part for _ in range(3) for part in ("--model", colors / "model")]
    status, _, log = run("serve", "--port", "0", *given)
    assert status == 1
    assert "3 models; expected one, or two to compare" in log
