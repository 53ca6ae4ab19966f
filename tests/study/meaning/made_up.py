"""Made-up answers, tables and roll-outs, and numbers drawn for them."""

from __future__ import annotations

import numpy as np
import torch

from infopursuit.pursuit.rollout import RollOut


def roll_out_of(order: list, answers: list, predicted: list[int], classes: int) -> RollOut:
    """A roll-out whose last posterior is sure of a class, and whose earlier ones of class 0."""
    posteriors = torch.zeros(len(order), len(order[0]) + 1, classes)
    posteriors[:, :-1, 0] = 1
    posteriors[torch.arange(len(order)), -1, torch.tensor(predicted)] = 1
    none = torch.zeros(len(order), len(order[0]), 0)
    return RollOut(torch.tensor(order), torch.tensor(answers), posteriors, none.long(), none)


def drawn_roll_out(seed: int, images: int = 40, k: int = 9, steps: int = 4, c: int = 5) -> RollOut:
    """Questions, answers in 0, 0.5, 1 and predictions at random."""
    draw = np.random.default_rng(seed)
    order = [draw.permutation(k)[:steps].tolist() for _ in range(images)]
    answers = draw.choice([0.0, 0.5, 1.0], (images, steps)).tolist()
    return roll_out_of(order, answers, draw.integers(0, c, images).tolist(), c)


def drawn_table(seed: int, c: int = 5, k: int = 9) -> np.ndarray:
    """Values 0, 0.5, 1 and NaN; most are 0."""
    draw = np.random.default_rng(seed)
    return draw.choice([0, 0.5, 1, np.nan], (c, k), p=[0.5, 0.2, 0.2, 0.1]).astype(np.float32)
