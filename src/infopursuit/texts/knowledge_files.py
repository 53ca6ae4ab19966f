"""The files that hold knowledge of classes, each read by what is written for its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.files import suffix_of
from infopursuit.core.names import composed
from infopursuit.texts.knowledge import KnowledgeTable, read_knowledge_csv

TABLE_SUFFIX, PROMPT_SUFFIX, CSV_SUFFIX = ".parquet", ".jinja", ".csv"
KINDS = {
    PROMPT_SUFFIX: "a prompt", TABLE_SUFFIX: "a table", CSV_SUFFIX: "a table of a spreadsheet",
}  # fmt: skip


def is_prompt(path: str | Path) -> bool:
    """Return whether knowledge is a prompt for the language model, not a file that holds it."""
    return suffix_of(path, "knowledge", KINDS) == PROMPT_SUFFIX


def open_knowledge(path: str | Path) -> KnowledgeTable:
    """Return the knowledge that a table (.csv, .parquet) holds.

    Raises:
        InputError: the file is missing or has a mistake, or its suffix is another.
    """
    if Path(path).suffix == TABLE_SUFFIX:
        from infopursuit.texts.knowledge_tables import read_knowledge

        return read_knowledge(path)
    if Path(path).suffix == CSV_SUFFIX:
        return read_knowledge_csv(path)
    raise InputError(f"{path}: expected a table of classes and texts (.csv, .parquet)")


def knowledge_of_classes(path: str | Path, classes: Sequence[str]) -> KnowledgeTable:
    """Return what a table says, which is about c classes of a data set or says nothing."""
    knowledge = open_knowledge(path)
    check_classes(path, knowledge, classes)
    return knowledge


def check_classes(path: str | Path, knowledge: KnowledgeTable, classes: Sequence[str]) -> None:
    """Raise InputError unless a file is about the classes of the data set, or says nothing."""
    theirs, ours = (set(map(composed, names)) for names in (knowledge.classes, classes))
    for name in knowledge.classes:
        if composed(name) not in ours:
            raise InputError(
                f"{path}: {name!r} is not a class of the data set; expected {', '.join(classes)}"
            )
    for name in classes if knowledge.classes else ():
        if composed(name) not in theirs:
            raise InputError(f"{path}: nothing about the class {name!r}; expected every class")
