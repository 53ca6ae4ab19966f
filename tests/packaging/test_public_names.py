"""What `import infopursuit` gives, and how fast."""

from __future__ import annotations

import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest

import infopursuit

NAMES = {
    "Explanation", "InformationPursuitClassifier", "InputError", "StoppingRule",
    "TableQuestions",
    "VariationalInformationPursuit", "fit", "load", "texts",
}  # fmt: skip
# What `pip install infopursuit` does not bring.
PIPELINE_ONLY = ("datasets", "dvc", "jinja2", "openai", "polars")
IMPORT = """
import sys, time
started = time.perf_counter()
import infopursuit
print(time.perf_counter() - started)
print(sorted({"torch", "sklearn", "numpy", "open_clip", "pyarrow"} & set(sys.modules)))
"""


def test_the_public_names_are_these() -> None:
    assert set(infopursuit.__all__) == NAMES
    assert set(dir(infopursuit)) >= NAMES
    with pytest.raises(AttributeError, match="no attribute 'Classifier'"):
        _ = infopursuit.Classifier


def test_each_public_name_is_that_of_its_module() -> None:
    for name in NAMES:
        found, home = getattr(infopursuit, name), infopursuit._HOMES.get(name)
        assert found is (getattr(import_module(home), name) if home else infopursuit.texts)
        assert found.__doc__
    assert (Path(infopursuit.__file__).parent / "py.typed").is_file(), "types are for everybody"


def test_the_import_is_light() -> None:
    seconds = []
    for _ in range(3):  # the machine may be busy
        done = subprocess.run(
            [sys.executable, "-c", IMPORT], capture_output=True, text=True, check=True
        )
        taken, heavy = done.stdout.splitlines()
        assert heavy == "[]"
        seconds.append(float(taken))
    assert min(seconds) <= 0.3


def test_all_of_it_is_imported_without_the_packages_of_the_pipeline() -> None:
    code = (
        "import sys\n"
        f"sys.modules.update(dict.fromkeys({PIPELINE_ONLY!r}))\n"  # None: an import of it fails
        "import infopursuit\n"
        "for name in infopursuit.__all__: getattr(infopursuit, name)\n"
        "import infopursuit.cli.dialogue, infopursuit.cli.fit, infopursuit.cli.explore\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
