"""Both engines but for the cluster itself: order, errors, and what keeps Ray from starting."""

from __future__ import annotations

import pickle
import sys
from collections.abc import Callable, Iterator
from contextlib import closing
from pathlib import Path

import pyarrow as pa
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.executors import RayCluster, Worker, choose_workers, run_shards
from infopursuit.pipeline.params import load_params
from tests.core.executors.work import Doubled


def test_the_model_is_opened_once_and_only_for_work() -> None:
    opened: list[str] = []

    def start() -> Callable[[str], str]:
        opened.append("model")
        return str.upper

    assert list(run_shards(start, [])) == []
    assert opened == []
    assert [result for _, result in run_shards(start, enumerate("abc"))] == ["A", "B", "C"]
    assert opened == ["model"]


def test_shards_are_made_as_they_are_done_and_no_more_once_closed() -> None:
    made: list[int] = []

    def shards() -> Iterator[tuple[int, str]]:
        for index in range(10):
            made.append(index)
            yield index, "x"

    with closing(run_shards(Doubled(), shards())) as found:
        for index, _ in found:
            if index == 2:
                break
    assert made == [0, 1, 2]


def test_the_settings_choose_the_engine() -> None:
    compute = load_params().compute
    assert compute.engine == "local"
    assert choose_workers(compute, str) is None
    workers = choose_workers(compute.model_copy(update={"engine": "ray"}), str)
    assert workers is not None
    assert workers.open is str
    assert workers.cluster == RayCluster("auto", 2, 1.0, 0.0)


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


@pytest.mark.parametrize(
    ("address", "message"),
    [
        ("nowhere", "HOST:PORT"),
        ("ray://head:10001", "HOST:PORT"),
        ("head:", "HOST:PORT"),
        ("127.0.0.1:1", "no Ray cluster answers"),
        (None, "ray is not installed"),
    ],
)
def test_a_cluster_that_cannot_be_used_is_named(
    address: str | None, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    if address is None:
        monkeypatch.setitem(sys.modules, "ray", None)
    else:
        pytest.importorskip("ray", reason="Ray is not installed")
    cluster = RayCluster(address or "auto", workers=1, cpus_per_worker=1.0, gpus_per_worker=0.0)
    assert list(run_shards(Doubled(), [], cluster)) == []
    with pytest.raises(InputError, match=rf"compute\..*{message}"):
        list(run_shards(Doubled(), enumerate("ab"), cluster))
