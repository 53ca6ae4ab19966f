"""Put the peers of one data set side by side: tables and curves.

python stages/compare.py --dataset menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.files import write_text
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.pipeline import run_paths
from infopursuit.pipeline.benchmark_settings import BenchmarkSettings
from infopursuit.pipeline.run_settings import EvaluateSettings
from infopursuit_study.comparison.results import curve_rows, read_result
from infopursuit_study.comparison.tables import markdown


class Settings(Section):
    benchmark: BenchmarkSettings
    evaluate: EvaluateSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str) -> RowCounts:
    folder, out = run_paths.PEERS, run_paths.BENCHMARK / dataset
    results = [read_result(folder, dataset, peer) for peer in settings.benchmark.peers]
    rows = curve_rows(results)
    write_csv(out / "curves.csv", ("peer", "t", "accuracy"), rows)
    tables = markdown(dataset, results, settings.evaluate.bootstrap_resamples)
    write_text(out / "tables.md", tables)
    return RowCounts(read=len(results), written=len(rows))


if __name__ == "__main__":
    run(main)
