"""Dependence of answers on other queries, against loops over single images and queries."""

from dataclasses import replace

import pytest
import torch

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import MinMaxAnswers, SoftAnswers, ThresholdAnswers
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit_study.evaluation.dependence import dependence_metrics
from tests.study.evaluation.conftest import K, texts

CUTS = torch.linspace(-0.3, 0.3, K)
RULES = {
    "minmax": MinMaxAnswers(texts()),
    "soft": SoftAnswers(texts()),
    "threshold": ThresholdAnswers(texts(), CUTS),
    "levels": LevelAnswers(texts(), CUTS, torch.ones(K), torch.zeros(K, 2), torch.zeros(K, 9)),
}


@pytest.mark.parametrize("kind", RULES)
def test_metrics_agree_with_counting_one_image_at_a_time(
    pursuit: Pursuit, images: LabelledImages, kind: str
) -> None:
    n, asked = len(images.labels), 4
    pursuit = replace(pursuit, rule=RULES[kind])
    scores = pursuit.rule.scores(images.embeddings)
    order = pursuit.roll_out(images.embeddings, asked).order
    places = torch.randperm(n, generator=torch.Generator().manual_seed(0)).tolist()
    answers = predictions = deletions = 0
    for row, donor in zip(places, [places[-1], *places[:-1]], strict=True):
        mask = torch.zeros(K).index_fill(0, order[row], 1)
        mixed = torch.where(mask > 0, scores[row], scores[donor])
        before, after = (pursuit.rule.of_scores(each[None]) for each in (scores[row], mixed))
        answers += int(((before > 0.5) != (after > 0.5))[0, order[row]].sum())
        first, second = (pursuit.classifier(each, mask[None]).argmax() for each in (before, after))
        predictions += int(first != second)
        for query in range(K):
            kept = torch.tensor([other for other in range(K) if other != query])
            alone = pursuit.rule.select(kept).of_scores(scores[None, row, kept])
            deletions += int(((before[:, kept] > 0.5) != (alone > 0.5)).sum())
    assert dependence_metrics(pursuit, images, order) == {
        "asked_answers_changed_by_unasked": answers / (n * asked),
        "predictions_changed_by_unasked": predictions / n,
        "answers_flipped_by_deletion": deletions / (n * K * (K - 1)),
    }
    assert (answers == 0) == (kind in ("threshold", "levels"))
    assert (deletions == 0) == (kind in ("threshold", "levels"))
