"""What answers tell of the class, in nats; of that, what the words of their questions explain.

With answers that are independent given the class, the gain of query i after a history S is

    I(Y; A_i | S) = H(sum_y P(y | S) P(a_i | y)) - sum_y P(y | S) H(P(a_i | y))

and the query of Information Pursuit, eq. (ip), is the one with the largest gain.

With T the knowledge of a query, the information of its answer A about the class Y has two parts:

    I(A; Y) = I(A; T(Y)) + I(A; Y | T(Y))

The first is explained: the answer separates classes of which the words are true from those of which
they are not. The second is leakage: it separates classes of which the words say the same.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.pursuit.answers.table import AnswerTable

# Nats that an answer may seem to tell by rounding alone.
ROUNDING = 1e-9


def entropy(probabilities: Float[Tensor, "v k c"]) -> Float[Tensor, "k c"]:
    """Return the entropy over the first axis, in nats; zeros count as zero."""
    return torch.special.entr(probabilities).sum(dim=0)


def binary_entropy(probability: Float[Tensor, "*shape"]) -> Float[Tensor, "*shape"]:
    """Return the entropy of yes and no, in nats; 0 at 0 and 1."""
    no = 1 - probability
    yes = _times_log(probability, out=torch.empty_like(probability))
    return yes.add_(_times_log(no, out=torch.empty_like(no))).neg_()


def information_gain(
    posterior: Float[Tensor, "b c"],
    likelihood: Float[Tensor, "v k c"],
    answer_entropy: Float[Tensor, "k c"],
) -> Float[Tensor, "b k"]:
    """Return what each query's answer would tell of the class, given the posterior so far.

    Args:
        posterior: over the classes, given the history.
        likelihood: P(answer | class); over the v answers of a query they sum to one.
        answer_entropy: its entropy over the answers, computed once.
    """
    # In place: a new array for each term would take longer to get than the term to compute.
    gain = (posterior @ answer_entropy.T).neg_()
    left = torch.ones_like(gain)
    expected, logs = torch.empty_like(gain), torch.empty_like(gain)
    for table in likelihood[1:]:
        torch.matmul(posterior, table.T, out=expected)
        left -= expected
        gain -= _times_log(expected, out=logs)
    # The probability of the first answer is what the others leave.
    gain -= _times_log(left.clamp_min_(0), out=logs)
    return gain


def _times_log(
    share: Float[Tensor, "*shape"], out: Float[Tensor, "*shape"]
) -> Float[Tensor, "*shape"]:
    """Compute p log p, 0 for 0; over twice as fast as `torch.special.entr`."""
    torch.clamp_min(share, torch.finfo(share.dtype).tiny, out=out)
    return out.log_().mul_(share)


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
    def leakage(self) -> Float[np.ndarray, " k"]:
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
        given = jointly / np.where(share > 0, share, 1)
        given_words += share * _entropy(given)
    given_class = _entropy(likelihood) @ prior
    of_words, of_class = answer_entropy - given_words, answer_entropy - given_class
    return Information(of_words.clip(min=0), of_class.clip(min=0), words)


def _entropy(probabilities: np.ndarray) -> np.ndarray:
    """Return the entropy over the first axis, in nats; zeros count as zero."""
    logs = np.log(np.where(probabilities > 0, probabilities, 1))
    return -(probabilities * logs).sum(axis=0)
