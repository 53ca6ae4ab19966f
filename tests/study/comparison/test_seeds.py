"""Seeds are measured, kept and written; side by side they give the same bits."""

from __future__ import annotations

import json
import os
import signal
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit_study.comparison import seeds
from infopursuit_study.comparison.results import read_result
from infopursuit_study.comparison.seeds import measure_peers, side_by_side
from tests.study.comparison.conftest import measured
from tests.study.comparison.tasks import small_task


@pytest.mark.slow
def test_seeds_side_by_side_give_the_same_bits(folder: Path, tmp_path: Path) -> None:
    found = measured(tmp_path, processes=2)
    assert found == {name: (folder / name).read_bytes() for name in found}
    assert len(found) == 4 + 3 * 2
    told = json.loads((tmp_path / "zoo.timings" / "ours.json").read_text())
    assert set(told) == {"2", "10"}


def test_a_seed_that_is_done_is_not_measured_again(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    found: list[int] = []
    once = seeds.measure_seed

    def spied(entry, task, seed, share):
        found.append(seed)
        return once(entry, task, seed, share)

    monkeypatch.setattr(seeds, "measure_seed", spied)
    task, wanted = small_task(noise=0.5), {"splice": [2, 10, 21]}
    assert measure_peers(tmp_path, "zoo", task, wanted, 0.2, folder / "kept") == 3
    assert found == [21]
    first = read_result(folder, "zoo", "splice")
    again = read_result(tmp_path, "zoo", "splice")
    assert again.metrics[:2] == first.metrics
    assert again.seeds == ["10", "2", "21"]
    np.testing.assert_array_equal(again.correct[:2], first.correct)


@dataclass(frozen=True)
class Noted:
    """Writes which process did a job; three jobs go wrong."""

    folder: Path

    def __call__(self, job: int) -> None:
        if job == 13:
            raise InputError("13 is no job")
        if job == 14:
            os.kill(os.getpid(), signal.SIGKILL)
        if job == 15:
            raise ZeroDivisionError
        (self.folder / str(job)).write_text(str(os.getpid()))


@pytest.mark.parametrize(("processes", "own"), [(2, 5), (1, 5), (0, 0)])
def test_each_job_has_its_own_process_or_none(tmp_path: Path, processes: int, own: int) -> None:
    done = list(side_by_side(Noted(tmp_path), [3, 1, 0, 2, 4], processes))
    assert sorted(done) == [0, 1, 2, 3, 4]
    assert processes > 1 or done == [3, 1, 0, 2, 4]
    used = {path.read_text() for path in tmp_path.iterdir()}
    assert len(used - {str(os.getpid())}) == own


@pytest.mark.parametrize(
    ("job", "error", "message"),
    [
        (13, InputError, r"^13 is no job$"),
        (14, InputError, r"^14: the process was killed by signal 9; if memory"),
        (15, ChildProcessError, r"^15: the process ended with exit status 1$"),
    ],
)
def test_what_goes_wrong_is_one_line(
    job: int, error: type[Exception], message: str, tmp_path: Path
) -> None:
    with pytest.raises(error, match=message):
        list(side_by_side(Noted(tmp_path), [job, 0, 1], 2))
