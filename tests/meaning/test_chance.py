import numpy as np
import pytest

from infopursuit.meaning.chance import swapped_names


@pytest.mark.parametrize("classes", [2, 3, 10, 100])
def test_every_class_has_the_name_of_another(classes: int) -> None:
    draw = np.random.default_rng(0)
    for _ in range(20):
        given = swapped_names(classes, draw)
        assert sorted(given) == list(range(classes))
        assert (given != np.arange(classes)).all()


def test_equal_seeds_give_equal_names_and_others_others() -> None:
    one, same, other = (swapped_names(20, np.random.default_rng(seed)) for seed in (0, 0, 1))
    assert (one == same).all()
    assert (one != other).any()
