"""How often a moving dictionary needs a search of the whole universe, and what a search costs.

    make bench            or: python -m benchmarks.searches

Thetas start at texts and follow Adam along gradients of noise with a small bias, which moves them
about as much as training. Writes artifacts/benchmarks/searches.md.
"""

from __future__ import annotations

import argparse
from functools import partial

import torch

from benchmarks.harness import save, seconds
from benchmarks.made_up import problem
from infopursuit.core.numbers import table
from infopursuit.pursuit.dictionary.nearest_texts import LazyNearestTexts, nearest_texts

RATES = [1e-5, 1e-4, 1e-3, 3e-3]


def follow(universe: torch.Tensor, initial: torch.Tensor, rate: float, steps: int) -> tuple:
    """Return the share of thetas searched in full and mean seconds a search, after the first."""
    theta = torch.nn.Parameter(universe[initial].float())
    optimizer = torch.optim.Adam([theta], rate)
    lazy = LazyNearestTexts(universe)
    lazy.search(theta)
    first, total = lazy.full_searches, 0.0
    generator = torch.Generator().manual_seed(0)
    bias = 0.1 * torch.randn(theta.shape, generator=generator)
    for _ in range(steps):
        theta.grad = bias + torch.randn(theta.shape, generator=generator)
        optimizer.step()
        total += seconds(partial(lazy.search, theta))
    if not torch.equal(lazy.search(theta), nearest_texts(theta.detach(), universe)):
        raise AssertionError("the lazy search gives other texts than the exhaustive one")
    return (lazy.full_searches - first) / (steps * len(initial)), total / steps


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--u", type=int, default=300_000)
    parser.add_argument("--k", type=int, default=128)
    parser.add_argument("--steps", type=int, default=200)
    given = parser.parse_args()
    made = problem(1, given.u, given.k, classes=1)
    theta = made.universe[made.initial].float()
    exhaustive = min(seconds(partial(nearest_texts, theta, made.universe)) for _ in range(3))
    rows = []
    for rate in RATES:
        share, mean = follow(made.universe, made.initial, rate, given.steps)
        rows.append([f"{rate:g}", f"{100 * share:.1f} %", f"{mean:.4f}"])
        print(*rows[-1], flush=True)
    note = (
        f"k = {given.k}, u = {given.u:,}, {given.steps} updates; an exhaustive search takes "
        f"{exhaustive:.2f} s."
    )
    header = ["learning rate of the dictionary", "thetas searched in full", "seconds a search"]
    print(save("searches", rows, note, table(header, rows)))


if __name__ == "__main__":
    main()
