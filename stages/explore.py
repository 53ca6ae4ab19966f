"""Write the page to explore the best model of a data set: one file that works offline.

python stages/explore.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

import logging
from itertools import product

from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Positive, Section
from infopursuit.datasets.labelled_images import load_images
from infopursuit.datasets.settings import Datasets
from infopursuit.pipeline import paths, run_paths
from infopursuit.pipeline.run_settings import ExplainSettings, RunSettings
from infopursuit_study.evaluation.files import TRUTH_OF_QUERIES
from infopursuit_study.evaluation.measurement import check_classes
from infopursuit_study.run_report.explored import best_run, write_explorer

logger = logging.getLogger("infopursuit")


class Settings(Section):
    run: RunSettings
    datasets: Datasets
    explain: ExplainSettings
    max_images: Positive
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    runs, explain = settings.run, settings.explain
    keys = product(runs.inits, runs.methods, runs.seeds)
    names = [RunName(dataset, *key) for key in keys]
    name, model = best_run(run_paths.MODELS, names, settings.compute.torch_device())
    images = {
        split: load_images(paths.images(dataset), split, settings.max_images)
        for split in ("test", "train")
    }
    check_classes(model.pursuit_.class_names, images["test"].class_names)
    truth = run_paths.evaluation(name) / TRUTH_OF_QUERIES if dataset in runs.truth else None
    page = run_paths.REPORT / "explorer" / f"{dataset}.html"
    stop = explain.stop
    source = settings.datasets[dataset].images
    shown = write_explorer(page, name, model, stop, images["test"], images["train"], source, truth)
    logger.info("explore: open %s", page)
    return RowCounts(read=sum(len(each.ids) for each in images.values()), written=shown)


if __name__ == "__main__":
    run(main)
