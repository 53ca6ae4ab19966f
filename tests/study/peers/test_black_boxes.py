"""The probe and the network against fits at convergence, and the embedded class names."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression
from threadpoolctl import threadpool_info, threadpool_limits

from infopursuit.core.tables import EMBEDDED_CLASSES, write_table
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.pipeline.benchmark_settings import MLPSettings
from infopursuit_study.peers.black_boxes import (
    MLP,
    SMALL,
    EmbeddingProbe,
    LinearProbe,
    load_class_embeddings,
    threads_for,
)
from infopursuit_study.peers.heads import fit_logistic, logistic_head, steepest
from tests.study.peers.planted import blobs, planted

NAMES = ("cat", "dog", "owl")
CENTRES = torch.eye(3, 4)


def test_the_probe_is_the_regression_of_scikit_learn() -> None:
    data = planted(noise=0.8)
    model = EmbeddingProbe(10.0).fit(data.X, data.y)
    peer = LogisticRegression(C=10.0, max_iter=2000).fit(data.X, data.y)
    np.testing.assert_allclose(
        model.predict_proba(data.X_test), peer.predict_proba(data.X_test), atol=1e-6
    )


def counts() -> list[int]:
    return [torch.get_num_threads(), *(pool["num_threads"] for pool in threadpool_info())]


def test_small_work_takes_one_thread_and_large_work_all() -> None:
    before = torch.get_num_threads()
    with threadpool_limits(2):
        torch.set_num_threads(2)
        outside = counts()
        with threads_for(SMALL):
            assert set(counts()) == {1}
        assert counts() == outside
        with threads_for(SMALL + 1):
            assert counts() == outside
    torch.set_num_threads(before)


def test_separate_clusters_are_told_apart_with_the_smallest_of_equal_strengths() -> None:
    train, held_out = hold_out(blobs(60, 0), 0.2, 0)
    probe = LinearProbe().fit(train, held_out)
    test = blobs(30, 1)
    assert probe.predict(test.embeddings).tolist() == test.labels.tolist()
    assert probe.held_out_accuracy_ == 1.0
    assert probe.strength_ == 1.0
    shares = probe.predict_proba(test.embeddings)
    assert shares.shape == (30, 3)
    assert shares.sum(axis=1) == pytest.approx(np.ones(30))


def test_the_probe_weakens_its_penalty_where_that_helps() -> None:
    """Rare class 1 needs a steep boundary; a strong penalty leaves everything in class 0."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(400, 2, generator=generator)
    labels = (points[:, 0] > 0.9).long()
    images = LabelledImages(tuple(map(str, range(400))), labels, points, ("left", "right"))
    train, held_out = hold_out(images, 0.25, 0)
    probe = LinearProbe((1000.0, 0.001)).fit(train, held_out)
    assert probe.strength_ == 1000.0
    assert probe.held_out_accuracy_ > 0.95


@pytest.mark.parametrize("binary", [False, True], ids=["embeddings", "answers"])
@pytest.mark.parametrize("strength", [0.03, 0.3, 3.0])
def test_warm_starts_end_where_a_fit_from_zero_converges(strength: float, binary: bool) -> None:
    """Probabilities agree within 0.01 with those at convergence in double precision."""
    images = blobs(600, 3, noise=0.6)
    if binary:
        images = replace(images, embeddings=(images.embeddings > 0.3).float())
    train, held_out = hold_out(images, 0.2, 0)
    strengths = tuple(value for value in (0.03, 0.3, 3.0) if value <= strength)
    probe = LinearProbe(strengths).fit(train, held_out)
    everything = torch.cat([train.embeddings, held_out.embeddings]).double().numpy()
    labels = torch.cat([train.labels, held_out.labels]).numpy()
    exact = LogisticRegression(C=probe.strength_, tol=1e-10, max_iter=10_000)
    expected = exact.fit(everything, labels).predict_proba(everything)
    found = probe.predict_proba(torch.from_numpy(everything).float())
    assert np.abs(found - expected).max() < 0.01


def crowd(classes: int, each: int) -> tuple[np.ndarray, np.ndarray]:
    """Unit vectors around the direction of their class, in so many dimensions that it is easy."""
    draw = np.random.default_rng(0)
    centres = draw.normal(size=(classes, 256))
    labels = np.repeat(np.arange(classes), each)
    rows = centres[labels] + 0.3 * draw.normal(size=(len(labels), 256))
    return rows / np.linalg.norm(rows, axis=1, keepdims=True), labels


def test_with_a_thousand_classes_the_usual_tolerance_would_end_at_once() -> None:
    rows, labels = crowd(1000, 3)
    usual = LogisticRegression(C=100.0).fit(rows, labels)
    assert usual.n_iter_[0] <= 1
    fitted = fit_logistic(LogisticRegression(C=100.0, max_iter=1000), rows, labels)
    assert fitted.score(rows, labels) > 0.99
    head = logistic_head(csr_matrix(rows), torch.from_numpy(labels), 100.0)
    found = head(torch.from_numpy(rows).float()).argmax(dim=1).numpy()
    assert (found == labels).mean() > 0.99


SETTINGS = MLPSettings(
    hidden=32, updates=150, batch_size=64, learning_rate=1e-2, weight_decay=0.0, seed=0
)


def ring(n: int, seed: int) -> LabelledImages:
    """Two classes in turn around a circle, twice: no linear classifier tells them apart."""
    generator = torch.Generator().manual_seed(seed)
    angle = 2 * torch.pi * torch.rand(n, generator=generator)
    labels = (2 * angle / torch.pi).long() % 2
    points = torch.stack([angle.cos(), angle.sin()], dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, ("even", "odd"))


def accuracy(network: MLP, images: LabelledImages) -> float:
    return float(np.equal(network.predict(images.embeddings), images.labels.numpy()).mean())


def test_it_learns_what_no_linear_classifier_can() -> None:
    train, held_out = hold_out(ring(1000, 0), 0.2, 0)
    network = MLP(SETTINGS).fit(train, held_out)
    assert not network.network_.training
    assert network.held_out_accuracy_ > 0.85
    assert accuracy(network, ring(1000, 1)) > 0.85


def test_the_weights_kept_are_those_of_the_reported_accuracy() -> None:
    train, held_out = hold_out(ring(300, 0), 0.2, 0)
    network = MLP(SETTINGS).fit(train, held_out)
    assert accuracy(network, held_out) == network.held_out_accuracy_


def test_repeats_are_bitwise_equal_and_leave_the_global_seed_alone() -> None:
    train, held_out = hold_out(ring(200, 0), 0.2, 0)
    before = torch.random.get_rng_state()
    first = MLP(SETTINGS).fit(train, held_out)
    assert torch.equal(before, torch.random.get_rng_state())
    torch.rand(3)
    second = MLP(SETTINGS).fit(train, held_out).network_.state_dict()
    for name, value in first.network_.state_dict().items():
        assert torch.equal(value, second[name]), name


def test_class_embeddings_come_in_the_order_of_the_labels_and_of_unit_norm(tmp_path: Path) -> None:
    order = [2, 0, 1]
    columns = {"label": order, "class_name": [NAMES[label] for label in order]}
    rows = columns | {"embedding": 2 * CENTRES[order].numpy()}
    write_table(tmp_path / "c.parquet", EMBEDDED_CLASSES, rows)
    found = load_class_embeddings(tmp_path / "c.parquet")
    assert found is not None
    torch.testing.assert_close(found, CENTRES, atol=1e-3, rtol=0)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3))


def test_a_file_without_rows_gives_no_zero_shot(tmp_path: Path) -> None:
    columns = {"label": [], "class_name": [], "embedding": np.zeros((0, 4))}
    write_table(tmp_path / "c.parquet", EMBEDDED_CLASSES, columns)
    assert load_class_embeddings(tmp_path / "c.parquet") is None


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
