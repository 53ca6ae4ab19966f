import faiss
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.dictionary.nearest_texts import nearest_texts


def _points(n: int, d: int, seed: int) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 70), st.integers(0, 999))
def test_nearest_equals_the_definition(u: int, k: int, block: int, seed: int) -> None:
    universe, theta = _points(u, 5, seed).double(), _points(k, 5, seed + 1).double()
    found = nearest_texts(theta, universe, block)
    for i, point in enumerate(theta):
        distances = [float((point - text).square().sum()) for text in universe]
        assert distances[int(found[i])] == pytest.approx(min(distances))


def test_nearest_equals_faiss() -> None:
    universe, theta = _points(3000, 32, 1), _points(40, 32, 2)
    index = faiss.IndexFlatL2(32)
    index.add(universe.numpy())
    _, rows = index.search(theta.numpy(), 1)
    assert np.array_equal(nearest_texts(theta, universe, block=257).numpy(), rows[:, 0])


def test_ties_go_to_the_lowest_row_within_and_across_blocks() -> None:
    universe = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    theta = torch.tensor([[0.9, 0.1]])
    for block in (1, 2, 3, 4):
        assert nearest_texts(theta, universe, block).tolist() == [1]


def test_half_precision_universe_is_compared_in_the_type_of_theta() -> None:
    universe = _points(200, 16, 4).half()
    theta = universe[[3, 77]].float()
    assert nearest_texts(theta, universe).tolist() == [3, 77]


def test_dictionary_snaps_only_when_told_and_passes_gradients_straight() -> None:
    universe = torch.nn.functional.normalize(_points(50, 8, 5), dim=1)
    dictionary = LearnableDictionary(universe, torch.tensor([4, 9]))
    torch.testing.assert_close(dictionary(), universe[[4, 9]])
    weights = _points(2, 8, 6)
    (dictionary() * weights).sum().backward()
    assert torch.equal(dictionary.theta.grad, weights)
    with torch.no_grad():
        dictionary.theta[0] = universe[20]
    assert dictionary.rows.tolist() == [4, 9]
    dictionary.snap()
    assert dictionary.rows.tolist() == [20, 9]
    torch.testing.assert_close(dictionary(), universe[[20, 9]])


def test_without_quantisation_queries_are_the_normalised_thetas() -> None:
    universe = _points(10, 4, 7)
    dictionary = LearnableDictionary(universe, torch.tensor([1, 2]), quantize=False)
    expected = torch.nn.functional.normalize(universe[[1, 2]], dim=1)
    torch.testing.assert_close(dictionary(), expected)
