"""The parts of a run's file of truths that not every such file has, and their form."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError

COUNTS = ("pictures", "questions", "claims", "false", "not_sure")
# Of pairs of pictures that differ in one attribute: how many, and three shares or null.
PAIRS = ("pairs", "queries")
MEASURES = ("order", "change", "steadiness")
# Of the answers to all phrases together: shares or null.
ANSWERS = ("precision_of_yes", "recall_of_yes", "right", "answered")
# Pairs asked all phrases of the universe, and pairs asked the queries of the dictionary.
ASKED = ("pairs", "dictionary_pairs")


def check_truth(path: Path, truth: Mapping[str, Any]) -> None:
    """Check the parts that are there: counts are numbers, shares are numbers or null.

    Raises:
        InputError: a part lacks a key or has a value of another kind.
    """
    if "answers" in truth:
        _check(path, "answers", truth["answers"], ("phrases",), dict)
        _check(path, "answers.phrases", truth["answers"]["phrases"], ANSWERS, int | float | None)
    parts = [("first_ten", truth["first_ten"])] if "first_ten" in truth else []
    for name in ASKED:
        if name in truth:
            _check(path, name, truth[name], ("all",), dict)
            parts += [(f"{name}.{of}", each) for of, each in truth[name].items()]
    for name, part in parts:
        counts = COUNTS if name == "first_ten" else PAIRS
        _check(path, name, part, counts, int | float)
        if name != "first_ten":
            _check(path, name, part, MEASURES, int | float | None)


def _check(path: Path, name: str, part: Any, keys: tuple[str, ...], kind: Any) -> None:
    for key in keys:
        if not isinstance(part, dict) or key not in part:
            raise InputError(f"{path}: no key {name}.{key}; expected what the stage truth writes")
        if not isinstance(part[key], kind):
            expected = {dict: "an object", int | float: "a number"}.get(kind, "a number or null")
            raise InputError(f"{path}: {name}.{key} is {part[key]!r}; expected {expected}")
