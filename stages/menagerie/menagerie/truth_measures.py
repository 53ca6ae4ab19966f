"""How true a rule's answers are, on single pictures and on pairs that differ in one thing."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float
from torch import Tensor

from infopursuit.answers.rules import AnswerRule
from infopursuit.evaluation.agreement import (
    NOT_SURE,
    Agreement,
    ClaimMeasures,
    agreement,
    claim_measures,
)
from menagerie.counterfactuals import SwitchedPairs
from menagerie.switch_measures import SwitchMeasures, switch_measures
from menagerie.truths import CLAIMS

# Figures that `dvc metrics` shows, by their place in what the stage writes.


class ClaimsOfRule(NamedTuple):
    """The queries of a rule whose truth is known.

    Attributes:
        queries: the q texts.
        places: which of the rule's k queries they are.
        rule: answers all k.
    """

    queries: list[str]
    places: list[int]
    rule: AnswerRule


class TruthMeasures(NamedTuple):
    """What is found: of each query, of all answers together, by switched attribute."""

    by_query: Agreement
    together: ClaimMeasures
    pairs: dict[str, SwitchMeasures]


def claims_of(rule: AnswerRule, queries: Sequence[str]) -> ClaimsOfRule:
    """Those of a rule's k queries that claim something."""
    places = [place for place, query in enumerate(queries) if query in CLAIMS]
    return ClaimsOfRule([queries[place] for place in places], places, rule)


def truth_measures(
    of: ClaimsOfRule,
    images: Float[Tensor, "n d"],
    truth: Bool[np.ndarray, "n q"],
    pairs: SwitchedPairs,
    pair_images: Float[Tensor, "p d"],
) -> TruthMeasures:
    """Measure answers to q claims.

    An answer that moves without crossing "not sure" stays the same: a soft 0.6 is as much a yes as
    a soft 0.9.

    Args:
        of: the claims.
        images: unit norm.
        truth: whether each claim is true of each image.
        pairs: switched pairs.
        pair_images: their embeddings, unit norm.
    """
    answers = of.rule.answers(images)[:, of.places].numpy()
    scores = of.rule.scores(pair_images)
    of_pairs = np.sign(of.rule.of_scores(scores)[:, of.places].numpy() - NOT_SURE)
    claims = [CLAIMS[query] for query in of.queries]
    return TruthMeasures(
        agreement(answers, truth),
        claim_measures(answers, truth),
        switch_measures(pairs, claims, scores[:, of.places].numpy(), of_pairs),
    )


def truth_metrics(dictionary: TruthMeasures, phrases: TruthMeasures) -> dict[str, Any]:
    """All figures of both: means over queries flat, the others nested."""
    found = {"dictionary": dictionary, "phrases": phrases}
    flat = {
        key: value for of, told in found.items() for key, value in told.by_query.metrics(of).items()
    }
    return {
        **flat,
        "answers": {of: told.together._asdict() for of, told in found.items()},
        "pairs": _plain(phrases.pairs),
        "dictionary_pairs": _plain(dictionary.pairs),
    }


def _plain(pairs: dict[str, SwitchMeasures]) -> dict[str, dict[str, Any]]:
    return {attribute: measures._asdict() for attribute, measures in pairs.items()}
