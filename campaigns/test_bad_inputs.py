"""Every kind of bad input but the heaviest, and that there are hundreds of them."""

from __future__ import annotations

from pathlib import Path

import pytest

from campaigns.bad_inputs import all_kinds, families, tried
from campaigns.kinds import Kind

KINDS = all_kinds()


@pytest.mark.parametrize(
    "kind", [kind for kind in KINDS if not kind.heavy], ids=lambda kind: kind.key
)
def test_a_bad_input_is_reported_in_one_line(kind: Kind, tmp_path: Path) -> None:
    tried(kind, tmp_path)


def test_there_are_hundreds_of_kinds_and_several_of_each_family() -> None:
    counts = [len(members) for members in families(KINDS).values()]
    assert sum(counts) >= 200
    assert min(counts) >= 5
