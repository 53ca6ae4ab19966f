"""A fitted model as a folder: tensors in safetensors, everything else as readable JSON.

FOLDER/model.json            questions, classes, settings, where it and its CLIP come from, and
                             the SHA-256 of every other file
FOLDER/weights.safetensors   rule.*, classifier.* (a table), or querier.*, classifier.* (networks);
                             conformity.*; counts.* if `partial_fit` adds to it
FOLDER/clip.yaml             the file that pins the weights of the CLIP, if there is one
FOLDER/knowledge.csv         the knowledge table that it was fitted with, if there is one

Nothing in a folder is code: a model from a stranger can be wrong, and can do nothing else. Its
description has one strict form (`Description`), and nothing of a size that it only claims is
allocated. The files are replaced one after the other, the description last, and those that it
described lie beside them (*.previous) until then: a save that is killed leaves the model before it.
`load` refuses a file whose SHA-256 is not the one in the description.
"""

from __future__ import annotations

import hashlib
import json
import os
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from pydantic import ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as parsed
from safetensors.torch import save as serialized
from torch import Tensor

from infopursuit.core.errors import InputError, explain_os_error, is_user_error, writable
from infopursuit.core.files import (
    file_sha256,
    is_file,
    made_folder,
    read_bytes,
    read_json,
    write_files,
)
from infopursuit.core.settings import first_mistake
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.estimators.description import (
    FORMAT,
    REQUIRES,
    Description,
    class_labels,
    described_classes,
    other_format,
    plain_value,
    table_columns,
)
from infopursuit.pursuit.answers.columns import value_words
from infopursuit.pursuit.answers.rules import AnswerRule, ColumnValues
from infopursuit.pursuit.parts import CLASSIFIERS, QUERIERS, RULES, Sizes, check_tensors
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable, knowledge_csv, read_knowledge_csv

WEIGHTS, DESCRIPTION, CLIP = "weights.safetensors", "model.json", "clip.yaml"
KNOWLEDGE = "knowledge.csv"
FILES = (DESCRIPTION, WEIGHTS, CLIP, KNOWLEDGE)
# What is added to the name of a file of the model that is being replaced.
PREVIOUS = ".previous"
# The parts that a model may have besides its rule, its querier and its classifier, which says how
# these are read.
MORE = ("counts", "conformity")
# Bytes that `load` reads of a file; more is refused before it is read.
LARGEST_DESCRIPTION, LARGEST_WEIGHTS = 2**28, 2**34
# A save under way replaces both files within milliseconds: how often `load` looks, and the pause.
LOOKS, PAUSE_SECONDS = 5, 0.1


@dataclass
class SavedModel:
    """What a folder holds of a fitted model.

    Attributes:
        estimator: the name of its class.
        settings: the arguments of its constructor, without the data that it was fitted on.
        pursuit: the fitted questions, answer rule, querier and classifier.
        classes: (c,) the labels.
        width: d, of the embeddings, or the number of columns.
        columns: names of the columns, if they have names.
        table: what is in the columns, if not all are numbers.
        clip: the name of the CLIP; None if it is not known.
        clip_source: where the CLIP is, as `load_clip` takes it; None if it is not known.
        provenance: what it was fitted on, and how good it is.
        knowledge: what is known of its classes and texts; None if nothing is.
        counts: what `partial_fit` adds to; None if the model has no such method.
        questions: settings of the questions about columns, for another fit; None without any.
    """

    estimator: str
    settings: dict[str, Any]
    pursuit: Pursuit
    classes: np.ndarray
    width: int
    columns: list[str]
    clip: str | None
    clip_source: str | None
    provenance: dict[str, Any]
    table: TableColumns | None = None
    knowledge: KnowledgeTable | None = None
    counts: Any = None
    questions: dict[str, Any] | None = None


def save(model: SavedModel, folder: str | Path) -> None:
    """Write a fitted model; equal models are equal bytes.

    Raises:
        InputError: the folder cannot be written, a label is neither text nor number, or a table
            would not come back equal.
    """
    folder, pursuit, source = Path(folder), model.pursuit, model.clip_source
    parts = {
        "rule": pursuit.rule,
        "querier": pursuit.querier,
        "classifier": pursuit.classifier,
        "conformity": pursuit.conformity,
        "counts": model.counts,
    }
    weights = {
        f"{part}.{key}": value.contiguous().clone()  # parts may share a table
        for part, holder in parts.items()
        if holder is not None
        for key, value in holder.tensors().items()
    }
    tensors = serialized(weights)
    description = {
        "format": FORMAT,
        "requires": REQUIRES,
        "estimator": model.estimator,
        "rule": RULES.word(pursuit.rule),
        "querier": QUERIERS.word(pursuit.querier),
        "classifier": CLASSIFIERS.word(pursuit.classifier),
        "queries": list(pursuit.queries),
        "classes": described_classes(model.classes),
        "first": pursuit.first,
        "columns": model.columns,
        "width": model.width,
        "clip": {"name": model.clip, "source": _portable(source, folder)},
        "settings": model.settings,
        "provenance": model.provenance,
    }
    if model.table is not None:
        description["table"] = {
            "names": list(model.table.names),
            "categories": list(model.table.categories),
        }
    if model.questions is not None:
        description["questions"] = model.questions
    if pursuit.words != _words(pursuit.rule, model.table):
        description["words"] = [list(each) for each in pursuit.words]
    if pursuit.wording:
        description["wording"] = list(pursuit.wording)
    files = {WEIGHTS: tensors}
    if model.knowledge is not None:
        description["said"] = ["knowledge"]
        files[KNOWLEDGE] = _table_file(folder / KNOWLEDGE, model.knowledge)
    if source is not None and pins_weights(source):
        try:
            files[CLIP] = Path(source).read_bytes()
        except OSError as error:
            raise InputError(
                f"{source}: the file that pins the CLIP of the model cannot be read ({error}); "
                "expected it where it was when the model was fitted"
            ) from error
    description["sha256"] = {name: hashlib.sha256(files[name]).hexdigest() for name in files}
    text = json.dumps(
        description, indent=2, sort_keys=True, ensure_ascii=False, default=plain_value
    )
    files[DESCRIPTION] = (writable(text) + "\n").encode()
    try:
        with made_folder(folder):
            _keep_previous(folder)
            write_files(files, folder)
        others = {f"{name}{PREVIOUS}" for name in FILES} | set(FILES) - set(files)
        for name in others:  # of the model that was there
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        why = explain_os_error(error, error.filename) if is_user_error(error) else error
        raise InputError(f"{folder}: the model cannot be written there ({why})") from error


def _keep_previous(folder: Path) -> None:
    """Give the files of the model in a folder a second name, until another model is whole."""
    if not (folder / DESCRIPTION).is_file():
        return
    with suppress(InputError):  # no description keeps no files
        for name, sha256 in _hashes(
            read_json(folder / DESCRIPTION, "", LARGEST_DESCRIPTION)
        ).items():
            path, previous = folder / name, folder / f"{name}{PREVIOUS}"
            if is_file(path) and file_sha256(path) == sha256:
                previous.unlink(missing_ok=True)
                with suppress(OSError):  # a disk without links
                    previous.hardlink_to(path)


def _table_file(path: Path, table: KnowledgeTable) -> bytes:
    """Return the file of a table; InputError unless it is read back as it was."""
    content = knowledge_csv(table).encode()
    again = read_knowledge_csv(path, content)
    for before, after in ((table.classes, again.classes), (table.texts, again.texts)):
        names = tuple(map(writable, before))
        if names != after:
            lost = next(iter({*names} - {*after}), names[-1:])
            raise InputError(f"{path}: {lost!r} would not come back equal; expected another name")
    return content


def load(folder: str | Path, device: torch.device | str = "cpu") -> SavedModel:
    """Read a model that `save` wrote.

    Args:
        folder: its folder.
        device: where the model computes.

    Raises:
        InputError: a file is missing or unreadable, its format is another one, or the tensors do
            not fit the description.
    """
    folder = Path(folder)
    if not all((folder / name).is_file() for name in (DESCRIPTION, WEIGHTS)):
        raise InputError(f"{folder}: no trained model; expected {DESCRIPTION} and {WEIGHTS} in it")
    values, files = _of_one_save(folder)
    form = values.get("format") if isinstance(values, dict) else None
    if form != FORMAT:
        advice = other_format(form, values)
        raise InputError(f"{folder / DESCRIPTION}: format {form!r}; expected {FORMAT}{advice}")
    try:
        described = Description.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{folder / DESCRIPTION}: {first_mistake(error)}") from error
    try:
        weights = parsed(files[WEIGHTS])
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{folder / WEIGHTS}: not a readable file of tensors ({error})") from error
    with one_line_errors(folder):
        model = _restored(described, values, weights, device)
        # A question about nothing: what does not fit is reported now, not at the first picture.
        # A width that is only claimed takes no memory.
        nothing = torch.zeros(1, 1, device=device).expand(1, model.width)
        model.pursuit.roll_out(nothing, min(1, len(model.pursuit.queries)))
        model.clip_source = _from_folder(model.clip_source, folder)
    if described.said:
        model.knowledge = read_knowledge_csv(folder / KNOWLEDGE, files.get(KNOWLEDGE))
    return model


def _of_one_save(folder: Path) -> tuple[Any, dict[str, bytes]]:
    """Return the description and the other files that were saved together.

    Raises:
        InputError: one cannot be read or is too large, or is of another save.
    """
    expected, other = "expected a file of a trained model", ""
    for look in range(LOOKS):
        if look:
            time.sleep(PAUSE_SECONDS)
        values = read_json(folder / DESCRIPTION, expected, LARGEST_DESCRIPTION)
        wanted = _hashes(values)
        files = {
            name: read_bytes(folder / name, expected, LARGEST_WEIGHTS)
            for name in {WEIGHTS, *wanted}
            if name == WEIGHTS or is_file(folder / name)
        }
        found = {name: hashlib.sha256(content).hexdigest() for name, content in files.items()}
        for name in wanted:
            previous = folder / f"{name}{PREVIOUS}"
            if found.get(name) != wanted[name] and is_file(previous):
                files[name] = read_bytes(previous, expected, LARGEST_WEIGHTS)
                found[name] = hashlib.sha256(files[name]).hexdigest()
        other = next((name for name in wanted if found.get(name) != wanted[name]), "")
        if not other:
            return values, files
    what = "another SHA-256" if is_file(folder / other) else "it is missing"
    raise InputError(
        f"{folder / other}: not the file that {DESCRIPTION} describes ({what}); a save was "
        "interrupted, or a file was replaced: save the model again"
    )


def _hashes(description: Any) -> dict[str, Any]:
    """Return the SHA-256 of files by name, of a description that is not checked yet."""
    if not isinstance(description, dict):
        return {}
    hashes = description.get("sha256")
    given = hashes if isinstance(hashes, dict) else {}
    return {name: given[name] for name in FILES if name in given}


@contextmanager
def one_line_errors(folder: Path) -> Iterator[None]:
    """Turn what a malformed description of a model raises into an InputError of one line."""
    try:
        yield
    except Exception as error:  # what a stranger wrote may raise anything
        first_line = next(iter(str(error).splitlines()), "")
        raise InputError(
            f"{folder}: {DESCRIPTION} and {WEIGHTS} do not fit each other "
            f"({type(error).__name__}: {first_line})"
        ) from error


def pins_weights(source: str) -> bool:
    """Whether a CLIP is given as a file that pins its weights, which travels with a model."""
    return Path(source).suffix in (".yaml", ".yml")


def relative_path(path: str, folder: Path) -> str:
    """Return a path seen from a folder, with ./ or ../ in front; absolute on another drive."""
    try:
        relative = Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:
        return path
    return relative if relative.startswith("../") else f"./{relative}"


def _portable(source: str | None, folder: Path) -> str | None:
    """Return where the CLIP is as a name, or as a path seen from the model's folder.

    So a model finds its CLIP from any working directory, and in any copy of the repository.
    """
    if source is None or not Path(source).is_absolute():
        return source
    return f"./{CLIP}" if pins_weights(source) else relative_path(source, folder)


def _from_folder(source: str | None, folder: Path) -> str | None:
    if source is None or not source.startswith(("./", "../")):
        return source
    return str((folder / source).resolve())


# -- descriptions ---------------------------------------------------------------------------


def _restored(
    described: Description,
    values: dict[str, Any],
    weights: dict[str, Tensor],
    device: torch.device | str,
) -> SavedModel:
    first = described.first
    settings = dict(values["settings"])
    stop = described.settings.stop
    settings["stop"] = None if stop is None else StoppingRule(**stop.model_dump()).checked()
    queries, classes = tuple(described.queries), class_labels(described.classes)
    querier_kind = QUERIERS.of(described.querier)
    classifier_kind = CLASSIFIERS.of(described.classifier)
    for name, given in (("wording", described.wording), ("words", described.words)):
        if given and len(given) != len(queries):
            raise ValueError(f"{name}: {len(given)} questions of {len(queries)}")
    if not querier_kind.repeats and len(set(queries)) < len(queries):
        raise ValueError("queries: a question is there twice; expected distinct ones")
    if first is not None and first >= len(queries):
        raise ValueError(f"the first question {first} is none of {len(queries)}")
    if described.columns and len(described.columns) != described.width:
        raise ValueError(f"columns: {len(described.columns)} names of {described.width} columns")
    table = table_columns(described.table, described.width)
    sizes = Sizes(len(queries), len(classes), described.width)
    parts = _parts(weights)

    def read(part: str, kind: Any, sizes: Sizes) -> dict[str, Tensor]:
        """Return the tensors of a part, checked."""
        tensors = parts.pop(part, {})
        check_tensors(part, tensors, kind.shapes(sizes, tensors))
        return tensors

    kind = RULES.of(described.rule)
    rule = kind.from_tensors(read("rule", kind, sizes))
    if any(len(each) != rule.levels for each in described.words):
        raise ValueError(f"words: expected {rule.levels} answers to each question")
    sizes = sizes._replace(levels=rule.levels, outputs=sizes.c)
    classifier = classifier_kind.from_tensors(read("classifier", classifier_kind, sizes), sizes)
    of_querier = sizes._replace(outputs=sizes.k)
    tensors = read("querier", querier_kind, of_querier)
    querier = querier_kind.from_tensors(tensors, of_querier, classifier)
    kinds = {part: getattr(classifier_kind, part, None) for part in MORE}
    more = {
        part: kind.from_tensors(read(part, kind, sizes)) if kind and part in parts else None
        for part, kind in kinds.items()
    }
    if parts:
        part, tensors = next(iter(parts.items()))
        raise ValueError(f"a tensor {part}.{next(iter(tensors))}, which such a model has not")
    pursuit = Pursuit(
        queries,
        tuple(str(each) for each in classes),
        rule,
        querier,
        classifier,
        first,
        more["conformity"],
        words=tuple(map(tuple, described.words)) or _words(rule, table),
        wording=tuple(described.wording),
        note=described.provenance.note,
    )
    return SavedModel(
        described.estimator,
        settings,
        pursuit.to(device),
        classes,
        described.width,
        described.columns,
        described.clip.name,
        described.clip.source,
        dict(values["provenance"]),
        table,
        counts=more["counts"],
        questions=None if described.questions is None else described.questions.model_dump(),
    )


def _parts(weights: dict[str, Tensor]) -> dict[str, dict[str, Tensor]]:
    parts: dict[str, dict[str, Tensor]] = {}
    for name, tensor in weights.items():
        part, _, own = name.partition(".")
        parts.setdefault(part, {})[own] = tensor
    return parts


def _words(rule: AnswerRule, table: TableColumns | None) -> tuple[tuple[str, ...], ...]:
    return value_words(rule, table) if isinstance(rule, ColumnValues) else ()
