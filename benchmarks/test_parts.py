"""The parts of the library that benchmarks time exist: a name that has changed fails here."""

from functools import reduce
from importlib import import_module

import pytest

from benchmarks import capacity, estimator


@pytest.mark.parametrize("benchmark", [capacity, estimator])
def test_parts_exist(benchmark: object) -> None:
    for module, name, _ in benchmark.PARTS:  # pyright: ignore[reportAttributeAccessIssue]
        part = reduce(getattr, name.split("."), import_module(f"infopursuit.{module}"))
        assert callable(part), f"{module}: {name}"
