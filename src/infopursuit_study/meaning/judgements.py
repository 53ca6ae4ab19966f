"""What people and judges say of a data set of the pipeline, to measure answers by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Literal

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages, image_ids
from infopursuit.datasets.settings import DatasetSettings
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.truth_by_people import in_figures, truth_by_people
from infopursuit.pipeline import paths
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_lists import read_judge, read_strict
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable
from infopursuit_study.meaning.measures import Judgements


def read_judgements(
    chosen: DatasetSettings, dataset: str, model: PursuitClassifier, universe: TextTable
) -> Judgements:
    """Read all that is said of the classes of a data set.

    Raises:
        InputError: a judge or a strict list is about none of the texts of the universe.
    """
    classes = model.pursuit_.class_names
    judge = read_judge(paths.judgements(dataset, "judge"), classes, model.pursuit_.queries)
    strict = read_strict(paths.judgements(dataset, "strict"), classes)
    said = read_judge(paths.judgements(dataset, "judge"), classes).texts
    for what, path, texts in (
        ("judge", chosen.judge, said),
        ("strict", chosen.strict, strict.texts),
    ):
        named = {normalize(text) for text in texts}
        if named and not any(normalize(text) in named for text in universe.texts):
            raise InputError(
                f"datasets.{dataset}.{what}: {path}: none of its texts is in the universe; "
                "expected some, or params/no_knowledge.jsonl"
            )
    return Judgements(judge, strict, read_knowledge(paths.knowledge(dataset)))


def read_strict_or_knowledge(
    dataset: str, classes: Sequence[str]
) -> tuple[KnowledgeTable, Literal["strict", "knowledge"]]:
    """Read the strict list of a data set, or its knowledge if there is none; say which it was."""
    strict = read_strict(paths.judgements(dataset, "strict"), classes)
    if strict.texts:
        return strict, "strict"
    return read_knowledge(paths.knowledge(dataset)), "knowledge"


def read_people(dataset: str) -> Annotations:
    """Read what people say of the images of a data set; nothing if nobody was asked."""
    said = read_annotations(paths.people(dataset))
    return said.of_pictures(image_ids(paths.images(dataset))) if said.rows else said


def by_people(
    model: PursuitClassifier, test: LabelledImages, said: Annotations
) -> dict[str, Any] | None:
    """Measure answers by what people say of test images; None if that is not known."""
    if not said.about(test.ids) or not isinstance(model.pursuit_.rule, ThresholdAnswers):
        return None
    of_images, labels = said.of_images(test.ids), test.labels.numpy()
    measured = truth_by_people(model, test.embeddings, labels, of_images)
    pairs, same = said.agreement()
    return {"pairs": pairs, "same": same, "questions": in_figures(measured)}
