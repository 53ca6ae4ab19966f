import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from infopursuit.pursuit.histories import prefix_masks, random_orders, sample_sizes


@given(st.integers(1, 40), st.integers(1, 200), st.integers(1, 9), st.integers(0, 1000))
def test_sizes_leave_a_query_to_ask(k: int, max_history: int, histories: int, seed: int) -> None:
    sizes = sample_sizes(50, k, max_history, torch.Generator().manual_seed(seed), histories)
    assert sizes.shape == (histories, 50)
    assert sizes.min() >= 0
    assert sizes.max() <= min(max_history, k) - 1


@pytest.mark.parametrize("histories", [1, 5])
def test_sizes_are_uniform(histories: int) -> None:
    generator = torch.Generator().manual_seed(0)
    sizes = sample_sizes(60_000 // histories, 20, 12, generator, histories)
    counts = torch.bincount(sizes.flatten(), minlength=12)
    assert counts.shape == (12,)
    assert ((counts - 5000).abs() < 5 * 5000**0.5).all()


def test_sizes_of_one_image_are_stratified() -> None:
    sizes = sample_sizes(500, 20, 12, torch.Generator().manual_seed(1), histories=4)
    assert torch.equal(sizes // 3, torch.arange(4).unsqueeze(1).expand(4, 500))
    means = sizes.double().mean(dim=0)
    alone = sample_sizes(500, 20, 12, torch.Generator().manual_seed(1), histories=1)
    # The mean of four independent sizes has a quarter of the variance of one; strata beat that.
    assert means.var() < alone.double().var() / 4 / 2
    assert means.mean() == pytest.approx(5.5, abs=0.2)


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
