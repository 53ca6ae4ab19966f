import copy

import faiss
import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.dictionary import nearest_texts as module
from infopursuit.dictionary.learnable import LearnableDictionary
from infopursuit.dictionary.nearest_texts import closeness, nearest_texts, screen
from tests.devices import DEVICES
from tests.dictionary.nearest_checks import check_nearest, check_snap


def _points(n: int, d: int, seed: int) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def _almost_equal_texts(u: int, d: int, seed: int) -> torch.Tensor:
    """Texts one float16 step apart, far from 0: float32 products cannot tell them apart."""
    signs = torch.randint(-1, 2, (u, d), generator=torch.Generator().manual_seed(seed))
    return (40 + signs / 32).half()


@given(st.integers(1, 60), st.integers(1, 12), st.integers(1, 70), st.integers(0, 999))
def test_nearest_equals_the_definition(u: int, k: int, block: int, seed: int) -> None:
    universe, theta = _points(u, 5, seed), _points(k, 5, seed + 1)
    for dtypes in ((torch.float32, torch.float32), (torch.float64, torch.float64)):
        texts, points = universe.to(dtypes[0]), theta.to(dtypes[1])
        for i, row in enumerate(nearest_texts(points, texts, block)):
            distances = [float((points[i] - q).double().square().sum()) for q in texts]
            assert distances[int(row)] == pytest.approx(min(distances), rel=1e-12)


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


@pytest.mark.parametrize("block", [7, 64, 1000])
def test_near_ties_are_decided_in_float64(block: int, monkeypatch: pytest.MonkeyPatch) -> None:
    universe = _almost_equal_texts(700, 24, 3)
    theta = universe[::23].float() + 0.01 * _points(31, 24, 4)
    distances = torch.cdist(
        theta.double(), universe.double(), compute_mode="donot_use_mm_for_euclid_dist"
    )
    assert torch.equal(nearest_texts(theta, universe, block), distances.argmin(dim=1))
    monkeypatch.setattr(module, "_rounding", lambda norms, *_: torch.zeros_like(norms))
    unconfirmed = nearest_texts(theta, universe, block)
    assert not torch.equal(unconfirmed, distances.argmin(dim=1)), "the data cannot catch rounding"


@pytest.mark.parametrize("flush", [False, True])
@pytest.mark.parametrize("scale", [1e-30, 1e-19, 1.0, 1e19, 1e30])
def test_the_rounding_of_the_screen_is_within_its_bound(scale: float, flush: bool) -> None:
    universe, theta = _points(300, 24, 5) * scale, _points(9, 24, 6).double()
    for exponent in (-30, -19, -8, 0, 3, 30):
        points, blocks = theta * 10.0**exponent, []
        torch.set_flush_denormal(flush)
        try:
            for start, rounded, error in screen(points, universe, 128):
                blocks.append((start, rounded.clone(), error))
        finally:
            torch.set_flush_denormal(False)
        for start, rounded, error in blocks:
            texts = universe[start : start + rounded.shape[1]].double()
            exact = points @ texts.T - texts.square().sum(dim=1) / 2
            within = (rounded - exact).abs() <= error[:, None]
            assert (within | error.isinf()[:, None]).all()


def test_overflow_of_the_screen_does_not_hide_the_nearest() -> None:
    universe = torch.tensor([[1e20, 0.0], [3e20, 0.0], [2e20, 0.0]])
    assert nearest_texts(torch.tensor([[2.2e20, 0.0], [1e30, 1.0]]), universe).tolist() == [2, 1]
    # Products of +-1e40 cancel, but not in float32.
    universe = torch.tensor([[1e10, -1e10], [1e7, 0.0], [-1e10, 1e10]])
    for block in (1, 3):
        assert nearest_texts(torch.tensor([[1e30, 1e30]]), universe, block).tolist() == [1]


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32])
@pytest.mark.parametrize("d", [1, 3, 8, 17, 512, 1024])
def test_equal_texts_have_bitwise_equal_closeness(d: int, dtype: torch.dtype) -> None:
    theta, text = _points(1, d, 7).double(), _points(1, d, 8).to(dtype)
    alone = closeness(theta, text)
    for n in (2, 3, 9, 64, 513):
        among_others = _points(n, d, n).to(dtype)
        among_others[[0, n // 2, -1]] = text
        together = closeness(theta.repeat(n, 1), among_others)
        assert together[[0, n // 2, -1]].tolist() == alone.repeat(3).tolist()


def test_half_precision_universe_is_not_rounded_further() -> None:
    universe = _points(200, 16, 4).half()
    theta = universe[[3, 77]].float()
    assert nearest_texts(theta, universe).tolist() == [3, 77]


def test_a_process_that_allows_reduced_products_is_screened_in_float64() -> None:
    universe, theta = _almost_equal_texts(200, 8, 9), _points(5, 8, 10) + 40
    expected = nearest_texts(theta, universe)
    torch.set_float32_matmul_precision("medium")
    try:
        assert next(screen(theta.double(), universe, 10)).rounded.dtype == torch.float64
        assert torch.equal(nearest_texts(theta, universe), expected)
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("found", [torch.nan, -torch.inf])
def test_a_theta_that_is_not_finite_is_named(found: float) -> None:
    theta = _points(5, 3, 11)
    theta[3, 1] = found
    with pytest.raises(ValueError, match=rf"theta 3: .*found {found} \(1 of 5 thetas"):
        nearest_texts(theta, _points(9, 3, 12))


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_finds_what_the_cpu_finds(device: str) -> None:
    check_nearest(device, u=700, k=30, d=24)
    check_snap(device)


def test_off_the_cpu_nothing_waits_for_a_value() -> None:
    # A meta tensor has no values: .item(), .nonzero() and a branch on one of them all raise.
    theta, universe = torch.empty(4, 8, device="meta"), torch.empty(100, 8, device="meta")
    assert nearest_texts(theta, universe, block=30).shape == (4,)


def test_the_search_off_the_cpu_finds_the_same_where_nothing_is_near_a_tie() -> None:
    universe, theta = _points(500, 16, 13).half(), _points(20, 16, 14)
    universe[[100, 400]] = universe[nearest_texts(theta[:1], universe)]
    for block in (64, 1000):
        found = module._nearest_as_rounded(theta, universe, block)
        assert torch.equal(found, nearest_texts(theta, universe))


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


def _move(dictionary: LearnableDictionary, by: float, seed: int) -> None:
    with torch.no_grad():
        dictionary.theta += by * _points(*dictionary.theta.shape, seed)
    dictionary.snap()


def test_dictionary_snaps_to_the_nearest_and_tells_the_share_of_full_searches() -> None:
    universe = torch.nn.functional.normalize(_points(2000, 16, 15), dim=1).half()
    dictionary = LearnableDictionary(universe, torch.arange(30))
    assert dictionary.full_search_share == 0.0
    dictionary.snap()
    assert dictionary.full_search_share == 1.0
    assert dictionary.rows.tolist() == list(range(30))
    for step in range(9):
        _move(dictionary, 1e-4, step)
        assert torch.equal(dictionary.rows, nearest_texts(dictionary.theta, universe))
    assert dictionary.full_search_share == pytest.approx(0.1)
    _move(dictionary, 3.0, 10)
    assert torch.equal(dictionary.rows, nearest_texts(dictionary.theta, universe))
    assert dictionary.full_search_share > 0.1


def test_a_loaded_dictionary_goes_on_where_the_saved_one_stopped() -> None:
    universe = torch.nn.functional.normalize(_points(2000, 16, 16), dim=1)
    saved, loaded = (LearnableDictionary(universe, torch.arange(20)) for _ in range(2))
    loaded.snap()
    _move(saved, 0.3, 17)
    loaded.load_state_dict(saved.state_dict())
    assert set(saved.state_dict()) == {"theta", "rows"}
    for step in range(5):
        for dictionary in (saved, loaded):
            _move(dictionary, 0.01, step)
        assert torch.equal(saved.rows, loaded.rows)


def test_copies_share_the_universe_and_nothing_else() -> None:
    universe = torch.nn.functional.normalize(_points(2000, 16, 18), dim=1)
    dictionary = LearnableDictionary(universe, torch.arange(20))
    dictionary.snap()
    before = dictionary.rows.clone()
    duplicate = copy.deepcopy(dictionary)
    assert duplicate.universe is universe
    assert duplicate._lazy.universe is universe
    _move(duplicate, 3.0, 19)
    assert torch.equal(duplicate.rows, nearest_texts(duplicate.theta, universe))
    assert torch.equal(dictionary.rows, before)
    assert dictionary.full_search_share == 1.0
    dictionary.snap()
    assert torch.equal(dictionary.rows, before)
    assert dictionary.full_search_share == 0.5


def test_a_dictionary_whose_theta_diverged_says_so() -> None:
    dictionary = LearnableDictionary(_points(2000, 4, 20), torch.arange(3))
    with torch.no_grad():
        dictionary.theta[1] = torch.nan
    with pytest.raises(ValueError, match="theta 1: expected finite numbers, found nan"):
        dictionary.snap()
    assert dictionary.full_search_share == 0.0
