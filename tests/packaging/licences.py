"""The licences of all pinned distributions, as docs/licences.md.

    python -m tests.packaging.licences

Licences come from the metadata of what is installed, which has many forms: the tables below give
the SPDX expression of each. A form that is in no table fails.
"""

from __future__ import annotations

import re
import tomllib
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from infopursuit.core.files import write_text
from infopursuit.core.numbers import table

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "licences.md"
PINNED = re.compile(r"^([A-Za-z0-9._-]+)==([^ ;]+)", re.MULTILINE)

# Allowed licences. They ask for their notice, or for changes to their own files to be open.
ALLOWED = {
    "0BSD", "Apache-2.0", "Apache-2.0 WITH LLVM-exception", "BSD-2-Clause", "BSD-3-Clause",
    "BSL-1.0", "CC0-1.0", "CNRI-Python", "EPL-1.0", "EPL-2.0", "ISC", "MIT", "MIT-0", "MIT-CMU",
    "MPL-2.0", "PSF-2.0", "Python-2.0", "Unlicense", "ZPL-2.1", "Zlib",
}  # fmt: skip
# Others, each with a reason.
NVIDIA = "they come with torch for NVIDIA GPUs, and may be passed on unchanged"
EXCEPTIONS = {
    "GPL-2.0-only WITH GCC-exception-2.0": {
        "pygit2": "DVC loads it; its exception lets any program link it"
    },
    "GPL-3.0-or-later": {"kmedoids": "for tests alone: what our k-medoids is compared with"},
}
PROPRIETARY = "LicenseRef-NVIDIA-Proprietary"

# Metadata that is not an SPDX expression: the first line of `License`, then classifiers.
SPELLED = {
    "3-Clause BSD License": "BSD-3-Clause",
    "Apache 2.0": "Apache-2.0",
    "Apache License": "Apache-2.0",
    "Apache License 2.0": "Apache-2.0",
    "Apache License, Version 2.0": "Apache-2.0",
    "Apache Software License": "Apache-2.0",
    "BSD": "BSD-3-Clause",
    "BSD 3-Clause License": "BSD-3-Clause",
    "BSD License": "BSD-3-Clause",
    "GPLv2 with linking exception": "GPL-2.0-only WITH GCC-exception-2.0",
    "GPLv2 | EPLv1": "EPL-1.0 OR GPL-2.0-only",
    "ISC License (ISCL)": "ISC",
    "ISC license": "ISC",
    "MIT License": "MIT",
    "MIT license": "MIT",
    "Mozilla Public License 2.0 (MPL 2.0)": "MPL-2.0",
    "NVIDIA Proprietary Software": PROPRIETARY,
    "New BSD": "BSD-3-Clause",
    "Python Software Foundation License": "PSF-2.0",
    "Zope Public License": "ZPL-2.1",
}
# Distributions whose metadata says nothing or too much, or that are for other systems.
FIXED = {
    "appnope": "BSD-2-Clause",
    "axe-playwright-python": "MIT",
    "cuda-toolkit": PROPRIETARY,
    "httpx2-jsfetch": "BSD-3-Clause",
    "nvidia-nvtx": "Apache-2.0",
    "python-dateutil": "Apache-2.0 OR BSD-3-Clause",
    "pywin32": "PSF-2.0",
    "tzdata": "Apache-2.0",
}

# The page is the same on every system.
ENVIRONMENT = {
    "implementation_name": "cpython",
    "platform_machine": "x86_64",
    "platform_python_implementation": "CPython",
    "platform_system": "Linux",
    "python_full_version": "3.11.0",
    "python_version": "3.11",
    "sys_platform": "linux",
}
PARTS = ("library", "pipeline", "app", "development")


def pinned() -> dict[str, str]:
    """Version of each distribution of requirements.lock, by name."""
    return dict(PINNED.findall((ROOT / "requirements.lock").read_text(encoding="utf-8")))


def licence(name: str) -> str:
    """Return the SPDX expression of a distribution; a KeyError if it is spelled in a new way."""
    if name in FIXED:
        return FIXED[name]
    metadata = distribution(name).metadata
    expression = metadata.get("License-Expression")
    if expression:
        return expression
    given = next(iter((metadata.get("License") or "").strip().splitlines()), "")
    classifiers = [each for each in metadata.get_all("Classifier") or [] if "License ::" in each]
    known = ALLOWED | {PROPRIETARY, *EXCEPTIONS}
    for text in (given, *(line.rpartition(" :: ")[2] for line in classifiers)):
        if text in SPELLED:
            return SPELLED[text]
        if any(_atoms(choice) <= known for choice in _choices(text)):
            return text
    raise KeyError(f"{name}: License {given!r}, classifiers {classifiers}; expected it in SPELLED")


def objection(name: str, expression: str) -> str | None:
    """Return why a dependency may not have a licence; None if it may."""
    if any(_atoms(choice) <= ALLOWED for choice in _choices(expression)):
        return None
    if expression == PROPRIETARY:
        return None if name.startswith(("nvidia-", "cuda-")) else f"{name}: only NVIDIA's may be"
    if name in EXCEPTIONS.get(expression, {}):
        return None
    return f"{name}: {expression} is not in ALLOWED, and no exception"


def _choices(expression: str) -> list[str]:
    """Return the alternatives of an expression, one of which is enough (`A AND (B OR C)` has 2)."""
    inner = re.search(r"\(([^()]*)\)", expression)
    if inner:
        return [
            choice
            for option in inner[1].split(" OR ")
            for choice in _choices(expression.replace(inner[0], option, 1))
        ]
    return [each.strip() for each in expression.split(" OR ") if each.strip()]


def _atoms(conjunction: str) -> set[str]:
    return {each.strip() for each in conjunction.split(" AND ")}


def parts() -> dict[str, str]:
    """Return the first part of the project that needs each pinned distribution."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    wanted = {
        "library": project["project"]["dependencies"],
        **{part: project["project"]["optional-dependencies"][part] for part in ("pipeline", "app")},
    }
    found: dict[str, str] = {}
    for part, requirements in wanted.items():
        _follow(requirements, part, found)
    return {name: found.get(canonicalize_name(name), "development") for name in pinned()}


def _follow(requirements: Iterable[str], part: str, found: dict[str, str]) -> None:
    for text in requirements:
        requirement = Requirement(text)
        name = canonicalize_name(requirement.name)
        extras = {"", *requirement.extras}
        if found.setdefault(name, part) != part and not requirement.extras:
            continue
        try:
            needed = [Requirement(each) for each in distribution(name).requires or []]
        except PackageNotFoundError:
            continue
        for below in needed:
            wanted = below.marker is None or any(
                below.marker.evaluate({**ENVIRONMENT, "extra": extra}) for extra in extras
            )
            if wanted and canonicalize_name(below.name) not in found:
                _follow([str(below)], part, found)


def page() -> str:
    """Return the page."""
    of_part = parts()
    rows = sorted(
        (PARTS.index(of_part[name]), name, version, licence(name))
        for name, version in pinned().items()
    )
    reasons = [
        f"- `{name}` ({expression}): {reason}."
        for expression, names in EXCEPTIONS.items()
        for name, reason in names.items()
    ]
    return "\n".join(
        [
            "# Licences of dependencies",
            "",
            "For those who pass the project on, which is under Apache-2.0. After this page you know the",
            "licence of all that `requirements.lock` pins, with the first part that needs it: the library,",
            "what the extras `pipeline` and `app` add, or development (tests and these pages). The wheel",
            "contains none of it, but the nouns of WordNet 3.1, copyright 2011 by Princeton University,",
            "with their permissive licence: `infopursuit/texts/wordnet_licence.txt`.",
            "",
            "A test allows these licences (of an alternative, one): "
            + ", ".join(sorted(ALLOWED))
            + ". There are these exceptions:",
            "",
            *reasons,
            f"- NVIDIA's libraries: {NVIDIA}.",
            "",
            table(
                ["needed by", "package", "version", "licence"],
                [[PARTS[part], name, version, found] for part, name, version, found in rows],
            ),
            "",
        ]
    )


if __name__ == "__main__":
    write_text(PAGE, page())
