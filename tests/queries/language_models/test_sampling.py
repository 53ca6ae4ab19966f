from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.queries.language_models import Sampling, open_language_model

SAMPLING = Sampling(temperature=0.7, top_p=0.95, max_tokens=100, seed=0)


@given(st.integers(), st.text())
def test_seeds_fit_every_server(seed: int, prompt: str) -> None:
    assert 0 <= replace(SAMPLING, seed=seed).seed_for(prompt) < 2**31


def test_each_prompt_and_each_seed_draws_anew() -> None:
    seeds = {
        replace(SAMPLING, seed=seed).seed_for(f"prompt {number}")
        for seed in range(10)
        for number in range(100)
    }
    assert len(seeds) == 1000
    assert SAMPLING.seed_for("A dog.") == SAMPLING.seed_for("A dog.")


def test_an_unknown_backend() -> None:
    with pytest.raises(ValueError, match="unknown backend 'cloud'"):
        open_language_model({"backend": "cloud"})
