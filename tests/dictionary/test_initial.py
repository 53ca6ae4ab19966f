import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.dictionary import initial
from infopursuit.dictionary.initial import medoid_texts, random_texts, with_kept
from infopursuit.dictionary.universe import Universe

UNIVERSE = Universe(
    ("four legs", "Striped body", "wings", "wheels", "long neck"), np.eye(5, dtype=np.float16), None
)


def test_texts_to_keep_take_the_place_of_the_last() -> None:
    assert with_kept(UNIVERSE, ["wings", "wheels"], [], 2) == ["wings", "wheels"]
    found = with_kept(UNIVERSE, ["wings", "wheels", "long neck"], ["striped  body", "wheels"], 3)
    assert found == ["Striped body", "wings", "wheels"]
    assert with_kept(UNIVERSE, ["wings"], ["wheels", "Wheels"], 3) == ["wheels", "wings"]
    assert with_kept(UNIVERSE, ["wings"], ["long neck"], 1) == ["long neck"]


def test_texts_are_normalised_only_where_one_is_not_found_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normalised: list[str] = []

    def counting(text: str) -> str:
        normalised.append(text)
        return text.lower()

    monkeypatch.setattr(initial, "normalize", counting)
    assert with_kept(UNIVERSE, ["wheels"], ["wings"], 2) == ["wings", "wheels"]
    assert not normalised
    assert with_kept(UNIVERSE, ["wings"], ["Wheels"], 2) == ["wheels", "wings"]
    assert [text for text in normalised if text in UNIVERSE.texts] == list(UNIVERSE.texts)


def test_texts_to_keep_that_are_not_there_or_too_many_are_told() -> None:
    with pytest.raises(InputError, match=r"questions\.keep: the query 'horns' is not in the univ"):
        with_kept(UNIVERSE, ["wings"], ["wings", "horns"], 2)
    with pytest.raises(InputError, match=r"questions\.keep has 2 texts.*at most the 1"):
        with_kept(UNIVERSE, ["wings"], ["wheels", "wings"], 1)


def test_random_texts_are_distinct_and_follow_the_seed() -> None:
    draws = {tuple(random_texts(UNIVERSE, 3, seed)) for seed in range(20)}
    assert len(draws) > 1
    assert all(len(set(draw)) == 3 and set(draw) <= set(UNIVERSE.texts) for draw in draws)
    assert random_texts(UNIVERSE, 3, 7) == random_texts(UNIVERSE, 3, 7)
    with pytest.raises(InputError, match="k is 6"):
        random_texts(UNIVERSE, 6, 0)


def test_medoids_are_texts_of_the_universe() -> None:
    found = medoid_texts(UNIVERSE, 2, seed=0)
    assert len(set(found)) == 2
    assert set(found) <= set(UNIVERSE.texts)
