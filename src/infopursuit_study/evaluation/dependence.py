"""Does an answer depend on its own query and image alone? Two tests of an answer rule.

Invariance: ask an image its first queries, let another image answer all the others, and see which
of the answers given, and which predictions made from them, are now different. Deletion: take one
query out of the dictionary and see which answers to the others flip. Answers by thresholds or
levels cannot fail either test. Min-max answers are normalised over the whole dictionary, and do.
"""

from __future__ import annotations

import torch
from jaxtyping import Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import NOT_SURE, AnswerRule
from infopursuit.pursuit.pursuit import Pursuit

# Queries that are deleted one at a time, evenly spaced over a larger dictionary.
DELETIONS = 64
# Images whose scores are held at once.
BATCH_SIZE = 512


@torch.no_grad()
def dependence_metrics(
    pursuit: Pursuit,
    images: LabelledImages,
    order: Int[Tensor, "n t"],
) -> dict[str, float]:
    """Return shares in [0, 1] of what changes when only other queries are touched.

    `asked_answers_changed_by_unasked` and `predictions_changed_by_unasked` look at each image
    after its first t queries; `answers_flipped_by_deletion` is the mean over single deleted
    queries. Soft answers count as yes above 0.5.
    """
    n, k = len(images.labels), len(pursuit.queries)
    if n < 2 or k < 2:
        raise InputError(
            f"expected at least 2 images and 2 queries to test the answers, found {n} and {k}"
        )
    rule, device = pursuit.rule, pursuit.device
    places = torch.randperm(n, generator=torch.Generator().manual_seed(0))
    donors = torch.empty_like(places).index_copy_(0, places, places.roll(1))  # never itself
    # All queries, or some evenly spaced from the first to the last.
    deleted = torch.linspace(0, k - 1, min(k, DELETIONS)).round().long().tolist()
    answers = predictions = flips = 0
    for rows in tqdm(torch.arange(n).split(BATCH_SIZE), desc="dependence", disable=None):
        scores = rule.scores(images.embeddings[rows].to(device))
        others = rule.scores(images.embeddings[donors[rows]].to(device))
        asked = order[rows].to(device)
        mask = torch.zeros_like(scores).scatter_(1, asked, 1)
        before = rule.of_scores(scores)
        after = rule.of_scores(torch.where(mask > 0, scores, others))
        answers += int(_flipped(before, after).gather(1, asked).sum())
        first, second = (pursuit.classifier(each, mask).argmax(dim=1) for each in (before, after))
        predictions += int((first != second).sum())
        flips += sum(_flips_without(query, rule, scores, before) for query in deleted)
    return {
        "asked_answers_changed_by_unasked": answers / order.numel(),
        "predictions_changed_by_unasked": predictions / n,
        "answers_flipped_by_deletion": flips / (n * len(deleted) * (k - 1)),
    }


def _flips_without(
    query: int, rule: AnswerRule, scores: Float[Tensor, "n k"], answers: Float[Tensor, "n k"]
) -> int:
    """Count how many of the n (k - 1) other answers flip without a query."""
    columns = torch.arange(scores.shape[1], device=scores.device)
    others = columns[columns != query]
    alone = rule.select(others).of_scores(scores[:, others])
    return int(_flipped(answers[:, others], alone).sum())


def _flipped(before: Tensor, after: Tensor) -> Tensor:
    return (before > NOT_SURE) != (after > NOT_SURE)
