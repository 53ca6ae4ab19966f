"""A fitted model as a folder: tensors in safetensors, everything else as readable JSON.

FOLDER/model.json            questions, classes, settings, where it and its CLIP come from, and
                             the SHA-256 of every other file
FOLDER/weights.safetensors   rule.*, classifier.* (a table), or querier.*, classifier.* (networks);
                             familiarity.*; counts.* of a model `from_knowledge`
FOLDER/clip.yaml             the file that pins the weights of the CLIP, if there is one
FOLDER/knowledge.csv         the knowledge table that it was fitted with, if there is one
FOLDER/judgement.csv         what a judge says of its questions, if one was asked

Nothing in a folder is code: a model from a stranger can be wrong, and can do nothing else. Its
description has one strict form (`Description`), and nothing of a size that it only claims is
allocated. The files are replaced one after the other, the description last: `load` refuses a file
whose SHA-256 is not the one in it, after it has waited for a save that may be under way.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any, Literal

import numpy as np
import torch
from pydantic import ConfigDict, Field, ValidationError
from safetensors import SafetensorError
from safetensors.torch import load as parsed
from safetensors.torch import save as serialized
from torch import Tensor

from infopursuit.core.errors import InputError, explain_os_error, is_user_error, writable
from infopursuit.core.files import is_file, read_bytes, read_json, write_files
from infopursuit.core.settings import Section, Share, first_mistake
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.columns import value_words
from infopursuit.pursuit.answers.rules import (
    ANY,
    UNSURE,
    AnswerRule,
    ColumnAnswers,
    ColumnValues,
    MinMaxAnswers,
    ThresholdAnswers,
    value_levels,
)
from infopursuit.pursuit.answers.table import AnswerTable, Counts
from infopursuit.pursuit.familiarity import NOT_KNOWN, Familiarity
from infopursuit.pursuit.naive_bayes.model import (
    InformationGain,
    NaiveBayes,
    RedundantQuestions,
)
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.texts.knowledge import KnowledgeTable, knowledge_csv, read_knowledge_csv

WEIGHTS, DESCRIPTION, CLIP = "weights.safetensors", "model.json", "clip.yaml"
# Tables of classes and texts, by the field of a saved model that holds them.
TABLES = {"knowledge": "knowledge.csv", "judgement": "judgement.csv"}
FILES = (DESCRIPTION, WEIGHTS, CLIP, *TABLES.values())
# The format that is saved, and the first version of infopursuit that reads it. When you raise them,
# let `load` read the earlier formats and keep a model of each with tests/estimators/formats.py.
FORMAT, REQUIRES = 4, "infopursuit>=0.1.0"
# Formats that no release ever wrote.
UNRELEASED = (1, 2, 3)
# Settings that no release had, with the values of models that are read all the same.
GONE = {"columns": "values", "certified_by": None, "class_weight": None, "leakage": 1.0}
NAIVE_BAYES, NETWORKS = "InformationPursuitClassifier", "VariationalInformationPursuit"
# Bytes that `load` reads of a file; more is refused before it is read.
LARGEST_DESCRIPTION, LARGEST_WEIGHTS = 2**28, 2**34
# A save under way replaces both files within milliseconds: how often `load` looks, and the pause.
LOOKS, PAUSE_SECONDS = 5, 0.1

Count = Annotated[int, Field(ge=0)]


class _Classes(Section):
    values: Annotated[list[str | bool | int | float], Field(min_length=1)]
    type: str


class _ClipPlace(Section):
    name: str | None
    source: str | None


class _Stop(Section):
    probability: float | None = None
    max_queries: int | None = None
    entropy: float | None = None
    stability: int | None = None


class _Settings(Section):
    """The settings that a model is asked with; the others are those of its next fit."""

    model_config = ConfigDict(extra="allow")
    stop: _Stop | None
    hidden: Annotated[list[int], Field(min_length=2, max_length=2)] | None = None


class _Provenance(Section):
    """What cards, pages and later commands show of the provenance."""

    model_config = ConfigDict(extra="allow")
    sources: dict[str, str] = Field(default_factory=dict)
    rejected: dict[str, str] = Field(default_factory=dict)
    test_accuracy: Share | None = None
    held_out_accuracy: Share | None = None
    test_images: Count = 0
    held_out_images: Count = 0
    trained_on: str = ""


class _Table(Section):
    names: list[str]
    categories: list[list[str] | None]


class Description(Section):
    """The form of `model.json`."""

    format: int
    requires: str
    estimator: Literal["InformationPursuitClassifier", "VariationalInformationPursuit"]
    rule: Literal["minmax", "soft", "threshold", "columns", "values"]
    queries: list[str]
    classes: _Classes
    first: Count | None
    columns: list[str]
    width: Annotated[int, Field(ge=1, lt=2**31)]
    clip: _ClipPlace
    settings: _Settings
    provenance: _Provenance
    table: _Table | None = None  # of a model that reads raw tables
    wording: list[str] = Field(default_factory=list)
    said: list[Literal["knowledge", "judgement"]] = Field(default_factory=list)
    # Some earlier models have the SHA-256 of their weights alone, others have none.
    sha256: dict[str, str] = Field(default_factory=dict)
    weights_sha256: str | None = None


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
        judgement: what a judge says of its questions; None without one.
        counts: what `partial_fit` has counted; None if the model has no such method.
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
    judgement: KnowledgeTable | None = None
    counts: Counts | None = None


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
        "familiarity": pursuit.familiarity,
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
        "rule": _rule_name(pursuit.rule),
        "queries": list(pursuit.queries),
        "classes": _described_classes(model.classes),
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
    if pursuit.wording:
        description["wording"] = list(pursuit.wording)
    tables = {name: table for name in TABLES if (table := getattr(model, name)) is not None}
    if tables:
        description["said"] = sorted(tables)
    files = {WEIGHTS: tensors}
    files |= {TABLES[name]: _table_file(folder / TABLES[name], tables[name]) for name in tables}
    if source is not None and pins_weights(source):
        try:
            files[CLIP] = Path(source).read_bytes()
        except OSError as error:
            raise InputError(
                f"{source}: the file that pins the CLIP of the model cannot be read ({error}); "
                "expected it where it was when the model was fitted"
            ) from error
    description["sha256"] = {name: hashlib.sha256(files[name]).hexdigest() for name in files}
    text = json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False, default=_plain)
    files[DESCRIPTION] = (writable(text) + "\n").encode()
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_files(files, folder)
        for name in set(FILES) - set(files):  # of the model that was there
            (folder / name).unlink(missing_ok=True)
    except OSError as error:
        why = explain_os_error(error, error.filename) if is_user_error(error) else error
        raise InputError(f"{folder}: the model cannot be written there ({why})") from error


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
        advice = _other_format(form, values)
        raise InputError(f"{folder / DESCRIPTION}: format {form!r}; expected {FORMAT}{advice}")
    try:
        described = Description.model_validate(values)
    except ValidationError as error:
        raise InputError(f"{folder / DESCRIPTION}: {first_mistake(error)}") from error
    for name, usual in GONE.items():
        if (value := values["settings"].get(name, usual)) != usual:
            raise InputError(
                f"{folder / DESCRIPTION}: settings.{name} is {value!r}, which no release had; "
                "train the model again"
            )
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
    for name in described.said:
        path = folder / TABLES[name]
        setattr(model, name, read_knowledge_csv(path, files.get(path.name)))
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
    hashes = {WEIGHTS: description.get("weights_sha256")}
    if isinstance(given := description.get("sha256"), dict):
        hashes |= given
    return {name: hashes[name] for name in FILES if hashes.get(name) is not None}


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
    """Return the same as `load_clip` takes it."""
    if source is None or not source.startswith(("./", "../")):
        return source
    return str((folder / source).resolve())


def _other_format(form: object, description: object) -> str:
    """Say what to do with a model of another format."""
    if form in UNRELEASED:
        return ", which no release wrote; train the model again"
    if not isinstance(form, int) or form < FORMAT:
        return ""
    requires = str(description.get("requires")) if isinstance(description, dict) else ""
    # A stranger's words are not repeated, unless they can be a version.
    named = re.fullmatch(r"infopursuit>=\d{1,4}(\.\d{1,4}){0,2}", requires)
    wanted = f"'{requires}'" if named else "--upgrade infopursuit"
    return (
        f". A newer version of infopursuit than this one, {version('infopursuit')}, wrote it: "
        f"pip install {wanted}"
    )


# -- descriptions ---------------------------------------------------------------------------


def _restored(
    described: Description,
    values: dict[str, Any],
    weights: dict[str, Tensor],
    device: torch.device | str,
) -> SavedModel:
    estimator, first = described.estimator, described.first
    settings = {name: value for name, value in values["settings"].items() if name not in GONE}
    stop = described.settings.stop
    settings["stop"] = None if stop is None else StoppingRule(**stop.model_dump()).checked()
    queries, classes = tuple(described.queries), _classes(described.classes)
    # A dictionary that networks learned may hold a text twice.
    if described.wording and len(described.wording) != len(queries):
        raise ValueError(f"wording: {len(described.wording)} questions of {len(queries)}")
    if estimator != NETWORKS and len(set(queries)) < len(queries):
        raise ValueError("queries: a question is there twice; expected distinct ones")
    if first is not None and first >= len(queries):
        raise ValueError(f"the first question {first} is none of {len(queries)}")
    table = _table(described.table, described.width)
    hidden = None
    if estimator == NETWORKS:
        first_width, second_width = settings["hidden"]
        hidden = first_width, second_width
    _check(weights, described.rule, (len(queries), len(classes), described.width), hidden)
    familiar, counts = _part(weights, "familiarity"), _part(weights, "counts")
    pursuit = Pursuit(
        queries,
        tuple(str(each) for each in classes),
        _rule(described.rule, _part(weights, "rule")),
        *_querier_and_classifier(weights, len(queries), len(classes), hidden),
        first,
        Familiarity.from_tensors(familiar) if familiar else None,
        wording=tuple(described.wording),
    )
    if isinstance(pursuit.rule, ColumnValues):
        pursuit = replace(pursuit, words=value_words(pursuit.rule, table))
    return SavedModel(
        estimator,
        settings,
        pursuit.to(device),
        classes,
        described.width,
        described.columns,
        described.clip.name,
        described.clip.source,
        dict(values["provenance"]),
        table,
        counts=Counts(**counts) if counts else None,
    )


def _table(described: _Table | None, width: int) -> TableColumns | None:
    """Return what is in the columns of a table."""
    if described is None:
        return None
    if not len(described.names) == len(described.categories) == width:
        raise ValueError(f"table: expected names and categories of {width} columns")
    kinds = tuple(None if each is None else tuple(each) for each in described.categories)
    return TableColumns(tuple(described.names), kinds)


def _classes(described: _Classes) -> np.ndarray:
    """Return the labels; a text type is as wide as they are, whatever it says."""
    values, kind = described.values, np.dtype(described.type)
    if kind.kind not in "iufbUO" or len(set(values)) < len(values):
        raise ValueError(f"classes of type {kind}: expected distinct texts or numbers")
    order = "<U" if kind.kind == "U" and kind.isnative else f"{kind.byteorder}U"
    classes = np.array(values, dtype=order if kind.kind == "U" else kind)
    if classes.tolist() != values:
        raise ValueError(f"classes: {kind} cannot hold {values[:3]}")
    return classes


def _described_classes(classes: np.ndarray) -> dict[str, Any]:
    kind = classes.dtype
    if kind.kind not in "iufbU" and not all(isinstance(each, str) for each in classes):
        raise InputError(f"the labels are {kind}; expected texts or numbers, to be saved")
    return {"values": classes.tolist(), "type": "object" if kind.kind == "O" else kind.str}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, set | frozenset | np.ndarray):
        return sorted(value) if isinstance(value, set | frozenset) else value.tolist()
    raise InputError(f"the setting {value!r} cannot be saved; expected plain values")


# -- tensors --------------------------------------------------------------------------------

OPTIONAL = (
    "rule.upper",
    "rule.certain",
    "classifier.evidence_weight",
    "classifier.growth",
    "classifier.spread",
    "classifier.prior_wear",
    "querier.worth",
    "querier.put_off",
    "familiarity.",
)


def _part(weights: dict[str, Tensor], part: str) -> dict[str, Tensor]:
    prefix = f"{part}."
    return {
        name.removeprefix(prefix): value
        for name, value in weights.items()
        if name.startswith(prefix)
    }


def _rule_name(rule: AnswerRule) -> str:
    if isinstance(rule, MinMaxAnswers):
        return "minmax" if rule.hard else "soft"
    names = {ThresholdAnswers: "threshold", ColumnAnswers: "columns", ColumnValues: "values"}
    return names[type(rule)]


def _rule(name: str, tensors: dict[str, Tensor]) -> AnswerRule:
    if name in ("minmax", "soft"):
        return MinMaxAnswers(tensors["queries"], name == "minmax")
    if name == "threshold":
        extra = tensors.get("upper"), tensors.get("certain")
        return ThresholdAnswers(tensors["directions"], tensors["thresholds"], *extra)
    if name == "values":
        return ColumnValues(tensors["columns"], tensors["cuts"], tensors["numeric"] > 0)
    return ColumnAnswers(tensors["columns"], tensors["cuts"])


def _querier_and_classifier(
    weights: dict[str, Tensor], k: int, c: int, hidden: tuple[int, int] | None
) -> tuple[Any, Any]:
    if hidden is None:
        table = AnswerTable.from_tensors(_part(weights, "classifier"))
        parts = _part(weights, "querier")
        redundant = RedundantQuestions(parts["put_off"], k) if "put_off" in parts else None
        return InformationGain(table, parts.get("worth"), redundant), NaiveBayes(table)
    networks = []
    for part, outputs in (("querier", k), ("classifier", c)):
        network = HistoryNetwork(k, outputs, hidden)
        network.load_state_dict(_part(weights, part))
        networks.append(network.eval())
    return networks[0], networks[1]


def _check(
    weights: dict[str, Tensor],
    rule: str,
    sizes: tuple[int, int, int],
    hidden: tuple[int, int] | None,
) -> None:
    """Raise ValueError unless these are finite tensors of the shapes that a description claims."""
    expected = _shapes(weights, rule, sizes, hidden)
    levels, _, _ = expected["familiarity.log_likelihood"]
    below = {"rule.columns": sizes[2], "familiarity.held_out": levels, "querier.put_off": sizes[0]}
    below["rule.numeric"] = 2
    missing = [name for name in expected if name not in weights and not name.startswith(OPTIONAL)]
    if missing:
        raise ValueError(f"no tensor {missing[0]}")
    for name, tensor in weights.items():
        if name not in expected:
            raise ValueError(f"a tensor {name}, which such a model has not")
        if tuple(tensor.shape) != expected[name]:
            raise ValueError(
                f"{name} has the shape {tuple(tensor.shape)}; expected {expected[name]}"
            )
        if tensor.is_floating_point() == (name in below):
            kind = "integers" if name in below else "floats"
            raise ValueError(f"{name} is {tensor.dtype}; expected {kind}")
        double = name == "rule.cuts" or name.startswith("counts.") or not expected[name]
        wanted = torch.float64 if double else torch.float32
        if name not in below and tensor.dtype != wanted:
            raise ValueError(f"{name} is {tensor.dtype}; expected {wanted}")
        if name in below:
            checked = tensor[tensor != NOT_KNOWN] if name == "familiarity.held_out" else tensor
            if checked.numel() and not 0 <= checked.min() <= checked.max() < below[name]:
                numbers = f"{tensor.min().item()} to {tensor.max().item()}"
                raise ValueError(f"{name} holds {numbers}; expected 0 to {below[name] - 1}")
            if name == "querier.put_off" and (tensor[:, 2] > UNSURE).any():
                raise ValueError(f"{name}: expected answers {ANY} to {UNSURE} in its last column")
        # A table without tempering has infinitely many independent answers.
        elif not (name.endswith(".independent_answers") or torch.isfinite(tensor).all()):
            raise ValueError(f"{name} holds NaN or infinity; expected finite numbers")
        elif name.endswith(".prior_wear") and not 0 <= tensor <= 1:
            raise ValueError(f"{name} is {tensor.item()}; expected 0 to 1")
        elif not (expected[name] or name.endswith(".prior_wear") or tensor > 0):
            raise ValueError(f"{name} is {tensor.item()}; expected more than 0")
        elif name.startswith("counts.") and not (tensor >= 0).all():
            raise ValueError(f"{name} holds negative numbers; expected counts")


def _shapes(
    weights: dict[str, Tensor],
    rule: str,
    sizes: tuple[int, int, int],
    hidden: tuple[int, int] | None,
) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor of a model; nothing of a size only claimed is allocated."""
    k, c, d = sizes
    rows = {name: len(tensor) if tensor.ndim else 0 for name, tensor in weights.items()}
    levels = 2 + ("rule.upper" in weights) + 2 * ("rule.certain" in weights)
    cuts = weights.get("rule.cuts", torch.empty(0))
    if rule == "values" and cuts.ndim == 2:
        levels = value_levels(cuts.shape[1])
    if levels == 4:
        raise ValueError("a tensor rule.certain without rule.upper")

    def table(part: str) -> dict[str, tuple[int, ...]]:
        shapes = {"log_likelihood": (levels, k, c), "log_prior": (c,), "independent_answers": ()}
        shapes |= {"evidence_weight": (), "growth": (), "spread": (), "prior_wear": ()}
        return {f"{part}.{name}": shape for name, shape in shapes.items()}

    rules: dict[str, dict[str, tuple[int, ...]]] = {
        "minmax": {"queries": (k, d)},
        "soft": {"queries": (k, d)},
        "threshold": {
            "directions": (k, d),
            "thresholds": (k,),
            "upper": (k,),
            "certain": (k, 2),
        },
        "columns": {"columns": (k,), "cuts": (k,)},
        "values": {"columns": (k,), "cuts": (k, cuts.shape[-1]), "numeric": (k,)},
    }
    if rule not in rules:
        raise ValueError(f"the answer rule {rule!r} is not known")
    shapes = {f"rule.{name}": shape for name, shape in rules[rule].items()} | table("familiarity")
    shapes["familiarity.held_out"] = rows.get("familiarity.held_out", 0), k
    if hidden is None:
        shapes["querier.worth"] = (k,)
        shapes["querier.put_off"] = rows.get("querier.put_off", 0), 3
        if any(name.startswith("counts.") for name in weights):
            shapes |= {"counts.yes": (c, k), "counts.answered": (c, k), "counts.images": (c,)}
        return shapes | table("classifier")
    with torch.device("meta"):
        networks = {"querier": HistoryNetwork(k, k, hidden)}
        networks["classifier"] = HistoryNetwork(k, c, hidden)
    for part, network in networks.items():
        shapes |= {f"{part}.{name}": tuple(t.shape) for name, t in network.state_dict().items()}
    return shapes
