"""How true a model's answers are by what people say of single images."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import Proportion, together
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.pursuit.answers.annotated import truth_of
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.texts.normalization import normalize


class TruthByPeople(NamedTuple):
    """How true the answers to one question are.

    Attributes:
        question: a query of the model.
        images: how many people answered yes or no.
        yes, no: the model's answers of either kind that people find right.
        auroc: share of pairs of images (people say yes of one, no of the other) that are ranked so.
        auroc_within: the same of pairs of one class; a scorer that only knows the class has 0.5.
    """

    question: str
    images: int
    yes: Proportion
    no: Proportion
    auroc: float | None
    auroc_within: float | None


def truth_by_people(
    model: PursuitClassifier, X: Any, y: Any, annotations: Mapping[str, Float[np.ndarray, " n"]]
) -> list[TruthByPeople]:
    """Compare a model's answers with those of people.

    Args:
        model: whose rule has thresholds: not `minmax`, and not of a table.
        X: (n, d) embeddings, of images that the model was not fitted on.
        y: (n,) their classes.
        annotations: of texts, what people say of each image: 1 yes, 0 no, NaN nothing.

    Returns:
        For each question of the model that people answered for some image.
    """
    rule = model.pursuit_.rule
    if not isinstance(rule, ThresholdAnswers):
        raise InputError("annotations measure answers by thresholds; this model has no thresholds")
    scores = rule.scores(model._rows(X).tensor().to(model.pursuit_.device)).cpu().numpy()
    lower = rule.thresholds.cpu().numpy()
    upper = lower if rule.upper is None else rule.upper.cpu().numpy()
    groups = np.unique(np.asarray(y), return_inverse=True)[1]
    of_text = {normalize(text): values for text, values in annotations.items()}
    measured = []
    for place, query in enumerate(model.queries_):
        said = np.asarray(of_text.get(normalize(query), np.nan), dtype=np.float64)
        known = np.flatnonzero(~np.isnan(said))
        if said.ndim != 1 or not len(known):
            continue
        facts = truth_of(
            scores[known, place],
            float(lower[place]),
            float(upper[place]),
            said[known],
            groups[known],
        )
        yes, no = (Proportion(facts[f"{word}_right"], facts[word]) for word in ("yes", "no"))
        measured.append(
            TruthByPeople(query, len(known), yes, no, facts["auroc"], facts["auroc_within"])
        )
    return measured


def in_figures(measured: list[TruthByPeople]) -> dict[str, dict[str, Any]]:
    """Return the same by question, as JSON has it."""
    return {
        each.question: {
            "images": each.images,
            "yes": list(each.yes),
            "no": list(each.no),
            "auroc": each.auroc,
            "auroc_within": each.auroc_within,
        }
        for each in measured
    }


def in_lines(measured: list[TruthByPeople]) -> list[str]:
    """Say how true the answers are: of all questions together, then of each."""
    if not measured:
        return []
    yes, no = together(each.yes for each in measured), together(each.no for each in measured)
    lines = [f"people on test images, {len(measured)} questions: yes right {yes}, no {no}"]
    for each in measured:
        within = each.auroc_within
        end = "" if within is None else f"; AUROC within classes {within:.2f}"
        lines.append(f"  {each.question}: yes right {each.yes}, no {each.no}{end}")
    return lines
