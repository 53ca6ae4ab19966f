"""`infopursuit knowledge`: what a model knows of its classes, as a table that a person edits."""

from __future__ import annotations

import argparse
import logging

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.numbers import counted
from infopursuit.estimators.loading import load
from infopursuit.texts.knowledge import knowledge_csv
from infopursuit.texts.knowledge_files import CSV_SUFFIX

logger = logging.getLogger("infopursuit")


def knowledge(chosen: argparse.Namespace) -> None:
    """Write the knowledge table of a model."""
    if chosen.out.suffix != CSV_SUFFIX:
        raise InputError(f"--out {chosen.out}: expected a .csv file")
    table = load(chosen.model).knowledge_
    if table is None:
        raise InputError(
            f"{chosen.model}: fitted without knowledge of its classes; expected a model of "
            "`infopursuit fit` with --llm or --knowledge"
        )
    write_text(chosen.out, knowledge_csv(table))
    classes, texts = table.values.shape
    counts = counted(classes, "class"), counted(texts, "text")
    logger.info("%s, %s: %s", *counts, chosen.out)
