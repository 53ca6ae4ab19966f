"""The engine of this process, and what both engines share."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import closing

import pytest

from infopursuit.core.errors import InputError
from infopursuit.executors import RayCluster, choose_workers, run_shards
from infopursuit.pipeline.params import load_params
from tests.executors.work import Doubled


def test_results_come_in_the_order_of_the_shards() -> None:
    assert list(run_shards(Doubled(), [(4, "d"), (0, "a"), (7, "g")])) == [
        (4, "dd"),
        (0, "aa"),
        (7, "gg"),
    ]


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


def test_an_input_error_passes() -> None:
    with pytest.raises(InputError, match="the shard 'bad' is bad"):
        list(run_shards(Doubled(), [(0, "good"), (1, "bad")]))


def test_the_settings_choose_the_engine() -> None:
    compute = load_params().compute
    assert compute.engine == "local"
    assert choose_workers(compute, str) is None
    workers = choose_workers(compute.model_copy(update={"engine": "ray"}), str)
    assert workers is not None
    assert workers.open is str
    assert workers.cluster == RayCluster("auto", 2, 1.0, 0.0)
