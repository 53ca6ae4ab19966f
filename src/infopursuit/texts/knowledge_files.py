"""The files that hold knowledge of classes, each read by what is written for its kind."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.files import suffix_of
from infopursuit.core.names import composed
from infopursuit.texts.knowledge import KnowledgeTable, read_knowledge_csv

LIST_SUFFIX, TABLE_SUFFIX, PROMPT_SUFFIX, CSV_SUFFIX = ".jsonl", ".parquet", ".jinja", ".csv"
KINDS = {
    PROMPT_SUFFIX: "a prompt", LIST_SUFFIX: "lists written by a person", TABLE_SUFFIX: "a table",
    CSV_SUFFIX: "a table of a spreadsheet",
}  # fmt: skip


def is_prompt(path: str | Path) -> bool:
    """Return whether knowledge is a prompt for the language model, not a file that holds it."""
    return suffix_of(path, "knowledge", KINDS) == PROMPT_SUFFIX


def open_knowledge(path: str | Path, texts: Sequence[str] = ()) -> KnowledgeTable:
    """Return the knowledge that a file holds: lists (.jsonl) or a table (.csv, .parquet).

    Args:
        path: the file.
        texts: of the universe; those that complete lists do not name are true of no class.

    Raises:
        InputError: the file is missing or has a mistake, or its suffix is another.
    """
    if Path(path).suffix == TABLE_SUFFIX:
        from infopursuit.texts.knowledge_tables import read_knowledge

        return read_knowledge(path)
    if Path(path).suffix == LIST_SUFFIX:
        from infopursuit.texts.knowledge_lists import read_knowledge_lists

        return read_knowledge_lists(path, texts)
    if Path(path).suffix == CSV_SUFFIX:
        return read_knowledge_csv(path)
    raise InputError(
        f"{path}: expected lists written by a person (.jsonl) or a table (.csv, .parquet)"
    )


def knowledge_of_universe(
    path: str | Path, classes: Sequence[str], texts: Sequence[str]
) -> KnowledgeTable:
    """Return what a file says of c classes of a data set and u texts of a universe.

    Texts are of distinct spelling; what the file says of others is left out.
    """
    knowledge = open_knowledge(path, texts)
    check_classes(path, knowledge, classes)
    values = knowledge.for_classes_and_texts(classes, texts)
    return KnowledgeTable(tuple(classes), tuple(texts), values)


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
