"""Of what answers tell of the class, in nats, what the words of their questions explain.

With T the knowledge of a query, the information of its answer A about the class Y has two parts:

    I(A; Y) = I(A; T(Y)) + I(A; Y | T(Y))

The first is explained: the answer separates classes of which the words are true from those of which
they are not. The second is unexplained: it separates classes of which the words say the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from jaxtyping import Float

from infopursuit.pursuit.answers.table import AnswerTable

# Nats that an answer may seem to tell by rounding alone.
ROUNDING = 1e-9


class Information(NamedTuple):
    """What the answer to each of k queries tells before anything is asked, in nats.

    Attributes:
        of_words: I(A; T(Y)), of what the words say of the class.
        of_class: I(A; Y), of the class.
        words: H(T(Y)), what the words themselves say of the class: no answer tells more of them.
    """

    of_words: Float[np.ndarray, " k"]
    of_class: Float[np.ndarray, " k"]
    words: Float[np.ndarray, " k"]

    @property
    def explained(self) -> Float[np.ndarray, " k"]:
        """I(A; T(Y)) / I(A; Y), the share that the words explain; 1 for an answer without any."""
        some = self.of_class > ROUNDING
        return np.where(some, self.of_words / np.where(some, self.of_class, 1), 1).clip(max=1)

    @property
    def unexplained(self) -> Float[np.ndarray, " k"]:
        """I(A; Y | T(Y)), of the class beyond what the words say."""
        return self.of_class - self.of_words


def information_of_words(table: AnswerTable, knowledge: Float[np.ndarray, "c k"]) -> Information:
    """Return what the answer to each query tells, of words and of the class.

    Args:
        table: how classes answer; `model.pursuit_.classifier.table` of naive Bayes.
        knowledge: how true each query is of each class; NaN, not known, is a value like any other.
    """
    likelihood = table.log_likelihood.double().exp().cpu().numpy()  # v, k, c
    prior = table.log_prior.double().exp().cpu().numpy()
    likelihood, prior = likelihood / likelihood.sum(axis=0), prior / prior.sum()
    values = np.nan_to_num(knowledge, nan=-1.0).T  # k, c
    answer_entropy = _entropy(likelihood @ prior)
    given_words, words = np.zeros(len(values)), np.zeros(len(values))
    for value in np.unique(values):
        weights = prior * (values == value)  # k, c
        share = weights.sum(axis=1)
        words -= share * np.log(np.where(share > 0, share, 1))
        jointly = (likelihood * weights).sum(axis=2)  # v, k
        conditional = jointly / np.where(share > 0, share, 1)
        given_words += share * _entropy(conditional)
    given_class = _entropy(likelihood) @ prior
    of_words, of_class = answer_entropy - given_words, answer_entropy - given_class
    return Information(of_words.clip(min=0), of_class.clip(min=0), words)


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    logs = np.log(np.where(probabilities > 0, probabilities, 1))
    return -(probabilities * logs).sum(axis=0)
