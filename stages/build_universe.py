"""The universe of query texts: dictionaries, lists and corpora, filtered and de-duplicated.

    python stages/build_universe.py

Writes artifacts/universe/texts.parquet (text, sources, caption ids), the texts that a filter
dropped (rejected.parquet), the control words that are not among the texts (control.parquet) and
counts by source and filter (counts.json).
"""

from infopursuit.core.stage import RowCounts, run

import json
from pathlib import Path

from infopursuit.core.files import read_text_list, write_text
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.core.tables import QUERIES, REJECTED_TEXTS, UNIVERSE, read_table, write_table
from infopursuit.datasets.settings import Datasets
from infopursuit.generation.settings import QueriesSettings, QuestionsSettings, UniverseSettings
from infopursuit.pipeline import paths


class Settings(Section):
    datasets: Datasets
    queries: QueriesSettings
    universe: UniverseSettings
    questions: QuestionsSettings
    compute: ComputeSettings


def main(settings: Settings) -> RowCounts:
    # Polars reads POLARS_MAX_THREADS when it is imported.
    from infopursuit.generation.universe import build_universe, control_texts

    limits = settings.universe
    dictionaries = {
        name: read_text_list(paths.QUERIES / "dictionaries" / f"{name}.txt")
        for name in sorted(settings.queries.dictionaries)
    }
    lists = {
        name: read_text_list(paths.QUERIES / "lists" / f"{name}.txt")
        for name in sorted(settings.queries.lists)
    }
    corpora = {
        name: read_table(paths.QUERIES / "corpora" / name / "texts.parquet", QUERIES)
        for name in sorted(settings.queries.corpora)
    }
    class_names: list[str] = []
    if Path(limits.drop_class_names) == paths.CLASSES:
        for name in settings.datasets:
            class_names += read_text_list(paths.CLASSES / f"{name}.txt")
    texts, rejected, counts = build_universe(
        dictionaries,
        corpora,
        limits,
        lists,
        settings.questions.kept,
        settings.questions.ban,
        class_names,
    )
    words = read_text_list(limits.control_words)
    control, counts["control"] = control_texts(words, (text.as_py() for text in texts["text"]))
    write_table(paths.TEXTS, UNIVERSE, texts)
    write_table(paths.UNIVERSE_FOLDER / "rejected.parquet", REJECTED_TEXTS, rejected)
    write_table(paths.UNIVERSE_FOLDER / "control.parquet", UNIVERSE, control)
    lines = json.dumps(counts, sort_keys=True, indent=2) + "\n"
    write_text(paths.UNIVERSE_FOLDER / "counts.json", lines)
    return RowCounts(
        read=sum(counts["rows"].values()) + len(words),
        written=counts["texts"] + counts["control"]["texts"],
    )


if __name__ == "__main__":
    run(main)
