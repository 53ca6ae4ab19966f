"""Logistic regressions end where the loss is least, also with many classes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from infopursuit.baselines.linear import LinearProbe
from infopursuit.baselines.logistic import fit_logistic, steepest
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.peers.codes import logistic_head


def crowd(classes: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around the direction of their class, in so many dimensions that it is easy."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(classes, 256))
    labels = np.repeat(np.arange(classes), each)
    rows = centres[labels] + 0.3 * draw.normal(size=(len(labels), 256))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


@pytest.mark.parametrize("sparse", [False, True])
def test_the_steepest_derivative_is_that_of_autograd(sparse: bool) -> None:
    rows, labels = crowd(7, 5)
    rows, labels = rows[:-3], labels[:-3]  # classes of different sizes
    weights, bias = torch.zeros(7, 256).double(), torch.zeros(7).double()
    weights.requires_grad_(), bias.requires_grad_()
    scores = torch.from_numpy(rows) @ weights.T + bias
    torch.nn.functional.cross_entropy(scores, torch.from_numpy(labels)).backward()
    assert weights.grad is not None
    assert bias.grad is not None
    expected = max(weights.grad.abs().max().item(), bias.grad.abs().max().item())
    found = steepest(csr_matrix(rows) if sparse else rows, 10 * labels)
    assert found == pytest.approx(expected)


def test_with_a_thousand_classes_the_usual_tolerance_would_end_at_once() -> None:
    rows, labels = crowd(1000, 3)
    usual = LogisticRegression(C=100.0).fit(rows, labels)
    assert usual.n_iter_[0] <= 1
    fitted = fit_logistic(LogisticRegression(C=100.0, max_iter=1000), rows, labels)
    assert fitted.score(rows, labels) > 0.99
    head = logistic_head(torch.from_numpy(rows).float(), torch.from_numpy(labels), 100.0)
    found = head(torch.from_numpy(rows).float()).argmax(dim=1).numpy()
    assert (found == labels).mean() > 0.99


def test_the_linear_probe_knows_a_thousand_classes() -> None:
    rows, labels = crowd(1000, 3)
    images = LabelledImages(
        tuple(map(str, range(len(rows)))),
        torch.from_numpy(labels),
        torch.from_numpy(rows).float(),
        tuple(map(str, range(1000))),
    )
    probe = LinearProbe((1.0, 100.0)).fit(*hold_out(images, 0.3, 0))
    assert probe.held_out_accuracy_ > 0.9
