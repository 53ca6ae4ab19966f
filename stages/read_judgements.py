"""What people say of the classes of a data set: a judge's table and a strict list, checked.

    python stages/read_judgements.py --dataset food10

Writes artifacts/judgements/DATASET.judge.jsonl and DATASET.strict.jsonl, as they were given.
"""

from __future__ import annotations

from infopursuit.core.stage import Rows, run

import logging
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section
from infopursuit.core.tables import UNIVERSE, read_table
from infopursuit.core.text_lists import read_text_list
from infopursuit.core.whole_files import write_text
from infopursuit.datasets.settings import Datasets
from infopursuit.meaning.judgements import read_judge, read_strict
from infopursuit.queries.normalization import normalize

logger = logging.getLogger("infopursuit")

TEXTS = "artifacts/universe/texts.parquet"
FOLDER = Path("artifacts/judgements")


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets


def main(settings: Settings, dataset: str) -> Rows:
    chosen = settings.datasets[dataset]
    classes = read_text_list(f"artifacts/classes/{dataset}.txt")
    universe = read_table(TEXTS, UNIVERSE, ["text"]).column("text").to_pylist()
    asked = {normalize(text) for text in universe}
    written = 0
    for what, path, read in (
        ("judge", chosen.judge, read_judge),
        ("strict", chosen.strict, read_strict),
    ):
        texts = read(path, classes).texts
        there = sum(normalize(text) in asked for text in texts)
        if texts and not there:
            raise InputError(
                f"datasets.{dataset}.{what}: {path}: none of its texts is in the universe; "
                "expected some, or params/no_knowledge.jsonl"
            )
        if texts:
            logger.info("%s: %d of %d texts are in the universe", what, there, len(texts))
        else:
            logger.info("no %s for %s: measured by the knowledge table instead", what, dataset)
        content = Path(path).read_text(encoding="utf-8")
        write_text(FOLDER / f"{dataset}.{what}.jsonl", content)
        written += len(texts)
    return Rows(read=written, written=written)


if __name__ == "__main__":
    run(main)
