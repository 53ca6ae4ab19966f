"""What the paper's method is trained on: checked settings, texts, images that come in shards."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import torch
from torch import Tensor

from infopursuit.answers.rates import count_yes
from infopursuit.answers.rules import AnswerRule
from infopursuit.answers.table import AnswerTable
from infopursuit.core.errors import InputError
from infopursuit.datasets.image_shards import EmbeddedShards, ShardedImages
from infopursuit.datasets.rows import BLOCK, Rows, UnitRows
from infopursuit.datasets.samples import held_out_rows
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.naive_bayes.fit import at_least, table_of_counts
from infopursuit.vip.settings import VariationalSettings
from infopursuit.vip.training import Trainer, TrainingImages

if TYPE_CHECKING:
    from infopursuit.estimators.variational import VariationalInformationPursuit

INITS = ("medoids", "random", "informative")
# Texts whose norms are as close to 1 are searched as they are stored, float16 or mapped from disk.
STORED = 1e-3


def settings_of(model: VariationalInformationPursuit) -> VariationalSettings:
    """The checked settings of a model.

    Raises:
        InputError: one is malformed.
    """
    for name in ("n_queries", "random_state"):
        value = getattr(model, name)
        least = 1 if name == "n_queries" else 0
        if isinstance(value, bool) or not isinstance(value, (int, np.integer)) or value < least:
            raise InputError(f"{name} is {value!r}; expected a whole number from {least} on")
    if model.init not in INITS:
        raise InputError(f"init is {model.init!r}; expected {', '.join(INITS[:-1])} or {INITS[-1]}")
    if model.stop is not None:
        StoppingRule(*model.stop).checked()
    for name in ("hidden", "temperature"):
        if isinstance(getattr(model, name), str) or len(getattr(model, name)) != 2:
            raise InputError(f"{name} is {getattr(model, name)!r}; expected two numbers")
    return VariationalSettings(
        dictionary=model.dictionary,  # type: ignore[arg-type]  # checked where it is made
        answers=model.answers,  # type: ignore[arg-type]
        quantize_queries=model.quantize_queries,
        hidden=(model.hidden[0], model.hidden[1]),
        random_updates=model.random_updates,
        biased_updates=model.biased_updates,
        network_updates=model.network_updates,
        batch_size=model.batch_size,
        learning_rate=model.learning_rate,
        dictionary_learning_rate=model.dictionary_learning_rate,
        schedule=model.schedule,  # type: ignore[arg-type]
        patience=model.patience,
        weight_decay=model.weight_decay,
        temperature=(model.temperature[0], model.temperature[1]),
        max_history=model.max_history,
        validate_every=model.validate_every,
    )


def sharded_images(
    shards: EmbeddedShards,
    validation: ShardedImages | None,
    share: float,
    seed: int,
) -> tuple[TrainingImages, TrainingImages]:
    """Images to learn from and to select on, of which each process reads its own.

    Args:
        shards: the training images.
        validation: those to select on; None to hold out a share.
        share: of each class, held out.
        seed: of what is held out.

    Raises:
        InputError: a class has fewer than two images to hold one out.
    """
    labels = torch.from_numpy(shards.labels())
    if validation is None:
        kept, held = held_out_rows(labels, shards.class_names, share, seed)
        validation = ShardedImages(shards, held.numpy())
    else:
        kept = torch.arange(len(labels))
    same = validation.shards is shards
    of_held = labels if same else torch.from_numpy(validation.shards.labels())
    classes = len(shards.class_names)
    return (
        TrainingImages(ShardedImages(shards, kept.numpy()), labels[kept], classes),
        TrainingImages(validation, of_held[torch.from_numpy(validation.rows)], classes),
    )


def answer_table(rule: AnswerRule, trainer: Trainer, train: TrainingImages) -> AnswerTable:
    """How probable each answer is in each class; each process counts those of its own images.

    Args:
        rule: how images answer.
        trainer: has this process's share of the images.
        train: all images.
    """
    share = trainer.images
    labels = train.labels[share.place]
    answers = at_least(rule, Rows(share.own.cpu()).blocks())
    counts = count_yes(answers, labels, classes=train.classes)
    # Where the images are, the processes talk.
    sums = [share.processes.sum(each.to(share.own.device)).cpu() for each in counts]
    return table_of_counts(rule, sums[0], sums[1])


def as_stored(rows: UnitRows) -> Tensor:
    """The embeddings themselves where their norms are near 1, else float32 of unit norm."""
    stored = rows.values
    if stored.dtype not in (torch.float16, torch.float32):
        return rows.tensor()
    norms = (block.float().norm(dim=1) for block in stored.split(BLOCK))
    if all(bool(((each - 1).abs() <= STORED).all()) for each in norms):
        return stored
    return rows.tensor()
