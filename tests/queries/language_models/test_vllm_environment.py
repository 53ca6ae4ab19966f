"""A stage that needs vLLM where there is none: real processes, one for each case."""

import os
import subprocess
import sys
from pathlib import Path

from infopursuit.queries.language_models.vllm_environment import LIBRARY, STARTED_FROM

STAGE = """
import importlib.util, logging, sys
from infopursuit.core.errors import InputError
from infopursuit.queries.language_models.vllm_environment import run_where_vllm_is

python, there, *_ = sys.argv[1:]
importlib.util.find_spec = lambda name: True if there == "there" else None
logging.basicConfig(level=logging.INFO, format="%(message)s")
try:
    run_where_vllm_is(None if python == "null" else python)
except InputError as error:
    sys.exit(str(error))
print("goes on")
"""


def run(folder: Path, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    (folder / "stage.py").write_text(STAGE, encoding="utf-8")
    return subprocess.run(
        [sys.executable, "-X", "utf8", "stage.py", *arguments],
        env={**os.environ, **environment},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


def other_python(folder: Path) -> Path:
    """A program in the place of the other environment's Python: it tells how it was called."""
    path = folder / "other/bin/python"
    path.parent.mkdir(parents=True)
    path.write_text(
        f'#!/bin/sh\necho "$@"; echo ${STARTED_FROM}; echo $PATH; pwd; exit 7\n', encoding="utf-8"
    )
    path.chmod(0o755)
    return path


def test_goes_on_where_vllm_is(tmp_path: Path) -> None:
    assert run(tmp_path, "null", "there").stdout == "goes on\n"
    assert run(tmp_path, "null", "there", **{STARTED_FROM: LIBRARY}).stdout == "goes on\n"


def test_runs_the_same_command_in_the_other_environment(tmp_path: Path) -> None:
    path = other_python(tmp_path)
    for named in (str(path), "other/bin/python"):
        done = run(tmp_path, named, "absent", "--corpus", "a b")
        called, started_from, search, folder = done.stdout.splitlines()
        assert called == f"-X utf8 stage.py {named} absent --corpus a b"
        assert started_from == LIBRARY
        assert search.split(os.pathsep)[0] == str(path.parent)
        assert folder == str(tmp_path)
        assert done.returncode == 7
        assert f"running this stage in {named}" in done.stderr


def test_a_link_to_a_python_stays_a_link(tmp_path: Path) -> None:
    # The Python of a virtual environment is a link; what it links to knows nothing of it.
    path = other_python(tmp_path)
    link = tmp_path / "linked/bin/python"
    link.parent.mkdir(parents=True)
    link.symlink_to(path)
    search = run(tmp_path, str(link), "absent").stdout.splitlines()[2]
    assert search.split(os.pathsep)[0] == str(link.parent)


def test_without_another_environment(tmp_path: Path) -> None:
    done = run(tmp_path, "null", "absent")
    assert done.returncode == 1
    assert "set compute.vllm_python to the Python of an environment that has it" in done.stderr
    assert "`make vllm`" in done.stderr


def test_an_environment_that_is_not_there(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("no program", encoding="utf-8")
    for path in ("nowhere/bin/python", "text", "."):
        done = run(tmp_path, path, "absent")
        assert done.returncode == 1
        assert f"compute.vllm_python: {path} is no program" in done.stderr


def test_an_environment_that_lacks_vllm_too_is_not_started_for_ever(tmp_path: Path) -> None:
    done = run(tmp_path, sys.executable, "absent")
    assert done.returncode == 1
    assert done.stderr.splitlines()[-1].startswith(
        f"compute.vllm_python: {sys.executable} has no vllm"
    )


def test_an_environment_with_another_copy_of_the_library(tmp_path: Path) -> None:
    done = run(tmp_path, "null", "there", **{STARTED_FROM: "/elsewhere/infopursuit"})
    assert done.returncode == 1
    assert f"runs the library of {LIBRARY}; expected that of /elsewhere/infopursuit" in done.stderr
