"""The universe of query texts: all dictionaries and all corpora, filtered and de-duplicated.

    python stages/build_universe.py

Writes artifacts/universe/texts.parquet (text, sources, caption ids), the texts that a filter
dropped (rejected.parquet), the control words that are not among the texts (control.parquet) and
counts by source and filter (counts.json).
"""

import json
from pathlib import Path

from infopursuit.params import Params
from infopursuit.stage import Rows, run
from infopursuit.tables import QUERIES, REJECTED_TEXTS, UNIVERSE, read_table, write_table
from infopursuit.text_lists import read_text_list
from infopursuit.texts.control import control_texts
from infopursuit.texts.universe import UniverseFilters, build_universe

DICTIONARIES = Path("artifacts/dictionaries")
CORPORA = Path("artifacts/queries")
FOLDER = Path("artifacts/universe")


def main(params: Params) -> Rows:
    settings = params.universe
    dictionaries = {name: read_text_list(DICTIONARIES / f"{name}.txt") for name in params.datasets}
    corpora = {
        name: read_table(CORPORA / f"{name}.parquet", QUERIES) for name in params.queries.corpora
    }
    class_names: list[str] = []
    if settings.drop_class_names:
        for name in params.datasets:
            class_names += read_text_list(DICTIONARIES / f"{name}.classes.txt")
    filters = UniverseFilters(
        max_words=settings.max_words,
        min_characters=settings.min_characters,
        max_characters=settings.max_characters,
        drop_or=settings.drop_or,
        drop_parentheses=settings.drop_parentheses,
        class_names=tuple(class_names),
    )
    texts, rejected, counts = build_universe(dictionaries, corpora, filters)
    words = read_text_list(settings.control_words)
    control, counts["control"] = control_texts(words, (text.as_py() for text in texts["text"]))
    write_table(FOLDER / "texts.parquet", UNIVERSE, texts)
    write_table(FOLDER / "rejected.parquet", REJECTED_TEXTS, rejected)
    write_table(FOLDER / "control.parquet", UNIVERSE, control)
    lines = json.dumps(counts, sort_keys=True, indent=2) + "\n"
    (FOLDER / "counts.json").write_text(lines, encoding="utf-8")
    return Rows(
        read=sum(counts["rows"].values()) + len(words),
        written=counts["texts"] + counts["control"]["texts"],
    )


if __name__ == "__main__":
    run(main)
