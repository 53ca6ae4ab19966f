"""A small world of embeddings in which the classes have known properties."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pytest

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from tests.planted import unit

CLASSES = ("zebra", "horse", "penguin", "parrot")
PROPERTIES = {
    "striped coat": (1, 0, 0, 0),
    "four legs": (1, 1, 0, 0),
    "long tail": (0, 1, 0, 1),
    "black and white": (1, 0, 1, 0),
    "curved beak": (0, 0, 0, 1),
    "webbed feet": (0, 0, 1, 0),
    "green feathers": (0, 0, 0, 1),
    "brown mane": (0, 1, 0, 0),
}
NOTHING = tuple(f"nothing {number}" for number in range(12))
WIDTH = 48


@dataclass(frozen=True)
class World:
    """u texts and n images of 4 classes in one space of width 48."""

    texts: list[str]
    embeddings: np.ndarray
    X: np.ndarray
    y: np.ndarray
    unseen: np.ndarray
    unseen_y: np.ndarray

    def fitted(self, **settings: object) -> InformationPursuitClassifier:
        """A classifier of this world."""
        return self.unfitted(**settings).fit(self.X, self.y)

    def unfitted(self, **settings: object) -> InformationPursuitClassifier:
        """The same before it is fitted; the settings may be of any type."""
        given = {"texts": self.texts, "text_embeddings": self.embeddings, "n_queries": 6}
        return InformationPursuitClassifier().set_params(**{**given, **settings})


def images(generator: np.random.Generator, directions: np.ndarray, count: int) -> tuple:
    labels = generator.integers(0, len(CLASSES), count)
    properties = np.array(list(PROPERTIES.values())).T[labels]
    noise = 0.25 * generator.standard_normal((count, WIDTH))
    return unit(properties @ directions[: len(PROPERTIES)] + noise), np.array(CLASSES)[labels]


@pytest.fixture(scope="session")
def world() -> World:
    generator = np.random.default_rng(0)
    texts = [*PROPERTIES, *NOTHING]
    embeddings = unit(generator.standard_normal((len(texts), WIDTH)) + 0.5)
    X, y = images(generator, embeddings, 600)
    unseen, unseen_y = images(generator, embeddings, 200)
    return World(texts, embeddings, X, y, unseen, unseen_y)


@pytest.fixture(scope="session")
def model(world: World) -> InformationPursuitClassifier:
    """A fitted classifier; tests must not change it."""
    return world.fitted()
