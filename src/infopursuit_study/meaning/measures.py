"""All that is measured of a model against reference labels, each figure with what chance gives.

Chance is the same figure with the names of the classes shuffled among the rows of the labels.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.rollout import RollOut
from infopursuit.pursuit.vip.updates import fit_threshold_rule
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.agreement import claimed
from infopursuit_study.evaluation.measurement import FIRST as FIRST
from infopursuit_study.meaning.question_quality import (
    hard_answers,
    quality_of_questions,
    reader_accuracy,
    supported_yes,
)
from infopursuit_study.meaning.truth import truth_of_answers

SHUFFLES = 20

Shuffles = Sequence[Int[np.ndarray, " c"]]


class ReferenceLabels(NamedTuple):
    """What is said of the classes of a data set; tables without texts say nothing.

    Attributes:
        questions: of the queries of the model.
        answers: of texts whose truth the class tells.
        knowledge: T, which models may be fitted with.
    """

    questions: KnowledgeTable
    answers: KnowledgeTable
    knowledge: KnowledgeTable


def measure_meaning(
    model: PursuitClassifier,
    opening: RollOut,
    train: LabelledImages,
    test: LabelledImages,
    universe: TextTable,
    reference: ReferenceLabels,
    seed: int,
) -> dict[str, Any]:
    """Measure the meaning of a trained model's questions and answers on test images.

    Returns:
        `truth` and `question_quality`, each None if it cannot be measured. Both name under `by`
        what says what is true: `answer_reference` or `question_reference`, or `knowledge`, which is
        not independent of a model that was fitted with it.
    """
    pursuit = model.pursuit_
    names, queries, labels = pursuit.class_names, pursuit.queries, test.labels.numpy()
    known = reference.knowledge.for_classes_and_texts(names, queries)
    shuffles = shuffled_names(len(names), seed)
    # Queries between texts are named after the nearest text, and ask something else.
    asks_texts = model.provenance_["settings"].get("quantize_queries", True)
    figures: dict[str, Any] = {"truth": None, "question_quality": None}
    if reference.answers.texts:
        figures["truth"] = _reference_truth(model, train, test, universe, reference, shuffles)
    elif asks_texts and np.isin(known, (0.0, 1.0)).any():
        answers = claims_of_images(pursuit.rule, test.embeddings.to(pursuit.device))
        figures["truth"] = {"by": "knowledge", **truth_measures(answers, known, labels, shuffles)}
    if not asks_texts:
        return figures
    first_answers = hard_answers(pursuit.rule, opening)
    by, table = "knowledge", known
    if reference.questions.texts:
        by = "question_reference"
        table = reference.questions.for_classes_and_texts(names, queries)
    if not np.isnan(table).all():
        measured = quality_measures(first_answers, table, labels, shuffles)
        figures["question_quality"] = {"by": by, **measured}
    return figures


def _reference_truth(
    model: PursuitClassifier,
    train: LabelledImages,
    test: LabelledImages,
    universe: TextTable,
    reference: ReferenceLabels,
    shuffles: Shuffles,
) -> dict[str, Any]:
    listed = {normalize(text) for text in reference.answers.texts}
    texts = [text for text in universe.texts if normalize(text) in listed]
    names = model.pursuit_.class_names
    table = None
    if model.provenance_["settings"].get("knowledge", False):
        table = reference.knowledge.for_classes_and_texts(names, universe.texts)
    rule = rule_of_texts(model.pursuit_.rule, universe, texts, train, table)
    truth = reference.answers.for_classes_and_texts(names, texts)
    answers, labels = claims_of_images(rule, test.embeddings), test.labels.numpy()
    return {"by": "answer_reference", **truth_measures(answers, truth, labels, shuffles)}


def claims_of_images(rule: AnswerRule, images: Float[Tensor, "n d"]) -> Float[np.ndarray, "n k"]:
    """Return what images answer to all queries of a rule: 1, 0, or NOT_SURE for neither."""
    return claimed(rule, rule.answers(images)).cpu().numpy()


def rule_of_texts(
    rule: AnswerRule,
    universe: TextTable,
    texts: Sequence[str],
    train: LabelledImages,
    knowledge: Float[np.ndarray, "c u"] | None,
) -> AnswerRule:
    """Fit an answer rule of the same kind with other texts as the dictionary.

    So models with different dictionaries are compared on the same questions.
    """
    if not isinstance(rule, LevelAnswers):  # of networks
        queries = universe.unit_matrix.take(universe.rows(texts))
        if isinstance(rule, MinMaxAnswers):
            return MinMaxAnswers(queries)
        images = UnitMatrix(train.embeddings, "images")
        return fit_threshold_rule(queries, universe.unit_matrix, images, train.labels)
    model = InformationPursuitClassifier(
        universe.texts,
        universe.embeddings,
        queries=texts,
        knowledge=knowledge,
        validation_fraction=0.0,
    )
    return model.fit(train.embeddings, train.labels.numpy()).pursuit_.rule


def shuffled_names(classes: int, seed: int, count: int = SHUFFLES) -> Shuffles:
    """Draw permutations of the classes."""
    draw = np.random.default_rng(seed)
    return [draw.permutation(classes) for _ in range(count)]


def truth_measures(
    answers: Float[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
    shuffles: Shuffles,
) -> dict[str, Any]:
    """Return the fields of `TruthOfAnswers`, and what chance gives for two of them."""
    by_chance = [truth_of_answers(answers, table[names], labels) for names in shuffles]
    chance = {
        f"shuffled_{name}": mean([getattr(each, name) for each in by_chance])
        for name in ("precision_of_yes", "balanced")
    }
    return {**truth_of_answers(answers, table, labels)._asdict(), **chance}


def quality_measures(
    asked: RollOut,
    reference: Float[np.ndarray, "c k"],
    labels: Int[np.ndarray, " n"],
    shuffles: Shuffles,
) -> dict[str, Any]:
    """Return what `quality_of_questions` measures, and what chance gives for two figures of it."""
    by_chance = [
        {
            "supported_yes": supported_yes(asked, reference[names]),
            "reader": reader_accuracy(asked, reference[names], labels),
        }
        for names in shuffles
    ]
    return {
        **quality_of_questions(asked, reference, labels),
        **{f"shuffled_{name}": mean([each[name] for each in by_chance]) for name in by_chance[0]},
    }


def mean(values: Sequence[float | None]) -> float | None:
    """Average the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.mean(known)) if known else None
