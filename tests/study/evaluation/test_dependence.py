"""Dependence of answers on other queries, against loops over single images and queries."""

import pytest
import torch
from torch.nn import functional

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import (
    AnswerRule,
    MinMaxAnswers,
    SoftAnswers,
    ThresholdAnswers,
)
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit_study.evaluation.dependence import dependence_metrics

N, K, D, C, T = 30, 9, 5, 3, 4


def unit(rows: int, seed: int) -> torch.Tensor:
    draw = torch.Generator().manual_seed(seed)
    return functional.normalize(torch.randn(rows, D, generator=draw), dim=1)


def rule(kind: str, k: int = K) -> AnswerRule:
    if kind == "threshold":
        return ThresholdAnswers(unit(k, 1), torch.linspace(-0.3, 0.3, k))
    if kind == "levels":
        ones, level = torch.ones(k), torch.linspace(-0.3, 0.3, k)
        return LevelAnswers(unit(k, 1), level, ones, torch.zeros(k, 2), torch.zeros(k, 9))
    return (MinMaxAnswers if kind == "minmax" else SoftAnswers)(unit(k, 1))


def classifier(k: int = K) -> HistoryNetwork:
    torch.manual_seed(2)
    return HistoryNetwork(k, C, (8, 4)).eval()


def asking(kind: str, k: int = K) -> Pursuit:
    """An untrained pursuit with the rule."""
    torch.manual_seed(7)
    queries = tuple(f"query {i}" for i in range(k))
    querier = HistoryNetwork(k, k, (8, 4)).eval()
    return Pursuit(queries, ("a", "b", "c"), rule(kind, k), querier, classifier(k))


@pytest.fixture
def images() -> LabelledImages:
    return LabelledImages(
        tuple(map(str, range(N))), torch.arange(N) % C, unit(N, 6), ("a", "b", "c")
    )


@pytest.mark.parametrize("kind", ["minmax", "soft", "threshold", "levels"])
def test_metrics_agree_with_counting_one_image_at_a_time(images: LabelledImages, kind: str) -> None:
    """Of 16 queries 10 are asked."""
    k, asked = 16, 10
    pursuit = asking(kind, k)
    scores = pursuit.rule.scores(images.embeddings)
    order = pursuit.roll_out(images.embeddings, asked).order
    places = torch.randperm(N, generator=torch.Generator().manual_seed(0)).tolist()
    answers = predictions = deletions = 0
    for row, donor in zip(places, [places[-1], *places[:-1]], strict=True):
        mask = torch.zeros(k).index_fill(0, order[row], 1)
        mixed = torch.where(mask > 0, scores[row], scores[donor])
        before, after = (pursuit.rule.of_scores(each[None]) for each in (scores[row], mixed))
        answers += int(((before > 0.5) != (after > 0.5))[0, order[row]].sum())
        first, second = (pursuit.classifier(each, mask[None]).argmax() for each in (before, after))
        predictions += int(first != second)
        for query in range(k):
            kept = torch.tensor([other for other in range(k) if other != query])
            alone = pursuit.rule.select(kept).of_scores(scores[None, row, kept])
            deletions += int(((before[:, kept] > 0.5) != (alone > 0.5)).sum())
    assert dependence_metrics(pursuit, images, order) == {
        "asked_answers_changed_by_unasked": answers / (N * asked),
        "predictions_changed_by_unasked": predictions / N,
        "answers_flipped_by_deletion": deletions / (N * k * (k - 1)),
    }
    assert (answers == 0) == (kind in ("threshold", "levels"))
    assert (deletions == 0) == (kind in ("threshold", "levels"))
