"""All that is measured of the meaning of one run, by whatever is said of its classes."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.dictionary.universe import Universe
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.meaning.measures import (
    FIRST,
    Shuffles,
    explained_measures,
    hard_answers,
    sense_measures,
    shuffled_names,
    truth_measures,
)
from infopursuit.meaning.text_rule import rule_of_texts
from infopursuit.meaning.worst import FalseAnswer, denied, worst_answers
from infopursuit.naive_bayes.model import NaiveBayes
from infopursuit.queries.knowledge import KnowledgeTable
from infopursuit.queries.normalization import normalize


class Judgements(NamedTuple):
    """What is said of the classes of a data set; tables without texts say nothing.

    Attributes:
        judge: of the queries of the model.
        strict: of texts whose truth the class tells.
        knowledge: T, which models may be fitted with.
    """

    judge: KnowledgeTable
    strict: KnowledgeTable
    knowledge: KnowledgeTable


class RunMeaning(NamedTuple):
    """The figures of a run, and its worst answers.

    Attributes:
        figures: `truth`, `sense` and `explained`, each None where it cannot be measured. The first
            two name under `by` who said what is true: `strict` or `judge`, or `knowledge`, which is
            not independent of a model that was fitted with it.
        worst: the worst first.
    """

    figures: dict[str, Any]
    worst: list[FalseAnswer]


def measure_run(
    model: PursuitClassifier,
    train: LabelledImages,
    test: LabelledImages,
    universe: Universe,
    said: Judgements,
    stop: StoppingRule,
    seed: int,
) -> RunMeaning:
    """Measure a trained model on test images.

    Args:
        model: of the pipeline; its provenance tells its settings.
        train: the images that it was trained on.
        test: images whose labels number the classes of the model.
        universe: the texts with their embeddings.
        said: of the classes.
        stop: when the questions of an explanation end.
        seed: of the shuffled names.
    """
    pursuit = model.pursuit_
    labels, images = test.labels.numpy(), test.embeddings.to(pursuit.device)
    known = said.knowledge.for_classes_and_texts(pursuit.class_names, pursuit.queries)
    judged = said.judge.for_classes_and_texts(pursuit.class_names, pursuit.queries)
    strict = said.strict.for_classes_and_texts(pursuit.class_names, pursuit.queries)
    shuffles = shuffled_names(len(pursuit.class_names), seed)
    # Queries between texts are named after the nearest text, and ask something else.
    in_words = model.provenance_["settings"].get("quantize_queries", True)
    figures: dict[str, Any] = {"truth": None, "sense": None, "explained": None}
    if said.strict.texts:
        figures["truth"] = strict_truth(model, train, test, universe, said, shuffles)
    elif in_words and np.isin(known, (0.0, 1.0)).any():
        of_answers = truth_measures(coded(pursuit.answers(images)), known, labels, shuffles)
        figures["truth"] = {"by": "knowledge", **of_answers}
    if not in_words:
        return RunMeaning(figures, [])
    asked = hard_answers(pursuit.roll_out(images, min(FIRST, len(pursuit.queries))))
    by, table = ("judge", judged) if said.judge.texts else ("knowledge", known)
    if not np.isnan(table).all():
        figures["sense"] = {"by": by, **sense_measures(asked, table, labels, shuffles)}
    if isinstance(pursuit.classifier, NaiveBayes) and not np.isnan(known).all():
        rates = pursuit.classifier.table
        figures["explained"] = explained_measures(asked, rates, known, shuffles)
    lengths = stop.steps(asked.posteriors)[0].cpu().numpy()
    truths = {"strict": strict[labels], "knowledge": denied(known)[labels]}
    return RunMeaning(figures, worst_answers(asked, lengths, truths, labels))


def strict_truth(
    model: PursuitClassifier,
    train: LabelledImages,
    test: LabelledImages,
    universe: Universe,
    said: Judgements,
    shuffles: Shuffles,
) -> dict[str, Any]:
    """How true the answers to the texts of the strict list are that the universe has."""
    listed = {normalize(text) for text in said.strict.texts}
    texts = [text for text in universe.texts if normalize(text) in listed]
    names = model.pursuit_.class_names
    settings = model.provenance_["settings"]
    table = None
    if settings.get("knowledge", False):
        table = said.knowledge.for_classes_and_texts(names, universe.texts)
    rule = rule_of_texts(model.pursuit_.rule, universe, texts, train, table)
    truth = said.strict.for_classes_and_texts(names, texts)
    answers = coded(rule.answers(test.embeddings))
    return {"by": "strict", **truth_measures(answers, truth, test.labels.numpy(), shuffles)}


def coded(answers: Float[torch.Tensor, "n q"]) -> np.ndarray:
    """Answers in [0, 1] as -1 for no, 0 for not sure, 1 for yes."""
    return (answers - 0.5).sign().to(torch.int8).cpu().numpy()
