"""Tests of the controls."""

from __future__ import annotations

import torch

from infopursuit_study.experiments.controls import FEW, chosen, exchanged, nearest_texts
from infopursuit_study.peers.pursuits import GenerativeIP
from tests.study.peers.planted import planted


def test_the_two_most_probable_classes_change_places() -> None:
    posterior = torch.tensor([[0.1, 0.6, 0.3], [0.5, 0.1, 0.4]])
    assert (
        exchanged(posterior).tolist() == torch.tensor([[0.1, 0.3, 0.6], [0.4, 0.1, 0.5]]).tolist()
    )


def test_contributions_are_chosen_as_answers_are() -> None:
    """Naive Bayes without tempering is a sum of contributions: both ways have to agree."""
    data = planted(noise=0.5)
    model = GenerativeIP(data.texts, data.embeddings).fit(data.X, data.y)
    told = model.explain(data.X_test)
    evidence = torch.from_numpy(told.values), torch.from_numpy(told.offset)
    for goal in (lambda posterior: posterior, exchanged):
        few, full = chosen(model, data.X_test, goal)
        found = nearest_texts(*evidence, goal(full), FEW)
        torch.testing.assert_close(found, few, atol=1e-5, rtol=1e-4)
