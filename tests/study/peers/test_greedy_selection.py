"""GDFS: two networks find the features that tell all, and share them among the texts."""

from __future__ import annotations

import torch

from infopursuit.pursuit.rollout import roll_out
from infopursuit_study.peers.greedy_selection import Features, GreedySelection, GreedyTraining
from tests.planted import planted


def test_the_two_features_that_tell_all_are_selected_first() -> None:
    draw = torch.Generator().manual_seed(0)
    values = torch.randn(1200, 10, generator=draw)
    labels = 2 * (values[:, 3] > 0).long() + (values[:, 7] > 0).long()
    train, held_out, test = (Features(values[at::3], labels[at::3]) for at in range(3))
    training = GreedyTraining(4, (32, 16), 3e-3, updates=(100, 60), validate_every=30)
    selector, predictor = training(train, held_out, 4, 0)
    course = roll_out(selector, predictor, test.values, 4)
    assert (course.order[:, :2].sort(dim=1).values == torch.tensor([3, 7])).all()
    right = course.posteriors.argmax(dim=2) == test.labels.unsqueeze(1)
    random = torch.zeros_like(test.values).scatter_(
        1, torch.rand(test.values.shape, generator=draw).argsort(dim=1)[:, :2], 1.0
    )
    guessed = predictor(test.values, random).argmax(dim=1) == test.labels
    assert right[:, 2].float().mean() > 0.9 > 0.7 > guessed.float().mean()
    again, _ = training(train, held_out, 4, 0)
    assert torch.equal(again.first.weight, selector.first.weight)


def test_the_peer_asks_for_the_texts_of_the_classes_before_others() -> None:
    data = planted(noise=0.1)
    model = GreedySelection(data.texts, data.embeddings, updates=(60, 30), budgets=(3, 4))
    model.fit(data.X, data.y)
    used = model.at(3).explain(data.X_test)
    concepts = [text.startswith("concept") for text in used.texts]
    assert used.used[:, concepts].sum() > 0.6 * used.used.sum()
    assert model.at(4).score(data.X_test, data.y_test) > 0.9
