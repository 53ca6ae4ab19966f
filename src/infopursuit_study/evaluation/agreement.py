"""How far answers agree with the truth, by one count for every source of truth.

What an answer claims is what is printed of it (`claimed`): a yes, a no, or neither of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor

from infopursuit.pursuit.answers.rules import NOT_SURE, AnswerRule
from infopursuit.pursuit.gaussian.levels import LevelAnswers


def claimed(
    rule: AnswerRule, answers: Float[Tensor, "n t"], queries: Int[Tensor, "n t"] | None = None
) -> Float[Tensor, "n t"]:
    """Return what answers claim in words: 1 for any yes, 0 for any no, NOT_SURE for neither.

    Args:
        rule: by which images answer.
        answers: of n images.
        queries: which queries they answer; None for all of the rule, in its order.
    """
    no = answers < NOT_SURE
    if isinstance(rule, LevelAnswers):  # between no and yes it says how many have less of it
        cuts = rule.cuts[:, 0].to(answers.device)
        no = answers <= (cuts if queries is None else cuts[queries])
    said = torch.full_like(answers, NOT_SURE).masked_fill(no, 0.0)
    return said.masked_fill(answers > NOT_SURE, 1.0)


class AnswerCounts(NamedTuple):
    """Answers by what is true and what they say: an integer for each of q queries."""

    true_yes: Int[np.ndarray, " q"]
    true_no: Int[np.ndarray, " q"]
    true_unsure: Int[np.ndarray, " q"]
    false_yes: Int[np.ndarray, " q"]
    false_no: Int[np.ndarray, " q"]
    false_unsure: Int[np.ndarray, " q"]

    @property
    def together(self) -> AnswerCounts:
        """Sums over all queries, as if they were one."""
        return AnswerCounts(*(np.atleast_1d(each.sum()) for each in self))

    @property
    def of_true(self) -> Int[np.ndarray, " q"]:
        """How often yes is the truth."""
        return self.true_yes + self.true_no + self.true_unsure

    @property
    def all(self) -> Int[np.ndarray, " q"]:
        """How many answers there are, those that claim nothing included."""
        return self.of_true + self.false_yes + self.false_no + self.false_unsure

    @property
    def shares(self) -> dict[str, Float[np.ndarray, " q"]]:
        """Shares in [0, 1] of each query by name; NaN if there is nothing to count.

        `answered` with yes or no, and of these `right`; `yes`; `true`, of which yes is the truth;
        `yes_of_true` and `no_of_false` among yes and no, and `balanced`, the mean of both, which is
        0.5 for answers that know nothing; `precision_of_yes`, and `recall_of_yes`, which an
        answer that claims nothing lowers.
        """
        yes, no = self.true_yes + self.false_yes, self.true_no + self.false_no
        yes_of_true = _share(self.true_yes, self.true_yes + self.true_no)
        no_of_false = _share(self.false_no, self.false_yes + self.false_no)
        return {
            "right": _share(self.true_yes + self.false_no, yes + no),
            "answered": _share(yes + no, self.all),
            "yes": _share(yes, self.all),
            "true": _share(self.of_true, self.all),
            "yes_of_true": yes_of_true,
            "no_of_false": no_of_false,
            "balanced": (yes_of_true + no_of_false) / 2,
            "precision_of_yes": _share(self.true_yes, yes),
            "recall_of_yes": _share(self.true_yes, self.of_true),
        }


def count_answers(
    answers: Float[np.ndarray, "n q"] | Bool[np.ndarray, "n q"],
    truth: Bool[np.ndarray, "n q"],
    known: Bool[np.ndarray, "n q"] | None = None,
) -> AnswerCounts:
    """Count the answers of n images to each of q queries by the truth."""
    known = np.ones(truth.shape, dtype=bool) if known is None else known
    kinds = (answers > NOT_SURE, answers < NOT_SURE, answers == NOT_SURE)
    return AnswerCounts(
        *((known & fact & each).sum(axis=0) for fact in (truth, ~truth) for each in kinds)
    )


# The shares of each query that are written to files, and their names there.
QUERY_SHARES = {
    "agreement": "right",
    "answered": "answered",
    "yes": "yes",
    "true": "true",
    "yes_of_true": "yes_of_true",
    "no_of_false": "no_of_false",
}


def mean_shares(counts: AnswerCounts, prefix: str) -> dict[str, int | float]:
    """Return means over the queries; without queries only their number, 0.

    Agreement is over the queries that any image answers. Balanced agreement is over those that
    are true of some answered images and false of others.
    """
    shares = counts.shares
    means: dict[str, int | float] = {f"{prefix}_queries": len(counts.all)}
    if len(counts.all):
        means[f"{prefix}_answered"] = float(shares["answered"].mean())
        means[f"{prefix}_share_of_yes"] = float(shares["yes"].mean())
        means[f"{prefix}_share_true"] = float(shares["true"].mean())
    for name, of in (("agreement", "right"), ("balanced_agreement", "balanced")):
        if not np.isnan(shares[of]).all():
            means[f"{prefix}_{name}"] = float(np.nanmean(shares[of]))
    return means


def claim_measures(counts: AnswerCounts) -> dict[str, Any]:
    """Return how true all answers together are; a share without anything to count is None.

    `claims` is how many there are, `false` how many are answered wrongly, `not_sure` how many are
    not answered.
    """
    whole = counts.together
    names = ("answered", "right", "precision_of_yes", "recall_of_yes", "balanced")
    shares = {name: float(whole.shares[name][0]) for name in names}
    return {
        "claims": int(whole.all[0]),
        "false": int((whole.true_no + whole.false_yes)[0]),
        "not_sure": int((whole.true_unsure + whole.false_unsure)[0]),
        **{name: None if np.isnan(share) else share for name, share in shares.items()},
    }


def _share(part: Int[np.ndarray, " q"], whole: Int[np.ndarray, " q"]) -> Float[np.ndarray, " q"]:
    return np.divide(part, whole, out=np.full(len(whole), np.nan), where=whole > 0)
