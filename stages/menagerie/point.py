"""Measure how often the maps of a run point at the part that a question is about.

    python stages/menagerie/point.py --dataset menagerie --init llm --method naive_bayes --seed 0

Writes artifacts/evaluation/RUN.places.json. It is not a stage of the pipeline: it compares three
ways of making maps, which takes longer than all other measures of a run (docs/explorer.md).
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.clip.towers import model_clip
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.tables import read_table
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline import paths
from infopursuit_study.evaluation.chosen_images import load_pictures
from infopursuit_study.evaluation.files import write_json
from menagerie.places import PLACES
from menagerie.pointing import pointing
from menagerie.truth_measures import rule_of_all_phrases
from menagerie.truths import CLAIMS, claims_truth

DRAWN = paths.MENAGERIE / "places.parquet"


class Settings(Section):
    """What this script reads of params.yaml."""

    datasets: Datasets
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name, images = RunName(dataset, init, method, seed), paths.images(dataset)
    model = load_fitted(paths.model(name), device=settings.compute.torch_device())
    trained_with = RunProvenance.of(model.provenance_)
    train, _ = load_training(images, trained_with.validation_fraction, seed)
    table = paths.knowledge(dataset) if trained_with.knows else None
    phrases, rule = rule_of_all_phrases(model.pursuit_.rule, train, paths.UNIVERSE, table)

    ids = read_table(DRAWN, PLACES).column("id").to_pylist()
    truth = claims_truth(paths.ATTRIBUTES, ids, [CLAIMS[phrase] for phrase in phrases])
    class_names = load_images(images, "test").class_names
    pictures = load_pictures(settings.datasets[dataset].images, class_names, ids)
    clip = model_clip(model.clip_source_, model.clip_)
    figures = pointing(clip, rule, phrases, pictures, truth, DRAWN)
    write_json(paths.evaluation(name, ".places.json"), figures)
    return RowCounts(read=len(ids), written=len(figures))


if __name__ == "__main__":
    run(main)
