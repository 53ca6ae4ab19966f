"""The file that says how true a run's answers are, as far as its form goes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError

# Of pairs of pictures that differ in one attribute.
MEASURES = ("order", "change", "steadiness")


def check_truth(path: Path, truth: Mapping[str, Any]) -> None:
    """Check the parts that a file of truths may have.

    Raises:
        InputError: a part lacks a key or has a value of another kind.
    """
    parts: list[tuple[str, Any, Sequence[str], Sequence[str]]] = []
    if "first_ten" in truth:
        parts.append(("first_ten", truth["first_ten"], ("pictures", "answers", "false"), ()))
    if "pairs" in truth:
        pairs = truth["pairs"]
        parts.append(("pairs", pairs, ("pairs", "queries"), MEASURES))
        attributes = pairs.get("attributes", {}) if isinstance(pairs, dict) else {}
        parts += [
            (f"pairs.attributes.{name}", each, ("pairs", "queries"), MEASURES)
            for name, each in attributes.items()
        ]
    for name, part, counts, shares in parts:
        for key in (*counts, *shares):
            if not isinstance(part, dict) or key not in part:
                raise InputError(f"{path}: no key {name}.{key}; expected what stage truth writes")
            value, may_lack = part[key], key in shares
            numeric = isinstance(value, int | float) and not isinstance(value, bool)
            if not (numeric or (may_lack and value is None)):
                raise InputError(f"{path}: {name}.{key} is {value!r}; expected a number")
