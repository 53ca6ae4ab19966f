"""Naive Bayes and information gain against the textbook, image by image."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import (
    IMPLIED,
    ROUNDING,
    InformationGain,
    NaiveBayes,
    RedundantQuestions,
)
from infopursuit.pursuit.parts import Sizes
from infopursuit.pursuit.rollout import first_of_the_best, ranked, roll_out
from tests.pursuit.naive_bayes import textbook

K = 9
LEVELS = pytest.mark.parametrize("levels", [2, 3])
# After 2 never 5, and the other way round; after "3? yes" never 7.
PAIRS = torch.tensor([[2, 5, 0], [5, 2, 0], [3, 7, 1], [4, 0, 2]])


def both(levels: int) -> tuple[InformationGain, NaiveBayes]:
    of = textbook.table(levels)
    return InformationGain(of), NaiveBayes(of)


def with_pairs(levels: int) -> InformationGain:
    return InformationGain(textbook.table(levels), RedundantQuestions(PAIRS, K))


@LEVELS
def test_gains_are_those_of_the_definition_and_redundant_ones_come_last(levels: int) -> None:
    plain, reduced = both(levels)[0], with_pairs(levels)
    answers = textbook.answers(levels, count=20)
    mask = (torch.rand(20, K, generator=torch.Generator().manual_seed(1)) > 0.5).double()
    found, less = plain(answers, mask), reduced(answers, mask)
    seen = set()
    for image in range(20):
        asked = {query: float(answers[image, query]) for query in range(K) if mask[image, query]}
        redundant = {
            other
            for before, other, answer in PAIRS.tolist()
            if before in asked and asked[before] in {0: (0, 0.5, 1), 1: (1,), 2: (0,)}[answer]
        }
        seen |= redundant
        for query in range(K):
            expected = textbook.gain(plain.table, asked, query)
            gain = float(found[image, query])
            assert math.isclose(gain, expected, rel_tol=1e-6, abs_tol=1e-9)
            gain -= IMPLIED if query in redundant else 0.0
            assert float(less[image, query]) == pytest.approx(gain, abs=1e-9)
    assert seen == {0, 2, 5, 7}


@LEVELS
@pytest.mark.parametrize("ratio", [1.0, 1.7])
@pytest.mark.parametrize(("weight", "exponent"), [(1.0, 0.0), (0.5, 0.5), (1.3, 1.0)])
def test_roll_outs_are_those_of_the_definition(
    levels: int, weight: float, exponent: float, ratio: float
) -> None:
    of = replace(textbook.table(levels), evidence_weight=weight, growth=weight)
    of = replace(of, temperature_ratio=ratio, prior_exponent=exponent)
    answers = textbook.answers(levels, count=12)
    found = roll_out(InformationGain(of), NaiveBayes(of), answers, 6)
    for image in range(12):
        order, posteriors = textbook.pursue(of, answers[image], 6)
        assert found.order[image].tolist() == order
        expected = torch.tensor(posteriors, dtype=found.posteriors.dtype)
        torch.testing.assert_close(found.posteriors[image], expected)


@LEVELS
@pytest.mark.parametrize("redundant", [False, True])
def test_complete_histories_and_growing_ones_agree(levels: int, redundant: bool) -> None:
    querier, classifier = both(levels)
    querier = with_pairs(levels) if redundant else querier
    answers = textbook.answers(levels)
    answers[::3, 4] = 0.4  # what a person says, between two levels
    found = roll_out(querier, classifier, answers, K)
    for t in range(K + 1):
        mask = torch.zeros_like(answers).scatter_(1, found.order[:, :t], 1.0)
        torch.testing.assert_close(classifier(answers, mask).softmax(dim=1), found.posteriors[:, t])
        if t < K:
            gains = querier(answers, mask).masked_fill(mask > 0, -torch.inf)
            assert torch.equal(gains.argmax(dim=1), found.order[:, t])
    if redundant:  # asked in the end
        assert all({2, 5} & set(row) for row in found.order[:, -2:].tolist())


def single(k: int = 60, classes: int = 40) -> tuple[InformationGain, NaiveBayes, torch.Tensor]:
    """A table in float32, as models have it, and answers that end in certainty."""
    generator = torch.Generator().manual_seed(5)
    shares = torch.rand(3, k, classes, generator=generator) ** 4 + 0.01
    of = AnswerTable(
        (shares / shares.sum(dim=0)).log(), torch.zeros(classes).log_softmax(dim=0), 40.0
    )
    labels = torch.arange(300) % classes
    drawn = torch.rand(300, k, 1, generator=generator)
    below = of.log_likelihood.exp()[:, :, labels].permute(2, 1, 0).cumsum(dim=2)
    return InformationGain(of), NaiveBayes(of), (drawn > below).sum(dim=2).clamp(max=2) / 2


def test_a_table_in_float32_is_computed_in_float64_for_any_batch() -> None:
    querier, classifier, answers = single()
    together = roll_out(querier, classifier, answers, 60)
    assert together.posteriors.dtype == torch.float32
    assert (together.posteriors[:, -1].amax(dim=1) > 0.999).float().mean() > 0.9
    backwards = roll_out(querier, classifier, answers.flip(0), 60)
    assert torch.equal(backwards.order.flip(0), together.order)
    for row in (0, 150, 299):
        alone = roll_out(querier, classifier, answers[row : row + 1], 60)
        assert torch.equal(alone.order[0], together.order[row])
        torch.testing.assert_close(alone.posteriors[0], together.posteriors[row])
    evidence = querier.table.log_prior.double().repeat(300, 1)
    for t in range(60):
        query, said = together.order[:, t], together.answers[:, t]
        evidence = evidence + querier.table.log_likelihood.double()[(2 * said).long(), query]
        expected = (evidence / (1 + (t + 1) / 40.0)).softmax(dim=1)
        assert (together.posteriors[:, t + 1] - expected).abs().max() < 1e-6


def test_gains_that_differ_by_rounding_alone_are_equal_and_the_first_is_asked() -> None:
    outputs = torch.tensor([[0.1, 0.3, 0.3 + 1e-8, 0.2]], dtype=torch.float64)
    assert first_of_the_best(outputs, ROUNDING).tolist() == [2]
    outputs = torch.tensor([[0.1, 0.3, 0.3 + 1e-12, 0.2]], dtype=torch.float64)
    assert first_of_the_best(outputs, ROUNDING).tolist() == [1]
    assert ranked(outputs, ROUNDING, 4).tolist() == [[1, 2, 3, 0]]
    assert ranked(outputs, 0.0, 3).tolist() == [[2, 1, 3]]
    asked = torch.tensor([[-torch.inf, 0.1, 0.3, 0.3 + 1e-12, -torch.inf]], dtype=torch.float64)
    assert ranked(asked, ROUNDING, 5).tolist() == [[2, 3, 1, 0, 4]]
    querier, classifier = (each.select(torch.tensor([3, 3, 3])) for each in both(2))
    found = roll_out(querier, classifier, textbook.answers(k=3), 3)  # type: ignore[arg-type]
    assert found.order.tolist() == [[0, 1, 2]] * 40


def test_both_are_saved_as_one_table_and_of_some_questions_alone() -> None:
    querier, classifier = both(3)
    assert querier.tensors() == {}
    again = NaiveBayes(AnswerTable.from_tensors(classifier.tensors()))
    answers, mask = textbook.answers(3), torch.ones(40, K).double()
    assert torch.equal(again(answers, mask), classifier(answers, mask))
    fewer = with_pairs(3).select(torch.tensor([7, 3, 2])).tensors()
    loaded = InformationGain.from_tensors(fewer, Sizes(3, 4, 1), classifier).tensors()
    assert loaded["put_off"].tolist() == fewer["put_off"].tolist() == [[1, 0, 1]]
