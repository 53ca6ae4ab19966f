"""The nearest texts, by an exhaustive and by a lazy search, equal those of the definition."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn.functional import normalize

from infopursuit.pursuit.dictionary.learnable import LearnableDictionary
from infopursuit.pursuit.dictionary.nearest_texts import (
    LOWER_SCALE,
    LazyNearestTexts,
    closeness,
    in_halves,
    nearest_texts,
    screen,
)
from tests.devices import DEVICES
from tests.pursuit.dictionary.nearest_checks import check_nearest, check_snap


def _points(n: int, d: int, seed: int) -> torch.Tensor:
    return torch.randn(n, d, generator=torch.Generator().manual_seed(seed))


def test_ties_go_to_the_lowest_row_within_and_across_blocks() -> None:
    universe = torch.tensor([[0.0, 1.0], [1.0, 0.0], [1.0, 0.0], [1.0, 0.0]])
    theta = torch.tensor([[0.9, 0.1]])
    for block in (1, 2, 3, 4):
        assert nearest_texts(theta, universe, block).tolist() == [1]


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


def test_a_process_that_allows_reduced_products_is_screened_in_float64() -> None:
    universe, theta = UNIVERSES["one step apart"](200, 8, 9).half(), _points(5, 8, 10) + 40
    expected = nearest_texts(theta, universe)
    torch.set_float32_matmul_precision("medium")
    try:
        assert next(screen(theta.double(), universe, 10)).rounded.dtype == torch.float64
        assert torch.equal(nearest_texts(theta, universe), expected)
    finally:
        torch.set_float32_matmul_precision("highest")


@pytest.mark.parametrize("device", DEVICES)
def test_a_device_finds_what_the_cpu_finds(device: str) -> None:
    check_nearest(device, u=700, k=30, d=24)
    check_snap(device)


def test_two_halves_are_a_float32_and_their_products_round_no_more_than_its_own() -> None:
    theta, universe = _points(50, 64, 3), normalize(_points(200, 64, 4), dim=1).half()
    theta[0] *= 2.0**-12  # whose upper halves are subnormal
    upper, lower = in_halves(theta).double().chunk(2)
    together = upper + lower / LOWER_SCALE
    assert torch.all((together - theta).abs() <= theta.abs() * 2.0**-22 + 2.0**-36)
    exact = theta.double() @ universe.double().T
    sizes = theta.double().abs() @ universe.double().abs().T
    assert torch.all((together @ universe.double().T - exact).abs() <= sizes * 2.0**-21)


def test_a_dictionary_snaps_when_asked_and_passes_gradients_straight() -> None:
    universe = normalize(_points(50, 8, 5), dim=1)
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
    free = LearnableDictionary(3 * universe, torch.tensor([4, 9]), quantize=False)
    torch.testing.assert_close(free(), universe[[4, 9]])


def _move(dictionary: LearnableDictionary, by: float, seed: int) -> None:
    with torch.no_grad():
        dictionary.theta += by * _points(*dictionary.theta.shape, seed)
    dictionary.snap()


def test_a_loaded_dictionary_goes_on_where_the_saved_one_stopped() -> None:
    universe = normalize(_points(2000, 16, 16), dim=1)
    saved, loaded = (LearnableDictionary(universe, torch.arange(20)) for _ in range(2))
    loaded.snap()
    _move(saved, 0.3, 17)
    loaded.load_state_dict(saved.state_dict())
    assert set(saved.state_dict()) == {"theta", "rows"}
    for step in range(5):
        for dictionary in (saved, loaded):
            _move(dictionary, 0.01, step)
        assert torch.equal(saved.rows, loaded.rows)


# The lazy search, which the dictionary uses at every step.


def _integers(most: int, *shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-most, most + 1, shape, generator=generator).float()


def _clustered(u: int, d: int, seed: int) -> torch.Tensor:
    """Unit texts in groups of eight with a large common mean, as CLIP's have."""
    groups = _points(1 + u // 8, d, seed)[torch.arange(u) // 8]
    texts = 1.5 + 0.8 * groups + 0.4 * _points(u, d, seed + 1)
    return normalize(texts, dim=1)


UNIVERSES = {
    "duplicates": lambda u, d, seed: _integers(2, 7, d, seed=seed)[torch.arange(u) % 7],
    "lattice": lambda u, d, seed: _integers(3, u, d, seed=seed) / 4,
    "all equal": lambda u, d, seed: _integers(3, 1, d, seed=seed).repeat(u, 1),
    "collinear": lambda u, d, seed: (torch.arange(u) % 40)[:, None] / 4 * torch.ones(d),
    "one step apart": lambda u, d, seed: 40 + _integers(1, u, d, seed=seed) / 32,
    "symmetric": lambda u, d, seed: torch.cat([torch.eye(d), -torch.eye(d)]).repeat(u, 1)[:u],
    "normal": lambda u, d, seed: _points(u, d, seed),
    "clustered": _clustered,
}
MOVES = {
    "stay": lambda theta, first, seed: theta,
    "drift": lambda theta, first, seed: theta + _integers(1, *theta.shape, seed=seed) / 64,
    "jump": lambda theta, first, seed: theta + _integers(8, *theta.shape, seed=seed) / 4,
    "one jumps": lambda theta, first, seed: torch.cat([theta[:1] + 2, theta[1:]]),
    "return": lambda theta, first, seed: first,
    "go to zero": lambda theta, first, seed: torch.zeros_like(theta),
    "noise": lambda theta, first, seed: theta + 0.003 * _points(*theta.shape, seed),
    "shrink": lambda theta, first, seed: theta / 3,
    "grow": lambda theta, first, seed: theta * 1.7,
    "grow large": lambda theta, first, seed: theta * 4096,
}


def _squares(theta: torch.Tensor, universe: torch.Tensor) -> torch.Tensor:
    return (theta.double()[:, None] - universe.double()[None]).square().sum(dim=2)


@settings(max_examples=100)
@given(
    st.sampled_from(sorted(UNIVERSES)),
    st.lists(st.sampled_from(sorted(MOVES)), min_size=1, max_size=8),
    st.tuples(st.integers(1, 150), st.integers(1, 6), st.integers(1, 20)),
    st.integers(0, 9),
    st.integers(1, 200),
    st.tuples(*[st.sampled_from([torch.float16, torch.float32, torch.float64])] * 2),
    st.integers(0, 999),
)
def test_lazy_equals_exhaustive_and_the_definition_at_every_step(
    kind: str,
    moves: list[str],
    shape: tuple[int, int, int],
    candidates: int,
    block: int,
    dtypes: tuple[torch.dtype, torch.dtype],
    seed: int,
) -> None:
    u, d, k = shape
    universe = UNIVERSES[kind](u, d, seed).to(dtypes[0])
    first = universe[torch.arange(k) % u].to(torch.promote_types(dtypes[1], torch.float32))
    theta, lazy = first, LazyNearestTexts(universe, candidates, block)
    for step, move in enumerate(["stay", *moves]):
        theta = MOVES[move](theta, first, seed + step)
        rows = lazy.search(theta)
        assert torch.equal(rows, nearest_texts(theta, universe, block))
        squares = _squares(theta, universe)
        least = squares.amin(dim=1)
        # Between squares that differ by less than this, rounding decides in float64 as well.
        tolerance = 1e-13 * (theta.norm(dim=1) + universe.double().norm(dim=1).max()).square()
        assert (squares.gather(1, rows[:, None]).squeeze(1) <= least + tolerance).all()
        clear = (squares <= (least + tolerance)[:, None]).sum(dim=1) == 1
        assert torch.equal(rows[clear], squares.argmin(dim=1)[clear])
    assert lazy.searches == k * (1 + len(moves))
    assert k <= lazy.full_searches <= lazy.searches


@pytest.mark.parametrize(("lr", "most"), [(1e-5, 0.001), (3e-3, 0.05)])
def test_thousands_of_adam_steps(lr: float, most: float) -> None:
    universe = _clustered(800, 16, 2).half()
    theta = torch.nn.Parameter(universe[::27].float())
    optimizer, lazy = torch.optim.Adam([theta], lr), LazyNearestTexts(universe)
    texts, generator, changed = universe.double(), torch.Generator().manual_seed(3), 0
    halves = texts.square().sum(dim=1) / 2
    last = lazy.search(theta)
    lazy.searches = lazy.full_searches = 0
    for _ in range(1500):
        theta.grad = 0.1 + torch.randn(theta.shape, generator=generator)
        optimizer.step()
        rows = lazy.search(theta)
        assert torch.equal(rows, (theta.detach().double() @ texts.T - halves).argmax(dim=1))
        changed += int((rows != last).sum())
        last = rows
    assert lazy.searches == 1500 * len(theta)
    assert lazy.full_searches <= most * lazy.searches
    assert (changed > 100) == (lr == 3e-3), "fast thetas must have met other texts"


def test_what_is_not_finite_is_refused_and_changes_nothing() -> None:
    universe = _clustered(1000, 8, 12)
    theta, lazy = universe[:5].clone(), LazyNearestTexts(universe)
    lazy.search(theta)
    bad = theta.clone()
    bad[2, 3], bad[4, 0] = torch.nan, torch.inf
    with pytest.raises(ValueError, match=r"theta 2: .*found nan \(2 of 5 thetas"):
        lazy.search(bad)
    assert lazy.search(theta).tolist() == [0, 1, 2, 3, 4]
    assert (lazy.searches, lazy.full_searches) == (10, 5)
    universe[77, 1] = torch.nan
    with pytest.raises(ValueError, match="the universe holds NaN or infinity"):
        LazyNearestTexts(universe)
