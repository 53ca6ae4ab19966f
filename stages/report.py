"""Join curves, tables, dictionaries and explanations of all runs in one self-contained page.

Ends with one table; writes the few metrics and the images that DVC shows.

python stages/report.py
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

import logging
from itertools import product

from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.terminal import show
from infopursuit.pipeline.paths import ARTIFACTS
from infopursuit.pipeline.run_paths import REPORT
from infopursuit.pipeline.run_settings import EvaluateSettings, RunSettings
from infopursuit_study.run_report.charts import write_plots
from infopursuit_study.run_report.page import write_report
from infopursuit_study.run_report.runs import read_dataset, write_curves
from infopursuit_study.run_report.summary import write_metrics, write_summary

logger = logging.getLogger("infopursuit")


class Settings(Section):
    run: RunSettings
    evaluate: EvaluateSettings
    compute: ComputeSettings


def main(settings: Settings) -> RowCounts:
    runs = settings.run
    datasets = [
        read_dataset(
            ARTIFACTS,
            dataset,
            [RunName(dataset, *key) for key in product(runs.inits, runs.methods, runs.seeds)],
            truth=dataset in runs.truth,
        )
        for dataset in runs.datasets
    ]
    resamples = settings.evaluate.bootstrap_resamples
    write_report(REPORT / "index.html", datasets, resamples)
    write_curves(REPORT / "curves", datasets, "curve", ("t", "accuracy"))
    write_curves(REPORT / "training", datasets, "training", ("updates", "validation_auc"))
    write_metrics(REPORT / "metrics.json", datasets)
    write_plots(REPORT / "plots", datasets)
    summary = write_summary(REPORT / "results.md", datasets, resamples)
    show(f"\n{summary}\n")
    logger.info("report: open %s", REPORT / "index.html")
    return RowCounts(read=sum(len(results.runs) for results in datasets), written=1)


if __name__ == "__main__":
    run(main)
