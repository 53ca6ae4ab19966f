"""Join curves, tables, dictionaries and explanations of all runs in one self-contained page.

python stages/report.py
"""

from __future__ import annotations

import logging
from itertools import product
from pathlib import Path

from infopursuit.params import Params
from infopursuit.presentation.report import write_report
from infopursuit.presentation.runs import RunKey, read_dataset, write_curves
from infopursuit.stage import Rows, run

logger = logging.getLogger("infopursuit")

ARTIFACTS = Path("artifacts")
PAGE = ARTIFACTS / "report" / "index.html"
CURVES = ARTIFACTS / "report" / "curves.csv"


def main(params: Params) -> Rows:
    runs = params.run
    datasets = [
        read_dataset(
            ARTIFACTS,
            dataset,
            [RunKey(dataset, *key) for key in product(runs.inits, runs.methods, runs.seeds)],
            truths=dataset in runs.truths,
        )
        for dataset in runs.datasets
    ]
    write_report(PAGE, datasets, params.evaluate.bootstrap_resamples)
    write_curves(CURVES, datasets)
    logger.info("report: open %s", PAGE)
    return Rows(read=sum(len(results.runs) for results in datasets), written=1)


if __name__ == "__main__":
    run(main)
