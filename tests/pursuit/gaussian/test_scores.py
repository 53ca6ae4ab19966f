"""Jointly normal scores against slow, obvious ones: dense conditional normals and integrals."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from pytest import MonkeyPatch
from scipy.integrate import quad
from scipy.stats import entropy as entropy_of
from scipy.stats import norm
from torch import Tensor

from infopursuit.pursuit.gaussian.dictionary import forward_selection
from infopursuit.pursuit.gaussian.fit import Course, fit_temperature
from infopursuit.pursuit.gaussian.histories import Conditioned
from infopursuit.pursuit.gaussian.information import mixture_information, word_information
from infopursuit.pursuit.gaussian.model import GaussianClassifier, GaussianQuerier
from infopursuit.pursuit.gaussian.scores import TOLD, NormalScores
from infopursuit.pursuit.gaussian.statistics import ScoreStatistics
from infopursuit.pursuit.rollout import ask_until, roll_out
from infopursuit.pursuit.stopping import StoppingRule

C, K = 4, 7


@pytest.fixture
def scores() -> NormalScores:
    draw = torch.Generator().manual_seed(0)
    factor = torch.randn(K, K, generator=draw)
    return NormalScores(
        torch.rand(C, generator=draw).softmax(dim=0).log(),
        torch.randn(C, K, generator=draw) * 2,
        factor @ factor.T + torch.eye(K),
        torch.randn(len(TOLD), K, generator=draw),
        torch.rand(len(TOLD), K, generator=draw) + 0.1,
        torch.tensor([0.8, 4.0, 0.5]),
    ).double()


def conditional(scores: NormalScores, answers: Tensor, asked: list[int]) -> tuple:
    """Log-likelihood of each class, and mean and variance of all answers, by dense matrices."""
    known = [query for query in asked if answers[query] != 0.5]
    values, noise = scores.observed(torch.tensor(known, dtype=torch.long), answers[known])
    within, covariance = scores.covariance, scores.covariance
    own = within[known][:, known] + torch.diag(noise)
    gain = covariance[:, known] @ torch.linalg.inv(own)
    rest = values - scores.means[:, known]
    likelihood = torch.distributions.MultivariateNormal(torch.zeros(len(known)).double(), own)
    means = scores.means + rest @ gain.T
    variance = (covariance - gain @ covariance[known]).diagonal()
    return likelihood.log_prob(rest), means, variance


@pytest.mark.parametrize("asked", [[3], [5, 0], [6, 2, 1, 4], [0, 1, 2, 3, 4, 5, 6]])
def test_answers_are_learned_as_dense_matrices_say(scores: NormalScores, asked: list[int]) -> None:
    answers = torch.tensor([0.31, 1.0, -0.4, 0.75, 0.5, 0.9, 0.0]).double()  # and words of people
    histories = Conditioned(scores, 1)
    for query in asked:
        histories.add(torch.tensor([query]), answers[None, query])
    likelihood, means, variance = conditional(scores, answers, asked)
    evidence = histories.evidence[0] - histories.evidence[0, 0]
    torch.testing.assert_close(evidence, likelihood - likelihood[0], atol=1e-6, rtol=1e-6)
    learned = histories.means(torch.tensor([0]), torch.arange(C)[None])[0]
    torch.testing.assert_close(learned, means, atol=1e-5, rtol=1e-5)
    torch.testing.assert_close(histories.variance[0], variance.clamp_min(0), atol=1e-4, rtol=1e-4)


def test_a_history_is_the_same_whatever_its_order_and_its_batch(scores: NormalScores) -> None:
    draw = torch.Generator().manual_seed(1)
    answers = torch.rand(9, K, generator=draw)
    mask = (torch.rand(9, K, generator=draw) < 0.5).float()
    for function in (GaussianClassifier(scores), GaussianQuerier(scores)):
        whole = function(answers, mask)
        for row in range(9):
            histories = function.incremental(1)
            for query in reversed(mask[row].nonzero().flatten().tolist()):
                histories.add(torch.tensor([query]), answers[row, query].unsqueeze(0))
            torch.testing.assert_close(histories.outputs(1)[0], whole[row], atol=1e-6, rtol=1e-6)


def test_a_classifier_reads_the_histories_of_a_querier_that_expects_the_same(
    scores: NormalScores,
) -> None:
    answers = torch.rand(9, K, generator=torch.Generator().manual_seed(1))
    querier, classifier = GaussianQuerier(scores), GaussianClassifier(scores)
    stop = StoppingRule(0.6, max_queries=5)
    other = GaussianQuerier(replace(scores, log_prior=scores.log_prior.flip(0)))
    assert classifier.beside(other.incremental(1)) is None
    shared = ask_until(querier, classifier, answers, stop)
    assert len(shared.length.unique()) > 1  # images end, and others go on
    rolled = roll_out(querier, classifier, answers, K)
    with MonkeyPatch.context() as patch:
        patch.setattr(GaussianClassifier, "beside", lambda *_: None)
        for one, own in zip(shared, ask_until(querier, classifier, answers, stop), strict=True):
            torch.testing.assert_close(one, own)
        for one, own in zip(rolled, roll_out(querier, classifier, answers, K), strict=True):
            torch.testing.assert_close(one, own)


def test_statistics_of_two_sets_of_images_add_up(scores: NormalScores) -> None:
    draw = torch.Generator().manual_seed(3)
    answers, labels = torch.rand(60, K, generator=draw), torch.arange(60) % C
    weights = torch.rand(60, generator=draw).double() + 0.5

    def of(rows: slice) -> ScoreStatistics:
        own, there, weighed = answers[rows].double(), labels[rows], weights[rows]
        images = torch.bincount(there, weighed)
        sums = torch.zeros(C, K).double().index_add_(0, there, own * weighed.unsqueeze(1))
        means = sums / images.unsqueeze(1)
        rest = own - means[there]
        freedom = images.sum() - C
        within = rest.T @ (weighed.unsqueeze(1) * rest) / freedom
        return ScoreStatistics(images, images / images.sum(), means, within, freedom)

    both = of(slice(40)).plus(answers[40:], labels[40:], weights[40:])
    for one, other in zip(both, of(slice(60)), strict=True):
        torch.testing.assert_close(one, other)


def test_what_nobody_is_sure_of_tells_nothing_and_classes_and_questions_can_go(
    scores: NormalScores,
) -> None:
    answers, mask = torch.full((1, K), 0.5), torch.ones(1, K)
    classifier = GaussianClassifier(scores)
    prior = scores.log_prior.float() - scores.log_prior.float().max()
    torch.testing.assert_close(classifier(answers, mask)[0], prior)
    answers[0, 2], some = 0.2, torch.tensor([3, 1])
    mask = torch.zeros(1, K)
    mask[0, 2] = 1
    expected = classifier(answers, mask).softmax(dim=1)[:, some]
    among = classifier.for_classes(some)(answers, mask).softmax(dim=1)
    torch.testing.assert_close(among, expected / expected.sum())
    columns = torch.tensor([2, 5])
    fewer = classifier.select(columns)(answers[:, columns], mask[:, columns])
    torch.testing.assert_close(fewer, classifier(answers, mask))


def test_information_is_the_integral() -> None:
    means = torch.tensor([[[0.0, 1.0], [3.0, 1.2], [-2.0, 9.0]]]).double()
    variance = torch.tensor([[1.0, 0.25]]).double()
    posterior = torch.tensor([[0.5, 0.3, 0.2]]).double()
    computed = mixture_information(means, variance, posterior)[0]
    for place in range(2):
        centres, deviation = means[0, :, place].numpy(), variance[0, place].sqrt().item()

        def density(x: float, centres=centres, deviation=deviation) -> float:
            heights = np.exp(-(((x - centres) / deviation) ** 2) / 2)
            return float(posterior[0].numpy() @ heights) / (deviation * np.sqrt(2 * np.pi))

        entropy = quad(lambda x: -density(x) * np.log(density(x) + 1e-300), -12, 15, limit=400)[0]
        expected = entropy - np.log(2 * np.pi * np.e * deviation**2) / 2
        assert computed[place].item() == pytest.approx(expected, abs=2e-3)
    far = means * torch.tensor([1.0, 40.0])  # too far apart for nodes that all answers share
    torch.testing.assert_close(mixture_information(far, variance, posterior)[0, 0], computed[0])
    alike = mixture_information(torch.zeros(1, 3, 1).double(), variance[:, :1], posterior)
    assert alike.item() == pytest.approx(0, abs=1e-3)


def test_the_information_of_a_word_is_that_of_a_table_of_two_answers() -> None:
    means = torch.tensor([[[0.0, 1.0], [3.0, 0.4], [-2.0, 9.0]]]).double()
    posterior = np.array([0.5, 0.3, 0.2])
    computed = word_information(means, torch.tensor([[1.0, 0.25]]), torch.tensor(posterior)[None])
    yes = norm.sf(0.5, means[0].numpy(), [1.0, 0.5])
    for place in range(2):
        joint = posterior[:, None] * np.stack([yes[:, place], 1 - yes[:, place]], axis=1)
        apart = entropy_of(posterior) + entropy_of(joint.sum(axis=0))
        assert computed[0, place].item() == pytest.approx(apart - entropy_of(joint, axis=None))


def test_the_first_question_is_asked_for_its_word_too() -> None:
    """Scores spread the classes more evenly, but only the other question divides them by a yes."""
    spread, divided = [-3.0, -1.5, 0.0, 1.5], [-1.4, -1.4, 2.4, 2.4]
    scores = NormalScores(
        torch.full((4,), 0.25).log(),
        torch.tensor([spread, divided]).T,
        torch.eye(2),
        torch.zeros(len(TOLD), 2),
        torch.ones(len(TOLD), 2),
        torch.ones(3),
    ).double()
    histories = Conditioned(scores, 1)
    means, posterior = scores.means[None], scores.log_prior.exp()[None]
    plain = mixture_information(means, histories.variance, posterior)[0]
    assert plain[0] > plain[1]
    querier, answers = GaussianQuerier(scores), torch.rand(2, 2)
    first, _ = querier(answers, torch.tensor([[0.0, 0.0], [0.0, 1.0]]))  # and in any batch
    assert first[1] > first[0]
    torch.testing.assert_close(
        first, plain + word_information(means, histories.variance, posterior)[0]
    )


def test_the_next_question_tells_most_and_is_not_asked_again(scores: NormalScores) -> None:
    asking = GaussianQuerier(scores).incremental(1)
    values = asking.outputs(1)[0]
    posterior = scores.log_prior.softmax(dim=0)
    spread = posterior @ scores.means.square() - (posterior @ scores.means).square()
    assert values.argmax() in (spread / scores.covariance.diagonal()).topk(3).indices
    asking.add(values.argmax().unsqueeze(0), torch.tensor([0.2]))
    assert asking.outputs(1)[0, values.argmax()] == -torch.inf


def test_texts_are_selected_as_by_means_of_classes_and_the_whole_covariance() -> None:
    draw = torch.Generator().manual_seed(2)
    u, d, own = 30, 6, 0.2
    directions = torch.nn.functional.normalize(torch.randn(u, d, generator=draw), dim=1).double()
    factor = torch.randn(d, d, generator=draw).double()
    within, centres = factor @ factor.T, torch.randn(C, d, generator=draw).double()
    prior = torch.tensor([0.1, 0.2, 0.3, 0.4]).double()
    trust = torch.rand(u, generator=draw).double()
    deviations = centres - prior @ centres
    between = deviations.T @ torch.diag(prior) @ deviations
    means = trust * (deviations @ directions.T)
    covariance = (1 - own) * directions @ within @ directions.T
    covariance += own * torch.diag(((directions @ within) * directions).sum(dim=1))
    chosen: list[int] = []
    for _ in range(8):
        gain = covariance[:, chosen] @ torch.linalg.inv(covariance[chosen][:, chosen])
        left = (covariance - gain @ covariance[chosen]).diagonal()
        rest = means - means[:, chosen] @ gain.T
        ratio = prior @ rest.square() / left
        ratio[chosen] = -1
        chosen.append(int(ratio.argmax()))
    weights = torch.ones(u).double()
    rows = forward_selection(directions, within, between, trust, own, weights, 8)
    assert rows.tolist() == chosen
    weights[chosen[0]] = 0
    rows = forward_selection(directions, within, between, trust, own, weights, 8)
    assert chosen[0] not in rows.tolist()


def test_the_temperature_is_what_evidence_was_multiplied_with() -> None:
    """Evidence that says too much by 2.5 at every length is worth 0.4."""
    draw = np.random.default_rng(3)
    labels = draw.integers(0, 2, 4000)
    odds = draw.normal(np.where(labels == 1, 1.0, -1.0), np.sqrt(2))  # a log-odds ratio
    evidence = torch.tensor(np.stack([0 * odds, 2.5 * odds], axis=1)).unsqueeze(1)
    even = torch.ones(len(labels)).double()
    course = Course(torch.zeros(2).double(), evidence.repeat(1, 3, 1), torch.tensor(labels), even)
    weight, scale, growth = fit_temperature([course], torch.tensor([1, 4, 9])).tolist()
    for asked in (1, 4, 9):
        assert weight / (1 + asked / scale) ** growth == pytest.approx(0.4, abs=0.06)
