"""The engine against the naive implementation: same process, same weights, same draws.

    make bench            every row, about 25 minutes on two cores
    python -m benchmarks.engine --only "biased step, k = 128" --repeats 3

Writes artifacts/benchmarks/engine.json and engine.md. The networks are the paper's (2000, 500), in
float32. Before a row is timed, the engine trains on the same made-up images, so that the querier
asks different images different queries, as in most of a real training.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from benchmarks.engine_pair import CASES, Case, Pair, margins, median_seconds
from benchmarks.harness import save
from infopursuit.core.numbers import table
from infopursuit.core.repeatable import compute_repeatably


def measure(case: Case, device: str, repeats: int) -> dict[str, Any]:
    """Return the figures of one row."""
    pair = Pair(case, device, warm_up=40)
    calls = margins(pair.engine, pair.naive)
    reference, engine = median_seconds(pair, device, repeats)
    return {
        "name": case.name,
        "k": case.k,
        "u": case.u,
        "b": case.b,
        "device": device,
        "reference_seconds": round(reference, 4),
        "seconds": round(engine, 4),
        "ratio": round(reference / engine, 1),
        "target_ratio": case.target[device],
        **calls,
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument("--only", choices=[case.name for case in CASES])
    given = parser.parse_args()
    compute_repeatably()
    cases = [case for case in CASES if given.only in (None, case.name)]
    rows = [measure(case, given.device, given.repeats) for case in cases]
    names = ("name", "reference_seconds", "seconds", "ratio", "target_ratio")
    header = ["what", "naive, s", "engine, s", "ratio", "to reach"]
    print(save("engine", rows, table(header, [[row[name] for name in names] for row in rows])))


if __name__ == "__main__":
    main()
