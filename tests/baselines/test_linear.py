"""The linear probe: its choice of penalty, and its weights against a fit at convergence."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression

from infopursuit.baselines.baseline import Baseline
from infopursuit.baselines.linear import LinearProbe
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from tests.baselines.blobs import blobs


def test_separate_clusters_are_told_apart_with_the_smallest_of_equal_strengths() -> None:
    train, held_out = hold_out(blobs(60, 0), 0.2, 0)
    probe = LinearProbe().fit(train, held_out)
    test = blobs(30, 1)
    assert isinstance(probe, Baseline)
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


def test_the_weights_for_prediction_come_from_both_parts() -> None:
    train, held_out = hold_out(blobs(90, 0, noise=0.4), 0.3, 0)
    probe = LinearProbe((1.0,)).fit(train, held_out)
    alone = LogisticRegression(C=1.0).fit(train.embeddings.numpy(), train.labels.numpy())
    images = blobs(30, 5).embeddings
    assert np.abs(probe.predict_proba(images) - alone.predict_proba(images.numpy())).max() > 0.01
