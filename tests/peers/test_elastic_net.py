"""The elastic net, against scikit-learn and against its optimality conditions."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from infopursuit.peers.elastic_net import ElasticNet, at_effective_concepts
from infopursuit.peers.heads import Head, Standard


def problem(n: int = 200, m: int = 12, c: int = 4) -> tuple[torch.Tensor, torch.Tensor]:
    generator = torch.Generator().manual_seed(0)
    concepts = torch.randn(n, m, generator=generator)
    concepts[:, 1] += concepts[:, 0]  # two that go together
    weights = torch.randn(m, c, generator=generator) * (torch.arange(m) < 5).unsqueeze(1)
    noise = torch.randn(n, c, generator=generator)
    labels = (concepts @ weights + noise).argmax(dim=1)
    return Standard.of(concepts)(concepts), labels


@pytest.mark.parametrize("penalty", [0.1, 0.02, 0.004])
def test_the_multinomial_minimum_is_that_of_scikit_learn(penalty: float) -> None:
    concepts, labels = problem()
    net = ElasticNet(concepts, labels, ratio=0.9)
    found = net.fitted(penalty)
    peer = LogisticRegression(
        solver="saga", C=1 / (penalty * len(labels)), l1_ratio=0.9, tol=1e-8, max_iter=20_000
    ).fit(concepts.double().numpy(), labels.numpy())
    expected = Head(
        torch.from_numpy(peer.coef_.T).float(), torch.from_numpy(peer.intercept_).float()
    )
    absolute, squares = 0.9 * penalty, 0.1 * penalty
    best = net.objective(expected, absolute, squares)
    assert net.objective(found, absolute, squares) <= best + 3e-4
    # A shift of all classes' weights together changes nothing but the small penalty of squares.
    shares = found(concepts).softmax(dim=1), expected(concepts).softmax(dim=1)
    assert (shares[0] - shares[1]).abs().mean() < 0.003


def test_one_against_the_rest_is_a_binary_regression_for_each_class() -> None:
    concepts, labels = problem()
    found = ElasticNet(concepts, labels, "one_vs_rest", ratio=0.9).fitted(0.01)
    for label in range(4):
        peer = LogisticRegression(
            solver="saga", C=1 / (0.01 * len(labels)), l1_ratio=0.9, tol=1e-8, max_iter=20_000
        ).fit(concepts.double().numpy(), (labels == label).numpy())
        assert np.abs(found.weights[:, label].numpy() - peer.coef_[0]).max() < 0.02
        assert found.intercepts[label].item() == pytest.approx(peer.intercept_[0], abs=0.02)


def test_weights_that_are_zero_have_a_gradient_within_the_penalty() -> None:
    concepts, labels = problem(m=40)
    net = ElasticNet(concepts, labels, ratio=0.99)
    head = net.fitted(0.02)
    shares = head(concepts).softmax(dim=1)
    members = torch.nn.functional.one_hot(labels).float()
    gradient = concepts.T @ (shares - members) / len(labels)
    zero = head.weights == 0
    assert 0 < zero.float().mean() < 1
    assert gradient[zero].abs().max() <= 0.02 * 0.99 * 1.02
    held = gradient + 0.01 * 0.02 * head.weights + 0.99 * 0.02 * head.weights.sign()
    assert held[~zero].abs().max() < 1e-3


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


def test_a_score_that_never_varies_says_nothing() -> None:
    concepts, labels = problem()
    concepts = torch.cat([concepts, torch.ones(len(concepts), 1)], dim=1)
    standard = Standard.of(concepts)
    assert (standard(concepts)[:, -1] == 0).all()
    head = ElasticNet(standard(concepts), labels).fitted(0.01)
    assert torch.isfinite(head.weights).all()
    assert (head.weights[-1] == 0).all()
