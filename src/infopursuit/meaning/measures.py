"""All that is measured of a model against judgements, each figure beside what chance gives.

Chance is the same figure with the names of the classes shuffled among the rows of the judgement.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from jaxtyping import Float, Int

from infopursuit.answers.table import AnswerTable
from infopursuit.evaluation.agreement import NOT_SURE
from infopursuit.meaning.explained import explained_share, most_explained
from infopursuit.meaning.questions import plausible_questions, supported_yes
from infopursuit.meaning.reader import reader_accuracy
from infopursuit.meaning.truth import truth_of_answers
from infopursuit.pursuit.rollout import RollOut

# An explanation is looked at for so many questions; names are shuffled so often.
FIRST, SHUFFLES = 10, 20

Figures = dict[str, Any]
Shuffles = Sequence[Int[np.ndarray, " c"]]


def shuffled_names(classes: int, seed: int, count: int = SHUFFLES) -> Shuffles:
    """Permutations of the classes."""
    draw = np.random.default_rng(seed)
    return [draw.permutation(classes) for _ in range(count)]


def hard_answers(asked: RollOut) -> RollOut:
    """A roll-out whose soft answers are yes above 0.5 and no below."""
    return asked._replace(answers=((asked.answers - NOT_SURE).sign() + 1) / 2)


def truth_measures(
    answers: Int[np.ndarray, "n q"],
    table: Float[np.ndarray, "c q"],
    labels: Int[np.ndarray, " n"],
    shuffles: Shuffles,
) -> Figures:
    """The fields of `TruthOfAnswers`; of precision of yes and balanced agreement chance, too.

    Args:
        answers: -1 no, 0 not sure, 1 yes.
        table: 1 true, 0 not true, anything else where the class does not tell.
        labels: the class of each image, 0..c-1.
        shuffles: permutations of the classes.
    """
    by_chance = [truth_of_answers(answers, table[names], labels) for names in shuffles]
    chance = {
        f"shuffled_{name}": mean([getattr(each, name) for each in by_chance])
        for name in ("precision_of_yes", "balanced")
    }
    return {**truth_of_answers(answers, table, labels)._asdict(), **chance}


def sense_measures(
    asked: RollOut,
    judged: Float[np.ndarray, "c k"],
    labels: Int[np.ndarray, " n"],
    shuffles: Shuffles,
) -> Figures:
    """Whether the questions make sense; shares in [0, 1].

    `plausible` and `supported_yes` are those of `questions`, `reader` how often he is right, and
    `accuracy` how often the model is, after the same questions. `yes` and `not_sure` are shares of
    the answers.

    Args:
        asked: the first questions and answers, hard.
        judged: 1 true, 0.5 often, 0 or NaN otherwise; of the k queries.
        labels: as above.
        shuffles: as above.
    """

    def shares(judged: np.ndarray) -> Figures:
        return {
            "supported_yes": supported_yes(asked, judged),
            "reader": reader_accuracy(asked, judged, labels),
        }

    by_chance = [shares(judged[names]) for names in shuffles]
    predicted = asked.posteriors[:, -1].argmax(dim=1).cpu().numpy()
    first = asked.answers.cpu().numpy()
    return {
        "questions": asked.order.shape[1],
        "plausible": plausible_questions(asked, judged),
        **shares(judged),
        **{f"shuffled_{name}": mean([each[name] for each in by_chance]) for name in by_chance[0]},
        "accuracy": float((predicted == labels).mean()),
        "yes": float((first == 1).mean()),
        "not_sure": float((first == NOT_SURE).mean()),
    }


def explained_measures(
    asked: RollOut, table: AnswerTable, known: Float[np.ndarray, "c k"], shuffles: Shuffles
) -> Figures:
    """The explained share of the information, what it could be at most, and chance.

    Args:
        asked: the first questions.
        table: how classes answer, of naive Bayes.
        known: 1 true, 0.5 sometimes, 0 not true, NaN not known; of the k queries.
        shuffles: as above.
    """
    by_chance = [explained_share(asked, table, known[names]) for names in shuffles]
    return {
        "explained": explained_share(asked, table, known),
        "at_most": most_explained(asked, table, known),
        "shuffled_explained": mean(by_chance),
    }


def mean(values: Sequence[float | None]) -> float | None:
    """Of the values that there are."""
    there = [value for value in values if value is not None]
    return float(np.mean(there)) if there else None
