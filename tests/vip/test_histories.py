import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.vip.histories import HistoryDraws, prefix_masks, random_orders, sample_sizes


@given(st.integers(1, 40), st.integers(1, 200), st.integers(0, 1000))
def test_sizes_leave_a_query_to_ask(k: int, max_history: int, seed: int) -> None:
    sizes = sample_sizes(50, k, max_history, torch.Generator().manual_seed(seed))
    assert sizes.shape == (50,)
    assert sizes.min() >= 0
    assert sizes.max() <= min(max_history, k) - 1


def test_sizes_are_uniform() -> None:
    sizes = sample_sizes(60_000, 20, 12, torch.Generator().manual_seed(0))
    counts = torch.bincount(sizes, minlength=12)
    assert counts.shape == (12,)
    assert ((counts - 5000).abs() < 5 * 5000**0.5).all()


def test_random_orders_choose_every_query_alike() -> None:
    orders = random_orders(20_000, 10, torch.Generator().manual_seed(1))
    assert torch.equal(orders.sort(dim=1).values, torch.arange(10).expand(20_000, 10))
    masks = prefix_masks(orders, torch.full((20_000,), 3), 10)
    assert ((masks.mean(dim=0) - 0.3).abs() < 0.02).all()


@given(st.integers(1, 12), st.integers(0, 1000))
def test_prefix_masks_nest(k: int, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    orders = torch.rand(5, k, generator=generator).argsort(dim=1)
    before = torch.zeros(5, k)
    for size in range(k + 1):
        masks = prefix_masks(orders, torch.full((5,), size), k)
        expected = torch.zeros(5, k)
        for row in range(5):
            expected[row, orders[row, :size]] = 1
        assert torch.equal(masks, expected)
        assert (masks >= before).all()
        before = masks


def test_entries_beyond_the_size_do_not_count() -> None:
    # A roll-out writes 0 beyond an image's own length, which must not unask query 0.
    orders = torch.tensor([[0, 2, 0, 0], [3, 1, 0, 2]])
    masks = prefix_masks(orders, torch.tensor([2, 3]), 4)
    assert masks.tolist() == [[1, 0, 1, 0], [1, 1, 0, 1]]


def test_one_roll_out_gives_the_histories_of_several_updates() -> None:
    orders = torch.tensor([[2, 0, 1], [1, 2, 0]])
    sizes = torch.tensor([[0, 1], [2, 3], [1, 0]])
    masks = prefix_masks(orders, sizes, 3)
    assert torch.equal(masks, torch.stack([prefix_masks(orders, each, 3) for each in sizes]))
    assert masks[1].tolist() == [[1, 0, 1], [1, 1, 1]]


def test_draws_go_on_from_their_state() -> None:
    draws = HistoryDraws(9, 6, batch=7, seed=0)
    draws.sizes(2), draws.orders(2)
    state = draws.state_dict()
    sizes, orders = draws.sizes(3), draws.orders(3)
    again = HistoryDraws(9, 6, batch=7, seed=1)
    again.load_state_dict(state)
    assert torch.equal(again.sizes(3), sizes)
    assert torch.equal(again.orders(3), orders)
    assert orders.shape == (3, 7, 9)
