"""The Lasso on the nearest atoms is that on all atoms."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.exceptions import ConvergenceWarning

from infopursuit.peers import lasso
from infopursuit.peers.lasso import Lasso


def unit(rows: np.ndarray) -> np.ndarray:
    return rows / np.linalg.norm(rows, axis=-1, keepdims=True)


def exact(atoms: np.ndarray, signal: np.ndarray, penalty: float) -> np.ndarray:
    """The minimum as a problem of non-negative least squares.

    |C' w - z|^2 + 2 penalty sum w is, up to a constant, |R w - y|^2 with R' R = C C' and
    R' y = C z - penalty; a little is added to C C', which has less than full rank.
    """
    gram = atoms @ atoms.T + 1e-12 * np.eye(len(atoms))
    root = np.linalg.cholesky(gram)
    return nnls(root.T, np.linalg.solve(root, atoms @ signal - penalty))[0]


@pytest.mark.parametrize("nearest", [1, 4, 300])
def test_codes_are_the_minimum_over_all_atoms(
    nearest: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(lasso, "NEAREST", nearest)
    draw = np.random.default_rng(0)
    common = draw.normal(size=24)
    atoms = unit(draw.normal(size=(60, 24)) + common)  # many are near a signal
    penalties = np.array([0.4, 0.1, 0.02])
    problems, used = Lasso(atoms), []
    for signal in unit(draw.normal(size=(10, 24)) + common):
        found = problems.codes(signal, penalties)
        for code, penalty in zip(found, penalties, strict=True):
            expected = exact(atoms, signal, penalty)

            def objective(w: np.ndarray, signal=signal, penalty=penalty) -> float:
                return np.square(atoms.T @ w - signal).sum() + 2 * penalty * w.sum()

            assert objective(code) <= objective(expected) + 1e-4
            assert (code >= 0).all()
            used.append((code > 0).sum())
    assert max(used) > 4  # more than the fewest that it begins with


def test_a_signal_that_is_an_atom_needs_that_atom_alone() -> None:
    atoms = unit(np.random.default_rng(1).normal(size=(30, 16)))
    codes = Lasso(atoms).codes(atoms[7], np.array([0.9, 0.5]))
    np.testing.assert_allclose(codes[:, 7], [0.1, 0.5], atol=1e-3)
    assert (np.delete(codes, 7, axis=1) < 0.05).all()


def test_atoms_that_are_much_alike_need_no_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    draw = np.random.default_rng(0)
    directions = draw.normal(size=(10, 64))
    atoms = unit(np.repeat(directions, 20, axis=0) + 0.1 * draw.normal(size=(200, 64)))
    signal = unit(draw.normal(size=10) ** 2 @ directions + 0.5 * draw.normal(size=64))
    penalties = np.array([0.1, 0.03, 0.01, 0.003])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        Lasso(atoms).codes(signal, penalties)
        monkeypatch.setattr(lasso, "ITERATIONS", 500)
        with pytest.raises(ConvergenceWarning):
            Lasso(atoms).codes(signal, penalties)
