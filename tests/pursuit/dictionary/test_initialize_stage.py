"""The stage that chooses the k texts a dictionary starts from, by every init."""

from __future__ import annotations

from typing import Any

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.core.stage import RowCounts
from infopursuit.pipeline.params import Params
from infopursuit.pursuit.dictionary.settings import INITS
from tests.pursuit.vip.stage_world import params as params
from tests.stage_scripts import stage

K = 6
# The inits whose texts are given, in the order of the universe.
GIVEN = {"llm": [5, 6, 7, 8, 9, 10], "list": [7, 8, 12]}


def chosen(params: Params, init: str, seed: int = 0, **changes: dict[str, Any]) -> list[str]:
    raw = params.model_dump()
    for section, values in changes.items():
        raw[section] |= values
    counts = stage("initialize")(Params.model_validate(raw), "menagerie", init, seed)
    texts = read_text_list(f"artifacts/initial/menagerie-{init}-{seed}.txt")
    assert counts == RowCounts(12 if init == "random_words" else 30, len(texts))
    assert len(set(texts)) == len(texts)
    return texts


@pytest.mark.parametrize("init", INITS)
def test_every_init_chooses_k_texts_and_repeats_them(params: Params, init: str) -> None:
    texts = chosen(params, init)
    assert len(texts) == len(GIVEN.get(init, range(K)))
    prefix = "word" if init == "random_words" else "concept"
    assert all(text.startswith(f"{prefix} ") for text in texts)
    assert chosen(params, init) == texts
    fewer = chosen(params, init, initialize={"k": K - 2})
    if init in GIVEN:
        assert texts == fewer == [f"concept {row}" for row in GIVEN[init]]
    else:
        assert len(fewer) == K - 2
        with pytest.raises(InputError, match="k is 99"):
            chosen(params, init, initialize={"k": 99})
    if init == "informative":
        assert {f"concept {row}" for row in range(4)} <= set(texts)
    if init in ("random", "random_words"):
        assert chosen(params, init, seed=1) != texts


@pytest.mark.parametrize("init", INITS)
def test_texts_to_keep_are_in_every_dictionary_but_the_control(params: Params, init: str) -> None:
    questions = {"ban": [], "keep": ["Concept 29", "concept 8"], "first": "concept 28"}
    texts = chosen(params, init, questions=questions)
    kept = {"concept 29", "concept 8", "concept 28"}
    assert kept & set(texts) == (set() if init == "random_words" else kept)
    assert len(texts) == (5 if init == "list" else K)
