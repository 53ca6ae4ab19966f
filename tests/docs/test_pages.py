"""What the README and the pages of the site say is true: code runs, outputs and names are right."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from functools import cache
from importlib.util import find_spec
from pathlib import Path

import pytest
from ruamel.yaml import YAML

from tests.docs.snippets import blocks, check_names, run_page
from tests.docs.world import make_world

ROOT = Path(__file__).parents[2]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
NAMES = [str(page.relative_to(ROOT)) for page in PAGES]
# Keys of params.yaml below which names are the user's own.
OWN_NAMES = {"datasets", "corpora", "dictionaries", "lists", "methods"}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("docs")
    make_world(folder)
    return folder


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_the_code_of_a_page_runs_and_prints_what_the_page_shows(
    page: Path, world: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(world)
    monkeypatch.setenv("INFOPURSUIT_CACHE", str(tmp_path))
    shown = page.read_text(encoding="utf-8")
    assert run_page(shown, page.relative_to(ROOT)) == shown, "python -m tests.docs.refresh"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_code_says_its_language_and_uses_names_of_the_library(page: Path) -> None:
    where = str(page.relative_to(ROOT))
    for block in blocks(page.read_text(encoding="utf-8")):
        assert block.language in ("python", "text", "sh", "yaml", "csv"), f"line {block.line}"
        if block.language == "python":
            check_names(ast.parse("\n" * (block.line - 1) + block.code, where), where)


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_settings_on_a_page_are_settings_of_the_pipeline(page: Path) -> None:
    yaml = YAML(typ="safe")
    settings = yaml.load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    for block in blocks(page.read_text(encoding="utf-8")):
        if block.language == "yaml" and not block.comment.startswith("not settings"):
            check_keys(yaml.load(block.code), settings, f"line {block.line}")


def check_keys(given: object, known: object, where: str) -> None:
    """Fail where a key is not one of the known settings."""
    if not isinstance(given, dict) or not isinstance(known, dict) or not known:
        return
    for key, value in given.items():
        assert key in known, f"{where}: no setting {key!r}; expected {', '.join(map(str, known))}"
        below = known[key]
        if key in OWN_NAMES and isinstance(value, dict):
            every = {name: each for own in below.values() if isinstance(own, dict)
                     for name, each in own.items()}  # fmt: skip
            for name, own in value.items():
                check_keys(own, every, f"{where}, {key}.{name}")
        else:
            check_keys(value, below, f"{where}, {key}")


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_make_targets_and_files_on_a_page_are_there(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    targets = re.findall(r"^([\w-]+):", makefile, re.MULTILINE)
    for target in re.findall(r"^make (?!VLLM)([\w-]+)|`make ([\w-]+)", text, re.MULTILINE):
        assert (target[0] or target[1]) in targets, f"make {target[0] or target[1]}"
    # A dvc.lock is there once the pipeline has run.
    for name in re.findall(r"`((?:src|stages|params|tests|docs)/[\w./-]+)(?<!\.lock)`", text):
        assert (ROOT / name).exists(), f"{name}: no such file"
    for name in re.findall(r"`([\w/]+\.py)`", text):
        homes = (ROOT, ROOT / "src/infopursuit")
        assert any((home / name).is_file() for home in homes), f"{name}: no such file"
    for module in re.findall(r"python -m ((?:benchmarks|infopursuit_study)[\w.]+)", text):
        assert find_spec(module) is not None, f"{module}: no such module"


@pytest.mark.parametrize("page", PAGES, ids=NAMES)
def test_commands_on_a_page_have_the_options_that_it_shows(page: Path) -> None:
    text = page.read_text(encoding="utf-8")
    for line in re.findall(r"(?:^|`)infopursuit ([a-z][^`#\n]*)", text, re.MULTILINE):
        command, *rest = line.split("&&")[0].split()
        for option in (word for word in rest if word.startswith("--")):
            assert option in help_of(command), f"infopursuit {command} has no {option}"


@cache
def help_of(command: str) -> str:
    program = [sys.executable, "-m", "infopursuit", command, "--help"]
    found = subprocess.run(program, capture_output=True, text=True)
    assert found.returncode == 0, f"infopursuit has no command {command!r}"
    return found.stdout


def test_the_readme_is_short_and_its_links_are_right() -> None:
    text = PAGES[0].read_text(encoding="utf-8")
    assert len(re.sub("<!--.*?-->", "", text).split()) <= 600
    for target in re.findall(r"\]\((?!https?:)([^)#]+)", text):
        assert (ROOT / target).exists(), f"README.md: no {target}"


def test_the_tree_of_contributors_has_every_package() -> None:
    text = (ROOT / "docs/contributing.md").read_text(encoding="utf-8")
    packages = {
        path.parent.name
        for home in ("infopursuit", "infopursuit_study")
        for path in (ROOT / "src" / home).glob("*/__init__.py")
    }
    assert set(re.findall(r"^    (\w+)/ ", text, re.MULTILINE)) == packages
