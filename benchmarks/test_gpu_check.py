"""`make gpu-check`: on a machine with little beside torch, cut off anywhere, and refused."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from importlib import metadata
from pathlib import Path

import pytest
import torch
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from benchmarks.gpu_check import __main__ as command
from benchmarks.gpu_check import checks
from benchmarks.gpu_check.rows import NOT_APPLICABLE, Report
from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from tests.pursuit.dictionary import nearest_checks

ROOT = Path(__file__).parents[1]
ROWS = len(checks.CHECKS) + 4 + 2 + 1  # checks, engine, schedules, medoids
TITLES = [part.title for part in command.PARTS.values()]
TINY = ("--device", "cpu", "--tiny", "--budget", "3000")


def dependencies(*names: str) -> set[str]:
    """Return these distributions and all that they need in turn."""
    needed: set[str] = set()
    waiting = list(names)
    while waiting:
        name = canonicalize_name(waiting.pop())
        if name in needed:
            continue
        needed.add(name)
        with suppress(metadata.PackageNotFoundError):  # for another system
            wanted = map(Requirement, metadata.requires(name) or [])
            waiting += [
                requirement.name
                for requirement in wanted
                if requirement.marker is None or requirement.marker.evaluate({"extra": ""})
            ]
    return needed


def bare(folder: Path, *without: str) -> dict[str, str]:
    """Return the environment of a Python with the stated packages and what they need alone."""
    present = dependencies(*command.NEEDED)
    hidden = {
        package
        for package, owners in metadata.packages_distributions().items()
        if not present & {canonicalize_name(owner) for owner in owners}
    } - {"infopursuit"}
    assert {"pydantic", "pytest", "sklearn", "scipy"} <= hidden
    hidden |= set(without)
    # None in sys.modules: an import of it fails.
    lines = f"import sys\nsys.modules.update(dict.fromkeys({sorted(hidden)!r}))\n"
    (folder / "sitecustomize.py").write_text(lines, encoding="utf-8")
    return {
        **{name: value for name, value in os.environ.items() if name != "PYTHONPATH"},
        "PYTHONPATH": f"{folder}{os.pathsep}{ROOT / 'src'}",
        "OMP_NUM_THREADS": "1",
    }


def run(environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-m", "benchmarks.gpu_check", *arguments],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.slow
def test_the_tiny_form_needs_the_stated_packages_alone(tmp_path: Path) -> None:
    done = run(bare(tmp_path), *TINY, "--out", str(tmp_path))
    assert done.returncode == 0, done.stderr
    report = json.loads((tmp_path / "gpu_check.json").read_text(encoding="utf-8"))
    assert report["complete"] is True
    assert len(report["rows"]) == ROWS
    checked, timed = report["rows"][: len(checks.CHECKS)], report["rows"][len(checks.CHECKS) :]
    assert all(row["exact"] and row["measured"].startswith("holds") for row in checked)
    assert [row["goal"] for row in timed] == [NOT_APPLICABLE] * len(timed)
    assert all(row["exact"] for row in timed)
    assert all(row["figures"] for row in timed)
    table = (tmp_path / "gpu_check.md").read_text(encoding="utf-8")
    assert table in done.stdout
    assert table.count("\n| ") == ROWS + 2
    assert "not run" not in table


def test_a_run_that_is_killed_leaves_its_rows(tmp_path: Path) -> None:
    path = tmp_path / "gpu_check.json"
    process = subprocess.Popen(
        [sys.executable, "-m", "benchmarks.gpu_check", *TINY, "--out", str(tmp_path)],
        cwd=ROOT,
        env=bare(tmp_path),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    try:
        until(lambda: path.is_file() and bool(json.loads(path.read_text())["rows"]))
        of_process = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text()
        (child,) = map(int, of_process.split())
    finally:
        process.send_signal(signal.SIGKILL)
        process.wait()
    report = json.loads(path.read_text(encoding="utf-8"))
    assert 1 <= len(report["rows"]) < ROWS
    assert report["complete"] is False
    table = (tmp_path / "gpu_check.md").read_text(encoding="utf-8")
    assert f"| {report['rows'][0]['what']} | holds" in table
    for title in report["not_run"]:
        assert f"| {title} | not run, or cut off |" in table
    assert sorted(path.name for path in tmp_path.iterdir() if path.is_file()) == [
        "gpu_check.json",
        "gpu_check.md",
        "sitecustomize.py",
    ]
    until(lambda: not running(child))


def running(process: int) -> bool:
    """Return whether a process exists and is not a zombie."""
    try:
        status = Path(f"/proc/{process}/status").read_text(encoding="utf-8")
    except (FileNotFoundError, ProcessLookupError):
        return False
    return re.search(r"^State:\s+Z", status, flags=re.MULTILINE) is None


def until(holds: Callable[[], bool], seconds: float = 500.0) -> None:
    """Wait until something holds."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "waited in vain"
        time.sleep(0.05)


@pytest.mark.parametrize(
    ("without", "arguments", "expected"),
    [
        ((), ("--device", "tpu"), "gpu-check: --device tpu; expected cuda or cpu"),
        (("tqdm",), (), "gpu-check: no package tqdm in .*; expected numpy, torch, .*, tqdm"),
        pytest.param(
            (),
            ("--device", "cuda"),
            r"gpu-check: torch \S+ finds no CUDA device; expected one, or --device cpu",
            marks=pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU"),
        ),
    ],
)
def test_a_machine_that_does_not_fit_is_refused_in_one_line(
    tmp_path: Path, without: tuple[str, ...], arguments: tuple[str, ...], expected: str
) -> None:
    done = run(bare(tmp_path, *without), *arguments, "--out", str(tmp_path))
    assert done.returncode == 2
    assert re.fullmatch(expected + "\n", done.stderr)
    assert done.stdout == ""
    assert not (tmp_path / "gpu_check.md").exists()


def empty_report(folder: Path) -> Report:
    return Report(folder, {"machine": "here", "device": "cpu", "tiny": True}, ["k-medoids"])


def test_parts_beyond_the_budget_are_skipped(tmp_path: Path) -> None:
    assert command.run_all("cpu", True, time.monotonic() + 5, tmp_path) == 1
    report = json.loads((tmp_path / "gpu_check.json").read_text(encoding="utf-8"))
    assert [row["what"] for row in report["rows"]] == [
        part.title for part in command.PARTS.values()
    ]
    assert all(row["measured"].startswith("skipped: ") for row in report["rows"])


def test_a_part_that_takes_too_long_is_cut_off(tmp_path: Path) -> None:
    report = empty_report(tmp_path)
    command.collect("medoids", "cpu", True, 0.2, report)
    assert [row.measured for row in report.rows] == ["cut off after 0 s"]
    assert not report.rows[0].good


def test_a_part_that_dies_has_a_row(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    report = empty_report(tmp_path)
    monkeypatch.setattr(sys, "executable", "/bin/false")
    command.collect("medoids", "cpu", True, 60, report)
    assert [row.measured for row in report.rows] == ["broke with status 1"]


def test_a_check_that_fails_is_reported_in_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(LearnableDictionary, "snap", lambda self: None)
    row = checks.checked("a dictionary", nearest_checks.check_snap, "cpu")
    assert row.exact is False
    assert row.measured == "fails: AssertionError: assert torch.equal(dictionary.rows, moved)"
    assert "Traceback" in capsys.readouterr().err


def test_make_needs_no_environment_for_it() -> None:
    # Under `make test` the outer make hands its own options down, such as naming its folder.
    outer = {"MAKEFLAGS", "MFLAGS", "MAKELEVEL"}
    done = subprocess.run(
        ["make", "-n", "gpu-check", "PYTHON=python9", "ARGS=--tiny"],
        cwd=ROOT,
        env={name: value for name, value in os.environ.items() if name not in outer},
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.strip() == "PYTHONPATH=src python9 -m benchmarks.gpu_check --tiny"
