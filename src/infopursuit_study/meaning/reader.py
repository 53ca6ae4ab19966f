"""A reader who knows what people say of the classes, and nothing of how images answer.

The reader hears the questions and answers of an explanation and adds up evidence by naive Bayes: a
query that is true of a class gets a yes with probability 0.9, one that often is 0.5, any other 0.1.
"Not sure" says nothing. How often the reader names the right class is how far words alone lead.
"""

from __future__ import annotations

import numpy as np
from jaxtyping import Float, Int

from infopursuit.pursuit.rollout import RollOut

TRUE, OFTEN, OTHERWISE = 0.9, 0.5, 0.1
# Sums of evidence closer than this are a tie.
TIE = 1e-9


def reader_accuracy(
    asked: RollOut, judged: Float[np.ndarray, "c k"], labels: Int[np.ndarray, " n"]
) -> float:
    """Return how often the reader is right; of m classes that tie, each is 1 / m right.

    Args:
        asked: `model.roll_out(X, 10)`, for the first ten questions and answers.
        judged: of the classes and the k queries of the model: 1 true, 0.5 often, 0 or NaN
            otherwise.
        labels: the class of each image, 0..c-1.
    """
    order, answers = asked.order.cpu().numpy(), asked.answers.cpu().numpy()
    says_yes = np.where(judged == 1, TRUE, np.where(judged == 0.5, OFTEN, OTHERWISE)).T
    evidence = np.zeros((len(labels), len(judged)))
    for step in range(order.shape[1]):
        of_query = says_yes[order[:, step]]  # n, c
        answer = answers[:, step, None]
        evidence += np.where(answer == 1, np.log(of_query), 0)
        evidence += np.where(answer == 0, np.log(1 - of_query), 0)
    best = evidence >= evidence.max(axis=1, keepdims=True) - TIE
    return float((best[np.arange(len(labels)), labels] / best.sum(axis=1)).mean())
