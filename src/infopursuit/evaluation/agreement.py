"""How far answers agree with what is in the picture, where that is known.

An answer above 0.5 says yes, one below says no, and 0.5 is "not sure", which is no answer.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float

NOT_SURE = 0.5


class Agreement(NamedTuple):
    """Shares of n images in [0, 1] for each of q queries; NaN where there is nothing to count.

    Attributes:
        agreement: among the answered, where the answer is the truth.
        answered: where the answer is yes or no.
        yes: where the answer is yes.
        true: where yes is the truth.
        yes_of_true: yes among the answered images of which it is the truth.
        no_of_false: no among the answered others.
    """

    agreement: Float[np.ndarray, " q"]
    answered: Float[np.ndarray, " q"]
    yes: Float[np.ndarray, " q"]
    true: Float[np.ndarray, " q"]
    yes_of_true: Float[np.ndarray, " q"]
    no_of_false: Float[np.ndarray, " q"]

    @property
    def balanced(self) -> Float[np.ndarray, " q"]:
        """Mean of both kinds of images' shares: 0.5 for answers that know nothing, or NaN."""
        return (self.yes_of_true + self.no_of_false) / 2

    def metrics(self, prefix: str) -> dict[str, int | float]:
        """Means over the queries; without queries the number of them, 0, alone.

        Agreement is over the queries that any image answers. Balanced agreement is over those that
        are true of some answered images and false of others.
        """
        found: dict[str, int | float] = {f"{prefix}_queries": len(self.true)}
        if len(self.true):
            found[f"{prefix}_answered"] = float(self.answered.mean())
            found[f"{prefix}_share_of_yes"] = float(self.yes.mean())
            found[f"{prefix}_share_true"] = float(self.true.mean())
        for name, values in (("agreement", self.agreement), ("balanced_agreement", self.balanced)):
            if not np.isnan(values).all():
                found[f"{prefix}_{name}"] = float(np.nanmean(values))
        return found


def agreement(
    answers: Float[np.ndarray, "n q"] | Bool[np.ndarray, "n q"], truth: Bool[np.ndarray, "n q"]
) -> Agreement:
    """Compare the answers of n >= 1 images to each query with the truth.

    Args:
        answers: in [0, 1], or whether they are yes.
        truth: whether yes is right.
    """
    yes, no = answers > NOT_SURE, answers < NOT_SURE
    yes_of_true, no_of_false = yes & truth, no & ~truth
    answered = yes | no
    with np.errstate(invalid="ignore"):  # 0 / 0 where there is nothing to count
        return Agreement(
            agreement=(yes_of_true | no_of_false).sum(axis=0) / answered.sum(axis=0),
            answered=answered.mean(axis=0),
            yes=yes.mean(axis=0),
            true=truth.mean(axis=0),
            yes_of_true=yes_of_true.sum(axis=0) / (answered & truth).sum(axis=0),
            no_of_false=no_of_false.sum(axis=0) / (answered & ~truth).sum(axis=0),
        )


class ClaimMeasures(NamedTuple):
    """How true the answers to m claims are, counted together; None where nothing is to count.

    Attributes:
        claims: m.
        false: how many are answered, and not by the truth.
        not_sure: how many are not answered.
        answered: share that is answered.
        right: share of the answered that is answered by the truth.
        precision_of_yes: share of the yes that are true.
        recall_of_yes: share of the true claims that got a yes; "not sure" misses one.
        balanced: mean of the shares of right answers among the answered true and among the answered
            false claims; 0.5 for answers that know nothing.
    """

    claims: int
    false: int
    not_sure: int
    answered: float | None
    right: float | None
    precision_of_yes: float | None
    recall_of_yes: float | None
    balanced: float | None


def claim_measures(
    answers: Float[np.ndarray, "*m"], truth: Bool[np.ndarray, "*m"]
) -> ClaimMeasures:
    """Measure answers in [0, 1] to claims about images, of which any may be asked any number."""
    yes, no = answers > NOT_SURE, answers < NOT_SURE
    answered = yes | no
    true_yes, true_no = int((yes & truth).sum()), int((no & ~truth).sum())
    right, given = true_yes + true_no, int(answered.sum())
    of_true = _share(true_yes, int((answered & truth).sum()))
    of_false = _share(true_no, int((answered & ~truth).sum()))
    return ClaimMeasures(
        claims=truth.size,
        false=given - right,
        not_sure=truth.size - given,
        answered=_share(given, truth.size),
        right=_share(right, given),
        precision_of_yes=_share(true_yes, int(yes.sum())),
        recall_of_yes=_share(true_yes, int(truth.sum())),
        balanced=None if of_true is None or of_false is None else (of_true + of_false) / 2,
    )


def _share(part: int, of: int) -> float | None:
    return part / of if of else None
