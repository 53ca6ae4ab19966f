"""Matching pursuit against scikit-learn, and against brute force for the normalised rule."""

from __future__ import annotations

import numpy as np
import torch
from sklearn.linear_model import orthogonal_mp

from infopursuit.peers.matching_pursuit import coefficients, matching_pursuit
from tests.peers.planted import unit


def signals_and_atoms() -> tuple[torch.Tensor, torch.Tensor]:
    draw = np.random.default_rng(0)
    atoms = unit(draw.normal(size=(40, 16)) + 1.0)
    weights = draw.normal(size=(30, 40)) * (draw.random((30, 40)) < 0.1)
    return torch.from_numpy(unit(weights @ atoms + 0.05 * draw.normal(size=(30, 16)))), (
        torch.from_numpy(atoms)
    )


def test_the_plain_rule_is_scikit_learns() -> None:
    signals, atoms = signals_and_atoms()
    found = matching_pursuit(signals, atoms, 5, normalised=False)
    expected = orthogonal_mp(
        atoms.double().numpy().T, signals.double().numpy().T, n_nonzero_coefs=5
    )
    codes = torch.zeros(30, 40).scatter_(1, found.order, coefficients(found, atoms, 5))
    np.testing.assert_allclose(codes.numpy(), expected.T, atol=2e-3)


def test_the_normalised_rule_is_the_best_single_addition() -> None:
    """|<P a, x>| / |P a| is largest where least squares with one more atom leaves the least."""
    signals, atoms = signals_and_atoms()
    found = matching_pursuit(signals, atoms, 4)
    for row in range(len(signals)):
        chosen: list[int] = []
        for _ in range(4):
            left = []
            for atom in range(len(atoms)):
                basis = atoms[[*chosen, atom]].double().numpy().T
                x = signals[row].double().numpy()
                left.append(np.linalg.norm(x - basis @ np.linalg.lstsq(basis, x)[0]))
                if atom in chosen:
                    left[-1] = np.inf
            chosen.append(int(np.argmin(left)))
        assert found.order[row].tolist() == chosen


def test_an_atom_is_chosen_once_and_duplicates_are_left_out() -> None:
    signals, atoms = signals_and_atoms()
    twice = torch.cat([atoms, atoms])
    found = matching_pursuit(signals, twice, 6)
    for row in (found.order % 40).tolist():
        assert len(set(row)) == 6
