"""The table of findings names tests that there are; and the tests that are nowhere else."""

from __future__ import annotations

import json
import os
import pickle
import signal
import socket
import subprocess
import sys
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from threading import Event
from urllib.parse import urlsplit
from xml.etree import ElementTree

import httpx
import numpy as np
import pytest
import torch

from benchmarks.harness import memory_kb
from campaigns.bad_inputs import Trial, measured
from campaigns.findings import FINDINGS, ROOT, nodes
from infopursuit.core.errors import InputError
from infopursuit.datasets.embedded_files import read_embeddings
from infopursuit.estimators.hub import model_card
from infopursuit.pursuit.dictionary.forward_selection import forward_selection
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from tests.cli.conftest import colors as colors
from tests.cli.test_command_line import started as started
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.estimators.conftest import World
from tests.estimators.conftest import model as model
from tests.estimators.conftest import world as world
from tests.explorer.made_up import HOSTILE
from tests.explorer.test_server import bomb


def test_every_finding_has_a_row_and_every_test_that_is_named_collects() -> None:
    ids = [
        f"{kind}{n + 1}"
        for kind, count in {"H": 4, "M": 12, "L": 22, "C": 10}.items()
        for n in range(count)
    ]
    assert set(ids) <= FINDINGS.keys()
    for finding, row in FINDINGS.items():
        assert row.tests or row.expected.startswith("by design: "), finding
    named = dict.fromkeys(name for row in FINDINGS.values() for name in nodes(row))
    command = [sys.executable, "-m", "pytest", "--collect-only", "-q", *named]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-2000:] + done.stderr[-2000:]


class _Trap:
    def __reduce__(self) -> tuple:
        return os.mkdir, ("trapped",)


@pytest.fixture
def trap(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> bytes:
    """Return a pickle that makes a folder when it is read."""
    monkeypatch.chdir(tmp_path)
    content = pickle.dumps(_Trap(), protocol=2)
    pickle.loads(content)  # the trap works
    Path("trapped").rmdir()
    return content


def test_a_pickle_in_place_of_data_does_not_run(trap: bytes, tmp_path: Path) -> None:
    class Run:
        def state_dict(self) -> dict: ...

        def load_state_dict(self, state: dict) -> None:
            raise AssertionError("the state was read")

    torch.save({"trap": _Trap()}, "whole.pt")
    for content in (trap, Path("whole.pt").read_bytes()):
        Path("run.pt").write_bytes(content)
        with pytest.raises(InputError, match=r"run\.pt: the file is damaged"):
            Checkpoint("run.pt", 0.0).restore(Run())
        Path("run.pt").write_bytes(sha256(content).digest() + content)
        with pytest.raises(pickle.UnpicklingError):
            Checkpoint("run.pt", 0.0).restore(Run())
    np.save("trap.npy", np.array([_Trap()], dtype=object), allow_pickle=True)
    for name, content in {"t.parquet": trap, "t.npy": trap}.items():
        Path(name).write_bytes(content)
    for name in ("t.parquet", "t.npy", "trap.npy"):
        with pytest.raises(InputError):
            read_embeddings(Path(name), Path(name) if name.endswith(".npy") else None)
    assert not Path("trapped").exists()


def test_names_are_texts_in_cards_figures_and_terminals(world, model, tmp_path: Path) -> None:
    obeyed = "\x1b]52;c;x\x07\r\n  Prediction: cat, 100 %"
    hostile = model.with_class_names([obeyed, *HOSTILE[:3]])
    card = model_card(hostile.as_saved())
    assert "\n- \\<script\\>alert(1)\\</script\\>\n" in card
    assert "<script" not in card.split("## Where it comes from")[0].replace("\\<", "")
    obeying = model.with_class_names([f"{obeyed} {number}" for number in range(4)])
    rendered = [
        explained.to_text(everything=everything)
        for explained in obeying.explain(world.unseen)
        for everything in (False, True)
    ]
    assert any(" answers moved " in text or " answers of " in text for text in rendered)
    for text in rendered:
        assert text.count("\n  Prediction: ") == 1
        assert text.replace("\n", "").isprintable()
    explained = hostile.explain(world.unseen[:1])[0]
    explained.plot().savefig(tmp_path / "figure.svg")
    tree = ElementTree.parse(tmp_path / "figure.svg")
    assert not [each for each in tree.iter() if each.tag.endswith("script")]


def test_degenerate_data_give_an_answer_or_one_line(world: World) -> None:
    equal = np.tile(world.embeddings[0], (len(world.texts), 1))
    across = np.eye(2 * world.X.shape[1], dtype=np.float32)[-len(world.texts) :]
    wide = np.hstack([world.X, np.zeros_like(world.X)])
    for texts, rows in ((equal, world.X), (across, wide)):
        model = world.unfitted(text_embeddings=texts).fit(rows, world.y)
        assert np.isfinite(model.predict_proba(rows[:5])).all()
    for weight in (1e300, 1e-300):
        with pytest.raises(InputError, match="sample_weight is from"):
            world.unfitted().fit(world.X, world.y, sample_weight=np.full(len(world.y), weight))


def test_selection_takes_no_memory_for_images_times_classes() -> None:
    trial, count = Trial(), 40_000  # one-hot labels would take 6 GB
    with measured(trial):
        chosen = forward_selection(torch.rand(count, 8), torch.arange(count), 3)
    assert len(chosen) == 3
    assert trial.bytes < 2**29


def _requests(address: str, picture: bytes) -> list[tuple[int, bytes]]:
    """Ask what a user asks: the page, a step of the model, and the answers to a picture."""
    history = {"histories": [[{"query": 0, "answer": 1.0}]]}
    with httpx.Client(base_url=address, timeout=300) as client:
        found = [
            client.get("/"),
            client.post("/api/steps", json=history),
            client.post("/api/images", content=picture),
        ]
    return [(each.status_code, each.content) for each in found]


def test_honest_users_are_served_next_to_hostile_ones(started: Callable, colors: Path) -> None:
    """In a process of its own, as a user starts it; nobody has to be fast."""
    process, address, _ = started("--model", colors / "model")
    picture = (colors / "photos/red/0.png").read_bytes()
    expected = _requests(address, picture)
    assert [status for status, _ in expected] == [200] * 3
    before, stop, host = memory_kb("VmRSS", process.pid), Event(), urlsplit(address)
    steps = json.dumps({"histories": [[]] * 4096}).encode()
    head = f"Host: {host.netloc}\r\nContent-Type: application/json\r\nContent-Length: "
    posted = f"POST /api/steps HTTP/1.1\r\n{head}{len(steps)}\r\n\r\n".encode()
    # Half a head; half a body; an answer that is never read; a bomb; noise; someone who leaves.
    sent = [b"GET / HTTP/1.1\r\nX: ", posted + steps[:99], posted + steps]
    sent += [posted.replace(b"steps", b"images") + bomb(20_000, 20_000), bytes(999) + b"\r\n\r\n"]

    def hostile(number: int) -> int:
        rounds = 0
        while not stop.is_set():
            with suppress(OSError), socket.create_connection((host.hostname, host.port)) as there:
                there.sendall(sent[number % len(sent)])
                for _ in range(10 + number % 20):  # a byte at a time, then away
                    if stop.wait(0.1):
                        break
                    there.sendall(b"x")
            rounds += 1
        return rounds

    with ThreadPoolExecutor(68) as pool:
        others = [pool.submit(hostile, number) for number in range(60)]
        users = [pool.submit(_requests, address, picture) for _ in range(40)]
        try:
            assert all(user.result() == expected for user in users)
            grown = memory_kb("VmHWM", process.pid) - before
        finally:
            stop.set()
        assert sum(other.result() for other in others) >= 60
    assert grown < 600 * 1024, f"{grown} KB more"  # 400 MB of bodies and answers, and work
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 130
    assert "Traceback" not in process.stderr.read()
