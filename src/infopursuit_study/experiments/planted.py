"""A planted world of any number of classes, of which the best possible answer is known.

Each class has a table: how probable each of A concepts is in its images. An image draws its
concepts from the table of its class, independently. Its embedding, of unit norm, is the sum of
their directions, of a direction that all images share, and of noise.

The embedding depends on the class only through the concepts. So no classifier of embeddings is
right more often than the posterior given all true concepts, and that posterior is exact, by Bayes'
rule with the tables that the images were drawn from.

Classes come in families whose classes share most concepts, as breeds of dogs do. The universe names
each concept, half of them a second time in other words (near duplicates), and much that no image
shows (distractors). Texts share another direction than images, so that raw cosines of image and
text are all small and positive, as those of CLIP are.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, Int
from torch import Tensor
from torch.nn.functional import normalize

from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.rollout import roll_out
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit_study.comparison.entries import Task

CONCEPTS, DUPLICATES, DISTRACTORS = 256, 128, 640
# Classes of a family; concepts that all of them share, and further ones of each class.
FAMILY, SHARED, OWN = 10, 12, 5
# Some concepts belong to many classes and most to few: the r-th is drawn with weight 1 / (r + 3).
EVEN = 3
# How probable a concept of a class is in its images, and any other concept.
THERE, ELSEWHERE = 0.7, 0.02
# Probabilities that differ by a smaller share are equal.
TIED = 1e-9
# Relative to directions of unit norm: the shared directions of all images and of all texts, the
# norm of an image's noise, and the noise of texts and of near duplicates.
COMMON_OF_IMAGES, COMMON_OF_TEXTS, NOISE, LOOSE, LOOSER = 4.0, 1.3, 4.0, 0.5, 0.7


class PlantedWorld(NamedTuple):
    """A task, how probable each concept is in each class, and the concepts of each test image."""

    task: Task
    tables: Float[Tensor, "c a"]
    shown: Bool[Tensor, "n a"]


def noise(generator: torch.Generator, *shape: int) -> Tensor:
    """Draw Gaussian vectors of about unit norm."""
    return torch.randn(*shape, generator=generator) / shape[-1] ** 0.5


def planted_world(
    classes: int, per_class: int, test: int, width: int = 512, seed: int = 0
) -> PlantedWorld:
    """Draw a world.

    Args:
        classes: c, a multiple of FAMILY.
        per_class: training images of each class.
        test: test images, as many of each class; a multiple of c.
        width: d.
        seed: of everything drawn. Concepts and texts are the same for all numbers of classes.
    """
    generator = torch.Generator().manual_seed(seed)
    directions = normalize(noise(generator, CONCEPTS, width), dim=1)
    common, of_images, of_texts = normalize(noise(generator, 3, width), dim=1)
    texts, universe, names = _universe(generator, directions, (common + of_texts) / 2**0.5)
    tables = _tables(classes, generator)
    class_names = tuple(f"class {number}" for number in range(classes))

    def images(count: int, split: str) -> tuple[LabelledImages, Tensor]:
        labels = torch.arange(count) % classes
        shown = torch.rand(count, CONCEPTS, generator=generator) < tables[labels]
        rows = shown.float() @ directions + NOISE * noise(generator, count, width)
        rows = rows + COMMON_OF_IMAGES * (common + of_images) / 2**0.5
        ids = tuple(f"{split}/{row}" for row in range(count))
        return LabelledImages(ids, labels, normalize(rows, dim=1), class_names), shown

    train, _ = images(classes * per_class, "train")
    judged, shown = images(test, "test")
    truth = np.zeros((classes, len(texts)), dtype=np.float32)
    truth[:, names >= 0] = (tables == THERE).float().numpy()[:, names[names >= 0]]
    known = KnowledgeTable(class_names, texts, truth)
    task = Task(texts, universe.numpy(), train, judged, knowledge=known, judged=known)
    return PlantedWorld(task, tables, shown)


def best_possible(world: PlantedWorld, budgets: tuple[int, ...]) -> dict[int | str, float]:
    """Return the accuracy on test images with true concepts as answers and the true tables.

    Each question is that with the largest information gain: the best order is unknown. The result
    has the accuracy for each number of questions in `budgets`, and with all concepts under `all`,
    which bounds that of every classifier of embeddings.
    """
    yes = world.tables.double()
    table = AnswerTable(
        torch.stack([1 - yes, yes]).mT.log(),
        torch.full((len(yes),), -np.log(len(yes)), dtype=torch.float64),
    )
    answers, labels = world.shown.double(), world.task.test.labels
    right = dict.fromkeys(budgets, 0.0)
    for part, truth in zip(answers.split(256), labels.split(256), strict=True):
        rolled = roll_out(InformationGain(table), NaiveBayes(table), part, max(budgets))
        for t in budgets:
            right[t] += hits(rolled.posteriors[:, t], truth)
    shares: dict[int | str, float] = {t: count / len(labels) for t, count in right.items()}
    return {**shares, "all": hits(posterior(world.tables, world.shown), labels) / len(labels)}


def hits(posteriors: Float[Tensor, "n c"], labels: Int[Tensor, " n"]) -> float:
    """Return the expected number of right images if ties between classes are broken at random.

    Classes have the same few probabilities, so that two are often equally probable: neither
    rounding nor their order may decide.
    """
    tied = posteriors >= posteriors.amax(dim=1, keepdim=True) * (1 - TIED)
    right = tied.gather(1, labels.unsqueeze(1)).squeeze(1)
    return (right.double() / tied.sum(dim=1)).sum().item()


def posterior(tables: Float[Tensor, "c a"], shown: Bool[Tensor, "n a"]) -> Float[Tensor, "n c"]:
    """Return the probability of each class given all concepts, by Bayes' rule with equal priors."""
    yes, present = tables.double(), shown.double()
    return (present @ yes.log().T + (1 - present) @ torch.log1p(-yes).T).softmax(dim=1)


def _tables(classes: int, generator: torch.Generator) -> Float[Tensor, "c a"]:
    """Draw SHARED concepts of each family, and OWN others of each class."""
    if classes % FAMILY:
        raise ValueError(f"{classes} classes; expected a multiple of {FAMILY}")
    tables = torch.full((classes, CONCEPTS), ELSEWHERE)
    often = 1 / (torch.arange(CONCEPTS) + EVEN)
    for start in range(0, classes, FAMILY):
        shared = torch.multinomial(often, SHARED, generator=generator)
        tables[start : start + FAMILY, shared] = THERE
        others = often.index_fill(0, shared, 0)
        for row in range(start, start + FAMILY):
            tables[row, torch.multinomial(others, OWN, generator=generator)] = THERE
    return tables


def _universe(
    generator: torch.Generator, directions: Float[Tensor, "a d"], common: Float[Tensor, " d"]
) -> tuple[tuple[str, ...], Float[Tensor, "u d"], Int[np.ndarray, " u"]]:
    """Draw texts, their embeddings, and the concept that each names; -1 for distractors."""
    width = directions.shape[1]
    again = torch.randperm(CONCEPTS, generator=generator)[:DUPLICATES]
    others = normalize(noise(generator, DISTRACTORS, width), dim=1)
    meant = torch.cat([directions, directions[again], others])
    loose = torch.full((len(meant), 1), LOOSE)
    loose[CONCEPTS : CONCEPTS + DUPLICATES] = LOOSER
    rows = meant + loose * noise(generator, *meant.shape) + COMMON_OF_TEXTS * common
    texts = (
        *(f"concept {number}" for number in range(CONCEPTS)),
        *(f"concept {number}, in other words" for number in again.tolist()),
        *(f"distractor {number}" for number in range(DISTRACTORS)),
    )
    names = np.concatenate([np.arange(CONCEPTS), again.numpy(), np.full(DISTRACTORS, -1)])
    return texts, normalize(rows, dim=1), names
