"""Fit one method on one data set from one initial dictionary, without a look at the test images.

    python stages/train.py --dataset menagerie --init llm --method alternating --seed 0

Writes artifacts/models/RUN, which `infopursuit.load` reads, and artifacts/training/RUN.csv.
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, run

import sys
from dataclasses import asdict
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import torch
from jaxtyping import Bool
from pydantic import Field

from infopursuit.clip.weights import clip_source
from infopursuit.core.csv_tables import write_csv
from infopursuit.core.errors import InputError
from infopursuit.core.executors import choose_cluster
from infopursuit.core.files import (
    file_sha256,
    read_text_list,
    remove_partial,
    settings_sha256,
    table_sha256,
)
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.tables import check_same_space, is_sharded
from infopursuit.datasets.labelled_images import (
    EmbeddedShards,
    LabelledImages,
    all_images,
    even_sample,
    held_out_by_seed,
    hold_out,
    image_ids,
    load_images,
)
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.methods import Method, NaiveBayesSettings, build_method
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.naive_bayes.fit import HELD_OUT
from infopursuit.pursuit.naive_bayes.training_set import ShardedSet
from infopursuit.pursuit.vip.checkpoints import Checkpoint
from infopursuit.pursuit.vip.distributed import Processes, restart_as_group, started_by_torchrun
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.queries.settings import QuestionsSettings
from infopursuit.questions.knowledge import Knowledge
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge import read_knowledge
from infopursuit.texts.text_table import TextTable

UNIVERSE = "artifacts/universe/embeddings.parquet"
CONTROL = "artifacts/universe/control_embeddings.parquet"

# The training images: those that are read as a whole, or in shards.
Images = LabelledImages | EmbeddedShards


class Settings(Section):
    """What this stage reads of params.yaml."""

    clip: str
    datasets: Datasets
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    methods: dict[str, dict[str, Any]]
    questions: QuestionsSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    compute_repeatably()
    name = str(RunName(dataset, init, method, seed))
    chosen = settings.datasets[dataset]
    where = f"methods.{method} with datasets.{dataset}.variational"
    how = build_method(settings.methods[method], chosen.variational, where)
    paths = {
        "universe": UNIVERSE,
        "images": f"artifacts/images/{dataset}.parquet",
        "initial": f"artifacts/initial/{dataset}-{init}-{seed}.txt",
    }
    check_same_space(UNIVERSE, paths["images"])
    universe = texts = TextTable.from_parquet(UNIVERSE, SCRATCH / "universe")
    if init == "random_words":  # a control: other texts to choose from, all else stays
        paths["control"] = CONTROL
        check_same_space(CONTROL, paths["images"])
        texts = TextTable.from_parquet(CONTROL, SCRATCH / "universe")
    queries = read_text_list(paths["initial"])
    budget = min(chosen.largest_budget, len(queries))
    texts.rows(queries, paths["initial"])
    images: Images
    if is_sharded(paths["images"]):
        images = EmbeddedShards(paths["images"])
    else:
        images = load_images(paths["images"], "train")
    provenance = {
        "dataset": dataset,
        "init": init,
        "method": method,
        "seed": seed,
        "settings": described(how, settings.validation_fraction),
        "budget": chosen.largest_budget,
        "clip_path": settings.clip,
        "inputs": {key: table_sha256(path) for key, path in paths.items()},
    }
    given = {
        "texts": texts.texts,
        "text_embeddings": texts.embeddings,
        "queries": queries,
        "random_state": seed,
    }
    relative_to = None if texts is universe else universe.embeddings
    first = None if init == "random_words" else settings.questions.first
    if isinstance(how, NaiveBayesSettings):
        if how.knowledge:
            paths["knowledge"] = f"artifacts/knowledge/{dataset}.parquet"
            known = read_knowledge(paths["knowledge"])
            values = known.for_classes_and_texts(images.class_names, texts.texts)
            given["knowledge"] = Knowledge(values, how.leakage)
            provenance["inputs"]["knowledge"] = file_sha256(paths["knowledge"])
        people = f"artifacts/annotations/{dataset}.csv"
        said = read_annotations(people)
        if said.rows:
            said = said.of_pictures(image_ids(paths["images"]))
            provenance["inputs"]["annotations"] = file_sha256(people)
        model, log = fit_naive_bayes(settings, how, given, images, budget, first, said, relative_to)
    else:
        test = paths["images"] if how.select_on == "test" else None
        model, log = fit_variational(
            settings, how, given, images, test, budget, provenance, relative_to
        )
    read = images_of(model)
    model = model.with_class_names(images.class_names)
    model.clip_, model.clip_source_ = universe.clip, clip_source(settings.clip)
    sources = texts.sources_of(model.queries_)
    model.provenance_ = {**model.provenance_, **provenance, "sources": sources}
    write(model, log, name)
    return RowCounts(read=read, written=len(log))


def images_of(model: PursuitClassifier) -> int:
    """How many images a model was fitted and selected or calibrated on."""
    found = model.provenance_["images"]
    if isinstance(found, dict):
        return sum(found.values())
    return found + model.provenance_["held_out_images"]


def described(how: Method, validation_fraction: float) -> dict[str, Any]:
    """The settings of the method as plain values, with what it is."""
    kind = "naive_bayes" if isinstance(how, NaiveBayesSettings) else "variational"
    shared = {"method": kind, "validation_fraction": validation_fraction, "select_on": "held_out"}
    return {**shared, **asdict(how)}


def fit_naive_bayes(
    settings: Settings,
    how: NaiveBayesSettings,
    given: dict[str, Any],
    images: Images,
    budget: int,
    first: str | None,
    said: Annotations,
    relative_to: Any,
) -> tuple[PursuitClassifier, list[dict[str, Any]]]:
    """Passes over the training images; held-out ones calibrate, of shards a sample of them."""
    share, seed = settings.validation_fraction, given["random_state"]
    chosen = {"answers": how.answers, "rates": how.rates, "first_query": first}
    model = InformationPursuitClassifier(**given, **chosen)
    if isinstance(images, EmbeddedShards):
        if said.rows:
            raise InputError(f"{said.where}: annotations need images that are read as a whole")
        shown, out = held_out_sample(images, share, seed)
        shards = ShardedSet(images, out, choose_cluster(settings.compute))
        model.fit(shards, validation=shown, reference_embeddings=relative_to)
    else:
        train, held_out = hold_out(images, share, seed)
        shown = held_out.embeddings, held_out.labels.numpy()
        model.fit(
            train.embeddings,
            train.labels.numpy(),
            validation=shown,
            annotations=said.of_images(train.ids) if said.about(train.ids) else None,
            reference_embeddings=relative_to,
        )
    area = float(model.accuracy_by_budget(*shown, budget)[1:].mean())
    facts = {"phase": "naive_bayes", "updates": 0, "validation_auc": area}
    same = list(model.queries_)
    model.provenance_ |= {
        "selected": facts,
        "evolution": {"initial": same, "midway": same, "final": same},
    }
    return model, [{**facts, "distinct_queries": len(same)}]


def held_out_sample(
    images: EmbeddedShards, share: float, seed: int
) -> tuple[tuple[Any, Any], Bool[np.ndarray, " n"]]:
    """A sample (X, y) of the images that `hold_out` would hold out, and which all of them are."""
    labels = torch.from_numpy(images.labels())
    _, held = held_out_by_seed(labels, images.class_names, share, seed)
    out = np.zeros(len(labels), dtype=bool)
    out[held.numpy()] = True
    generator = torch.Generator().manual_seed(seed)
    rows = held[even_sample(labels[held], HELD_OUT, generator)].numpy()
    return (images.take(rows), np.array(images.class_names)[labels[rows].numpy()]), out


def fit_variational(
    settings: Settings,
    how: VariationalSettings,
    given: dict[str, Any],
    images: Images,
    test: str | None,
    budget: int,
    provenance: dict[str, Any],
    relative_to: Any,
) -> tuple[PursuitClassifier, list[dict[str, Any]]]:
    """Train from the last checkpoint on, in as many processes as asked for.

    Args:
        settings: of the stage.
        how: of the method.
        given: what all estimators take.
        images: to learn from, and to hold some out of.
        test: the table whose test split selects; None for the images held out.
        budget: of the selection.
        provenance: what the checkpoint depends on.
        relative_to: embeddings of the texts that scores are relative to; None for `given`'s.
    """
    compute, share, seed = settings.compute, settings.validation_fraction, given["random_state"]
    group = Processes(count=compute.processes)
    both: tuple[LabelledImages, LabelledImages] | None = None
    if isinstance(images, EmbeddedShards):
        count = sum(images.sizes)
    else:
        train, held_out = hold_out(images, share, seed)
        both = train, held_out if test is None else load_images(test, "test")
        count = len(train.ids)
    group.part(min(how.batch_size, count))
    if group.count > 1 and not started_by_torchrun():
        restart_as_group(group.count)  # after all inputs were read: an error is reported once
    device = compute.torch_device()
    processes = Processes.join()
    # Devices draw other random numbers: none goes on from the checkpoint of another kind.
    state = settings_sha256({**provenance, "device": device})[:16]
    name = "-".join(str(provenance[key]) for key in ("dataset", "init", "method", "seed"))
    checkpoint = Checkpoint(SCRATCH / "train" / f"{name}-{state}.pt", compute.checkpoint_seconds)
    options = {key: value for key, value in asdict(how).items() if key != "select_on"}
    model = VariationalInformationPursuit(
        **given, **options, budget=budget, device=device, validation_fraction=share
    )
    if isinstance(images, EmbeddedShards):
        shown = None if test is None else all_images(EmbeddedShards(test, "test"))
        model.fit(
            images,
            validation=shown,
            checkpoint=checkpoint,
            processes=processes,
            reference_embeddings=relative_to,
        )
    else:
        assert both is not None
        train, held_out = both
        shown = held_out.embeddings, held_out.labels.numpy()
        model.fit(
            train.embeddings,
            train.labels.numpy(),
            shown,
            checkpoint,
            processes,
            reference_embeddings=relative_to,
        )
    processes.leave()
    if processes.rank > 0:
        sys.exit(0)  # the first process writes
    checkpoint.remove()
    return model, model.log_


def write(model: PursuitClassifier, log: list[dict[str, Any]], name: str) -> None:
    """The model and the log of its training."""
    folder = Path("artifacts/models") / name
    remove_partial(folder)
    model.save(folder)
    header = list(log[0])
    rows = ([row[key] for key in header] for row in log)
    write_csv(Path("artifacts/training") / f"{name}.csv", header, rows)


if __name__ == "__main__":
    run(main)
