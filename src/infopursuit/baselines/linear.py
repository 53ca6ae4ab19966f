"""A logistic regression on the embeddings, the penalty chosen on held-out images."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from jaxtyping import Float, Int
from sklearn.linear_model import LogisticRegression
from torch import Tensor

from infopursuit.baselines.baseline import threads_for
from infopursuit.baselines.logistic import fit_logistic
from infopursuit.datasets.labelled_images import LabelledImages

# Inverse strengths of the penalty. Coordinates of unit vectors are small, so weights are large.
STRENGTHS = (1.0, 10.0, 100.0, 1000.0)
ITERATIONS = 2000
WEIGHTS = ("coef_", "intercept_")


class LinearProbe:
    """A logistic regression on the embeddings.

    Args:
        strengths: inverse penalties to choose from; of equally good ones the smallest is taken.

    Attributes:
        strength_: the one that was chosen.
        held_out_accuracy_: the accuracy it was chosen by, in [0, 1].
    """

    def __init__(self, strengths: Sequence[float] = STRENGTHS) -> None:
        self.strengths = tuple(strengths)

    def fit(self, train: LabelledImages, held_out: LabelledImages) -> LinearProbe:
        """Fit on `train` with each penalty, choose by `held_out`, fit on both.

        Each fit starts from the weights of the one before, with a stronger penalty, and needs
        fewer steps than from zero. L-BFGS is the solver at every size: Newton's method
        (`newton-cholesky`) is at best as fast, and far slower for many columns or classes.
        """
        images, labels = train.embeddings.numpy(), train.labels.numpy()
        known = held_out.embeddings.numpy(), held_out.labels.numpy()
        model = LogisticRegression(max_iter=ITERATIONS, warm_start=True)
        self.held_out_accuracy_, best = -1.0, {}
        with threads_for(images.size * len(train.class_names)):
            for strength in sorted(self.strengths):
                fit_logistic(model.set_params(C=strength), images, labels)
                accuracy = float(np.equal(model.predict(known[0]), known[1]).mean())
                if accuracy > self.held_out_accuracy_:
                    self.strength_, self.held_out_accuracy_ = strength, accuracy
                    best = {name: getattr(model, name).copy() for name in WEIGHTS}
            vars(model).update(best)
            model.set_params(C=self.strength_)
            fit_logistic(
                model, np.concatenate([images, known[0]]), np.concatenate([labels, known[1]])
            )
        self.model_ = model
        return self

    def predict_proba(self, embeddings: Float[Tensor, "n d"]) -> Float[np.ndarray, "n c"]:
        """Probabilities of the classes that occur in training, in the order of their labels."""
        return np.asarray(self.model_.predict_proba(embeddings.numpy()))

    def predict(self, embeddings: Float[Tensor, "n d"]) -> Int[np.ndarray, " n"]:
        """The most probable label of each image."""
        return np.asarray(self.model_.predict(embeddings.numpy()))
