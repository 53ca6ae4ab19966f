"""Which texts of the universe a language model is asked about, for a data set."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch

from infopursuit.core.tables import check_same_space
from infopursuit.datasets.labelled_images import load_images
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pipeline import paths
from infopursuit.pursuit.naive_bayes.training_set import InMemorySet
from infopursuit.questions.constraints import QuestionConstraints
from infopursuit.questions.texts import TextSource
from infopursuit.texts.text_table import TextTable


def candidate_texts(
    dataset: str, k: int, most: int, max_images: int, scratch: str | Path
) -> list[str]:
    """Return at most `most` texts: those given for a data set, then those that tell most alone.

    Args:
        dataset: its name.
        k: the size of its dictionary.
        most: how many texts; more if more are given.
        max_images: of which the training images are a sample if they are more.
        scratch: where a large universe is mapped from.

    Raises:
        InputError: texts and images were embedded by different CLIPs.
    """
    images = paths.images(dataset)
    check_same_space(paths.UNIVERSE, images)
    universe = TextTable.from_parquet(paths.UNIVERSE, scratch)
    assert universe.sources is not None
    own = {f"dictionary/{dataset}", f"list/{dataset}", "kept"}
    own_texts = [
        text
        for text, sources in zip(universe.texts, universe.sources.to_pylist(), strict=True)
        if own & set(sources.split(","))
    ]
    train = load_images(images, "train", max_images)
    classes, labels = np.unique(train.labels.numpy(), return_inverse=True)
    rows = UnitMatrix(train.embeddings, "images")
    data = InMemorySet(rows, torch.from_numpy(labels), None, classes)
    constraints = QuestionConstraints(k, keep=own_texts)
    candidates = TextSource(universe).candidates(data, constraints, most)
    chosen = {*own_texts, *candidates}  # those given include equals of one another
    return [text for text in universe.texts if text in chosen]
