"""A few examples for every reader, the same in each run; and failures are counted."""

from __future__ import annotations

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from campaigns.fuzz import Tally, fuzz, main, outcome
from campaigns.kinds import Reader
from campaigns.readers import READERS, fit_models
from infopursuit.core.errors import InputError


@pytest.mark.parametrize("name", READERS)
def test_a_reader_takes_or_refuses_what_it_is_given(name: str) -> None:
    reader = READERS[name]
    fit_models()

    @settings(max_examples=15, suppress_health_check=list(HealthCheck))
    @given(reader.inputs)
    def try_example(value: object) -> None:
        outcome(reader, value)

    try_example()


def test_a_reader_that_does_not_exist_is_refused() -> None:
    with pytest.raises(SystemExit):
        main(["--only", "captions"])


def _reads(value: int) -> int:
    if value > 1000:
        raise KeyError(value)
    if value < -1000:
        raise InputError(f"{value}: expected more")
    return value if value < 100 else str(value)  # type: ignore[return-value]


def test_broken_promises_are_counted_and_shrunk() -> None:
    reader = Reader(_reads, "", st.integers(-5000, 5000))
    tally = Tally()
    fuzz(reader, tally, 0, 200)
    fuzz(reader._replace(inputs=st.integers(1001, 5000)), tally, 0, 20)
    assert {key.split()[0] for key in tally.failures} == {"AssertionError", "KeyError"}
    assert any("value=1001" in message for message in tally.failures.values())
    tally = Tally()
    fuzz(reader._replace(inputs=st.integers(-5000, 99)), tally, 0, 200)
    assert not tally.failures
    assert tally.outcomes["taken"] > 0
    assert tally.outcomes["refused"] > 0
