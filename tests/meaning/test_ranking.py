import numpy as np
import pytest
from sklearn.metrics import roc_auc_score

from infopursuit.meaning.ranking import auroc_of_texts
from tests.meaning.made_up import drawn_table


@pytest.mark.parametrize("seed", range(5))
def test_as_counted_pair_by_pair(seed: int) -> None:
    draw = np.random.default_rng(seed)
    table, labels = drawn_table(seed), draw.integers(0, 5, 30)
    groups, scores = draw.integers(0, 3, 30), draw.integers(0, 6, (30, 9)) / 6
    found = auroc_of_texts(scores, table, labels, groups)
    for text in range(9):
        wins = [
            1.0 if scores[a, text] > scores[b, text] else 0.5 * (scores[a, text] == scores[b, text])
            for a in range(30)
            for b in range(30)
            if groups[a] == groups[b]
            and table[labels[a], text] == 1
            and table[labels[b], text] == 0
        ]
        expected = np.mean(wins) if wins else np.nan
        assert found[text] == pytest.approx(expected, nan_ok=True)


def test_of_one_group_as_scikit_learn_has_it() -> None:
    draw = np.random.default_rng(0)
    labels = draw.integers(0, 2, 50)
    scores = draw.normal(size=(50, 1)) + labels[:, None]
    found = auroc_of_texts(scores, np.array([[0.0], [1.0]]), labels, np.zeros(50, dtype=int))
    assert found[0] == pytest.approx(roc_auc_score(labels, scores[:, 0]))


def test_scores_of_other_groups_do_not_matter() -> None:
    """The second group's scores are all higher, and within each the ranking is perfect."""
    table = np.array([[1.0], [0.0]])
    labels, groups = np.array([0, 1, 0, 1]), np.array([0, 0, 1, 1])
    scores = np.array([[1.0], [0.0], [11.0], [10.0]])
    assert auroc_of_texts(scores, table, labels, groups)[0] == 1
