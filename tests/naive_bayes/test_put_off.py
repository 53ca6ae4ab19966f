"""Questions that need no asking after others come last, in whole histories and in growing ones."""

from __future__ import annotations

import pytest
import torch

from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.naive_bayes.put_off import COUNTS, PutOff
from infopursuit.pursuit.rollout import roll_out
from tests.naive_bayes import textbook

K = 9
# After 2 never 5, and the other way round; after "3? yes" never 7.
PAIRS = torch.tensor([[2, 5, 0], [5, 2, 0], [3, 7, 1]])


def querier(levels: int) -> InformationGain:
    return InformationGain(textbook.table(levels), None, PutOff(PAIRS, K))


def expected(asked: dict[int, float]) -> set[int]:
    """By the definition, pair by pair."""
    return {
        other
        for before, other, after_yes in PAIRS.tolist()
        if before in asked and (not after_yes or asked[before] == 1)
    }


@pytest.mark.parametrize("levels", [2, 3])
def test_gains_of_what_is_put_off_count_next_to_nothing(levels: int) -> None:
    with_pairs, plain = querier(levels), InformationGain(textbook.table(levels))
    answers = textbook.answers(levels, count=40)
    mask = (torch.rand(40, K, generator=torch.Generator().manual_seed(1)) > 0.5).double()
    found, free = with_pairs(answers, mask), plain(answers, mask)
    seen = set()
    for row in range(40):
        queries = mask[row].nonzero().flatten().tolist()
        late = expected({query: float(answers[row, query]) for query in queries})
        seen |= late
        for query in range(K):
            gain = free[row, query].item() * (COUNTS if query in late else 1.0)
            assert found[row, query].item() == pytest.approx(gain, abs=1e-12)
    assert seen == {2, 5, 7}


@pytest.mark.parametrize("levels", [2, 3])
def test_a_growing_history_puts_off_as_a_whole_one(levels: int) -> None:
    of = querier(levels)
    answers = textbook.answers(levels, count=25)
    rolled = roll_out(of, NaiveBayes(of.table), answers, K)
    for row, order in enumerate(rolled.order.tolist()):
        for step in range(K):
            mask = torch.zeros(1, K, dtype=answers.dtype)
            mask[0, order[:step]] = 1
            gains = of(answers[row : row + 1], mask)
            gains[0, order[:step]] = -torch.inf
            assert order[step] == int(gains.argmax())


def test_what_is_put_off_is_asked_in_the_end() -> None:
    of = querier(2)
    order = roll_out(of, NaiveBayes(of.table), textbook.answers(2, count=10), K).order
    assert (order.sort(dim=1).values == torch.arange(K)).all()
    assert all({2, 5} & set(row) for row in order[:, -2:].tolist())


def test_of_some_questions_alone() -> None:
    of = querier(3).select(torch.tensor([7, 3, 2]))
    assert of.put_off is not None
    assert of.put_off.pairs.tolist() == [[1, 0, 1]]
    assert of.tensors()["put_off"] is of.put_off.pairs
