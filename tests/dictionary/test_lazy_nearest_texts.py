from collections.abc import Iterator
from pathlib import Path

import faiss
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from infopursuit.dictionary import lazy_nearest_texts as module
from infopursuit.dictionary.lazy_nearest_texts import LazyNearestTexts
from infopursuit.dictionary.nearest_texts import nearest_texts


def _normal(*shape: int, seed: int) -> torch.Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(seed))


def _integers(most: int, *shape: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(-most, most + 1, shape, generator=generator).float()


def _clustered(u: int, d: int, seed: int) -> torch.Tensor:
    """Unit texts in groups of eight with a large common mean, as CLIP's have."""
    groups = _normal(1 + u // 8, d, seed=seed)[torch.arange(u) // 8]
    texts = 1.5 + 0.8 * groups + 0.4 * _normal(u, d, seed=seed + 1)
    return torch.nn.functional.normalize(texts, dim=1)


# Texts and thetas of these are multiples of 1/64: squares of their distances are exact in float64,
# so that a tie of the definition is a tie to every oracle.
EXACT_UNIVERSES = {
    "duplicates": lambda u, d, seed: _integers(2, 7, d, seed=seed)[torch.arange(u) % 7],
    "lattice": lambda u, d, seed: _integers(3, u, d, seed=seed) / 4,
    "all equal": lambda u, d, seed: _integers(3, 1, d, seed=seed).repeat(u, 1),
    "collinear": lambda u, d, seed: (torch.arange(u) % 40)[:, None] / 4 * torch.ones(d),
    "one step apart": lambda u, d, seed: 40 + _integers(1, u, d, seed=seed) / 32,
    "symmetric": lambda u, d, seed: torch.cat([torch.eye(d), -torch.eye(d)]).repeat(u, 1)[:u],
}
UNIVERSES = {
    **EXACT_UNIVERSES,
    "normal": lambda u, d, seed: _normal(u, d, seed=seed),
    "clustered": _clustered,
}
EXACT_MOVES = {
    "stay": lambda theta, first, seed: theta,
    "drift": lambda theta, first, seed: theta + _integers(1, *theta.shape, seed=seed) / 64,
    "jump": lambda theta, first, seed: theta + _integers(8, *theta.shape, seed=seed) / 4,
    "one jumps": lambda theta, first, seed: torch.cat([theta[:1] + 2, theta[1:]]),
    "return": lambda theta, first, seed: first,
    "go to zero": lambda theta, first, seed: torch.zeros_like(theta),
}
MOVES = {
    **EXACT_MOVES,
    "noise": lambda theta, first, seed: theta + 0.003 * _normal(*theta.shape, seed=seed),
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


@given(
    st.sampled_from(sorted(EXACT_UNIVERSES)),
    st.lists(st.sampled_from(sorted(EXACT_MOVES)), max_size=8),
    st.integers(1, 5),
    st.integers(0, 999),
)
def test_of_equally_near_texts_the_lowest_row_is_found(
    kind: str, moves: list[str], d: int, seed: int
) -> None:
    universe = EXACT_UNIVERSES[kind](120, d, seed)
    first = universe[:20:3]
    theta, lazy = first, LazyNearestTexts(universe.half(), candidates=4)
    for step, move in enumerate(["stay", *moves]):
        theta = EXACT_MOVES[move](theta, first, seed + step)
        assert torch.equal(lazy.search(theta), _squares(theta, universe).argmin(dim=1))


def test_hundreds_of_duplicates_that_outnumber_the_candidates() -> None:
    universe = _clustered(900, 12, 1).half()
    universe[torch.arange(250, 900, 2)] = universe[700].clone()
    theta, lazy = universe[[700, 3, 250]].float(), LazyNearestTexts(universe, candidates=8)
    for step in range(5):
        assert lazy.search(theta).tolist() == [250, 3, 250]
        theta = theta + 1e-4 * _normal(3, 12, seed=step)


def test_thetas_so_large_that_the_screen_overflows() -> None:
    universe = torch.tensor([[1e10, -1e10], [1e7, 0.0], [-1e10, 1e10]]).repeat(20, 1)
    lazy = LazyNearestTexts(universe, candidates=2)
    for theta in (torch.tensor([[1e30, 1e30], [1e6, 0.0]]), torch.tensor([[1e6, 0.0], [1e30] * 2])):
        assert lazy.search(theta).tolist() == [1, 1]


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


def test_nearest_equals_faiss_while_thetas_drift() -> None:
    universe, theta = _normal(3000, 32, seed=4), _normal(40, 32, seed=5)
    index = faiss.IndexFlatL2(32)
    index.add(universe.numpy())
    lazy = LazyNearestTexts(universe)
    for step in range(20):
        theta = theta + 0.02 * _normal(40, 32, seed=step)
        _, rows = index.search(theta.numpy(), 1)
        assert np.array_equal(lazy.search(theta).numpy(), rows[:, 0])
    assert lazy.full_searches < lazy.searches / 2


@pytest.fixture
def searched(monkeypatch: pytest.MonkeyPatch) -> Iterator[list[int]]:
    """How many thetas each search of the whole universe was made for."""
    counts: list[int] = []
    screen = module.screen

    def counting(theta: torch.Tensor, *rest: object) -> object:
        counts.append(len(theta))
        return screen(theta, *rest)

    monkeypatch.setattr(module, "screen", counting)
    monkeypatch.setattr("infopursuit.dictionary.nearest_texts.screen", counting)
    yield counts


def test_the_universe_is_searched_only_for_thetas_that_are_unsure(searched: list[int]) -> None:
    universe = _clustered(3000, 16, 6)
    theta, lazy = universe[:100].clone(), LazyNearestTexts(universe)
    lazy.search(theta)
    for step in range(20):
        theta = theta + 1e-5 * _normal(100, 16, seed=step)
        lazy.search(theta)
    assert searched == [100]
    theta[40] += 5
    lazy.search(theta)
    assert searched == [100, module.TOGETHER]
    theta[:50] -= 5
    lazy.search(theta)
    assert searched == [100, module.TOGETHER, 50]
    assert (lazy.searches, lazy.full_searches) == (2300, sum(searched))
    assert torch.equal(lazy.search(theta), nearest_texts(theta, universe))


def test_another_number_of_thetas_starts_anew(searched: list[int]) -> None:
    universe = _clustered(3000, 16, 7)
    lazy = LazyNearestTexts(universe)
    assert lazy.search(universe[:30]).tolist() == list(range(30))
    assert lazy.search(universe[60:100]).tolist() == list(range(60, 100))
    assert searched == [30, 40]


def test_a_small_universe_is_always_searched_in_full(searched: list[int]) -> None:
    for u, candidates in ((1, None), (63, None), (40, 10)):
        lazy = LazyNearestTexts(_clustered(u, 4, 8), candidates)
        for _ in range(3):
            lazy.search(_clustered(9, 4, 9))
        assert lazy.full_searches == lazy.searches == 27
    assert searched == [9] * 9


def _wrong_rows(without: str) -> int:
    """Over a long walk, rows that differ from the exhaustive search if a bound is broken."""
    universe = _clustered(800, 16, 10)
    theta, lazy = universe[::20].clone(), LazyNearestTexts(universe, candidates=4)
    if without == "radius":
        lazy.radius = 0.0
    wrong = 0
    for step in range(150):
        theta = theta + 0.02 * _normal(*theta.shape, seed=step)
        wrong += int((lazy.search(theta) != nearest_texts(theta, universe)).sum())
        if without == "moved distance":
            lazy.distances += 0.02 * 16**0.5
    return wrong


def test_a_broken_bound_finds_wrong_rows() -> None:
    assert _wrong_rows(without="nothing") == 0
    assert _wrong_rows(without="radius") > 0
    assert _wrong_rows(without="moved distance") > 0


def test_a_memory_mapped_universe_is_read_in_place(tmp_path: Path) -> None:
    texts = _clustered(2000, 8, 11).half()
    np.save(tmp_path / "universe.npy", texts.numpy())
    mapped = np.load(tmp_path / "universe.npy", mmap_mode="c")
    universe = torch.from_numpy(mapped)
    lazy, theta = LazyNearestTexts(universe, block=300), texts[:50].float()
    for step in range(5):
        theta = theta + 0.01 * _normal(50, 8, seed=step)
        assert torch.equal(lazy.search(theta), nearest_texts(theta, texts))
    assert lazy.universe.data_ptr() == mapped.ctypes.data


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
