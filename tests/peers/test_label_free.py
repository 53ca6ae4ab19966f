"""Label-free CBM: its projection in closed form, its filters, and its truncated head."""

from __future__ import annotations

import numpy as np
import torch

from infopursuit.peers.elastic_net import ElasticNet, at_effective_concepts
from infopursuit.peers.heads import Standard
from infopursuit.peers.label_free import LabelFreeCBM, without_duplicates
from tests.peers.planted import planted, unit


def cos_cubed(activations: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """The authors' similarity of each concept's activations and CLIP's scores (eq. 2)."""
    cubes = []
    for each in (activations, targets):
        standard = (each - each.mean(dim=0)) / each.std(dim=0)
        cubes.append(standard**3)
    return torch.nn.functional.cosine_similarity(*cubes, dim=0)


def test_text_embeddings_are_the_projection_that_the_authors_train_for() -> None:
    """Gradient ascent on their objective ends with the activations of the closed form."""
    data = planted(noise=0.6)
    X, texts = torch.from_numpy(data.X), torch.from_numpy(data.embeddings[:6])
    targets = X @ texts.T
    assert cos_cubed(X @ texts.T, targets).min() > 0.9999
    torch.manual_seed(0)
    weights = (0.1 * torch.randn(6, X.shape[1])).requires_grad_()
    optimizer = torch.optim.Adam([weights], lr=0.01)
    for _ in range(1500):
        optimizer.zero_grad()
        (-cos_cubed(X @ weights.T, targets).sum()).backward()
        optimizer.step()
    found = Standard.of((X @ weights.T).detach())
    wanted = Standard.of(targets)
    assert cos_cubed((X @ weights.T).detach(), targets).min() > 0.99
    ours, theirs = wanted(targets), found((X @ weights.T).detach())
    assert (ours * theirs).mean(dim=0).min() > 0.98


def test_near_duplicates_of_earlier_texts_are_dropped() -> None:
    rows = torch.from_numpy(unit(np.array([[1, 0], [1, 0.1], [0, 1], [1, 0.5], [0.1, 1]])))
    assert without_duplicates(rows, 0.9).tolist() == [0, 2, 3]
    assert without_duplicates(rows, 0.8).tolist() == [0, 2]


def test_texts_that_no_image_shows_are_dropped() -> None:
    data = planted()
    scores = data.X @ data.embeddings.T
    largest = np.sort(scores, axis=0)[-5:].mean(axis=0)
    cutoff = float(np.median(largest))
    model = LabelFreeCBM(
        data.texts, data.embeddings, similarity_cutoff=2.0, activation_cutoff=cutoff, budgets=(2,)
    ).fit(data.X, data.y)
    assert model.kept_.tolist() == np.flatnonzero(largest >= cutoff).tolist()


def test_the_head_is_the_truncated_elastic_net() -> None:
    data = planted(noise=0.5)
    model = LabelFreeCBM(data.texts, data.embeddings, similarity_cutoff=2.0, budgets=(2, 3))
    model.fit(data.X, data.y)
    scores = torch.from_numpy(data.X @ data.embeddings.T)
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    path = ElasticNet(Standard.of(scores)(scores), labels).path(3)
    for count in (2, 3):
        expected = at_effective_concepts(path, count)
        assert model.at(count).head.effective_concepts == count
        torch.testing.assert_close(model.at(count).head.weights, expected.weights)
