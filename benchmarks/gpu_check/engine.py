"""Rows of the engine's benchmark: steps and roll-outs against the naive ones on the same device."""

from __future__ import annotations

import statistics
from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.engine_pair import CASES, Case, Pair, margins, times
from benchmarks.gpu_check.rows import NOT_APPLICABLE, Row

# An order that parts from the naive one where two queries are closer than this, in logits, parts
# by rounding.
ROUNDING = 1e-5
TINY: dict[str, Any] = {"u": 1000, "b": 16, "images": 64, "hidden": (16, 8), "budget": 8}


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """A row for each case, the small dictionaries first."""
    for case in sorted(CASES, key=lambda case: case.k):
        yield measured(made_tiny(case) if tiny else case, device, tiny)


def made_tiny(case: Case) -> Case:
    """The same case with next to nothing to compute."""
    k, name = case.k // 16, case.name.replace("10,000", str(TINY["images"]))
    return replace(case, name=f"{name.partition(', k')[0]}, k = {k}", k=k, **TINY)


def measured(case: Case, device: str, tiny: bool) -> Row:
    """Compare what both ask, then time them in turn."""
    pair = Pair(case, device, warm_up=4 if tiny else 40)
    images = min(1024, case.images)
    calls = margins(pair.engine, pair.naive, images)
    repeats = 1 if tiny else 20 if device == "cuda" else 5  # a GPU's steps are short
    columns = zip(*times(pair, device, repeats), strict=True)
    naive, engine = (statistics.median(column) for column in columns)
    goal = None if tiny or device == "cpu" else case.target["cuda"]
    other = round(calls["other_orders"] * images)
    words = f"{naive / engine:.1f} times: naive {naive:.3f} s, engine {engine:.4f} s"
    if other:
        apart = f"{calls['closest_calls']:.1g} of a logit apart"
        words += f"; {other} of {images:,} images asked in another order, at most {apart}"
    return Row(
        f"{case.name}, u = {case.u:,}, b = {case.b}",
        words,
        NOT_APPLICABLE if goal is None else f"{goal:g} times",
        None if goal is None else naive / engine >= goal,
        calls["closest_calls"] <= ROUNDING,
        figures={"naive_seconds": naive, "engine_seconds": engine, "goal": goal, **calls},
    )
