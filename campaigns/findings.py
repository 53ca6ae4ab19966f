"""What a review of the project found, what comes from strangers, and the tests that try each.

    python -m campaigns.findings

findings.md is one table: H, M and L are findings of high, medium and low weight, C those about
campaigns that could not fail, S what comes from strangers besides. A row names test functions,
files of tests, mutations, or kinds of bad input by the start of their name; or it says why nothing
was changed. The long form runs them row by row. A test that is skipped, for example because there
is no browser, counts as failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from campaigns import write_tables
from campaigns.bad_inputs import KINDS

ROOT = Path(__file__).parents[1]
MUTATION = "campaigns/test_mutations.py::test_a_broken_promise_is_seen"
KIND = "campaigns/test_bad_inputs.py::test_a_bad_input_is_reported_in_one_line"


class Row(NamedTuple):
    """What is tried, what has to happen, and the tests; without tests, why it is as it is."""

    tried: str
    expected: str
    tests: tuple[str, ...]


def _rows() -> dict[str, Row]:
    _, _, *lines = Path(__file__).with_suffix(".md").read_text(encoding="utf-8").splitlines()
    cells = [[cell.strip() for cell in line.strip("|").split("|")] for line in lines]
    return {
        finding: Row(tried, expected, tuple(filter(None, tests.split("; "))))
        for finding, tried, expected, tests in cells
    }


FINDINGS = _rows()


@cache
def _files() -> dict[str, str]:
    """Return the file of each test function, by its name."""
    files: dict[str, str] = {}
    for path in (*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "campaigns").glob("test_*.py")):
        for test in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            files[test] = "" if test in files else str(path.relative_to(ROOT))
    return files


def nodes(row: Row) -> list[str]:
    """Return the tests of a row by pytest's names."""
    found = []
    for test in row.tests:
        if ".py" in test:
            found.append(test)
        elif test.startswith("mutation: "):
            found.append(f"{MUTATION}[{test.removeprefix('mutation: ')}]")
        elif test.startswith("test_"):
            assert _files().get(test), f"expected one test called {test}"
            found.append(f"{_files()[test]}::{test}")
        else:
            kinds = [kind.key for kind in KINDS if kind.key.startswith(test)]
            assert kinds, f"no kind of bad input is called {test!r}"
            found += [f"{KIND}[{key}]" for key in kinds]
    return found


def main() -> int:
    """Run the tests of each row; return 1 if one of them fails, is skipped, or is not there."""
    rows, broken = [], False
    for finding, row in FINDINGS.items():
        passed = failed = ""
        if row.tests:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *nodes(row)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            ends = re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)
            counts = {end: int(number) for number, end in ends}
            passed, failed = str(counts.pop("passed", 0)), str(sum(counts.values()))
            if done.returncode or counts:
                broken = True
                print(done.stdout[-3000:])
        rows.append([finding, row.tried, row.expected, passed, failed])
        header = ["finding", "tried", "expected", "cases passed", "failed or skipped"]
        write_tables("findings", header, rows)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
