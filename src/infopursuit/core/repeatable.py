"""Work that ends in the same bits: deterministic torch."""

from __future__ import annotations

import os

import torch


def compute_repeatably() -> None:
    """Let torch use deterministic algorithms only; call before the first product on a GPU."""
    # cuBLAS is repeatable with a workspace of fixed size only, and reads this when it starts.
    os.environ.setdefault("CUBLAS_WORKSPACE_CONFIG", ":4096:8")
    # The same as `use_deterministic_algorithms(True)`, which would load torch's compiler: seconds.
    torch.set_deterministic_debug_mode("error")
    # It would also write NaN into all fresh memory, which nothing here reads (6 % of a GPU's step).
    torch.utils.deterministic.fill_uninitialized_memory = False  # pyright: ignore[reportAttributeAccessIssue]
