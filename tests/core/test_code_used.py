"""Which code a script runs: what it imports and names, without what computes nothing."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from infopursuit.core import stage
from infopursuit.core.code_used import CodeUsed, digest
from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.stage import code_key

FILES = {
    "stages/fit.py": (
        "import beside, mine\nfrom infopursuit.core.numbers import add\n"
        "from helpers.words import text\n"
    ),
    "stages/beside.py": "ONE = 1\n",
    "src/mine.py": "ONE = 1\n",
    "src/helpers/__init__.py": "import os\n\nos.environ['ONE'] = '1'\n",
    "src/helpers/words.py": 'def text():\n    return open("words.toml")\n',
    "src/helpers/words.toml": "a = 1\n",
    "src/helpers/other.toml": "a = 1\n",
    "src/infopursuit/__init__.py": "import infopursuit.core.unused\n",
    "src/infopursuit/core/__init__.py": '"""Only a docstring."""\n',
    "src/infopursuit/core/numbers.py": (
        "def add(x):\n    import infopursuit.core.lazy\n    return f'{x:>{x}}'\n"
    ),
    "src/infopursuit/core/lazy.py": 'PAGE = "page"\n',
    "src/infopursuit/core/page/a.js": "1\n",
    "src/infopursuit/core/unused.py": "ONE = 1\n",
}


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    for name, content in FILES.items():
        write_text(tmp_path / name, content)
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_imports_and_the_data_that_they_name_count(project: Path) -> None:
    assert CodeUsed(project).names(project / "stages/fit.py") == [
        "src/helpers/__init__.py",
        "src/helpers/words.py",
        "src/helpers/words.toml",
        "src/infopursuit/core/lazy.py",
        "src/infopursuit/core/numbers.py",
        "src/infopursuit/core/page/a.js",
        "src/mine.py",
        "stages/beside.py",
        "stages/fit.py",
    ]


@pytest.mark.parametrize(
    ("name", "same"),
    [
        ("helpers/words.toml", 0),
        ("infopursuit/core/lazy.py", 0),
        ("helpers/other.toml", 1),
        ("mine.py", 0),
        ("helpers/__init__.py", 0),
        ("infopursuit/__init__.py", 1),  # which only makes names
    ],
)
def test_what_a_stage_keeps_is_of_its_code_its_data_and_its_libraries(
    project: Path, monkeypatch: pytest.MonkeyPatch, name: str, same
) -> None:
    before = code_key("stages/fit.py")
    with monkeypatch.context() as other:
        other.setattr(stage, "version", "{} 0.1".format)
        assert code_key("stages/fit.py") != before
    write_text(project / "src" / name, FILES[f"src/{name}"] + "b = 2\n")
    assert (code_key("stages/fit.py") == before) == same
    for script in (Path(__file__).parents[2] / "stages").rglob("*.py"):  # answers: by what is asked
        code = script.read_text(encoding="utf-8")
        kept = set(re.findall(r'SCRATCH / "(\w+)"', code)) - {"answers", "universe", "leftovers"}
        assert code.count("code_key(__file__)") == bool(kept), script


@pytest.mark.parametrize(
    ("old", "new", "same"),
    [
        ("def add", "# Add.\n\n\ndef add", True),
        ("(x):\n", '(x):\n    """Add."""\n', True),
        ("return f'{x:>{x}}'", 'return (f"{x:>{x}}")', True),
        ("return f'{x:>{x}}'", "return f'{x:>{1}}'", False),
        ("x", "y", False),
    ],
)
def test_only_what_computes_changes_the_hash(tmp_path: Path, old, new, same: bool) -> None:
    listings = []
    code = FILES["src/infopursuit/core/numbers.py"]
    for name, text in (("before", code), ("after", code.replace(old, new))):
        write_text(tmp_path / name / "stages/x.py", text)
        project = tmp_path / name
        listings.append(CodeUsed(project).listing(project / "stages/x.py"))
    assert (listings[0] == listings[1]) == same


@pytest.mark.parametrize(
    ("name", "text", "other", "same"),
    [
        ("words.toml", "a = 1\n", "# One.\n\na  = 1\n", True),
        ("words.toml", "a = 1\n", "a = 2\n", False),
        ("words.json", '{"a": [1, 2]}', '{\n "a": [1,2]}', True),
        ("words.json", '{"a": 1, "b": 1}', '{"b": 1, "a": 1}', False),
        ("words.txt", "a\n", "a\n\n", False),
    ],
)
def test_data_counts_by_what_it_says(tmp_path: Path, name, text, other, same: bool) -> None:
    write_text(tmp_path / "before" / name, text)
    write_text(tmp_path / "after" / name, other)
    hashes = [digest(tmp_path / folder / name) for folder in ("before", "after")]
    assert (hashes[0] == hashes[1]) == same


def test_a_file_that_is_not_python_is_named(tmp_path: Path) -> None:
    write_text(tmp_path / "stages/x.py", "def (\n")
    with pytest.raises(InputError, match=r"x\.py: not valid Python"):
        CodeUsed(tmp_path).listing(tmp_path / "stages/x.py")
