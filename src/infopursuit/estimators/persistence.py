"""A fitted model as a folder: tensors in safetensors, everything else as readable JSON.

FOLDER/model.json            questions, classes, settings, where it came from, where its CLIP is
FOLDER/weights.safetensors   rule.*, classifier.* (a table), or querier.*, classifier.* (networks);
                             familiarity.*
FOLDER/clip.yaml             the file that pins the weights of the CLIP, if there is one
FOLDER/knowledge.csv         the knowledge table that it was fitted with, if there is one
FOLDER/judgement.csv         what a judge says of its questions, if one was asked

Nothing in a folder is code: a model from a stranger can be wrong, and can do nothing else.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as serialized
from torch import Tensor

from infopursuit.core.errors import InputError, explain_os_error, is_user_error
from infopursuit.core.files import read_json, write_files
from infopursuit.datasets.table_columns import TableColumns
from infopursuit.pursuit.answers.rules import (
    ANY,
    UNSURE,
    AnswerRule,
    ColumnAnswers,
    MinMaxAnswers,
    ThresholdAnswers,
)
from infopursuit.pursuit.answers.table import AnswerTable
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
NAIVE_BAYES, NETWORKS = "InformationPursuitClassifier", "VariationalInformationPursuit"


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


def save(model: SavedModel, folder: str | Path) -> None:
    """Write a fitted model; equal models are equal bytes.

    Raises:
        InputError: the folder cannot be written, or a label is neither text nor number.
    """
    folder, pursuit, source = Path(folder), model.pursuit, model.clip_source
    parts = {
        "rule": pursuit.rule,
        "querier": pursuit.querier,
        "classifier": pursuit.classifier,
        "familiarity": pursuit.familiarity,
    }
    weights = {
        f"{part}.{key}": value.contiguous().clone()  # parts may share a table
        for part, holder in parts.items()
        if holder is not None
        for key, value in holder.tensors().items()
    }
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
    tables = {name: table for name in TABLES if (table := getattr(model, name)) is not None}
    if tables:
        description["said"] = sorted(tables)
    text = json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False, default=_plain)
    files = {DESCRIPTION: (text + "\n").encode(), WEIGHTS: serialized(weights)}
    files |= {TABLES[name]: knowledge_csv(table).encode() for name, table in tables.items()}
    if source is not None and pins_weights(source):
        try:
            files[CLIP] = Path(source).read_bytes()
        except OSError as error:
            raise InputError(
                f"{source}: the file that pins the CLIP of the model cannot be read ({error}); "
                "expected it where it was when the model was fitted"
            ) from error
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_files(files, folder)
    except OSError as error:
        why = explain_os_error(error, error.filename) if is_user_error(error) else error
        raise InputError(f"{folder}: the model cannot be written there ({why})") from error


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
    description = read_json(folder / DESCRIPTION, "expected the description of a trained model")
    try:
        weights = load_file(folder / WEIGHTS)
    except (SafetensorError, OSError, ValueError) as error:
        raise InputError(f"{folder / WEIGHTS}: not a readable file of tensors ({error})") from error
    form = description.get("format") if isinstance(description, dict) else None
    if form != FORMAT:
        advice = _other_format(form, description)
        raise InputError(f"{folder / DESCRIPTION}: format {form!r}; expected {FORMAT}{advice}")
    with one_line_errors(folder):
        model = _restored(description, weights, device)
        # A question about nothing: what does not fit is reported now, not at the first picture.
        width = model.width if model.table is None else len(model.table.parts)
        model.pursuit.roll_out(torch.zeros(1, width, device=device), 1)
        model.clip_source = _from_folder(model.clip_source, folder)
    for name in description.get("said", ()):
        if name in TABLES:
            setattr(model, name, read_knowledge_csv(folder / TABLES[name]))
    return model


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
    description: dict[str, Any], weights: dict[str, Tensor], device: torch.device | str
) -> SavedModel:
    estimator, settings = description["estimator"], dict(description["settings"])
    if estimator not in (NAIVE_BAYES, NETWORKS):
        raise ValueError(f"the estimator {estimator!r} is not known")
    if settings["stop"] is not None:
        settings["stop"] = StoppingRule(**settings["stop"]).checked()
    queries = _queries(description["queries"], estimator)
    classes = _classes(description["classes"])
    width, first = description["width"], description["first"]
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ValueError(f"the width is {width!r}; expected a whole number from 1 on")
    if first is not None and (isinstance(first, bool) or first not in range(len(queries))):
        raise ValueError(f"the first question {first!r} is none of {len(queries)}")
    table = _table(description.get("table"), width)
    hidden = tuple(settings["hidden"]) if estimator == NETWORKS else None
    read = width if table is None else len(table.parts)
    _check(weights, description["rule"], (len(queries), len(classes), read), hidden)
    familiar = _part(weights, "familiarity")
    pursuit = Pursuit(
        queries,
        tuple(str(each) for each in classes),
        _rule(description["rule"], _part(weights, "rule")),
        *_querier_and_classifier(weights, len(queries), len(classes), hidden),
        first,
        Familiarity.from_tensors(familiar) if familiar else None,
    )
    clip = description["clip"]
    return SavedModel(
        estimator,
        settings,
        pursuit.to(device),
        classes,
        width,
        list(description["columns"]),
        _text_or_none("the name of the CLIP", clip["name"]),
        _text_or_none("where the CLIP is", clip["source"]),
        dict(description["provenance"]),
        table,
    )


def _table(described: Any, width: int) -> TableColumns | None:
    """Return what is in the columns of a table."""
    if described is None:
        return None
    names, categories = described["names"], described["categories"]
    texts = [*names, *(text for each in categories for text in each or ())]
    if not len(names) == len(categories) == width or not all(isinstance(t, str) for t in texts):
        raise ValueError(f"table: expected names and categories of {width} columns")
    kinds = tuple(None if each is None else tuple(each) for each in categories)
    return TableColumns(tuple(names), kinds)


def _text_or_none(what: str, value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError(f"{what} is {value!r}; expected a text or null")
    return value


def _queries(values: Any, estimator: str) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ValueError("queries: expected a list of texts, found other values")
    # A dictionary that networks learned may hold a text twice.
    if estimator != NETWORKS and len(set(values)) < len(values):
        raise ValueError("queries: a question is there twice; expected distinct ones")
    return tuple(values)


def _classes(described: dict[str, Any]) -> np.ndarray:
    """Return the labels, in an array no longer than they are."""
    values, kind = described["values"], np.dtype(described["type"])
    plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not plain or not values or len(set(values)) < len(values):
        raise ValueError("classes: expected a list of distinct texts or numbers")
    longest = max(len(str(each)) for each in values)
    if kind.kind not in "iufbUO" or (kind.kind == "U" and kind.itemsize > 4 * longest):
        raise ValueError(f"classes: the type {kind} for texts of up to {longest} characters")
    return np.array(values, dtype=kind)


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
    "classifier.evidence_weight",
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
    return {ThresholdAnswers: "threshold", ColumnAnswers: "columns"}[type(rule)]


def _rule(name: str, tensors: dict[str, Tensor]) -> AnswerRule:
    if name in ("minmax", "soft"):
        return MinMaxAnswers(tensors["queries"], name == "minmax")
    if name == "threshold":
        return ThresholdAnswers(tensors["directions"], tensors["thresholds"], tensors.get("upper"))
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


def _shapes(
    weights: dict[str, Tensor],
    rule: str,
    sizes: tuple[int, int, int],
    hidden: tuple[int, int] | None,
) -> dict[str, tuple[int, ...]]:
    """Return the shape of each tensor of a model; nothing of a size only claimed is allocated."""
    k, c, d = sizes
    rows = {name: len(tensor) if tensor.ndim else 0 for name, tensor in weights.items()}

    def table(part: str) -> dict[str, tuple[int, ...]]:
        levels = 3 if rows.get(f"{part}.log_likelihood") == 3 else 2
        shapes = {"log_likelihood": (levels, k, c), "log_prior": (c,), "independent_answers": ()}
        shapes["evidence_weight"] = ()
        return {f"{part}.{name}": shape for name, shape in shapes.items()}

    rules: dict[str, dict[str, tuple[int, ...]]] = {
        "minmax": {"queries": (k, d)},
        "soft": {"queries": (k, d)},
        "threshold": {"directions": (k, d), "thresholds": (k,), "upper": (k,)},
        "columns": {"columns": (k,), "cuts": (k,)},
    }
    if rule not in rules:
        raise ValueError(f"the answer rule {rule!r} is not known")
    shapes = {f"rule.{name}": shape for name, shape in rules[rule].items()} | table("familiarity")
    shapes["familiarity.held_out"] = rows.get("familiarity.held_out", 0), k
    if hidden is None:
        shapes["querier.worth"] = (k,)
        shapes["querier.put_off"] = rows.get("querier.put_off", 0), 3
        return shapes | table("classifier")
    with torch.device("meta"):
        networks = {"querier": HistoryNetwork(k, k, hidden)}
        networks["classifier"] = HistoryNetwork(k, c, hidden)
    for part, network in networks.items():
        shapes |= {f"{part}.{name}": tuple(t.shape) for name, t in network.state_dict().items()}
    return shapes
