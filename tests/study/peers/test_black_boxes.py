"""The probe against fits at convergence, and the embedded class names."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from scipy.sparse import csr_matrix
from sklearn.linear_model import LogisticRegression

from infopursuit.core.tables import EMBEDDED_CLASSES, write_table
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit_study.peers.black_boxes import fit_probe, load_class_embeddings
from infopursuit_study.peers.heads import fit_logistic, logistic_head
from tests.planted import unit

NAMES = ("cat", "dog", "owl")
CENTRES = torch.eye(3, 4)


def blobs(n: int, seed: int) -> LabelledImages:
    """Three clusters of embeddings, one a class."""
    centres = unit(np.array([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]))
    labels = torch.arange(n) % 3
    noises = torch.randn(n, 4, generator=torch.Generator().manual_seed(seed)).numpy()
    points = torch.from_numpy(unit(centres[labels] + 0.05 * noises))
    return LabelledImages(tuple(map(str, range(n))), labels, points, NAMES)


def test_the_probe_takes_the_smallest_of_equal_strengths_and_all_images() -> None:
    train, held_out = hold_out(blobs(60, 0), 0.2, 0)
    probe, accuracy = fit_probe(train, held_out)
    test = blobs(30, 1)
    assert probe.predict(test.embeddings.numpy()).tolist() == test.labels.tolist()
    assert (probe.C, accuracy) == (1.0, 1.0)
    everything = torch.cat([train.embeddings, held_out.embeddings]).double().numpy()
    labels = torch.cat([train.labels, held_out.labels]).numpy()
    exact = LogisticRegression(C=1.0, tol=1e-10, max_iter=10_000).fit(everything, labels)
    found = probe.predict_proba(everything)
    assert np.abs(found - exact.predict_proba(everything)).max() < 0.01


def test_with_a_thousand_classes_the_usual_tolerance_would_end_at_once() -> None:
    draw = np.random.default_rng(0)
    labels = np.repeat(np.arange(1000), 3)
    # In so many dimensions it is easy.
    rows = draw.normal(size=(1000, 256))[labels] + 0.3 * draw.normal(size=(3000, 256))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    usual = LogisticRegression(C=100.0).fit(rows, labels)
    assert usual.n_iter_[0] <= 1
    fitted = fit_logistic(LogisticRegression(C=100.0, max_iter=1000), rows, labels)
    assert fitted.score(rows, labels) > 0.99
    head = logistic_head(csr_matrix(rows), torch.from_numpy(labels), 100.0)
    found = head(torch.from_numpy(rows).float()).argmax(dim=1).numpy()
    assert (found == labels).mean() > 0.99


def test_class_embeddings_come_in_the_order_of_the_labels_and_of_unit_norm(tmp_path: Path) -> None:
    order = [2, 0, 1]
    columns = {"label": order, "class_name": [NAMES[label] for label in order]}
    rows = columns | {"embedding": 2 * CENTRES[order].numpy()}
    write_table(tmp_path / "c.parquet", EMBEDDED_CLASSES, rows)
    found = load_class_embeddings(tmp_path / "c.parquet")
    assert found is not None
    torch.testing.assert_close(found, CENTRES, atol=1e-3, rtol=0)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3))
    nothing = {"label": [], "class_name": [], "embedding": np.zeros((0, 4))}
    write_table(tmp_path / "c.parquet", EMBEDDED_CLASSES, nothing)
    assert load_class_embeddings(tmp_path / "c.parquet") is None
