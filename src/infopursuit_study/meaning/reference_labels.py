"""What is true of a data set of the pipeline, by reference labels and people, to measure by."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, image_ids
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.pipeline import paths
from infopursuit.pursuit.answers.annotated import truth_of
from infopursuit.pursuit.answers.rules import NOT_SURE, AnswerRule, ThresholdAnswers
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable
from infopursuit_study.meaning.measures import ReferenceLabels


def read_reference_labels(dataset: str, universe: TextTable) -> ReferenceLabels:
    """Read all that is said of the classes of a data set.

    Raises:
        InputError: labels are about none of the texts of the universe.
    """
    both = "question", "answer"
    tables = [read_knowledge(paths.reference_labels(dataset, of)) for of in both]
    for of, table in zip(both, tables, strict=True):
        named = set(map(normalize, table.texts))
        if named and not any(normalize(text) in named for text in universe.texts):
            raise InputError(
                f"datasets.{dataset}.{of}_reference: none of its texts is in the universe; "
                "expected some, or params/no_knowledge.csv"
            )
    return ReferenceLabels(tables[0], tables[1], read_knowledge(paths.knowledge(dataset)))


def read_people(dataset: str) -> Annotations:
    """Read what people say of the images of a data set; nothing if nobody was asked."""
    people = read_annotations(paths.people(dataset))
    return people.of_pictures(image_ids(paths.images(dataset))) if people.rows else people


def by_people(
    model: PursuitClassifier, test: LabelledImages, said: Annotations
) -> dict[str, Any] | None:
    """Measure answers by what people say of test images; None if that is not known."""
    rule = model.pursuit_.rule
    if not said.about(test.ids) or not isinstance(rule, LevelAnswers | ThresholdAnswers):
        return None
    pairs, same = said.agreement()
    questions = truth_by_people(
        model.pursuit_, test.embeddings, test.labels.numpy(), said.of_images(test.ids)
    )
    return {"pairs": pairs, "same": same, "questions": questions}


def truth_by_people(
    pursuit: Pursuit,
    images: Float[Tensor, "n d"],
    labels: Int[np.ndarray, " n"],
    annotations: Mapping[str, Float[np.ndarray, " n"]],
) -> dict[str, dict[str, Any]]:
    """Compare answers with those of people, question by question.

    Args:
        pursuit: its rule has levels or thresholds.
        images: that the model was not fitted on.
        labels: their classes.
        annotations: of texts, what people say of each image: 1 yes, 0 no, NaN nothing.

    Returns:
        Of each question that people answered for some image: how many images, the right among the
        model's yes and no with how many there are, and AUROC overall and within classes.
    """
    scores, lower, upper = (
        each.cpu().numpy() for each in _with_cuts(pursuit.rule, images.to(pursuit.device))
    )
    of_text = {normalize(text): values for text, values in annotations.items()}
    measured = {}
    for place, query in enumerate(pursuit.queries):
        truth = of_text.get(normalize(query), np.full(len(images), np.nan))
        known = np.flatnonzero(~np.isnan(truth))
        if len(known):
            cuts = float(lower[place]), float(upper[place])
            facts = truth_of(scores[known, place], *cuts, truth[known], labels[known])
            counts = {word: [facts.pop(f"{word}_right"), facts[word]] for word in ("yes", "no")}
            measured[query] = facts | counts
    return measured


def _with_cuts(rule: AnswerRule, images: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Return what tells images apart, where a no of each query ends, and where its yes begins."""
    if isinstance(rule, LevelAnswers):
        return rule.answers(images), rule.cuts[:, 0], torch.full_like(rule.level, NOT_SURE)
    assert isinstance(rule, ThresholdAnswers)
    return rule.scores(images), rule.thresholds, rule.thresholds
