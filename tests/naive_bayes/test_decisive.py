"""The answers that decide, against the definition: one candidate, one class at a time."""

from __future__ import annotations

import math

import pytest
import torch
from torch import Tensor

from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes.decisive import believed, decisive_answers, enough
from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.naive_bayes.put_off import PutOff
from tests.naive_bayes import textbook

K = 9
LEVELS = pytest.mark.parametrize("levels", [2, 3])


def divergence(goal: list[float], other: list[float]) -> float:
    """KL(goal || other), in nats."""
    return sum(p * math.log(p / q) for p, q in zip(goal, other, strict=True) if p > 0)


def by_hand(
    of: AnswerTable, given: Tensor, worth: list[float], put_off: list[list[int]]
) -> tuple[list[int], list[float]]:
    """All answers of one image in the order in which they decide, and what each gains.

    Both posteriors of a gain are tempered by as many answers as there are with the candidate.
    """
    answers, worn = dict(enumerate(given.tolist())), of.independent_answers
    goal = textbook.posterior(of, answers, worn)
    heard: dict[int, float] = {}
    gains = []
    while len(heard) < len(answers):
        left = [query for query in answers if query not in heard]
        sure = [query for query in left if answers[query] != 0.5]
        late = {
            other
            for asked, other, after_yes in put_off
            if asked in heard and (not after_yes or heard[asked] == 1)
        }
        left = [query for query in sure if query not in late] or sure or left
        before = divergence(goal, textbook.posterior(of, heard, worn, len(heard) + 1))
        gain = {
            query: before
            - divergence(goal, textbook.posterior(of, {**heard, query: answers[query]}, worn))
            for query in left
        }
        best = max(left, key=lambda query: gain[query] * (worth[query] if gain[query] > 0 else 1))
        heard[best] = answers[best]
        gains.append(gain[best])
    return list(heard), gains


@LEVELS
@pytest.mark.parametrize("weighed", [False, True])
@pytest.mark.parametrize("put_off", [[], [[0, 1, 0], [1, 0, 0], [2, 4, 1], [5, 4, 1]]])
def test_answers_come_in_the_order_of_the_definition(
    levels: int, weighed: bool, put_off: list[list[int]]
) -> None:
    table, answers = textbook.table(levels), textbook.answers(levels)
    worth = [0.2 + 0.1 * query for query in range(K)] if weighed else [1.0] * K
    querier = InformationGain(
        table,
        torch.tensor(worth) if weighed else None,
        PutOff(torch.tensor(put_off), K) if put_off else None,
    )
    found = decisive_answers(NaiveBayes(table), answers, K, querier)
    for image, given in enumerate(answers):
        order, gains = by_hand(table, given, worth, put_off)
        assert found.order[image].tolist() == order
        assert found.values[image, :, 0].tolist() == pytest.approx(gains, abs=1e-9)
        assert found.best[image, :, 0].tolist() == order


@LEVELS
def test_posteriors_are_those_of_the_answers_alone(levels: int) -> None:
    classifier, answers = NaiveBayes(textbook.table(levels)), textbook.answers(levels)
    found = decisive_answers(classifier, answers, 4)
    for count in range(5):
        mask = torch.zeros_like(answers).scatter_(1, found.order[:, :count], 1.0)
        expected = classifier(answers, mask).softmax(dim=1)
        torch.testing.assert_close(found.posteriors[:, count], expected)
    assert torch.equal(found.answers, answers.gather(1, found.order))


def test_all_answers_lead_to_what_all_answers_say() -> None:
    classifier, answers = NaiveBayes(textbook.table(3)), textbook.answers(3)
    found = decisive_answers(classifier, answers, K)
    torch.testing.assert_close(found.posteriors[:, K].double(), believed(classifier, answers))


def test_who_is_not_sure_speaks_last() -> None:
    answers = textbook.answers(3)
    found = decisive_answers(NaiveBayes(textbook.table(3)), answers, K)
    unsure = found.answers == 0.5
    assert unsure.any()
    assert (unsure[:, 1:] >= unsure[:, :-1]).all()


def test_what_follows_from_a_chosen_answer_comes_after_all_that_does_not() -> None:
    table, answers = textbook.table(3), textbook.answers(3)
    before = decisive_answers(NaiveBayes(table), answers, K)
    first = int(before.order[:, 0].mode().values)
    pairs = [[first, other, 0] for other in range(K) if other not in (first, (first + 1) % K)]
    querier = InformationGain(table, None, PutOff(torch.tensor(pairs), K))
    found = decisive_answers(NaiveBayes(table), answers, K, querier)
    rows = (found.order[:, 0] == first) & (answers[:, (first + 1) % K] != 0.5)
    assert rows.any()
    assert (found.order[rows, 1] == (first + 1) % K).all()
    assert not (before.order[rows, 1] == (first + 1) % K).all()


def test_an_answer_between_levels_is_chosen_as_the_nearer_and_added_as_it_is() -> None:
    classifier, answers = NaiveBayes(textbook.table(2)), textbook.answers(2)
    answers[:, 3] = 0.8
    found = decisive_answers(classifier, answers, K)
    torch.testing.assert_close(found.posteriors[:, K].double(), believed(classifier, answers))


def test_blocks_do_not_matter(monkeypatch: pytest.MonkeyPatch) -> None:
    classifier, answers = NaiveBayes(textbook.table(3)), textbook.answers(3)
    whole = decisive_answers(classifier, answers, 5)
    monkeypatch.setattr("infopursuit.naive_bayes.decisive.CPU_BLOCK", 7)
    for left, right in zip(whole, decisive_answers(classifier, answers, 5), strict=True):
        torch.testing.assert_close(left, right)


def test_answers_are_enough_where_the_class_leads_and_is_as_probable() -> None:
    goal = torch.tensor([[0.9, 0.1], [0.6, 0.4], [0.3, 0.7]], dtype=torch.float64)
    posteriors = torch.tensor(
        [
            [[0.5, 0.5], [0.7, 0.3], [0.85, 0.15], [0.95, 0.05]],  # 0.8 is enough, after two
            [[0.55, 0.45], [0.45, 0.55], [0.6, 0.4], [0.9, 0.1]],  # as probable as after all
            [[0.6, 0.4], [0.5, 0.5], [0.4, 0.6], [0.35, 0.65]],  # never
        ],
        dtype=torch.float64,
    )
    found = enough(posteriors, goal, 0.8)
    assert found.counts.tolist() == [2, 2, 3]
    assert found.decided.tolist() == [True, True, False]
