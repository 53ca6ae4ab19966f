"""What a release rests on: versions that agree, a pinned lock, workflows that fit the project."""

from __future__ import annotations

import re
import tomllib
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from packaging.specifiers import SpecifierSet
from packaging.version import Version
from ruamel.yaml import YAML

import infopursuit
from infopursuit.estimators.persistence import REQUIRES

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
CHANGELOG = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
WORKFLOWS = ROOT / ".github" / "workflows"
LOCK = (ROOT / "requirements.lock").read_text(encoding="utf-8")
TOOLS = (ROOT / "tools.lock").read_text(encoding="utf-8")


def workflow(name: str) -> dict[str, Any]:
    return YAML(typ="safe").load((WORKFLOWS / name).read_text(encoding="utf-8"))


def commands(name: str) -> list[str]:
    jobs = workflow(name)["jobs"].values()
    return [step["run"] for job in jobs for step in job["steps"] if "run" in step]


def test_all_say_the_same_version() -> None:
    version = PROJECT["version"]
    citation = YAML(typ="safe").load((ROOT / "CITATION.cff").read_text(encoding="utf-8"))
    assert citation["version"] == version == infopursuit.__version__
    assert re.fullmatch(r"\d+\.\d+\.\d+", version), "semantic versioning has three numbers"
    wanted = SpecifierSet(REQUIRES.removeprefix("infopursuit"))
    assert Version(version) in wanted, "a model could not be read by the version that writes it"


def test_the_changelog_begins_with_what_is_unreleased_and_goes_back() -> None:
    heads = re.findall(r"^## (.*)$", CHANGELOG, re.MULTILINE)
    assert heads[0] == "Unreleased"
    found = [re.fullmatch(r"(\d+\.\d+\.\d+) - (\d{4}-\d\d-\d\d)", head) for head in heads[1:]]
    assert all(found), f"expected '## X.Y.Z - YYYY-MM-DD', found {heads[1:]}"
    released = [(Version(each[1]), each[2]) for each in found if each]
    assert all(new > old for new, old in pairwise(released))
    assert not released or str(released[0][0]) == PROJECT["version"]
    # A section may name its topic, as "Changed: the house".
    kinds = set(re.findall(r"^### ([^:\n]*)", CHANGELOG, re.MULTILINE))
    known = {"Added", "Changed", "Deprecated", "Removed", "Fixed", "Security"}
    assert kinds <= known | {"Figures that changed"}


@pytest.mark.parametrize(("lock", "least"), [(LOCK, 100), (TOOLS, 5)], ids=["packages", "tools"])
def test_every_pinned_requirement_has_a_hash(lock: str, least: int) -> None:
    entries = re.split(r"\n(?=\S)", lock.strip())
    assert len(entries) > least
    for entry in entries:
        first, *hashes = entry.replace("\\\n", "\n").split("\n")
        assert re.match(r"[A-Za-z0-9._-]+==[^ ]+", first), first
        assert hashes and all(re.fullmatch(r" +--hash=sha256:[0-9a-f]{64} *", h) for h in hashes)


@pytest.mark.parametrize("name", ["ci.yml", "release.yml", "weekly.yml"])
def test_a_workflow_has_few_rights_and_pins_what_it_uses(name: str) -> None:
    content = workflow(name)
    assert content["permissions"] == {"contents": "read"}
    for job in content["jobs"].values():
        assert job["runs-on"]
        for step in job["steps"]:
            assert ("uses" in step) != ("run" in step)
            assert re.search(r"@[0-9a-f]{40}$", step.get("uses", "@" + "0" * 40)), step
    # What the author of a change could write is not part of a command.
    assert not [run for run in commands(name) if "github.event" in run or "github.head_ref" in run]


def test_the_matrix_is_what_pyproject_allows() -> None:
    matrix = workflow("ci.yml")["jobs"]["library"]["strategy"]["matrix"]
    head = "Programming Language :: Python :: "
    classifiers = [each.removeprefix(head) for each in PROJECT["classifiers"] if head in each]
    assert matrix["python"] == classifiers
    assert PROJECT["requires-python"] == f">={matrix['python'][0]}"
    torch = next(each for each in PROJECT["dependencies"] if each.startswith("torch>"))
    oldest, after = re.fullmatch(r"torch>=([\d.]+),<([\d.]+)", torch).groups()  # type: ignore[union-attr]
    newest = f"2.{Version(after).minor - 1}"
    assert matrix["torch"] == [f"{oldest}.*", f"{newest}.*"]
    assert re.search(rf"^torch=={re.escape(newest)}\.", LOCK, re.MULTILINE)
