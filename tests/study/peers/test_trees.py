"""The tree against scikit-learn's; the rule list against brute force and read by hand."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np
import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from infopursuit_study.peers.binary_answers import answers_of
from infopursuit_study.peers.trees import AnswerTree, RuleList, laplace
from tests.study.peers.planted import planted


def search(**settings: object) -> RuleList:
    return RuleList(least=1, significance=0.0, **settings)  # pyright: ignore[reportArgumentType]


def test_the_beam_finds_the_best_rule_of_two_where_it_is_wide() -> None:
    draw = np.random.default_rng(0)
    answers = draw.random((120, 6)) < 0.5
    labels = np.where(answers[:, 2] & ~answers[:, 4], 0, draw.integers(1, 3, size=120))
    members = np.eye(3, dtype=np.float32)[labels]
    found = search(longest=2, beam=50)._best(answers, members)
    best = max(
        (
            laplace(members[np.all([answers[:, p] == y for p, y in rule], axis=0)].sum(0)[None])[0],
            rule,
        )
        for size in (1, 2)
        for places in combinations(range(6), size)
        for said in product([False, True], repeat=size)
        for rule in [tuple(zip(places, said, strict=True))]
        if np.all([answers[:, p] == y for p, y in rule], axis=0).any()
    )
    assert found is not None
    assert set(found) == set(best[1]) == {(2, True), (4, False)}


def test_rules_that_chance_explains_are_left_out() -> None:
    draw = np.random.default_rng(0)
    answers = draw.random((200, 10)) < 0.5
    members = np.eye(2, dtype=np.float32)[draw.integers(2, size=200)]
    assert RuleList(significance=40.0)._best(answers, members) is None
    assert RuleList(significance=0.0)._best(answers, members) is not None


def test_the_first_rule_that_holds_decides() -> None:
    data = planted(noise=0.5)
    model = RuleList(data.texts, data.embeddings, budgets=(3,)).fit(data.X, data.y)
    assert model.score(data.X_test, data.y_test) > 0.6
    said = answers_of(model.rule_, torch.from_numpy(data.X_test)).numpy()
    for list_ in (model, model.at(3)):
        predicted = list_.predict(data.X_test)
        for row, label in zip(said, predicted, strict=True):
            counts = list_.left_[list_.kept]
            for rule in list_.rules_[: list_.kept]:
                if all(row[t] == yes for t, yes in zip(rule.texts, rule.yes, strict=True)):
                    counts = np.array(rule.counts)
                    break
            assert label == model.classes_[np.argmax(counts)]


def test_images_are_covered_once_and_the_texts_are_counted() -> None:
    data = planted(noise=0.5)
    model = RuleList(data.texts, data.embeddings, budgets=(2, 4)).fit(data.X, data.y)
    covered = sum(np.array(rule.counts) for rule in model.rules_)
    np.testing.assert_allclose(covered + model.left_[-1], [40.0] * 4)
    for count in (2, 4):
        cut = model.at(count)
        assert len({text for rule in cut.rules_[: cut.kept] for text in rule.texts}) <= count
        assert cut.explain(data.X_test).used.sum(axis=1).max() <= count


@pytest.mark.parametrize("depth", [1, 2, 3])
def test_a_tree_cut_at_a_depth_is_a_tree_grown_to_it(depth: int) -> None:
    data = planted(noise=0.5)
    model = AnswerTree(data.texts, data.embeddings, budgets=(depth,)).fit(data.X, data.y)
    seen = answers_of(model.rule_, torch.from_numpy(data.X)).numpy()
    shown = answers_of(model.rule_, torch.from_numpy(data.X_test)).numpy()
    grown = DecisionTreeClassifier(criterion="entropy", max_depth=depth, random_state=0)
    expected = grown.fit(seen, data.y).predict(shown)
    assert (model.at(depth).predict(data.X_test) == expected).all()
    whole = DecisionTreeClassifier(criterion="entropy", random_state=0).fit(seen, data.y)
    assert (model.predict(data.X_test) == whole.predict(shown)).all()
    assert model.at(depth).explain(data.X_test).used.sum(axis=1).max() <= depth
