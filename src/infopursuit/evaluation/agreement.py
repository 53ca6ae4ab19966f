"""How far answers agree with what is in the picture, where that is known."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Bool, Float


class Agreement(NamedTuple):
    """Shares of n images in [0, 1] for each of q queries.

    Attributes:
        agreement: where the answer is the truth.
        yes: where the answer is yes.
        true: where yes is the truth.
        yes_of_true: yes among the images of which it is the truth; NaN where there are none.
        no_of_false: no among the others; NaN where there are none.
    """

    agreement: Float[np.ndarray, " q"]
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

        Balanced agreement is over the queries that are true of some images and false of others.
        """
        found: dict[str, int | float] = {f"{prefix}_queries": len(self.true)}
        if len(self.true):
            found[f"{prefix}_agreement"] = float(self.agreement.mean())
            found[f"{prefix}_share_of_yes"] = float(self.yes.mean())
            found[f"{prefix}_share_true"] = float(self.true.mean())
        if not np.isnan(self.balanced).all():
            found[f"{prefix}_balanced_agreement"] = float(np.nanmean(self.balanced))
        return found


def agreement(answers: Bool[np.ndarray, "n q"], truth: Bool[np.ndarray, "n q"]) -> Agreement:
    """Compare answers, yes or no, with the truth; n is at least 1."""
    true, false = truth.sum(axis=0), (~truth).sum(axis=0)
    with np.errstate(invalid="ignore"):  # 0 / 0 where all images are of one kind
        yes_of_true = (answers & truth).sum(axis=0) / true
        no_of_false = (~answers & ~truth).sum(axis=0) / false
    return Agreement(
        (answers == truth).mean(axis=0),
        answers.mean(axis=0),
        truth.mean(axis=0),
        yes_of_true,
        no_of_false,
    )
