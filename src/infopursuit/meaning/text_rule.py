"""The answer rule of a model for other texts than its own, as a dictionary of their own.

So that models are compared on the same questions, whatever dictionaries they have.
"""

from __future__ import annotations

from collections.abc import Sequence

from jaxtyping import Float
from numpy import ndarray

from infopursuit.answers.rules import AnswerRule, MinMaxAnswers, ThresholdAnswers
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.dictionary.universe import Universe
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier


def rule_of_texts(
    rule: AnswerRule,
    universe: Universe,
    texts: Sequence[str],
    train: LabelledImages,
    knowledge: Float[ndarray, "c u"] | None,
) -> AnswerRule:
    """A rule of the same kind for the given texts.

    Args:
        rule: of the model; soft answers become hard ones.
        universe: the u texts that scores are relative to.
        texts: some of them.
        train: images to fit thresholds on.
        knowledge: of the classes and the universe, where the model was fitted with it.
    """
    model = InformationPursuitClassifier(
        universe.texts,
        universe.embeddings,
        queries=texts,
        answers=_name(rule),
        knowledge=knowledge,
        validation_fraction=0.0,
    )
    return model.fit(train.embeddings, train.labels.numpy()).pursuit_.rule


def _name(rule: AnswerRule) -> str:
    """What the classifier calls the rule."""
    if isinstance(rule, MinMaxAnswers):
        return "minmax"
    two_valued = isinstance(rule, ThresholdAnswers) and rule.upper is None
    return "threshold" if two_valued else "three_valued"
