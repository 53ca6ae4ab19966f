"""Records hold what the stage `peers` wrote, byte for byte."""

from __future__ import annotations

from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit_study.experiments.records import give, keep, main
from tests.study.comparison.conftest import PEERS, measured


def contents(folder: Path) -> dict[str, bytes]:
    found = [path for path in folder.glob("zoo*/**/*") if path.is_file()]
    return {str(path.relative_to(folder)): path.read_bytes() for path in found}


def test_a_record_gives_back_what_it_took(folder: Path, tmp_path: Path) -> None:
    record = tmp_path / "records" / "zoo.parquet"
    assert keep(record, "zoo", folder) == ["probe", "zero_shot", "splice", "ours"]
    assert set(give(record, "zoo", tmp_path / "given")) == set(PEERS)
    expected = contents(folder)
    assert len(expected) == 2 * 4 + 3 * 2
    assert contents(tmp_path / "given") == expected


def test_peers_that_were_not_measured_this_time_stay(folder: Path, tmp_path: Path) -> None:
    record = tmp_path / "zoo.parquet"
    keep(record, "zoo", folder)
    newer = tmp_path / "newer"
    measured(newer, peers={"probe": (1,)})
    assert keep(record, "zoo", newer) == ["probe"]
    give(record, "zoo", tmp_path / "given")
    found, before = contents(tmp_path / "given"), contents(folder)
    for name in before:
        if "probe" not in name:
            assert found.pop(name) == before[name]
    assert found == contents(newer)


@pytest.mark.parametrize(
    ("given", "word"),
    [
        (["keep", "x.parquet"], "RECORD"),
        (["keep", "x.parquet", "zoo"], "no such file"),
        (["give", "x.parquet", "zoo"], "x.parquet"),
    ],
)
def test_what_is_missing_is_told(
    given: list[str], word: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match=word):
        main(given)
