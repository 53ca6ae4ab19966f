"""The tree against scikit-learn's."""

from __future__ import annotations

import pytest
import torch
from sklearn.tree import DecisionTreeClassifier

from infopursuit_study.peers.binary_answers import answers_of
from infopursuit_study.peers.trees import AnswerTree
from tests.planted import planted


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
