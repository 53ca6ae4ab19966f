"""Sparse, non-negative combinations of atoms: a Lasso for one signal after another.

The code w of a signal z over unit-norm atoms C minimises |C' w - z|^2 + 2 penalty |w|_1 with
w >= 0. The solver is scikit-learn's coordinate descent on the atoms nearest to the signal; an atom
that was left out and breaks a condition of optimality, <c, z - C' w> <= penalty, joins them, until
none does. The minimum is that over all atoms, at a fraction of the time.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from jaxtyping import Float
from sklearn.linear_model import enet_path

# Atoms to begin with, and by what share of the penalty one that is left out may exceed it.
NEAREST, SLACK = 128, 1e-3
# If texts are much alike (the embedded world's), 500 are too few, and 5,000 were enough.
TOLERANCE, ITERATIONS = 1e-4, 10_000


class Lasso:
    """The problems that share their atoms, which have unit norm."""

    def __init__(self, atoms: Float[np.ndarray, "m d"]) -> None:
        self.atoms, self.gram = atoms, np.ascontiguousarray(atoms @ atoms.T)

    def codes(
        self, signal: Float[np.ndarray, " d"], penalties: Float[np.ndarray, " p"]
    ) -> Float[np.ndarray, "p m"]:
        """Return the code of a unit-norm signal at each of decreasing penalties; float64."""
        near = self.atoms @ signal
        atoms = np.argsort(-near, kind="stable")[:NEAREST]
        while True:
            codes_kept = self._over(atoms, signal, near, penalties)
            used = codes_kept.any(axis=0)
            left = near - codes_kept[:, used] @ self.gram[atoms[used]]
            breaks = np.flatnonzero((left > (1 + SLACK) * penalties[:, None]).any(axis=0))
            joining = np.setdiff1d(breaks, atoms)
            if not len(joining):
                break
            atoms = np.concatenate([atoms, joining])
        codes = np.zeros((len(penalties), len(near)))
        codes[:, atoms] = codes_kept
        return codes

    def _over(self, kept: Any, signal: Any, near: Any, penalties: Any) -> np.ndarray:
        _, codes, _ = enet_path(
            np.asfortranarray(self.atoms[kept].T),
            signal,
            l1_ratio=1.0,
            alphas=penalties / len(signal),  # scikit-learn divides the squares by d
            precompute=np.ascontiguousarray(self.gram[np.ix_(kept, kept)]),  # pyright: ignore[reportArgumentType]
            Xy=near[kept],
            positive=True,
            check_input=False,
            copy_X=False,
            tol=TOLERANCE,
            max_iter=ITERATIONS,
        )
        return codes.T
