"""Join curves, tables, dictionaries and explanations of all runs in one self-contained page.

python stages/report.py
"""

from __future__ import annotations

import logging
from itertools import product
from pathlib import Path

from infopursuit.core.settings import Section
from infopursuit.core.stage import Rows, run
from infopursuit.evaluation.settings import EvaluateSettings
from infopursuit.report.report import write_report
from infopursuit.report.runs import RunKey, read_dataset, write_curves
from infopursuit.report.settings import RunSettings
from infopursuit.report.summary import write_summary

logger = logging.getLogger("infopursuit")

ARTIFACTS = Path("artifacts")
PAGE = ARTIFACTS / "report" / "index.html"
CURVES = ARTIFACTS / "report" / "curves.csv"
SUMMARY = ARTIFACTS / "report" / "results.md"


class Settings(Section):
    """What this stage reads of params.yaml."""

    run: RunSettings
    evaluate: EvaluateSettings


def main(settings: Settings) -> Rows:
    runs = settings.run
    datasets = [
        read_dataset(
            ARTIFACTS,
            dataset,
            [RunKey(dataset, *key) for key in product(runs.inits, runs.methods, runs.seeds)],
            truth=dataset in runs.truth,
        )
        for dataset in runs.datasets
    ]
    write_report(PAGE, datasets, settings.evaluate.bootstrap_resamples)
    write_curves(CURVES, datasets)
    logger.info("%s", write_summary(SUMMARY, datasets, settings.evaluate.bootstrap_resamples))
    logger.info("report: open %s", PAGE)
    return Rows(read=sum(len(results.runs) for results in datasets), written=1)


if __name__ == "__main__":
    run(main)
