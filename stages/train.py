"""Fit one method on one data set from one initial dictionary, without a look at the test images.

    python stages/train.py --dataset menagerie --init llm --method alternating --seed 0

Writes artifacts/models/RUN, which `infopursuit.load` reads, with the log of training.csv.
"""

from __future__ import annotations

from infopursuit.core.stage import SCRATCH, RowCounts, code_key, run

from typing import Annotated, Any

from pydantic import Field

from infopursuit.clip.weights import clip_source
from infopursuit.core.csv_tables import write_csv
from infopursuit.core.devices import log_where_it_computes
from infopursuit.core.files import read_text_list, remove_partial, table_sha256
from infopursuit.core.repeatable import compute_repeatably
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.tables import check_same_space, is_sharded
from infopursuit.datasets.labelled_images import EmbeddedShards, load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.methods import build_method
from infopursuit.estimators.provenance import RunProvenance, images_read
from infopursuit.generation.settings import QuestionsSettings
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.training import (
    Training,
    described,
    fit_pursuit,
    fit_variational,
    read_known,
)
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.texts.text_table import TextTable


class Settings(Section):
    clip: str
    datasets: Datasets
    validation_fraction: Annotated[float, Field(gt=0, lt=1)]
    methods: dict[str, dict[str, Any]]
    questions: QuestionsSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    compute_repeatably()
    chosen, share = settings.datasets[dataset], settings.validation_fraction
    log_where_it_computes(settings.compute.device)
    where = f"methods.{method} with datasets.{dataset}.variational"
    how = build_method(settings.methods[method], chosen.variational, where)
    table = paths.images(dataset)
    read = {
        "universe": paths.UNIVERSE,
        "images": table,
        "initial": run_paths.initial(dataset, init, seed),
    }
    check_same_space(paths.UNIVERSE, table)
    universe = texts = TextTable.from_parquet(paths.UNIVERSE, SCRATCH / "universe")
    if init == "random_words":  # a control: other texts to choose from, all else stays
        read["control"] = paths.CONTROL
        check_same_space(paths.CONTROL, table)
        texts = TextTable.from_parquet(paths.CONTROL, SCRATCH / "universe")
    queries = read_text_list(read["initial"])
    texts.rows(queries, str(read["initial"]))
    images = EmbeddedShards(table) if is_sharded(table) else load_images(table, "train")
    known = read_known(how, dataset, images.class_names, texts.texts)
    given = {
        "texts": texts.texts,
        "text_embeddings": texts.embeddings,
        "queries": queries,
        "random_state": seed,
        **known.settings,
    }
    budget = min(chosen.largest_budget, len(queries))
    relative_to = None if texts is universe else universe.embeddings
    training = Training(given, images, share, budget, settings.compute, relative_to)
    origin = RunProvenance(
        dataset,
        init,
        method,
        seed,
        settings=described(how, share),
        budget=chosen.largest_budget,
        clip_path=settings.clip,
        inputs={**{key: table_sha256(path) for key, path in read.items()}, **known.files},
    )
    if isinstance(how, VariationalSettings):
        test = table if how.select_on == "test" else None
        kept = SCRATCH / "train" / code_key(__file__)
        model, log = fit_variational(how, training, test, origin, kept)
    else:
        first = None if init == "random_words" else settings.questions.first
        model, log = fit_pursuit(how, training, first, known.said)
    count = images_read(model.provenance_)
    model = model.with_class_names(images.class_names)
    model.clip_, model.clip_source_ = universe.clip, clip_source(settings.clip)
    sources = texts.sources_of(model.queries_)
    model.provenance_ = {**model.provenance_, **origin.as_values(), "sources": sources}
    remove_partial(run_paths.model(origin.name))
    model.save(run_paths.model(origin.name))
    header = list(log[0])
    rows = ([row[key] for key in header] for row in log)
    write_csv(run_paths.training(origin.name), header, rows)
    return RowCounts(read=count, written=len(log))


if __name__ == "__main__":
    run(main)
