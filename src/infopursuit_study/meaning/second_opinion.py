"""What a second opinion wins, and whether it looks at the picture.

Whether it looks is tried with a grey picture, and with another one, in the picture's place.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import Proportion
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.queries.language_models import encoded
from infopursuit.texts.annotations import Annotations
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.normalization import normalize

GRAY = (128, 128, 128)


class UseOfPictures(NamedTuple):
    """How many answers yes stay without the picture.

    Attributes:
        blank: with a grey image of the same size in its place.
        other: with another of the pictures in its place; some of these may well be true.
        chance: how many of all answers are yes; `other` is near it if the pictures are looked at.
    """

    blank: Proportion
    other: Proportion
    chance: Proportion

    def __str__(self) -> str:
        """Return it in one line."""
        return (
            f"of the answers yes stay {self.blank} with a blank image, {self.other} with another "
            f"image; {self.chance} of all answers are yes"
        )


def use_of_pictures(
    opinion: Any, model: PursuitClassifier, pictures: Sequence[Any], seed: int = 0
) -> UseOfPictures:
    """Ask every question of a model about pictures, then of blank and of other ones.

    Args:
        opinion: the `SecondOpinion` that is measured.
        model: whose questions are asked.
        pictures: two or more different ones.
        seed: of which picture takes the place of which.
    """
    shown = [encoded(each) for each in pictures]
    if len(set(shown)) < 2:
        raise InputError("the control needs two different pictures or more; expected more of them")
    blank = [encoded(Image.new("RGB", to_rgb(each).size, GRAY)) for each in pictures]
    order = np.random.default_rng(seed).permutation(len(shown))
    other = [b""] * len(shown)
    for place, row in enumerate(order):
        other[row] = shown[order[(place + 1) % len(shown)]]

    def yes(given: Sequence[bytes]) -> np.ndarray:
        asked = [(each, text) for each in given for text in model.queries_]
        return np.array([each.answer > NOT_SURE for each in opinion.ask(asked)])

    said = yes(shown)
    given = int(said.sum())
    stays = [Proportion(int(yes(each)[said].sum()), given) for each in (blank, other)]
    return UseOfPictures(stays[0], stays[1], Proportion(given, len(said)))


def truth_of_images(
    said: KnowledgeTable, people: Annotations, images: LabelledImages, pursuit: Pursuit
) -> Float[np.ndarray, "n k"]:
    """Return what is true of n images, of k queries: 1 or 0, NaN if that is not known.

    Args:
        said: of the classes.
        people: what they say of single images, which counts before the class.
        images: of known classes.
        pursuit: has the queries.
    """
    queries = pursuit.queries
    truth = said.for_classes_and_texts(images.class_names, queries)[images.labels.numpy()]
    truth[~np.isin(truth, (0.0, 1.0))] = np.nan
    columns = {normalize(query): place for place, query in enumerate(queries)}
    for text, values in people.of_images(images.ids).items():
        if (place := columns.get(normalize(text))) is not None:
            truth[:, place] = np.where(np.isnan(values), truth[:, place], values)
    return truth


def explanation_figures(
    explained: Sequence[Explanation], pursuit: Pursuit, truth: Float[np.ndarray, "n k"]
) -> dict[str, Any]:
    """Measure explanations of n labelled images by what is true of each.

    Returns:
        How many yes are right, and of how many: `read`, of those that an explanation shows on a
        line of their own, and `yes`, of all. `accuracy` at the stop; means of an image:
        `questions`, how many were put to a second opinion (`asked`), and their `tokens`.
    """
    read, every = [0, 0], [0, 0]
    for each, true in zip(explained, truth, strict=True):
        alone = {run[0] for run in each.folded() if len(run) == 1}
        for place, step in enumerate(each.steps):
            right = true[pursuit.number(step.query)]
            if step.yes and not np.isnan(right):
                for counts in (every, read) if place in alone else (every,):
                    counts[0] += int(right)
                    counts[1] += 1
    costs = [each.second_opinion or {"questions": 0, "tokens": 0} for each in explained]
    return {
        "read": read,
        "yes": every,
        "accuracy": float(np.mean([bool(each.correct) for each in explained])),
        "questions": float(np.mean([len(each.steps) for each in explained])),
        "asked": float(np.mean([cost["questions"] for cost in costs])),
        "tokens": float(np.mean([cost["tokens"] for cost in costs])),
    }


def with_and_without(
    opinion: Any,
    model: PursuitClassifier,
    test: LabelledImages,
    pictures: Sequence[Any],
    stop: StoppingRule,
    truth: Float[np.ndarray, "n k"],
) -> tuple[dict[str, dict[str, Any]], list[Explanation]]:
    """Measure explanations of n images by the model alone (`clip`) and with an opinion (`both`).

    Returns:
        The figures of both, and the explanations with the opinion.
    """
    figures, explained = {}, list[Explanation]()
    labels = [test.class_names[label] for label in test.labels.tolist()]
    for who, given in (("clip", None), ("both", opinion)):
        found = model.explain(
            test.embeddings, stop, names=test.ids, second_opinion=given, pictures=pictures
        )
        explained = [
            replace(each, true_class=label) for each, label in zip(found, labels, strict=True)
        ]
        figures[who] = explanation_figures(explained, model.pursuit_, truth)
    return figures, explained
