"""What does not work is told in one line: no Ray, no cluster, a worker that cannot start."""

from __future__ import annotations

import pickle
import socket
import sys
from pathlib import Path

import pyarrow as pa
import pytest

from infopursuit.core.errors import InputError
from infopursuit.executors import RayCluster, run_shards
from infopursuit.executors.ray_data import Worker
from tests.executors.work import Doubled


def run(address: str) -> None:
    cluster = RayCluster(address, workers=1, cpus_per_worker=1.0, gpus_per_worker=0.0)
    list(run_shards(Doubled(), enumerate("ab"), cluster))


def test_without_ray_it_says_how_to_install_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    message = r"compute\.engine: ray is not installed .*pip install 'infopursuit\[ray\]'"
    with pytest.raises(InputError, match=message):
        run("auto")


def test_without_shards_nothing_is_asked_of_ray(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    cluster = RayCluster("nowhere", workers=1, cpus_per_worker=1.0, gpus_per_worker=0.0)
    assert list(run_shards(Doubled(), [], cluster)) == []


@pytest.mark.parametrize("address", ["nowhere", "local", "ray://head:10001", "head:", ":6379"])
def test_an_address_that_is_none(address: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    message = r"compute\.ray\.address: expected auto or HOST:PORT of the head, found"
    with pytest.raises(InputError, match=message):
        run(address)


def free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return free.getsockname()[1]


@pytest.mark.parametrize("auto", [False, True])
def test_an_address_where_nothing_listens(auto: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("ray", reason="Ray is not installed")
    address = f"127.0.0.1:{free_port()}"
    monkeypatch.setenv("RAY_ADDRESS", address if auto else "127.0.0.1:1")
    message = rf"compute\.ray\.address: no Ray cluster answers at '{address}'.*ray start --head"
    with pytest.raises(InputError, match=message):
        run("auto" if auto else address)


def told_by_a_worker(folder: Path, start: Doubled) -> str:
    worker = Worker(str(folder), pickle.dumps(start))
    found = worker(pa.table({"index": [7], "shard": [pickle.dumps("a")]}))
    assert found.column("index").to_pylist() == [7]
    assert found.column("result").to_pylist() == [None]
    return found.column("error")[0].as_py()


def test_a_worker_that_cannot_open_its_model_says_so_for_each_shard(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert told_by_a_worker(tmp_path, Doubled(fails_to_open=True)) == "there is no model at NOWHERE"


def test_a_worker_that_does_not_see_the_project_says_so(tmp_path: Path) -> None:
    message = told_by_a_worker(tmp_path / "elsewhere", Doubled())
    assert message.startswith(f"{tmp_path / 'elsewhere'}: no such folder on {socket.gethostname()}")
    assert "expected the folder of the project under the same path" in message
