"""Naive Bayes as classifier and querier against a textbook, for two and for three answers."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest
import torch

from infopursuit.answers.table import AnswerTable
from infopursuit.naive_bayes.model import ROUNDING, InformationGain, NaiveBayes
from infopursuit.pursuit.querier import Classifier, Querier
from infopursuit.pursuit.rollout import first_of_the_best, ranked, roll_out
from tests.naive_bayes import textbook

K = 9
LEVELS = pytest.mark.parametrize("levels", [2, 3])


def both(levels: int) -> tuple[InformationGain, NaiveBayes]:
    of = textbook.table(levels)
    return InformationGain(of), NaiveBayes(of)


def test_both_are_functions_of_a_history() -> None:
    querier, classifier = both(2)
    assert isinstance(querier, Querier)
    assert isinstance(classifier, Classifier)


@LEVELS
def test_a_roll_out_is_information_pursuit_with_bayes_rule(levels: int) -> None:
    querier, classifier = both(levels)
    answers = textbook.answers(levels, count=25)
    found = roll_out(querier, classifier, answers, 6)
    for image, given in enumerate(answers):
        order, posteriors = textbook.pursue(querier.table, given, 6)
        assert found.order[image].tolist() == order
        torch.testing.assert_close(found.posteriors[image], torch.tensor(posteriors).double())


@LEVELS
def test_gains_and_posteriors_of_any_history_are_those_of_the_textbook(levels: int) -> None:
    querier, classifier = both(levels)
    answers = textbook.answers(levels, count=12)
    mask = (torch.rand(12, K, generator=torch.Generator().manual_seed(1)) > 0.5).double()
    gains, logits = querier(answers, mask), classifier(answers, mask)
    for image in range(12):
        heard = {
            query: float(answers[image, query]) for query in range(K) if mask[image, query] > 0
        }
        expected = textbook.posterior(querier.table, heard, 3.0)
        torch.testing.assert_close(logits[image].softmax(dim=0), torch.tensor(expected).double())
        for query in range(K):
            told = textbook.gain(querier.table, heard, query)
            assert math.isclose(float(gains[image, query]), told, rel_tol=1e-6, abs_tol=1e-9)


@LEVELS
def test_whole_histories_and_growing_ones_agree(levels: int) -> None:
    querier, classifier = both(levels)
    answers = textbook.answers(levels)
    answers[::3, 4] = 0.4  # what a person says, between two levels
    found = roll_out(querier, classifier, answers, K)
    for t in (0, 1, 4, K):
        mask = torch.zeros_like(answers).scatter_(1, found.order[:, :t], 1.0)
        torch.testing.assert_close(classifier(answers, mask).softmax(dim=1), found.posteriors[:, t])
        if t < K:
            gains = querier(answers, mask).masked_fill(mask > 0, -torch.inf)
            assert torch.equal(gains.argmax(dim=1), found.order[:, t])


@LEVELS
def test_histories_that_leave_do_not_disturb_the_others(levels: int) -> None:
    querier, classifier = both(levels)
    answers, kept = textbook.answers(levels, count=10), torch.tensor([7, 1, 4])
    queries = torch.arange(10) % K
    for function in (querier, classifier):
        whole, fewer = function.incremental(10), function.incremental(10)
        for shift in range(3):
            asked = (queries + shift) % K
            given = answers.gather(1, asked.unsqueeze(1)).squeeze(1)
            whole.add(asked, given)
            if shift == 1:
                fewer.keep(kept)
            fewer.add(asked[kept], given[kept]) if shift else fewer.add(asked, given)
        torch.testing.assert_close(fewer.outputs(3), whole.outputs(10)[kept])
        torch.testing.assert_close(whole.outputs(4), whole.outputs(10)[:4])


@LEVELS
def test_what_was_not_asked_changes_nothing(levels: int) -> None:
    networks, answers = both(levels), textbook.answers(levels)
    first = roll_out(*networks, answers, 4)
    kept = torch.zeros_like(answers).scatter_(1, first.order, 1.0)
    other = roll_out(*networks, torch.where(kept > 0, answers, 1 - answers), 4)
    assert torch.equal(first.order, other.order)
    assert torch.equal(first.posteriors, other.posteriors)


@LEVELS
def test_fewer_queries_are_asked_as_if_there_were_no_others(levels: int) -> None:
    columns = torch.tensor([6, 0, 3, 8])
    answers = textbook.answers(levels)
    fewer = [function.select(columns) for function in both(levels)]
    found = roll_out(fewer[0], fewer[1], answers[:, columns], 4)  # type: ignore[arg-type]
    of = textbook.table(levels)
    alone = replace(of, log_likelihood=of.log_likelihood[:, columns])
    expected = roll_out(InformationGain(alone), NaiveBayes(alone), answers[:, columns], 4)
    assert torch.equal(found.order, expected.order)
    assert torch.equal(found.posteriors, expected.posteriors)
    # Asked everything that is left, it believes what the whole believes of those answers.
    mask = torch.zeros_like(answers)
    mask[:, columns] = 1
    whole = both(levels)[1](answers, mask).softmax(dim=1)
    torch.testing.assert_close(found.posteriors[:, -1], whole)


def test_of_equal_queries_the_first_is_asked() -> None:
    of = textbook.table()
    columns = torch.tensor([3, 3, 3])
    found = roll_out(*[each.select(columns) for each in both(2)], textbook.answers(k=3), 3)  # type: ignore[arg-type]
    assert of.levels == 2
    assert found.order.tolist() == [[0, 1, 2]] * 40


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


def test_what_is_asked_does_not_depend_on_who_else_is_asked() -> None:
    querier, classifier, answers = single()
    together = roll_out(querier, classifier, answers, 60)
    assert together.posteriors.dtype == torch.float32
    assert (together.posteriors[:, -1].amax(dim=1) > 0.999).float().mean() > 0.9
    backwards = roll_out(querier, classifier, answers.flip(0), 60)
    assert torch.equal(backwards.order.flip(0), together.order)
    for row in (0, 7, 150, 299):
        alone = roll_out(querier, classifier, answers[row : row + 1], 60)
        assert torch.equal(alone.order[0], together.order[row])
        torch.testing.assert_close(alone.posteriors[0], together.posteriors[row])


def test_posteriors_of_a_table_in_float32_are_those_of_float64() -> None:
    querier, classifier, answers = single()
    found = roll_out(querier, classifier, answers, 60)
    of = querier.table
    evidence = of.log_prior.double().repeat(300, 1)
    for t in range(60):
        query, said = found.order[:, t], found.answers[:, t]
        evidence = evidence + of.log_likelihood.double()[(2 * said).long(), query]
        expected = (evidence / (1 + (t + 1) / 40.0)).softmax(dim=1)
        assert (found.posteriors[:, t + 1] - expected).abs().max() < 1e-6


def test_gains_that_only_rounding_tells_apart_are_equal() -> None:
    outputs = torch.tensor([[0.1, 0.3, 0.3 + 1e-8, 0.2]], dtype=torch.float64)
    assert first_of_the_best(outputs, ROUNDING).tolist() == [2]
    outputs = torch.tensor([[0.1, 0.3, 0.3 + 1e-12, 0.2]], dtype=torch.float64)
    assert first_of_the_best(outputs, ROUNDING).tolist() == [1]
    assert ranked(outputs, ROUNDING, 4).tolist() == [[1, 2, 3, 0]]
    assert ranked(outputs, 0.0, 3).tolist() == [[2, 1, 3]]
    asked = torch.tensor([[-torch.inf, 0.1, 0.3, 0.3 + 1e-12, -torch.inf]], dtype=torch.float64)
    assert ranked(asked, ROUNDING, 5).tolist() == [[2, 3, 1, 0, 4]]


def test_values_are_gains_of_at_least_zero_and_say_what_cannot_be_asked() -> None:
    querier, _ = both(2)
    outputs = torch.tensor([[0.5, -1e-9, -torch.inf]])
    assert querier.values(outputs).tolist() == [[0.5, 0.0, -torch.inf]]
    assert querier.criterion == "information gain"


def test_not_sure_leaves_the_next_question_as_it_was() -> None:
    querier, _ = both(2)
    answers, asked = torch.full((1, K), 0.5).double(), torch.zeros(1, K).double()
    before = querier(answers, asked)
    asked[0, 2] = 1
    torch.testing.assert_close(querier(answers, asked), before)


def test_both_are_saved_as_one_table() -> None:
    querier, classifier = both(3)
    assert querier.tensors() == {}
    again = NaiveBayes(type(querier.table).from_tensors(classifier.tensors()))
    answers, mask = textbook.answers(3), torch.ones(40, K).double()
    assert torch.equal(again(answers, mask), classifier(answers, mask))
    assert querier.to("meta").likelihood.device.type == "meta"
    assert classifier.to("meta").table.log_prior.device.type == "meta"
