"""A few examples for every reader, the same in each run; that failures are seen."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.fuzz import Tally, fuzz, outcome
from campaigns.readers import Reader, readers
from infopursuit.core.errors import InputError

READERS = readers()


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_or_refuses_what_it_is_given(name: str) -> None:
    reader = READERS[name]

    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(reader.inputs)
    def each(value: object) -> None:
        assert outcome(reader, value) in ("taken", "refused")

    each()


def _reads(value: int, folder: Path) -> object:
    if value > 1000:
        raise KeyError(value)
    if value < -1000:
        raise InputError(f"{value}: expected more")
    return value if value < 100 else str(value)


def test_what_breaks_the_promise_is_counted_and_told() -> None:
    whole = Reader(st.integers(-5000, 5000), _reads, lambda found: isinstance(found, int))
    tally = Tally()
    fuzz(whole, tally, 0, 200)
    fuzz(whole._replace(inputs=st.integers(1001, 5000)), tally, 0, 20)
    assert {key.split()[0] for key in tally.failures} == {"AssertionError", "KeyError"}
    assert any("value=1001" in told for told in tally.failures.values())  # as small as can be
    tally = Tally()
    fuzz(whole._replace(inputs=st.integers(-5000, 99)), tally, 0, 200)
    assert not tally.failures
    assert tally.outcomes["taken"] > 0
    assert tally.outcomes["refused"] > 0
