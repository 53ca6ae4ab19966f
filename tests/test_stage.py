"""The frame of the stages, run as people run it: a script in a folder with params.yaml."""

import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
SCRIPT = '''
"""Counts to three.

python count.py --dataset menagerie --seed 0
"""
from infopursuit.errors import InputError
from infopursuit.params import Params
from infopursuit.stage import Rows, run


def main(params: Params, dataset: str, seed: int) -> Rows:
    if seed == 13:
        raise InputError("seed 13: unlucky")
    return Rows(read=params.datasets[dataset].k, written=seed)


if __name__ == "__main__":
    run(main)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "count.py").write_text(SCRIPT, encoding="utf-8")
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def ran(folder: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "count.py", *arguments]
    return subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)


def test_a_stage_ends_with_rows_in_rows_out_and_seconds(folder: Path) -> None:
    done = ran(folder, "--dataset", "menagerie", "--seed", "3")
    assert done.returncode == 0
    assert done.stderr.startswith("count-menagerie-3: 48 rows in, 3 rows out, ")
    kept = (folder / ".scratch/seconds.csv").read_text(encoding="utf-8")
    assert kept.startswith("count-menagerie-3,")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--dataset", "menagerie", "--seed", "13"), "count-menagerie-13: seed 13: unlucky"),
        (("--dataset", "zoo", "--seed", "0"), "--dataset zoo: expected one of menagerie"),
    ],
)
def test_bad_input_is_one_line_and_status_1(
    folder: Path, arguments: tuple[str, ...], message: str
) -> None:
    done = ran(folder, *arguments)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_mistake_in_the_parameters_stops_every_stage(folder: Path) -> None:
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8").replace("k: 48", "kay: 48")
    path.write_text(text, encoding="utf-8")
    done = ran(folder, "--dataset", "menagerie", "--seed", "0")
    assert done.returncode == 1
    assert "datasets.menagerie.k" in done.stderr
    assert "Traceback" not in done.stderr
