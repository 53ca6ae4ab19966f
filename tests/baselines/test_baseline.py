"""Small products run in one thread, and the number of threads is restored."""

import torch
from threadpoolctl import threadpool_info, threadpool_limits

from infopursuit.baselines.baseline import SMALL, threads_for


def counts() -> list[int]:
    return [torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]


def test_small_work_takes_one_thread_and_large_work_all() -> None:
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        outside = counts()
        with threads_for(SMALL):
            assert set(counts()) == {1}
        assert counts() == outside
        with threads_for(SMALL + 1):
            assert counts() == outside
    torch.set_num_threads(before)
