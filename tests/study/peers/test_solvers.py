"""Solvers against scikit-learn and brute force."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from infopursuit_study.peers.elastic_net import ElasticNet, at_effective_concepts
from infopursuit_study.peers.heads import LinearHead, Standardisation
from infopursuit_study.peers.matching_pursuit import matching_pursuit
from tests.planted import unit


def problem(n: int = 200, m: int = 12, c: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    concepts = torch.randn(n, m, generator=generator)
    concepts[:, 1] += concepts[:, 0]  # two that go together
    weights = torch.randn(m, c, generator=generator) * (torch.arange(m) < 5).unsqueeze(1)
    noise = torch.randn(n, c, generator=generator)
    labels = (concepts @ weights + noise).argmax(dim=1)
    return Standardisation.from_data(concepts)(concepts), labels


def objective(net: ElasticNet, head: LinearHead, absolute: float, squares: float) -> torch.Tensor:
    """The mean loss and the penalties that the solver minimises."""
    loss = torch.nn.functional.cross_entropy(head(net.concepts), net.labels)
    return loss + absolute * head.weights.abs().sum() + squares / 2 * head.weights.square().sum()


@pytest.mark.parametrize("penalty", [0.1, 0.02, 0.004])
def test_the_multinomial_minimum_is_that_of_scikit_learn(penalty: float) -> None:
    concepts, labels = problem()
    net = ElasticNet(concepts, labels, ratio=0.9)
    found = net.fitted(penalty)
    peer = LogisticRegression(
        solver="saga", C=1 / (penalty * len(labels)), l1_ratio=0.9, tol=1e-8, max_iter=20_000
    ).fit(concepts.double().numpy(), labels.numpy())
    expected = LinearHead(
        torch.from_numpy(peer.coef_.T).float(), torch.from_numpy(peer.intercept_).float()
    )
    absolute, squares = 0.9 * penalty, 0.1 * penalty
    best = objective(net, expected, absolute, squares)
    assert objective(net, found, absolute, squares) <= best + 3e-4
    # A shift of all classes' weights together changes nothing but the small penalty of squares.
    shares = found(concepts).softmax(dim=1), expected(concepts).softmax(dim=1)
    assert (shares[0] - shares[1]).abs().mean() < 0.003


def test_the_refit_is_a_ridge_regression_on_the_support() -> None:
    concepts, labels = problem()
    support = torch.zeros(12, 4, dtype=torch.bool)
    support[:3] = True
    found = ElasticNet(concepts, labels).refitted(support, ridge=0.01)
    peer = LogisticRegression(C=1 / (0.01 * len(labels)), tol=1e-8, max_iter=5000)
    peer.fit(concepts[:, :3].double().numpy(), labels.numpy())
    assert (found.weights[3:] == 0).all()
    expected = peer.predict_proba(concepts[:, :3].double().numpy())
    assert np.abs(found(concepts).softmax(dim=1).numpy() - expected).max() < 0.003


def test_a_path_grows_and_is_cut_to_the_number_of_weights() -> None:
    concepts, labels = problem(m=30)
    heads = ElasticNet(concepts, labels).path(6)
    sizes = [head.effective_concepts for head in heads]
    assert sizes[0] < 1
    assert sizes[-1] >= 6
    for count in (2, 4, 6):
        cut = at_effective_concepts(heads, count)
        source = next(head for head in heads if head.effective_concepts >= count)
        assert cut.effective_concepts == count
        left = source.weights[cut.weights == 0].abs()
        assert left.max() <= cut.weights[cut.weights != 0].abs().min()
    assert at_effective_concepts(heads, 29) == heads[-1]


def test_the_normalised_rule_is_the_best_single_addition() -> None:
    """|<P a, x>| / |P a| is largest where least squares with one more atom leaves the least."""
    draw = np.random.default_rng(0)
    atoms = unit(draw.normal(size=(40, 16)) + 1.0)
    weights = draw.normal(size=(30, 40)) * (draw.random((30, 40)) < 0.1)
    signals = torch.from_numpy(unit(weights @ atoms + 0.05 * draw.normal(size=(30, 16))))
    atoms = torch.from_numpy(atoms)
    found = matching_pursuit(signals, atoms, 4, atoms @ atoms.T)
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
