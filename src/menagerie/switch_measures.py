"""Whether scores and answers follow an attribute that is switched, and nothing else.

Shown a pair of pictures that differ in one attribute, a model that sees answers differently. One
that answers by the class does not: it calls the zebra without stripes striped, for it is a zebra.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Real

from menagerie.counterfactuals import SwitchedPairs
from menagerie.scenes import ATTRIBUTE_NAMES
from menagerie.truths import Claim


class SwitchMeasures(NamedTuple):
    """What is found on the pairs of one attribute, or of all; None where no question applies.

    Attributes:
        pairs: how many there are.
        queries: how many questions name the attribute.
        order: share of (pair, question about the attribute) in which the picture of which the
            question is true scores higher; a tie counts one half.
        change: share of the same in which the answer moves the right way, towards yes with the
            truth.
        reversed: share in which it moves the wrong way; the rest does not move.
        steadiness: share of (pair, question about another attribute) in which the answer stays,
            among questions whose truth is the same in both pictures.
    """

    pairs: int
    queries: int
    order: float | None
    change: float | None
    reversed: float | None
    steadiness: float | None


def switch_measures(
    pairs: SwitchedPairs,
    claims: Sequence[Claim],
    scores: Real[np.ndarray, "n q"],
    answers: Real[np.ndarray, "n q"] | Bool[np.ndarray, "n q"],
) -> dict[str, SwitchMeasures]:
    """Order, change and steadiness, by attribute and (key `all`) as the mean over attributes.

    Args:
        pairs: p pairs, n = 2p pictures.
        claims: what each of q questions says of a picture.
        scores: of the questions, in the order of the pictures; higher is more yes.
        answers: booleans, or numbers that grow from no over not sure to yes, such as 0, 0.5, 1.
    """
    columns = [ATTRIBUTE_NAMES.index(claim.attribute) for claim in claims]
    holds = np.array([claim.holds for claim in claims], dtype=bool)
    true = pairs.truth[:, columns] == holds
    # +1 where the question becomes true with the attribute, -1 where false, 0 where it stays.
    turn = true[0::2].astype(int) - true[1::2].astype(int)
    score_rise = turn * np.sign(scores[0::2] - scores[1::2])
    moved = answers[0::2].astype(float) - answers[1::2].astype(float)
    answer_rise = turn * np.sign(moved)

    measures: dict[str, SwitchMeasures] = {}
    attributes = np.array(pairs.attributes)
    for attribute in dict.fromkeys(pairs.attributes):
        rows = attributes == attribute
        named = np.array([claim.attribute == attribute for claim in claims], dtype=bool)
        asked = rows[:, None] & named & (turn != 0)
        others = rows[:, None] & ~named & (turn == 0)
        measures[attribute] = SwitchMeasures(
            pairs=int(rows.sum()),
            queries=int(named.sum()),
            order=_mean((score_rise + 1) / 2, asked),
            change=_mean(answer_rise > 0, asked),
            reversed=_mean(answer_rise < 0, asked),
            steadiness=_mean(moved == 0, others),
        )
    return {**measures, "all": _overall(list(measures.values()))}


def _mean(
    values: Real[np.ndarray, "p q"] | Bool[np.ndarray, "p q"], where: Bool[np.ndarray, "p q"]
) -> float | None:
    return float(values[where].mean()) if where.any() else None


def _overall(measures: Sequence[SwitchMeasures]) -> SwitchMeasures:
    """The mean over the attributes to which a measure applies."""
    means: dict[str, float | None] = {}
    for name in ("order", "change", "reversed", "steadiness"):
        values = [value for each in measures if (value := getattr(each, name)) is not None]
        means[name] = sum(values) / len(values) if values else None
    return SwitchMeasures(
        pairs=sum(each.pairs for each in measures),
        queries=sum(each.queries for each in measures),
        **means,
    )
