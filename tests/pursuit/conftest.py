"""Two small pursuits over the same questions: with networks, and with naive Bayes."""

from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from infopursuit.pursuit.answers.rules import MinMaxAnswers, ThresholdAnswers
from infopursuit.pursuit.naive_bayes.model import AnswerTable, InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.networks import HistoryNetwork

K, C, D, IMAGES = 9, 4, 6, 40
QUERIES = (
    "wings", "two wheels", "four wheels", "a very long neck", "striped body", "red body",
    "a tall mast", "whiskers", "snow on the ground",
)  # fmt: skip
NAMES = ("bird", "bus", "giraffe", "ship")


def unit(rows: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return functional.normalize(torch.randn(rows, D, generator=generator), dim=1)


def with_networks() -> Pursuit:
    torch.manual_seed(3)
    networks = [HistoryNetwork(K, outputs, (16, 8)).eval() for outputs in (K, C)]
    for network in networks:  # LayerNorm starts as the identity: move it away
        for parameter in network.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
    return Pursuit(QUERIES, NAMES, MinMaxAnswers(unit(K, 1)), networks[0], networks[1])


def with_naive_bayes(independent_answers: float = 5.0) -> Pursuit:
    generator = torch.Generator().manual_seed(4)
    rates = 0.05 + 0.9 * torch.rand(K, C, generator=generator)
    prior = torch.tensor([0.4, 0.3, 0.2, 0.1]).log()
    table = AnswerTable(torch.stack([(1 - rates).log(), rates.log()]), prior, independent_answers)
    rule = ThresholdAnswers(unit(K, 1), torch.linspace(-0.2, 0.2, K))
    return Pursuit(QUERIES, NAMES, rule, InformationGain(table), NaiveBayes(table))


@pytest.fixture(params=["networks", "naive Bayes"])
def pursuit(request: pytest.FixtureRequest) -> Pursuit:
    return with_networks() if request.param == "networks" else with_naive_bayes()


@pytest.fixture
def answers(pursuit: Pursuit) -> torch.Tensor:
    return pursuit.answers(unit(IMAGES, 2))
