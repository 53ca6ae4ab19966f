import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.dictionary import initial
from infopursuit.dictionary.initial import listed_texts, medoid_texts, random_texts
from infopursuit.dictionary.universe import Universe

UNIVERSE = Universe(
    ("four legs", "Striped body", "wings", "wheels", "long neck"), np.eye(5, dtype=np.float16), None
)


def test_a_list_is_found_whatever_its_case_and_keeps_its_order() -> None:
    found = listed_texts(UNIVERSE, ["wheels", "striped  body"], 2, "list.txt")
    assert found == ["wheels", "Striped body"]


def test_texts_are_normalised_only_where_a_query_is_not_found_as_it_is(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    normalised: list[str] = []

    def counting(text: str) -> str:
        normalised.append(text)
        return text.lower()

    monkeypatch.setattr(initial, "normalize", counting)
    assert listed_texts(UNIVERSE, ["wheels", "wings"], 2, "list.txt") == ["wheels", "wings"]
    assert not normalised
    assert listed_texts(UNIVERSE, ["Wheels", "wings"], 2, "list.txt") == ["wheels", "wings"]
    assert [text for text in normalised if text in UNIVERSE.texts] == list(UNIVERSE.texts)


def test_a_query_missing_from_the_universe_is_named() -> None:
    with pytest.raises(InputError, match=r"list\.txt: the query 'horns' is not in the universe"):
        listed_texts(UNIVERSE, ["wings", "horns"], 2, "list.txt")


def test_a_list_of_another_length_or_with_a_repetition_is_an_error() -> None:
    with pytest.raises(InputError, match=r"list\.txt: 1 queries; expected k = 2"):
        listed_texts(UNIVERSE, ["wings"], 2, "list.txt")
    with pytest.raises(InputError, match=r"'Wings' is there twice"):
        listed_texts(UNIVERSE, ["wings", "Wings"], 2, "list.txt")


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
