"""A peer that asks by fixed rules: a decision tree on binary answers.

Breiman et al., "Classification and Regression Trees", 1984, with the entropy of Quinlan's ID3
(1986). lab/benchmark.md says in full what differs from the originals.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from sklearn.tree import DecisionTreeClassifier
from torch import Tensor

from infopursuit_study.peers.binary_answers import Threshold, answers_of, fit_answers
from infopursuit_study.peers.peer import BUDGETS, Contributions, TextPeer, Validation


@dataclass(eq=False, repr=False)
class AnswerTree(TextPeer):
    """A decision tree: at most t questions from the root to the depth at which the tree is cut.

    At each node the question is asked that has the most information about the class among the
    training images that reach it: Information Pursuit with counts in place of a model.
    scikit-learn grows the tree. The probabilities of a leaf are smoothed by one image spread over
    the classes, so that a pure leaf is not certain.
    """

    threshold: Threshold = "informative"
    min_samples_leaf: int = 1
    budgets: Sequence[int] = BUDGETS
    random_state: int = 0

    def _fit(self, X: Tensor, labels: Tensor, texts: Tensor, validation: Validation) -> None:
        self.rule_ = fit_answers(X, labels, texts, self.threshold)
        self.model_ = DecisionTreeClassifier(
            criterion="entropy",
            min_samples_leaf=self.min_samples_leaf,
            random_state=self.random_state,
        ).fit(answers_of(self.rule_, X).float().numpy(), labels.numpy())
        tree, c = self.model_.tree_, len(self.classes_)
        counts = tree.value[:, 0] * tree.n_node_samples[:, None]
        smooth = (counts + 1 / c) / (tree.n_node_samples[:, None] + 1)
        self.log_probability_ = np.log(smooth)
        self.budgets_ = tuple(sorted(self.budgets))

    def _paths(self, X: Tensor) -> list[list[int]]:
        answers, tree = answers_of(self.rule_, X).numpy(), self.model_.tree_
        longest = len(tree.feature) if self.budget_ is None else self.budget_
        paths = []
        for row in answers:
            nodes = [0]
            while tree.children_left[nodes[-1]] >= 0 and len(nodes) <= longest:
                yes = row[tree.feature[nodes[-1]]]
                side = tree.children_right if yes else tree.children_left
                nodes.append(int(side[nodes[-1]]))
            paths.append(nodes)
        return paths

    def _scores(self, X: Tensor) -> Tensor:
        ends = [nodes[-1] for nodes in self._paths(X)]
        return torch.from_numpy(self.log_probability_[ends])

    def _explain(self, X: Tensor) -> Contributions:
        paths, tree, table = self._paths(X), self.model_.tree_, self.log_probability_
        queries = sorted({int(tree.feature[node]) for nodes in paths for node in nodes[:-1]})
        column = {text: place for place, text in enumerate(queries)}
        values = np.zeros((len(paths), len(self.classes_), len(queries)))
        used = np.zeros((len(paths), len(queries)), dtype=bool)
        for row, nodes in enumerate(paths):
            for before, after in pairwise(nodes):
                place = column[int(tree.feature[before])]
                values[row, :, place] += table[after] - table[before]
                used[row, place] = True
        texts = tuple(self.texts_[text] for text in queries)
        margin = (self.rule_.scores(X) - self.rule_.thresholds)[:, queries].double().numpy()
        offset = np.tile(table[0], (len(paths), 1))
        return Contributions(self.classes_, texts, values, offset, used, margin)
