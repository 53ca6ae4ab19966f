"""Rows of the engine's benchmark: steps and roll-outs against the naive ones on the same device."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from benchmarks.engine_pair import CASES, Case, Pair, margins, median_seconds
from benchmarks.gpu_check.rows import NOT_APPLICABLE, Row

# If two queries are closer than this, in logits, rounding decides which one is asked first.
ROUNDING = 1e-5
TINY: dict[str, Any] = {"u": 1000, "b": 16, "images": 64, "hidden": (16, 8), "budget": 8}


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """Yield one row per case, the small dictionaries first."""
    for case in sorted(CASES, key=lambda case: case.k):
        yield measured(made_tiny(case) if tiny else case, device, tiny)


def made_tiny(case: Case) -> Case:
    """Return the same case with next to nothing to compute."""
    k, name = case.k // 16, case.name.replace("10,000", str(TINY["images"]))
    return replace(case, name=f"{name.partition(', k')[0]}, k = {k}", k=k, **TINY)


def measured(case: Case, device: str, tiny: bool) -> Row:
    """Compare the questions of both, then time them in turn."""
    pair = Pair(case, device, warm_up=4 if tiny else 40)
    images = min(1024, case.images)
    calls = margins(pair.engine, pair.naive, images)
    repeats = 1 if tiny else 20 if device == "cuda" else 5  # a GPU's steps are short
    naive, engine = median_seconds(pair, device, repeats)
    goal = case.target["cuda"]
    outcome = f"{naive / engine:.1f} times: naive {naive:.3f} s, engine {engine:.4f} s"
    if calls["other_orders"]:
        other = round(calls["other_orders"] * images)
        apart = f"{calls['closest_calls']:.1g} of a logit apart"
        outcome += f"; {other} of {images:,} images asked in another order, at most {apart}"
    timed = device == "cuda" and not tiny
    return Row(
        f"{case.name}, u = {case.u:,}, b = {case.b}",
        outcome,
        goal=f"{goal:g} times" if timed else NOT_APPLICABLE,
        met=naive / engine >= goal if timed else None,
        exact=calls["closest_calls"] <= ROUNDING,
        figures={"naive_seconds": naive, "engine_seconds": engine, "goal": goal, **calls},
    )
