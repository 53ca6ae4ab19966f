"""Models from knowledge alone: no image, no label, no fit.

The table says how true each text is of each class, and a person says how often answers are right.
That gives P(yes | class): with reliability r, r if the text is true and 1 - r if it is not. What is
not known of a class is the mean of the others, and tells nothing.

CLIP answers a text with yes for as many *unlabelled* images as the table says it is true of. So its
wrong yes are few where a text is true of few classes: of classes of which it is not true,
P(yes) = s (1 - r) / (1 - s), s being the share of yes.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Float

from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.directions import fit_score_map
from infopursuit.pursuit.answers.rules import AnswerRule, ColumnAnswers, ThresholdAnswers
from infopursuit.pursuit.answers.table import Counts
from infopursuit.pursuit.naive_bayes.fit import ASSUMED_CALIBRATION
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes, RedundantQuestions
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.knowledge_files import open_knowledge
from infopursuit.texts.text_table import TextTable
from infopursuit.texts.wording import related_texts

# How often an answer yes is right of what is true: of a person, and of CLIP.
OF_A_PERSON, OF_CLIP = 0.9, 0.6
# Nothing is certain.
SURELY_NOT = 1e-3
# The smallest share of classes of which a text is not true.
LEAST_FALSE = 0.05


class KnowledgeModel(NamedTuple):
    """What `from_knowledge` makes."""

    pursuit: Pursuit
    counts: Counts
    columns: TableColumns | None
    width: int


def known_rates(
    truth: Float[np.ndarray, "c k"],
    reliability: float,
    shares: Float[np.ndarray, " k"] | None = None,
    wrong_answers: int = 1,
) -> Float[np.ndarray, "c k"]:
    """Return P(yes | class), or of one question P(answer | class).

    Args:
        truth: of how many of a class each text is true, in [0, 1]; NaN if nothing is known.
        reliability: how probable the right answer is.
        shares: of all images that get a yes; None if wrong answers are as probable as wrong yes.
        wrong_answers: how many there are beside a right one, all as probable.
    """
    wrong: Any = (1 - reliability) / wrong_answers
    if shares is not None:
        wrong = shares * (1 - reliability) / np.maximum(1 - shares, LEAST_FALSE)
    rates = (truth * reliability + (1 - truth) * wrong).clip(SURELY_NOT, 1 - SURELY_NOT)
    known = ~np.isnan(rates)
    means = np.nansum(rates, axis=0) / np.maximum(known.sum(axis=0), 1)
    return np.where(known, rates, means)


def read_knowledge_model(
    knowledge: Any,
    reliability: float | None,
    texts: Sequence[str] | None,
    text_embeddings: Any,
    unlabelled: Any,
    strength: float,
) -> KnowledgeModel:
    """Return the model of a knowledge table, or of its file.

    Raises:
        InputError: a setting is out of its range, or the table says nothing of these texts.
    """
    by_clip = text_embeddings is not None
    if by_clip != (unlabelled is not None) or (by_clip and texts is None):
        raise InputError(
            "from_knowledge: texts, text_embeddings and unlabelled images belong together; "
            "expected all for CLIP to answer, or none of the last two for a person"
        )
    if reliability is None:
        reliability = OF_CLIP if by_clip else OF_A_PERSON
    if not 0.5 < reliability < 1:
        raise InputError(f"reliability is {reliability!r}; expected more than 0.5 and less than 1")
    if not strength > 0:
        raise InputError(f"strength is {strength!r}; expected more than 0")
    if isinstance(knowledge, str | Path):
        knowledge = open_knowledge(knowledge)
    if not isinstance(knowledge, KnowledgeTable):
        raise InputError(
            f"knowledge is {type(knowledge).__name__}; expected a KnowledgeTable or its file"
        )
    texts = list(knowledge.texts if texts is None else texts)
    values = knowledge.for_classes_and_texts(knowledge.classes, texts).astype(np.float64)
    # A text that is as true of all classes, or true of none that is known, tells nothing of them.
    known = np.where(np.isnan(values), -1, values).max(axis=0) > 0
    spread = np.nanmax(values, axis=0, initial=0) > np.nanmin(values, axis=0, initial=1)
    rows = np.flatnonzero(known & spread)
    if not len(rows):
        raise InputError(
            f"knowledge of {len(knowledge.classes)} classes tells none of {len(texts)} texts "
            "apart; expected texts that are true of some classes and not of others"
        )
    queries, truth = [texts[row] for row in rows], values[:, rows]
    if not by_clip:
        rates = known_rates(truth, reliability)
        return model_of_rates(knowledge.classes, queries, rates, strength=strength)
    squares = truth**2  # what is true of some pictures counts a quarter: a wrong yes is worse
    shares = np.nanmean(squares, axis=0)
    universe = TextTable.from_arrays(texts, text_embeddings).unit_matrix
    images = UnitMatrix(unlabelled, "unlabelled")
    if images.width != universe.width:
        raise InputError(
            f"unlabelled has {images.width} columns and text_embeddings {universe.width}; expected "
            "one CLIP for both"
        )
    score_map = fit_score_map(universe, None, len(knowledge.classes))
    directions = score_map.directions(universe.take(torch.from_numpy(rows)))
    scores = torch.cat([block @ directions.T for _, block in images.blocks()]).numpy()
    thresholds = [np.quantile(scores[:, j], 1 - share) for j, share in enumerate(shares)]
    rule = ThresholdAnswers(directions, torch.tensor(np.array(thresholds, np.float32)))
    rates = known_rates(squares, reliability, shares)
    return model_of_rates(knowledge.classes, queries, rates, rule, strength)


def model_of_rates(
    classes: Sequence[str],
    queries: Sequence[str],
    rates: Float[np.ndarray, "c k"],
    rule: AnswerRule | None = None,
    strength: float = 10.0,
) -> KnowledgeModel:
    """Return the model of P(yes | class), all classes equally probable.

    Args:
        classes: c names.
        queries: k questions.
        rates: P(yes | class).
        rule: how images answer; None if a person answers, in a table with a column for each query.
        strength: how many images the rates count for when labels come.
    """
    columns, width = None, getattr(rule, "directions", torch.zeros(0, 0)).shape[1]
    if rule is None:
        columns, width = TableColumns(tuple(queries), ((),) * len(queries)), len(queries)
        cuts = torch.full((width,), 0.5, dtype=torch.float64)
        rule = ColumnAnswers(torch.arange(width), cuts)
    answered = torch.full(rates.shape, float(strength), dtype=torch.float64)
    yes = torch.from_numpy(rates) * answered
    images = torch.full((len(classes),), float(strength), dtype=torch.float64)
    counts = Counts(yes, answered, images)
    table = counts.table()
    if columns is None:
        table = ASSUMED_CALIBRATION.of(table)
    pairs = torch.as_tensor(related_texts(list(queries))).long()
    redundant = RedundantQuestions(pairs, len(queries)) if len(pairs) else None
    pursuit = Pursuit(
        tuple(queries),
        tuple(classes),
        rule,
        InformationGain(table, redundant),
        NaiveBayes(table),
    )
    return KnowledgeModel(pursuit, counts, columns, width)
