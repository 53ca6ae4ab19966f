"""A fitted model as a folder: tensors in safetensors, everything else as readable JSON.

FOLDER/model.json            questions, classes, settings, where it came from, where its CLIP is
FOLDER/weights.safetensors   rule.*, classifier.* (a table), or querier.*, classifier.* (networks);
                             familiarity.*
FOLDER/clip.yaml             the file that pins the weights of the CLIP, where there is one

Nothing in a folder is code: a model from a stranger can be wrong, and can do nothing else.
"""

from __future__ import annotations

import json
import os
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file
from safetensors.torch import save as serialized
from torch import Tensor

import infopursuit
from infopursuit.answers.rules import (
    AnswerRule,
    ColumnAnswers,
    MinMaxAnswers,
    ThresholdAnswers,
)
from infopursuit.core.errors import InputError
from infopursuit.core.text_files import read_json
from infopursuit.core.whole_files import NO_ROOM, READ_ONLY, reason, write_whole
from infopursuit.estimators.saved_tensors import (
    Sizes,
    check_familiarity,
    check_naive_bayes,
    check_network,
    check_rule,
)
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pursuit.familiarity import Familiarity
from infopursuit.pursuit.pursuit import Pursuit

if TYPE_CHECKING:
    from infopursuit.estimators.base import PursuitClassifier

WEIGHTS, DESCRIPTION, CLIP = "weights.safetensors", "model.json", "clip.yaml"
# Of what is saved, and the first version of infopursuit that reads it. Whoever raises them lets
# `load` read the formats before, and keeps a model of each by tests/estimators/formats.py.
FORMAT, REQUIRES = 4, "infopursuit>=0.1.0"
# Formats that no release ever wrote.
UNRELEASED = (1, 2, 3)
PARTS = ("rule", "querier", "classifier", "familiarity")
# What reading a description that somebody else wrote may raise.
MALFORMED = (
    AttributeError,
    IndexError,
    KeyError,
    OverflowError,
    RuntimeError,
    TypeError,
    ValueError,
)
# Settings that are data, and stay out of the folder: the chosen questions are in it.
DATA = ("texts", "text_embeddings", "queries", "reference_embeddings", "knowledge")


def save(model: PursuitClassifier, folder: str | Path) -> None:
    """Write a fitted model; equal models are equal bytes.

    Raises:
        InputError: the folder cannot be written, or a label is neither text nor number.
    """
    folder = Path(folder)
    pursuit = model.pursuit_
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
    settings = {
        name: value._asdict() if isinstance(value, StoppingRule) else value
        for name, value in model.get_params(deep=False).items()
        if name not in DATA
    }
    description = {
        "format": FORMAT,
        "requires": REQUIRES,
        "estimator": type(model).__name__,
        "rule": _rule_name(pursuit.rule),
        "queries": list(pursuit.queries),
        "classes": _plain_classes(model.classes_),
        "first": pursuit.first,
        "columns": list(getattr(model, "feature_names_in_", [])),
        "width": model.n_features_in_,
        "clip": {"name": model.clip_, "source": _portable(model.clip_source_, folder)},
        "settings": settings,
        "provenance": model.provenance_,
    }
    text = json.dumps(description, indent=2, sort_keys=True, ensure_ascii=False, default=_plain)
    files = {DESCRIPTION: (text + "\n").encode(), WEIGHTS: serialized(weights)}
    if _is_pinned(model.clip_source_):
        files[CLIP] = _pinned_weights(str(model.clip_source_))
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(files, folder)
    except OSError as error:
        why = reason(error, error.filename) if error.errno in NO_ROOM | READ_ONLY else error
        raise InputError(f"{folder}: the model cannot be written there ({why})") from error


def load(folder: str | Path, device: torch.device | str = "cpu") -> PursuitClassifier:
    """Read a model that `save` wrote.

    Args:
        folder: its folder.
        device: where it computes.

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
    found = description.get("format") if isinstance(description, dict) else None
    if found != FORMAT:
        told = _other_format(found, description)
        raise InputError(f"{folder / DESCRIPTION}: format {found!r}; expected {FORMAT}{told}")
    try:
        model = _restored(description, weights, device)
        clip = description["clip"]
        model.clip_ = _text_or_none("the name of the CLIP", clip["name"])
        model.clip_source_ = _found(_text_or_none("where the CLIP is", clip["source"]), folder)
    except MALFORMED as error:
        raise InputError(
            f"{folder}: {DESCRIPTION} and {WEIGHTS} do not fit each other "
            f"({type(error).__name__}: {_first_line(error)})"
        ) from error
    return model


def _other_format(found: object, description: object) -> str:
    """What to do with a model of another format."""
    if found in UNRELEASED:
        return ", which is of before the first release; train the model anew"
    if not isinstance(found, int) or found < FORMAT:
        return ""
    requires = str(description.get("requires")) if isinstance(description, dict) else ""
    # A stranger's words are not repeated, but for what can be a version.
    named = re.fullmatch(r"infopursuit>=\d{1,4}(\.\d{1,4}){0,2}", requires)
    wanted = f"'{requires}'" if named else "--upgrade infopursuit"
    return (
        f". A newer version wrote it than {infopursuit.__version__}, which is this one: "
        f"pip install {wanted}"
    )


def _text_or_none(what: str, value: Any) -> str | None:
    if not isinstance(value, str | None):
        raise TypeError(f"{what} is {value!r}; expected a text or null")
    return value


def _first_line(error: Exception) -> str:
    return next(iter(str(error).splitlines()), "")


def _is_pinned(source: str | None) -> bool:
    return source is not None and Path(source).suffix in (".yaml", ".yml")


def _pinned_weights(source: str) -> bytes:
    try:
        return Path(source).read_bytes()
    except OSError as error:
        raise InputError(
            f"{source}: the file that pins the CLIP of the model cannot be read ({error}); "
            "expected it where it was when the model was fitted"
        ) from error


def _portable(source: str | None, folder: Path) -> str | None:
    """Where the CLIP is, as a saved model says it: a name, or a path seen from its folder.

    So a model finds its CLIP from any working directory, and in any copy of the repository.
    """
    if source is None or not Path(source).is_absolute():
        return source
    return f"./{CLIP}" if _is_pinned(source) else relative_path(source, folder)


def relative_path(path: str, folder: Path) -> str:
    """A path seen from a folder, with ./ or ../ in front; absolute where it is on another drive."""
    try:
        relative = Path(os.path.relpath(path, folder.resolve())).as_posix()
    except ValueError:
        return path
    return relative if relative.startswith("../") else f"./{relative}"


def _found(source: str | None, folder: Path) -> str | None:
    """The same as `load_clip` takes it."""
    if source is None or not source.startswith(("./", "../")):
        return source
    return str((folder / source).resolve())


def _restored(
    description: dict[str, Any], weights: dict[str, Tensor], device: torch.device | str
) -> PursuitClassifier:
    settings = dict(description["settings"])
    if settings["stop"] is not None:
        settings["stop"] = StoppingRule(**settings["stop"]).checked()
    parts: dict[str, dict[str, Tensor]] = {part: {} for part in PARTS}
    for key, value in weights.items():
        part, _, name = key.partition(".")
        parts[part][name] = value
    queries = _queries(description["queries"], description["estimator"])
    classes = _classes(description["classes"])
    width = description["width"]
    if isinstance(width, bool) or not isinstance(width, int) or width < 1:
        raise ValueError(f"the width is {width!r}; expected a whole number from 1 on")
    first = description["first"]
    if first is not None and (isinstance(first, bool) or first not in range(len(queries))):
        raise ValueError(f"the first question {first!r} is none of {len(queries)}")
    sizes = Sizes(len(queries), len(classes), width)
    check_rule(description["rule"], parts["rule"], sizes)
    found = parts["familiarity"]
    if found:
        check_familiarity(found, sizes)
    model, querier, classifier = _parts(description["estimator"], settings, sizes, parts)
    names = tuple(str(each) for each in classes)
    rule = _rule(description["rule"], parts["rule"])
    familiarity = Familiarity.from_tensors(found) if found else None
    model.pursuit_ = Pursuit(queries, names, rule, querier, classifier, first, familiarity)
    model.pursuit_ = model.pursuit_.to(device)
    # A question to nothing: what does not fit is told now, not at the first picture.
    model.pursuit_.roll_out(torch.zeros(1, width, device=device), min(1, len(queries)))
    model.classes_, model.queries_, model.n_features_in_ = classes, queries, width
    if description["columns"]:
        model.feature_names_in_ = np.array(description["columns"], dtype=object)
    model.provenance_ = dict(description["provenance"])
    return model


def _queries(values: Any, estimator: Any) -> tuple[str, ...]:
    if not isinstance(values, list) or not all(isinstance(each, str) for each in values):
        raise ValueError("queries: a question is no text; expected a list of texts")
    # A dictionary that networks learned may hold a text twice.
    distinct = estimator == "VariationalInformationPursuit" or len(set(values)) == len(values)
    if not distinct:
        raise ValueError("queries: a question is there twice; expected distinct ones")
    return tuple(values)


def _classes(described: dict[str, Any]) -> np.ndarray:
    """The labels, in an array no longer than they are."""
    values, kind = described["values"], np.dtype(described["type"])
    plain = isinstance(values, list) and all(isinstance(v, str | int | float) for v in values)
    if not plain or not values or len(set(values)) < len(values):
        raise ValueError("classes: expected a list of distinct texts or numbers")
    longest = max(len(str(each)) for each in values)
    if kind.kind not in "iufbUO" or (kind.kind == "U" and kind.itemsize > 4 * longest):
        raise ValueError(f"classes: the type {kind} for texts of up to {longest} characters")
    return np.array(values, dtype=kind)


def _parts(
    estimator: str,
    settings: dict[str, Any],
    sizes: Sizes,
    tensors: dict[str, dict[str, Tensor]],
) -> tuple[PursuitClassifier, Any, Any]:
    """The unfitted estimator, its querier and its classifier."""
    if estimator == "InformationPursuitClassifier":
        from infopursuit.answers.table import AnswerTable
        from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
        from infopursuit.naive_bayes.model import InformationGain, NaiveBayes
        from infopursuit.naive_bayes.put_off import PutOff

        check_naive_bayes(tensors, sizes)
        table = AnswerTable.from_tensors(tensors["classifier"])
        model = InformationPursuitClassifier(**settings)
        parts = tensors.get("querier", {})
        put_off = PutOff(parts["put_off"], sizes.k) if "put_off" in parts else None
        return model, InformationGain(table, parts.get("worth"), put_off), NaiveBayes(table)
    if estimator == "VariationalInformationPursuit":
        from infopursuit.estimators.variational import VariationalInformationPursuit
        from infopursuit.vip.networks import HistoryNetwork

        model = VariationalInformationPursuit(**settings)
        networks = []
        for part, outputs in (("querier", sizes.k), ("classifier", sizes.c)):
            made = partial(HistoryNetwork, sizes.k, outputs, tuple(settings["hidden"]))
            check_network(part, tensors[part], made)
            network = made()
            network.load_state_dict(tensors[part])
            networks.append(network.eval())
        return model, networks[0], networks[1]
    raise ValueError(f"the estimator {estimator!r} is not known")


def _rule_name(rule: AnswerRule) -> str:
    if isinstance(rule, MinMaxAnswers):
        return "minmax" if rule.hard else "soft"
    return {ThresholdAnswers: "threshold", ColumnAnswers: "columns"}[type(rule)]


def _rule(name: str, tensors: dict[str, Tensor]) -> AnswerRule:
    if name in ("minmax", "soft"):
        return MinMaxAnswers(tensors["queries"], name == "minmax")
    if name == "threshold":
        return ThresholdAnswers(tensors["directions"], tensors["thresholds"], tensors.get("upper"))
    if name == "columns":
        return ColumnAnswers(tensors["columns"], tensors["cuts"])
    raise ValueError(f"the answer rule {name!r} is not known")


def _plain_classes(classes: np.ndarray) -> dict[str, Any]:
    kind = classes.dtype
    if kind.kind not in "iufbU" and not all(isinstance(each, str) for each in classes):
        raise InputError(f"the labels are {kind}; expected texts or numbers, to be saved")
    return {"values": classes.tolist(), "type": "object" if kind.kind == "O" else kind.str}


def _plain(value: Any) -> Any:
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, (set, frozenset, np.ndarray)):
        return sorted(value) if isinstance(value, (set, frozenset)) else value.tolist()
    raise InputError(f"the setting {value!r} cannot be saved; expected plain values")
