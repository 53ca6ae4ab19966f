"""Does an answer depend on its own query and image alone? Two tests of an answer rule.

Invariance: ask an image its first queries, let another image answer all the others, and see which
of the answers given, and which predictions made from them, are now different. Deletion: take one
query out of the dictionary and see which answers to the others flip. Answers by thresholds or
levels cannot fail either test. Min-max answers are normalised over the whole dictionary, and do.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from tqdm import tqdm

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import NOT_SURE, AnswerRule
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.querier import Classifier

# Queries that are deleted one at a time, evenly spaced over a larger dictionary.
DELETIONS = 64
# Images whose scores are held at once.
BATCH_SIZE = 512


class Invariance(NamedTuple):
    """What changed when other images answered the unasked queries.

    Attributes:
        answers: (n, t) whether the answer to each asked query turned from yes to no or back.
        predictions: (n,) whether the most probable class is another.
    """

    answers: Bool[Tensor, "n t"]
    predictions: Bool[Tensor, " n"]


@torch.no_grad()
def invariance(
    rule: AnswerRule,
    classifier: Classifier,
    scores: Float[Tensor, "n k"],
    others: Float[Tensor, "n k"],
    order: Int[Tensor, "n t"],
) -> Invariance:
    """Replace the scores of the queries not asked, answer again, classify again."""
    is_asked = torch.zeros_like(scores, dtype=torch.bool).scatter_(1, order, True)
    before = rule.of_scores(scores)
    after = rule.of_scores(torch.where(is_asked, scores, others))
    mask = is_asked.to(scores.dtype)
    return Invariance(
        _flipped(before, after).gather(1, order),
        classifier(before, mask).argmax(dim=1) != classifier(after, mask).argmax(dim=1),
    )


@torch.no_grad()
def deletion(
    rule: AnswerRule, scores: Float[Tensor, "n k"], deleted: Int[Tensor, " m"]
) -> Int[Tensor, " m"]:
    """Count how many of the n (k - 1) other answers flip without each of m queries."""
    answers = rule.of_scores(scores)
    columns = torch.arange(scores.shape[1], device=scores.device)
    counts = torch.zeros(len(deleted), dtype=torch.long)
    for place, query in enumerate(deleted.tolist()):
        others = columns[columns != query]
        alone = rule.select(others).of_scores(scores[:, others])
        counts[place] = _flipped(answers[:, others], alone).sum()
    return counts


def spaced(k: int, most: int = DELETIONS) -> Int[Tensor, " m"]:
    """Return all of k places, or `most` of them, evenly spaced from the first to the last."""
    return torch.linspace(0, k - 1, min(k, most)).round().long()


def dependence_metrics(
    pursuit: Pursuit,
    images: LabelledImages,
    order: Int[Tensor, "n t"],
    seed: int = 0,
    batch_size: int = BATCH_SIZE,
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
    device = pursuit.device
    places = torch.randperm(n, generator=torch.Generator().manual_seed(seed))
    donors = torch.empty_like(places).index_copy_(0, places, places.roll(1))  # never itself
    deleted = spaced(k)
    answers = predictions = flips = 0
    for rows in tqdm(torch.arange(n).split(batch_size), desc="dependence", disable=None):
        scores = pursuit.rule.scores(images.embeddings[rows].to(device))
        others = pursuit.rule.scores(images.embeddings[donors[rows]].to(device))
        queries = order[rows].to(device)
        changed = invariance(pursuit.rule, pursuit.classifier, scores, others, queries)
        answers += int(changed.answers.sum())
        predictions += int(changed.predictions.sum())
        flips += int(deletion(pursuit.rule, scores, deleted).sum())
    return {
        "asked_answers_changed_by_unasked": answers / order.numel(),
        "predictions_changed_by_unasked": predictions / n,
        "answers_flipped_by_deletion": flips / (n * len(deleted) * (k - 1)),
    }


def _flipped(before: Tensor, after: Tensor) -> Tensor:
    return (before > NOT_SURE) != (after > NOT_SURE)
