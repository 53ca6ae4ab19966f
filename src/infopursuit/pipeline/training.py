"""One method fitted in a run of the pipeline: on which images, and from which checkpoint on."""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import torch
from jaxtyping import Bool

from infopursuit.core.errors import InputError
from infopursuit.core.executors import choose_cluster
from infopursuit.core.files import file_sha256, settings_sha256
from infopursuit.core.settings import ComputeSettings
from infopursuit.datasets.labelled_images import (
    EmbeddedShards,
    LabelledImages,
    all_images,
    held_out_by_seed,
    hold_out,
    image_ids,
    load_images,
    spread_sample,
)
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.methods import Method
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pipeline import paths
from infopursuit.pursuit.naive_bayes.fit import HELD_OUT
from infopursuit.pursuit.naive_bayes.sharded_set import ShardedSet
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.distributed import Processes, restart_as_group, started_by_torchrun
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.questions.pursuits import PursuitMethod
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge_tables import read_knowledge


@dataclass(frozen=True)
class Training:
    """What is fitted on.

    Attributes:
        given: what all estimators take: the texts, the initial queries, the seed.
        images: to learn from, and to hold some out of; read as a whole, or in shards.
        share: that is held out.
        budget: the largest number of questions that runs are compared at.
        compute: where, and in how many processes.
        relative_to: embeddings of the texts that scores are relative to; None for those given.
    """

    given: Mapping[str, Any]
    images: LabelledImages | EmbeddedShards
    share: float
    budget: int
    compute: ComputeSettings
    relative_to: Any = None

    @property
    def seed(self) -> int:
        """The seed of the run."""
        return self.given["random_state"]


@dataclass(frozen=True)
class Known:
    """What is known beside labelled images; nothing by itself.

    Attributes:
        settings: of the estimator.
        said: what people say of the images.
        files: the SHA-256 of what was read, by its kind.
    """

    settings: Mapping[str, Any] = field(default_factory=dict)
    said: Annotations = field(default_factory=lambda: Annotations(()))
    files: Mapping[str, str] = field(default_factory=dict)


def read_known(
    how: Method, dataset: str, class_names: Sequence[str], texts: Sequence[str]
) -> Known:
    """Read what a method is fitted with beside labelled images; networks with nothing."""
    settings, files = {}, {}
    if isinstance(how, VariationalSettings):
        return Known()
    if how.knowledge:
        table = read_knowledge(paths.knowledge(dataset))
        values = table.for_classes_and_texts(class_names, texts)
        settings["knowledge"] = values
        files["knowledge"] = file_sha256(paths.knowledge(dataset))
    said = read_annotations(paths.people(dataset))
    if said.rows:
        said = said.of_pictures(image_ids(paths.images(dataset)))
        files["annotations"] = file_sha256(paths.people(dataset))
    return Known(settings, said, files)


class Trained(NamedTuple):
    """A fitted model, and the log of its training."""

    model: PursuitClassifier
    log: list[dict[str, Any]]


def described(how: Method, validation_fraction: float) -> dict[str, Any]:
    """Return the settings of the method as plain values, with what it is."""
    shared = {
        "method": how.kind,
        "validation_fraction": validation_fraction,
        "select_on": "held_out",
    }
    return {**shared, **asdict(how)}


def fit_pursuit(
    how: PursuitMethod,
    training: Training,
    first: str | None,
    said: Annotations,
) -> Trained:
    """Pass over the training images; held-out ones calibrate, of shards a sample of them.

    Args:
        how: the settings of the method.
        training: what is fitted on.
        first: the question that is asked first; None for the best.
        said: what people say of the images.
    """
    images, share, seed = training.images, training.share, training.seed
    model = InformationPursuitClassifier(first_query=first, pursuit=how, **training.given)
    if isinstance(images, EmbeddedShards):
        if said.rows:
            raise InputError(f"{said.where}: annotations need images that are read as a whole")
        shown, out = _held_out_sample(images, share, seed)
        shards = ShardedSet(images, out, choose_cluster(training.compute))
        model.fit(shards, validation=shown, reference_embeddings=training.relative_to)
    else:
        train, held_out = hold_out(images, share, seed)
        shown = held_out.embeddings, held_out.labels.numpy()
        model.fit(
            train.embeddings,
            train.labels.numpy(),
            validation=shown,
            annotations=said.of_images(train.ids) if said.about(train.ids) else None,
            reference_embeddings=training.relative_to,
        )
    area = float(model.accuracy_by_budget(*shown, training.budget)[1:].mean())
    facts = {"phase": how.kind, "updates": 0, "validation_auc": area}
    same = list(model.queries_)
    model.provenance_ |= {
        "selected": facts,
        "evolution": {"initial": same, "midway": same, "final": same},
    }
    return Trained(model, [{**facts, "distinct_queries": len(same)}])


def _held_out_sample(
    images: EmbeddedShards, share: float, seed: int
) -> tuple[tuple[Any, Any], Bool[np.ndarray, " n"]]:
    """Return a sample (X, y) of the images that `hold_out` would hold out, and which all are."""
    labels = torch.from_numpy(images.labels())
    _, held = held_out_by_seed(labels, images.class_names, share, seed)
    out = np.zeros(len(labels), dtype=bool)
    out[held.numpy()] = True
    rows = held[spread_sample(labels[held], HELD_OUT, seed)].numpy()
    return (images.take(rows), np.array(images.class_names)[labels[rows].numpy()]), out


def fit_variational(
    how: VariationalSettings, training: Training, test: Path | None, run: RunProvenance, kept: Path
) -> Trained:
    """Train from the last checkpoint on, in as many processes as asked for.

    Args:
        how: the settings of the method.
        training: what is fitted on.
        test: the table whose test split selects; None for the images held out.
        run: what the checkpoint depends on.
        kept: the folder of checkpoints.
    """
    images, compute, relative_to = training.images, training.compute, training.relative_to
    group = Processes(count=compute.processes)
    both: tuple[LabelledImages, LabelledImages] | None = None
    if isinstance(images, EmbeddedShards):
        count = sum(images.sizes)
    else:
        train, held_out = hold_out(images, training.share, training.seed)
        both = train, held_out if test is None else load_images(test, "test")
        count = len(train.ids)
    group.part(min(how.batch_size, count))
    if group.count > 1 and not started_by_torchrun():
        restart_as_group(group.count)  # after all inputs were read: an error is reported once
    device = compute.torch_device()
    processes = Processes.join()
    # Devices draw other random numbers: none goes on from the checkpoint of another kind.
    state = settings_sha256({**run.as_values(), "device": device})[:16]
    checkpoint = Checkpoint(kept / f"{run.name}-{state}.pt", compute.checkpoint_seconds)
    options = {key: value for key, value in asdict(how).items() if key != "select_on"}
    model = VariationalInformationPursuit(
        **training.given,
        **options,
        budget=training.budget,
        device=device,
        validation_fraction=training.share,
    )
    if isinstance(images, EmbeddedShards):
        shown = None if test is None else all_images(EmbeddedShards(test, "test"))
        model.fit(images, None, shown, checkpoint, processes, reference_embeddings=relative_to)
    else:
        assert both is not None
        train, held_out = both
        shown = held_out.embeddings, held_out.labels.numpy()
        rows, labels = train.embeddings, train.labels.numpy()
        model.fit(rows, labels, shown, checkpoint, processes, reference_embeddings=relative_to)
    processes.leave()
    if processes.rank > 0:
        sys.exit(0)  # the first process writes
    checkpoint.remove()
    return Trained(model, model.log_)
