"""A cluster that is not there, or Ray itself: told in one line."""

from __future__ import annotations

import socket
import sys

import pytest

from infopursuit.engines import RayCluster, run_shards
from infopursuit.errors import InputError
from tests.engines.work import Doubled


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
