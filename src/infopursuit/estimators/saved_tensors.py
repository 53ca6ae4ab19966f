"""The tensors of a saved model, looked at before anything is built of them.

Each has a name, a type, a shape in k (questions), c (classes), d (width) and v (answers), and
numbers that can be what it is. Nothing is made of a size that a description only claims.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

# How far probabilities may be from a sum of one.
ROUNDING = 1e-3


class Sizes(NamedTuple):
    """Questions k, classes c and the width d of what the model is asked about."""

    k: int
    c: int
    d: int


def check_rule(name: str, tensors: Mapping[str, Tensor], sizes: Sizes) -> None:
    """Raise ValueError unless these are the tensors of the answer rule `name`."""
    k, _, d = sizes
    if name in ("minmax", "soft"):
        _only("rule", tensors, ("queries",))
        _floats("rule.queries", tensors["queries"], (k, d))
    elif name == "threshold":
        _only("rule", tensors, ("directions", "thresholds"), ("upper",))
        _floats("rule.directions", tensors["directions"], (k, d))
        _floats("rule.thresholds", tensors["thresholds"], (k,))
        if "upper" in tensors:
            _floats("rule.upper", tensors["upper"], (k,))
            if (tensors["upper"] < tensors["thresholds"]).any():
                raise ValueError("rule.upper is below rule.thresholds; expected it above")
    elif name == "columns":
        _only("rule", tensors, ("columns", "cuts"))
        _integers("rule.columns", tensors["columns"], (k,), d)
        _floats("rule.cuts", tensors["cuts"], (k,))
    else:
        raise ValueError(f"the answer rule {name!r} is not known")


def check_table(part: str, tensors: Mapping[str, Tensor], sizes: Sizes) -> int:
    """Raise ValueError unless these are the tensors of an `AnswerTable`; v, its answers."""
    table, prior, worth = (
        tensors[name] for name in ("log_likelihood", "log_prior", "independent_answers")
    )
    if table.ndim != 3 or len(table) not in (2, 3):
        shape = tuple(table.shape)
        raise ValueError(f"{part}.log_likelihood has the shape {shape}; expected (2 or 3, k, c)")
    _log_shares(f"{part}.log_likelihood", table, (len(table), sizes.k, sizes.c))
    _log_shares(f"{part}.log_prior", prior, (sizes.c,))
    if worth.numel() != 1 or not worth.item() > 0:
        raise ValueError(f"{part}.independent_answers is {worth.tolist()}; expected more than 0")
    return len(table)


def check_naive_bayes(parts: Mapping[str, Mapping[str, Tensor]], sizes: Sizes) -> None:
    """Raise ValueError unless these are the tensors of a naive-Bayes model."""
    _only("classifier", parts["classifier"], TABLE)
    check_table("classifier", parts["classifier"], sizes)
    querier = parts["querier"]
    _only("querier", querier, (), (*TABLE, "worth", "put_off"))
    if "worth" in querier:
        _floats("querier.worth", querier["worth"], (sizes.k,))
    if "put_off" in querier:
        _integers("querier.put_off", querier["put_off"], (len(querier["put_off"]), 3), sizes.k)


TABLE = ("log_likelihood", "log_prior", "independent_answers")


def check_familiarity(tensors: Mapping[str, Tensor], sizes: Sizes) -> None:
    """Raise ValueError unless these are the tensors of a `Familiarity`."""
    _only("familiarity", tensors, (*TABLE, "held_out"))
    levels = check_table("familiarity", tensors, sizes)
    held_out = tensors["held_out"]
    _integers("familiarity.held_out", held_out, (len(held_out), sizes.k), levels)


def check_network(
    part: str, tensors: Mapping[str, Tensor], made: Callable[[], torch.nn.Module]
) -> None:
    """Raise ValueError unless these are the tensors of a network, which is made without memory."""
    with torch.device("meta"):
        expected = made().state_dict()
    _only(part, tensors, tuple(expected))
    for name, value in expected.items():
        _floats(f"{part}.{name}", tensors[name], tuple(value.shape))


def _only(
    part: str, tensors: Mapping[str, Tensor], needed: tuple[str, ...], more: tuple[str, ...] = ()
) -> None:
    for name in needed:
        if name not in tensors:
            raise ValueError(f"no tensor {part}.{name}")
    for name in tensors:
        if name not in (*needed, *more):
            raise ValueError(f"a tensor {part}.{name}, which such a model has not")


def _shape(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    if tuple(tensor.shape) != shape:
        raise ValueError(f"{name} has the shape {tuple(tensor.shape)}; expected {shape}")


def _floats(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    _shape(name, tensor, shape)
    if not tensor.is_floating_point():
        raise ValueError(f"{name} is {tensor.dtype}; expected floats")
    if not torch.isfinite(tensor).all():
        raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")


def _integers(name: str, tensor: Tensor, shape: tuple[int, ...], below: int) -> None:
    _shape(name, tensor, shape)
    if tensor.is_floating_point() or tensor.is_complex() or tensor.dtype == torch.bool:
        raise ValueError(f"{name} is {tensor.dtype}; expected integers")
    if tensor.numel() and not (tensor.min() >= 0 and tensor.max() < below):
        found = f"{tensor.min().item()} to {tensor.max().item()}"
        raise ValueError(f"{name} holds {found}; expected 0 to {below - 1}")


def _log_shares(name: str, tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Logarithms of probabilities that sum to one over the first dimension."""
    _floats(name, tensor, shape)
    if not ((tensor.double().logsumexp(dim=0)).abs() <= ROUNDING).all():
        raise ValueError(f"{name} are no probabilities; expected logarithms of a sum of one")
