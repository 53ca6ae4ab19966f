"""The frame of the stages, run as people run it: a script in a folder with params.yaml."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from infopursuit.core.settings import Section
from infopursuit.core.stage import limit_threads
from infopursuit.executors.settings import ComputeSettings
from infopursuit.pipeline.params import load_params

ROOT = Path(__file__).parents[2]
SCRIPT = '''
"""Counts to three.

python count.py --dataset menagerie --seed 0
"""
import logging
import os
from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section
from infopursuit.core.stage import Rows, run
from infopursuit.datasets.settings import Datasets
from infopursuit.executors.settings import ComputeSettings
from infopursuit.queries.settings import QueriesSettings


class Settings(Section):
    datasets: Datasets
    queries: QueriesSettings
    methods: dict[str, dict]
    compute: ComputeSettings


def main(settings: Settings, dataset: str, seed: int) -> Rows:
    if seed == 13:
        raise InputError("seed 13: unlucky")
    if seed == 14:
        logging.getLogger("infopursuit").info("threads %s", os.environ.get("OMP_NUM_THREADS"))
    return Rows(read=settings.datasets[dataset].k, written=seed)


if __name__ == "__main__":
    run(main)
'''


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "count.py").write_text(SCRIPT, encoding="utf-8")
    (tmp_path / "dvc.yaml").write_text("stages: {other: {cmd: 'true'}}\n", encoding="utf-8")
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    return tmp_path


def change(folder: Path, old: str, new: str) -> None:
    path = folder / "params.yaml"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new, 1), encoding="utf-8")


def ran(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "count.py", *arguments]
    given = {key: value for key, value in os.environ.items() if not key.endswith("_THREADS")}
    return subprocess.run(
        command, cwd=folder, env=given | environment, capture_output=True, text=True, check=False
    )


MENAGERIE = ("--dataset", "menagerie", "--seed")


def test_a_stage_ends_with_rows_in_rows_out_and_seconds(folder: Path) -> None:
    done = ran(folder, *MENAGERIE, "3")
    assert done.returncode == 0
    assert re.fullmatch(r"count-menagerie-3: 48 rows in, 3 rows out, \d+\.\d s\n", done.stderr)
    assert done.stdout == ""
    ran(folder, *MENAGERIE, "4")
    kept = (folder / ".scratch/seconds.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in kept] == ["count-menagerie-3", "count-menagerie-4"]
    assert all(float(line.split(",")[1]) >= 0 for line in kept)


def test_a_first_run_says_how_far_it_is(folder: Path) -> None:
    pipeline = "stages:\n  draw: {cmd: a}\n  count: {matrix: {dataset: [menagerie]}, cmd: b}\n"
    (folder / "dvc.yaml").write_text(pipeline, encoding="utf-8")
    (folder / "dvc.lock").write_text("stages: {draw: {cmd: a}}\n", encoding="utf-8")
    done = ran(folder, *MENAGERIE, "3", DVC_STAGE="count@menagerie")
    first, last = done.stderr.splitlines()
    assert first == "stage 2 of 2: Counts to three."
    assert last.startswith("count-menagerie-3: 48 rows in")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*MENAGERIE, "13"), "count-menagerie-13: seed 13: unlucky"),
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
    assert not (folder / ".scratch").exists()


@pytest.mark.parametrize("key", ["method", "corpus"])
def test_methods_and_corpora_are_checked_like_data_sets(folder: Path, key: str) -> None:
    path = folder / "count.py"
    script = path.read_text(encoding="utf-8").replace("dataset: str", f"{key}: str")
    path.write_text(script, encoding="utf-8")
    done = ran(folder, f"--{key}", "none", "--seed", "0")
    assert done.returncode == 1
    known = {"method": "fixed, alternating, joint", "corpus": "menagerie"}[key]
    assert f"--{key} none: expected one of {known}" in done.stderr


@pytest.mark.parametrize("arguments", [(), ("--dataset", "menagerie"), (*MENAGERIE, "one")])
def test_bad_usage_is_status_2(folder: Path, arguments: tuple[str, ...]) -> None:
    done = ran(folder, *arguments)
    assert done.returncode == 2
    assert "usage: count.py" in done.stderr


def test_the_keys_come_from_the_name_of_dvc_s_stage(folder: Path) -> None:
    write_pipeline(folder)
    done = ran(folder, DVC_STAGE="count@menagerie-3")
    assert done.returncode == 0
    assert done.stderr.startswith("count-menagerie-3: 48 rows in, 3 rows out")
    done = ran(folder, *MENAGERIE, "4", DVC_STAGE="count@menagerie-3")
    assert done.stderr.startswith("count-menagerie-4: "), "arguments count for more"


def write_pipeline(folder: Path) -> None:
    """A pipeline that has run the stage before, so that nothing is said of a first run."""
    (folder / "dvc.yaml").write_text("stages: {count: {cmd: a}}\n", encoding="utf-8")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (
            "count@my-zoo-3",
            "count: the stage is called 'my-zoo-3'; expected DATASET-SEED, names of",
        ),
        ("count@$(touch x)-3", r"--dataset $(touch x): expected one of menagerie"),
        ("count@--help-3", "count: the stage is called '--help-3'; expected DATASET-SEED"),
    ],
)
def test_a_name_of_another_form_is_told(folder: Path, name: str, message: str) -> None:
    write_pipeline(folder)
    done = ran(folder, DVC_STAGE=name)
    assert done.returncode == 1
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "x").exists()


def test_ctrl_c_ends_with_one_line_that_says_what_is_kept(folder: Path) -> None:
    path = folder / "count.py"
    script = path.read_text(encoding="utf-8")
    slow = script.replace(
        "    if seed == 13:",
        "    print('here', flush=True)\n    time.sleep(60)\n    if seed == 13:",
    )
    path.write_text(slow.replace("import os\n", "import os\nimport time\n"), encoding="utf-8")
    status, told = interrupted(folder, path, *MENAGERIE, "3")
    assert status == 130
    assert told.startswith("count-menagerie-3: stopped; finished stages are kept")
    assert len(told.splitlines()) == 1


@pytest.mark.parametrize("folder_of_script", ["stages", "stages/menagerie"])
def test_ctrl_c_in_the_imports_ends_with_one_line(folder: Path, folder_of_script: str) -> None:
    (folder / folder_of_script).mkdir(parents=True)
    path = folder / folder_of_script / "count.py"
    path.write_text(
        "from infopursuit.core.stage import Rows, run\n"
        "import time\n"
        "try:\n"  # what a package under import may do with an interruption
        "    print('here', flush=True)\n"
        "    time.sleep(60)\n"
        "except KeyboardInterrupt:\n"
        "    raise ImportError\n",
        encoding="utf-8",
    )
    assert interrupted(folder, path) == (
        130, "count: stopped before it began; go on with dvc repro\n"
    )  # fmt: skip


def test_ctrl_c_after_the_work_is_no_failure(folder: Path) -> None:
    path = folder / "count.py"
    script = path.read_text(encoding="utf-8").replace(
        "import os\n", "import os\nimport atexit\nimport time\n", 1
    )
    late = (
        "def last():\n    print('here', flush=True)\n    time.sleep(2)\n\natexit.register(last)\n"
    )
    path.write_text(script.replace("class Settings", f"{late}\nclass Settings"), encoding="utf-8")
    status, told = interrupted(folder, path, *MENAGERIE, "3")
    assert status == 0
    assert told.startswith("count-menagerie-3: 48 rows in, 3 rows out")
    assert len(told.splitlines()) == 1


def interrupted(folder: Path, script: Path, *arguments: str) -> tuple[int, str]:
    """Ctrl-C once a script says that it is here; its exit status, and what it told."""
    process = subprocess.Popen(
        [sys.executable, str(script), *arguments],
        cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also in the background
    )  # fmt: skip
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, told = process.communicate(timeout=60)
    return process.returncode, told


@pytest.mark.parametrize(
    ("error", "told"),
    [
        ("PermissionError(13, 'denied', 'a.txt')", "a.txt: permission denied"),
        ("OSError(30, 'read-only', 'a.txt')", "a.txt: cannot be written, the disk is read-only"),
        ("FileNotFoundError(2, 'none', 'a.txt')", "a.txt: no such file or folder; it may have"),
        ("FileNotFoundError('a.parquet')", "a.parquet: no such file or folder; it may have"),
    ],
)
def test_what_the_disk_refuses_is_one_line(folder: Path, error: str, told: str) -> None:
    path = folder / "count.py"
    script = path.read_text(encoding="utf-8")
    path.write_text(script.replace('InputError("seed 13: unlucky")', error), encoding="utf-8")
    done = ran(folder, *MENAGERIE, "13")
    assert done.returncode == 1
    assert done.stderr.startswith(f"count-menagerie-13: {told}")
    assert len(done.stderr.splitlines()) == 1


def test_seconds_that_cannot_be_kept_fail_no_stage(folder: Path) -> None:
    (folder / ".scratch").mkdir()
    (folder / ".scratch/seconds.csv").symlink_to("/dev/full")
    done = ran(folder, *MENAGERIE, "3")
    assert done.returncode == 0
    assert "count-menagerie-3: 48 rows in" in done.stderr
    assert "seconds.csv: cannot be written, the disk is full" in done.stderr


def test_help_is_the_docstring_of_the_stage(folder: Path) -> None:
    assert "Counts to three." in ran(folder, "--help").stdout


def test_a_mistake_in_a_section_that_the_stage_reads_stops_it(folder: Path) -> None:
    change(folder, "k: 48", "kay: 48")
    done = ran(folder, *MENAGERIE, "0")
    assert done.returncode == 1
    assert done.stderr == "count-menagerie-0: params.yaml: datasets.menagerie.k: missing key\n"


def test_a_section_that_the_stage_does_not_read_may_be_anything(folder: Path) -> None:
    change(folder, "max_probability:", "max_porbability:")
    assert ran(folder, *MENAGERIE, "0").returncode == 0


def test_no_params_file_is_told(folder: Path) -> None:
    (folder / "params.yaml").unlink()
    done = ran(folder, *MENAGERIE, "0")
    assert done.returncode == 1
    assert "params.yaml: no such file; run this from the folder that has it" in done.stderr


def test_threads_are_those_of_the_settings_unless_the_environment_says_otherwise(
    folder: Path,
) -> None:
    assert "threads None" in ran(folder, *MENAGERIE, "14").stderr
    change(folder, "threads: null", "threads: 3")
    assert "threads 3" in ran(folder, *MENAGERIE, "14").stderr
    assert "threads 5" in ran(folder, *MENAGERIE, "14", OMP_NUM_THREADS="5").stderr


class WithCompute(Section):
    """What a stage reads that computes."""

    compute: ComputeSettings


def test_torch_obeys_where_it_was_imported_before(monkeypatch: pytest.MonkeyPatch) -> None:
    compute = load_params(ROOT / "params.yaml").compute
    for variable in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "POLARS_MAX_THREADS"):
        monkeypatch.setenv(variable, "1")
    before = torch.get_num_threads()
    try:
        limit_threads(WithCompute(compute=compute.model_copy(update={"threads": 2})))
        assert torch.get_num_threads() == 2
        limit_threads(WithCompute(compute=compute))  # null: as it was
        limit_threads(Section())
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(before)
