"""Linear peers against scikit-learn, by hand, and by what the authors optimise."""

from __future__ import annotations

from itertools import combinations

import numpy as np
import pytest
import torch
from sklearn.linear_model import LogisticRegression, SGDClassifier

from infopursuit.core.errors import InputError
from infopursuit_study.peers.elastic_net import ElasticNet
from infopursuit_study.peers.heads import Standardisation
from infopursuit_study.peers.linear import (
    PCBM,
    DescriptionEnsemble,
    HybridPCBM,
    LabelFreeCBM,
    LaBo,
    SparseLogistic,
    discriminability,
    fit_residual,
    submodular_order,
    without_duplicates,
)
from tests.planted import unit
from tests.study.peers.planted import planted


def test_few_concepts_are_the_planted_ones() -> None:
    data = planted()
    model = SparseLogistic(data.texts, data.embeddings, budgets=(1, 2)).fit(data.X, data.y)
    head = model.at(1).head
    assert head.effective_concepts == 1
    used = set(np.flatnonzero((head.weights != 0).any(dim=1).numpy()))
    assert used <= set(range(4))
    assert model.at(2).score(data.X_test, data.y_test) > 0.9


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


def test_the_residual_alone_is_a_logistic_regression() -> None:
    data = planted(noise=0.8)
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    X = torch.from_numpy(data.X)
    residual = fit_residual(X, labels, torch.zeros(len(X), 4), 0.01)
    peer = LogisticRegression(C=1 / (0.01 * len(X)), tol=1e-8, max_iter=5000)
    peer.fit(data.X, labels.numpy())
    found = residual(X).softmax(dim=1).numpy()
    np.testing.assert_allclose(found, peer.predict_proba(data.X), atol=2e-3)


def test_the_hybrid_is_a_pcbm_and_a_residual_that_has_no_words() -> None:
    data = planted(noise=0.8)
    plain = PCBM(data.texts, data.embeddings, budgets=(1, 2)).fit(data.X, data.y)
    hybrid = HybridPCBM(data.texts, data.embeddings, budgets=(1, 2)).fit(data.X, data.y)
    torch.testing.assert_close(hybrid.head.weights, plain.at(2).head.weights)
    assert hybrid.score(data.X, data.y) > plain.score(data.X, data.y)
    told, without = hybrid.explain(data.X_test), plain.at(2).explain(data.X_test)
    np.testing.assert_allclose(told.values, without.values)
    assert told.offset.std(axis=0).min() > 0.1
    assert hybrid.budgets_ == ()


def value(told: np.ndarray, close: np.ndarray, chosen: tuple[int, ...], coverage: float) -> float:
    scaled = (told - told.min()) / (told.max() - told.min())
    covered = np.maximum(close[:, list(chosen)].max(axis=1), 0).sum()
    return scaled[list(chosen)].sum() + coverage * covered / len(told)


@pytest.mark.parametrize("coverage", [0.1, 1.0, 10.0])
def test_each_choice_adds_most_and_all_are_near_the_best(coverage: float) -> None:
    draw = np.random.default_rng(1)
    texts, told = unit(draw.normal(size=(9, 5)) + 1), draw.random(9)
    close = texts @ texts.T
    order = submodular_order(
        torch.from_numpy(told).float(), torch.from_numpy(texts), coverage, 4
    ).tolist()
    for step in range(1, 5):
        gains = [
            value(told, close, (*order[: step - 1], text), coverage)
            if text not in order[: step - 1]
            else -1
            for text in range(9)
        ]
        assert gains[order[step - 1]] == pytest.approx(max(gains), abs=1e-5)
    best = max(value(told, close, each, coverage) for each in combinations(range(9), 4))
    assert value(told, close, tuple(order), coverage) >= (1 - 1 / np.e) * best


def test_a_text_of_one_class_tells_more_than_one_of_all() -> None:
    similar = torch.tensor([[0.3, 0.1, 0.1], [0.2, 0.2, 0.2]])
    shares = np.array([0.6, 0.2, 0.2])
    expected = [(shares * np.log(shares)).sum(), -np.log(3)]
    np.testing.assert_allclose(discriminability(similar).numpy(), expected, rtol=1e-5)


def test_weights_are_shares_of_as_many_texts_as_asked_for() -> None:
    data = planted()
    model = LaBo(data.texts, data.embeddings, pool=8, budgets=(1, 3)).fit(data.X, data.y)
    for count, weights in model.weights_.items():
        torch.testing.assert_close(weights.sum(dim=0), torch.ones(4))
        assert weights.min() >= 0
        assert (weights > 0).sum() <= 4 * count
    assert [int(place) for place in model.weights_[1].argmax(dim=0)] == [0, 1, 2, 3]


def test_given_candidates_are_chosen_from() -> None:
    data = planted()
    told = {name: [f"concept {i}", "noise 0"] for i, name in enumerate(["cat", "dog", "emu"])}
    model = LaBo(data.texts, data.embeddings, told, pool=5, budgets=(2,)).fit(data.X, data.y)
    used = set(model._weights()[:, :3].any(dim=1).nonzero().squeeze(1).tolist())
    fox = set((model._weights()[:, 3] > 0).nonzero().squeeze(1).tolist())
    assert used <= {0, 1, 2, 3, 4} | fox
    assert 3 in fox  # nothing was given for the fox: what is particular to it


NAMES = ("cat", "dog", "emu", "fox")


def test_the_score_is_a_hundred_times_the_mean_cosine_with_the_descriptions() -> None:
    data = planted()
    told = {name: [f"concept {i}", *(["noise 3"] if i else [])] for i, name in enumerate(NAMES)}
    model = DescriptionEnsemble(data.texts, data.embeddings, told).fit(data.X, data.y)
    cosines = data.X_test @ data.embeddings.T
    by_hand = [
        100 * np.mean([cosines[:, data.texts.index(text)] for text in told[name]], axis=0)
        for name in NAMES
    ]
    np.testing.assert_allclose(
        model.decision_function(data.X_test), np.stack(by_hand, axis=1), rtol=1e-4
    )


def test_a_class_without_descriptions_and_an_unknown_one_are_told() -> None:
    data = planted()
    told = {name: ["concept 0"] for name in NAMES}
    with pytest.raises(InputError, match="expected one or more for the class 'fox'"):
        DescriptionEnsemble(data.texts, data.embeddings, {**told, "fox": []}).fit(data.X, data.y)
    with pytest.raises(InputError, match="'ear' of the class 'fox' is not among"):
        DescriptionEnsemble(data.texts, data.embeddings, {**told, "fox": ["ear"]}).fit(
            data.X, data.y
        )


def cos_cubed(activations: torch.Tensor, targets: torch.Tensor) -> torch.Tensor:
    """Return the authors' similarity of each concept's activations and CLIP's scores (eq. 2)."""
    cubes = []
    for values in (activations, targets):
        standard = (values - values.mean(dim=0)) / values.std(dim=0)
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
    found = Standardisation.from_data((X @ weights.T).detach())
    wanted = Standardisation.from_data(targets)
    assert cos_cubed((X @ weights.T).detach(), targets).min() > 0.99
    ours, theirs = wanted(targets), found((X @ weights.T).detach())
    assert (ours * theirs).mean(dim=0).min() > 0.98


def test_the_head_predicts_as_the_authors_solver_does_at_the_same_penalty() -> None:
    data = planted(noise=0.5)
    model = PCBM(data.texts, data.embeddings, budgets=(3,)).fit(data.X, data.y)
    concepts = model.concepts(torch.from_numpy(data.X))
    labels = torch.from_numpy(np.unique(data.y, return_inverse=True)[1])
    penalty = 0.01
    ours = ElasticNet(concepts, labels, "one_vs_rest", 0.99).fitted(penalty)
    theirs = SGDClassifier(
        loss="log_loss", penalty="elasticnet", alpha=penalty, l1_ratio=0.99, tol=1e-6,
        max_iter=5000, random_state=0,
    ).fit(concepts.numpy(), data.y)  # fmt: skip
    shown = model.concepts(torch.from_numpy(data.X_test))
    expected = theirs.decision_function(shown.numpy())
    # Stochastic steps end near the minimum, not at it (test_elastic_net has the exact comparison).
    assert np.corrcoef(ours(shown).numpy().ravel(), expected.ravel())[0, 1] > 0.98
    assert (ours(shown).numpy().argmax(axis=1) == expected.argmax(axis=1)).mean() > 0.95
