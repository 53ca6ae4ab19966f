"""Texts to start from, chosen at random."""

from __future__ import annotations

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.pursuit.dictionary.initial import random_texts
from infopursuit.texts.text_table import TextTable

UNIVERSE = TextTable(
    ("four legs", "Striped body", "wings", "wheels", "long neck"), np.eye(5, dtype=np.float16), None
)


def test_random_texts_are_distinct_and_follow_the_seed() -> None:
    draws = {tuple(random_texts(UNIVERSE, 3, seed)) for seed in range(20)}
    assert len(draws) > 1
    assert all(len(set(draw)) == 3 and set(draw) <= set(UNIVERSE.texts) for draw in draws)
    assert random_texts(UNIVERSE, 3, 7) == random_texts(UNIVERSE, 3, 7)
    with pytest.raises(InputError, match="k is 6"):
        random_texts(UNIVERSE, 6, 0)
