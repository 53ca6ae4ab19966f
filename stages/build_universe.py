"""The universe of query texts: dictionaries, lists and corpora, filtered and de-duplicated.

    python stages/build_universe.py

Writes artifacts/universe/texts.parquet (text, sources, caption ids), the texts that a filter
dropped (rejected.parquet), the control words that are not among the texts (control.parquet) and
counts by source and filter (counts.json).
"""

from infopursuit.core.stage import Rows, run

import json
from pathlib import Path

from infopursuit.core.settings import Section
from infopursuit.core.tables import QUERIES, REJECTED_TEXTS, UNIVERSE, read_table, write_table
from infopursuit.core.text_lists import read_text_list
from infopursuit.core.whole_files import write_text
from infopursuit.datasets.settings import Datasets
from infopursuit.queries.control import control_texts
from infopursuit.queries.settings import QueriesSettings, QuestionsSettings, UniverseSettings
from infopursuit.queries.universe import UniverseFilters, build_universe

CLASSES = Path("artifacts/classes")
CORPORA = Path("artifacts/queries")
FOLDER = Path("artifacts/universe")


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    queries: QueriesSettings
    universe: UniverseSettings
    questions: QuestionsSettings


def main(settings: Settings) -> Rows:
    limits = settings.universe
    dictionaries = {
        name: read_text_list(CORPORA / "dictionaries" / f"{name}.txt")
        for name in sorted(settings.queries.dictionaries)
    }
    lists = {
        name: read_text_list(CORPORA / "lists" / f"{name}.txt")
        for name in sorted(settings.queries.lists)
    }
    corpora = {
        name: read_table(CORPORA / f"{name}.parquet", QUERIES)
        for name in sorted(settings.queries.corpora)
    }
    class_names: list[str] = []
    if limits.drop_class_names:
        for name in settings.datasets:
            class_names += read_text_list(CLASSES / f"{name}.txt")
    filters = UniverseFilters(
        max_words=limits.max_words,
        min_characters=limits.min_characters,
        max_characters=limits.max_characters,
        drop_or=limits.drop_or,
        drop_parentheses=limits.drop_parentheses,
        class_names=tuple(class_names),
        banned=tuple(settings.questions.ban),
    )
    kept = settings.questions.kept
    texts, rejected, counts = build_universe(dictionaries, corpora, filters, lists, kept)
    words = read_text_list(limits.control_words)
    control, counts["control"] = control_texts(words, (text.as_py() for text in texts["text"]))
    write_table(FOLDER / "texts.parquet", UNIVERSE, texts)
    write_table(FOLDER / "rejected.parquet", REJECTED_TEXTS, rejected)
    write_table(FOLDER / "control.parquet", UNIVERSE, control)
    lines = json.dumps(counts, sort_keys=True, indent=2) + "\n"
    write_text(FOLDER / "counts.json", lines)
    return Rows(
        read=sum(counts["rows"].values()) + len(words),
        written=counts["texts"] + counts["control"]["texts"],
    )


if __name__ == "__main__":
    run(main)
