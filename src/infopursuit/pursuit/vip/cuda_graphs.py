"""Functions of tensors that a GPU replays as one CUDA graph, instead of launch by launch."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

# Calls before a capture: optimizers make their state and libraries choose their kernels.
WARM_UP = 3


class CapturedCalls:
    """Calls functions; on a GPU the fourth and later calls replay what the function launched.

    A function takes tensors, changes its own state in place and returns nothing. Nothing on
    the host may depend on a value that the device computes, and the tensors of its state are never
    replaced by others after the capture. Calls with other shapes are captured for themselves.
    """

    def __init__(self) -> None:
        self.calls: dict[tuple[object, ...], _CapturedCall] = {}

    def __call__(self, function: Callable[..., None], *inputs: Tensor) -> None:
        if not inputs[0].is_cuda:
            function(*inputs)
            return
        key = (function.__name__, *(tuple(value.shape) for value in inputs))
        self.calls.setdefault(key, _CapturedCall(function))(*inputs)


class _CapturedCall:
    def __init__(self, function: Callable[..., None]) -> None:
        self.function = function
        self.count = 0
        self.graph: torch.cuda.CUDAGraph | None = None
        self.inputs: list[Tensor] = []

    def __call__(self, *inputs: Tensor) -> None:
        if self.count < WARM_UP:
            self._warm_up(inputs)
        else:
            self._replay(inputs)
        self.count += 1

    def _warm_up(self, inputs: tuple[Tensor, ...]) -> None:
        stream = torch.cuda.Stream()
        stream.wait_stream(torch.cuda.current_stream())
        with torch.cuda.stream(stream):
            self.function(*inputs)
        torch.cuda.current_stream().wait_stream(stream)

    def _replay(self, inputs: tuple[Tensor, ...]) -> None:
        if self.graph is None:
            self.inputs = [value.clone(memory_format=torch.contiguous_format) for value in inputs]
            self.graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(self.graph):  # records, computes nothing
                self.function(*self.inputs)
        for own, value in zip(self.inputs, inputs, strict=True):
            own.copy_(value, non_blocking=True)
        self.graph.replay()
