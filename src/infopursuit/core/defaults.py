"""What other code of a process has set for all, put aside while this package computes.

torch's default dtype and device, gradients that are off, and numpy's errors would change results,
or end a fit.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, TypeVar

import numpy as np
import torch

T = TypeVar("T")


def own_defaults(of: T) -> T:
    """Decorate a function, or the public methods of a class, to compute with the usual defaults."""
    usual: Any = _usual()
    if not inspect.isclass(of):
        return usual(of)
    for name, each in list(vars(of).items()):
        if name.startswith("_"):
            continue
        if isinstance(each, classmethod):
            setattr(of, name, classmethod(usual(each.__func__)))
        elif inspect.isfunction(each):
            setattr(of, name, usual(each))
    return of


@contextmanager
def _usual() -> Iterator[None]:
    with ExitStack() as stack:
        stack.enter_context(np.errstate(divide="warn", over="warn", under="ignore", invalid="warn"))
        stack.enter_context(torch.inference_mode(False))
        stack.enter_context(torch.enable_grad())
        if torch.get_default_device().type != "cpu":
            stack.enter_context(torch.device("cpu"))
        stack.callback(torch.set_default_dtype, torch.get_default_dtype())
        torch.set_default_dtype(torch.float32)
        yield
