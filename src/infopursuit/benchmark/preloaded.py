"""What takes long to import, for the process that others are forked from."""

from __future__ import annotations

import torch

import infopursuit.benchmark.protocol  # noqa: F401

# The first optimiser imports PyTorch's compiler, for seconds.
torch.optim.SGD([torch.zeros(1)], lr=1.0)
