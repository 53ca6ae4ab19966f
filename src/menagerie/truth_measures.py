"""How true a rule's answers are on the pictures of the embedded world."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.texts.knowledge_tables import read_knowledge
from infopursuit.texts.text_table import TextTable
from infopursuit_study.evaluation.agreement import (
    QUERY_SHARES,
    AnswerCounts,
    claim_measures,
    count_answers,
    mean_shares,
)
from infopursuit_study.meaning.measures import claims_of_images, rule_of_texts
from menagerie.truths import CLAIMS

QUERY_COLUMNS = ("of", "query", "attribute", "holds", *QUERY_SHARES)


class ClaimsOfRule(NamedTuple):
    """The q queries of a rule whose truth is known, and which of its k queries they are."""

    queries: list[str]
    places: list[int]
    rule: AnswerRule


def claims_of(rule: AnswerRule, queries: Sequence[str]) -> ClaimsOfRule:
    """Find those of a rule's k queries that claim something."""
    places = [place for place, query in enumerate(queries) if query in CLAIMS]
    return ClaimsOfRule([queries[place] for place in places], places, rule)


def rule_of_all_phrases(
    rule: AnswerRule, train: LabelledImages, path: Path, knowledge: Path | None
) -> tuple[list[str], AnswerRule]:
    """Return all phrases of the universe that name an attribute, with the rule of a run for them.

    Args:
        rule: of the run.
        train: images to fit thresholds on.
        path: the universe.
        knowledge: the knowledge table that the run was fitted with, if any.

    Raises:
        InputError: the universe has no such phrase.
    """
    universe = TextTable.from_parquet(path)
    texts = [text for text in universe.texts if text in CLAIMS]
    if not texts:
        raise InputError(
            f"{path}: no text names an attribute of a picture; expected some of "
            f"{', '.join(list(CLAIMS)[:3])}, ..., or run.truth: []"
        )
    table = None
    if knowledge is not None:
        known = read_knowledge(knowledge)
        table = known.for_classes_and_texts(train.class_names, universe.texts)
    return texts, rule_of_texts(rule, universe, texts, train, table)


def count_claims(
    of: ClaimsOfRule, images: Float[Tensor, "n d"], truth: Bool[np.ndarray, "n q"]
) -> AnswerCounts:
    """Count the answers to q claims by whether each claim is true of each image, unit norm."""
    device = next(iter(of.rule.tensors().values())).device
    return count_answers(claims_of_images(of.rule, images.to(device))[:, of.places], truth)


def query_rows(
    named: Mapping[str, ClaimsOfRule], counted: Mapping[str, AnswerCounts]
) -> list[tuple[Any, ...]]:
    """Return a row of `QUERY_COLUMNS` for each query of each rule, by the name of the rule."""
    return [
        (of, query, *CLAIMS[query], *shares)
        for of, claims in named.items()
        for query, *shares in zip(
            claims.queries,
            *(counted[of].shares[share] for share in QUERY_SHARES.values()),
            strict=True,
        )
    ]


def truth_metrics(counted: Mapping[str, AnswerCounts]) -> dict[str, Any]:
    """Return all figures by the name of the rule: means over queries flat, the others nested."""
    means = {
        key: value for of, each in counted.items() for key, value in mean_shares(each, of).items()
    }
    return {**means, "answers": {of: claim_measures(each) for of, each in counted.items()}}
