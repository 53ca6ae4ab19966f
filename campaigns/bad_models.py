"""Bad folders of models and of CLIPs."""

from __future__ import annotations

import json
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
from safetensors.numpy import load, save

import infopursuit
from campaigns.bad_files import DEEP, Trap
from campaigns.kinds import Kind, a_folder, as_json, nothing
from campaigns.readers import CLIP_CONFIG, model_folders, put_model
from infopursuit.clip.weights import find_clip_files
from infopursuit.estimators.persistence import DESCRIPTION, WEIGHTS

TEXTS, COLUMNS, NETWORKS = range(3)


def kinds() -> list[Kind]:
    """All of them."""
    return [*_descriptions(), *_tensors(), *_files(), *_clips()]


def _load(folder: Path) -> Any:
    return infopursuit.load(folder, device="cpu")


def _described(change: Callable[[dict[str, Any]], Any], model: int = TEXTS) -> Callable:
    """Writes a model with a change in its description."""

    def make(folder: Path) -> Path:
        files = dict(model_folders()[model])
        description = json.loads(files[DESCRIPTION])
        change(description)
        files[DESCRIPTION] = json.dumps(description).encode()
        return put_model(files, folder)

    return make


def _weighed(change: Callable[[dict[str, Any]], Any], model: int = TEXTS) -> Callable:
    """Writes a model with a change in its tensors."""

    def make(folder: Path) -> Path:
        files = dict(model_folders()[model])
        weights = {name: value.copy() for name, value in load(files[WEIGHTS]).items()}
        change(weights)
        files[WEIGHTS] = save(weights)
        return put_model(files, folder)

    return make


def _with(name: str, content: bytes | None) -> Callable[[Path], Path]:
    """Writes a model with another file, or without it."""

    def make(folder: Path) -> Path:
        files = dict(model_folders()[TEXTS])
        if content is None:
            del files[name]
        else:
            files[name] = content
        return put_model(files, folder)

    return make


def _descriptions() -> list[Kind]:
    kind = partial(Kind, "models", read=_load, place=DESCRIPTION)

    def changed(key: str, value: Any) -> Callable[[Path], Path]:
        return _described(lambda description: description.update({key: value}))

    def classes(**more: Any) -> Callable[[Path], Path]:
        return _described(lambda description: description["classes"].update(more))

    def hidden(value: Any) -> Callable[[Path], Path]:
        return _described(lambda d: d["settings"].update(hidden=value), NETWORKS)

    return [
        kind("no description", _with(DESCRIPTION, None), told="no trained model; expected"),
        kind("an empty description", _with(DESCRIPTION, b""), told="not valid JSON, line 1"),
        kind("a list", _with(DESCRIPTION, b"[]"), told="format None; expected 4"),
        kind("lists in lists", _with(DESCRIPTION, DEEP.encode()), told="too deep in one another"),
        kind("a newer format", changed("format", 99), told="format 99; expected 4"),
        kind("an unknown estimator", changed("estimator", "os.system"), told="'os.system' is not"),
        kind("questions are one text", changed("queries", "abcd"), told="expected a list of texts"),
        kind("a question twice", changed("queries", ["a", "b", "c", "a"]), told="there twice"),
        kind("a class twice", classes(values=[0, 1, 1]), told="distinct texts or numbers"),
        kind("classes of 4 GB", classes(values=["a", "b", "c"], type="<U300000000"), told="type <"),
        kind("classes are programs", classes(type="O,i4"), told="classes: the type"),
        kind("a width of 10^9", changed("width", 10**9), told="rule.directions has the shape"),
        kind("another width", changed("width", 7), told=r"shape \(4, 8\); expected \(4, 7\)"),
        kind("the first of none", changed("first", 99), told="first question 99 is none of 4"),
        kind("an unknown setting", _described(lambda d: d["settings"].update(x=1)), told="'x'"),
        kind("a rule of stopping", _described(lambda d: d["settings"].update(stop={"p": 1})),
             told="TypeError.*'p'"),
        kind("layers of 10^12", hidden([10**6, 10**6]), told="shape .*; expected"),
        kind("the CLIP's name is a list", changed("clip", {"name": [1], "source": None}),
             told=r"the name of the CLIP is \[1\]; expected a text"),
    ]  # fmt: skip


def _tensors() -> list[Kind]:
    kind = partial(Kind, "models", read=_load, place=WEIGHTS)

    def put(name: str, value: Any, model: int = TEXTS) -> Callable[[Path], Path]:
        return _weighed(lambda weights: weights.update({name: value}), model)

    def edit(name: str, place: Any, value: float, model: int = TEXTS) -> Callable[[Path], Path]:
        return _weighed(lambda weights: weights[name].__setitem__(place, value), model)

    def swap(first: str, second: str, model: int = TEXTS) -> Callable[[Path], Path]:
        def change(weights: dict[str, Any]) -> None:
            weights[first], weights[second] = weights[second], weights[first]

        return _weighed(change, model)

    table, likely = "classifier.log_likelihood", "classifier.log_prior"
    queries = "querier.head.weight"
    return [
        kind("a tensor less", _weighed(lambda w: w.pop(likely)), told="no tensor classifier.log_p"),
        kind("a tensor too many", put("rule.more", np.zeros(3)), told="a tensor rule.more"),
        kind("a part of nobody", put("x.y", np.zeros(1)), told="a tensor x.y, which"),
        kind("a table of NaN", edit(table, 0, np.nan), told="log_likelihood holds NaN or inf"),
        kind("a table of 4 answers", put(table, np.zeros((4, 4, 3))), told=r"expected \(2, 4, 3\)"),
        kind("an oversized table", put(table, np.zeros((3, 4000, 300), np.float32)), told="4, 3"),
        kind("swapped tensors", swap(table, likely), told="log_likelihood has the shape"),
        kind("familiar by NaN", edit("familiarity.log_likelihood", 0, np.nan), told="holds NaN"),
        kind("familiar answers beyond", edit("familiarity.held_out", 0, 200), told="expected 0 to"),
        kind("a column of nobody", edit("rule.columns", 0, 99, COLUMNS), told="expected 0 to 2"),
        kind("networks of NaN", edit(queries, 0, np.nan, NETWORKS), told="head.weight holds NaN"),
        kind("no network", _weighed(lambda w: w.pop(queries), NETWORKS), told="no tensor querier"),
    ]  # fmt: skip


def _files() -> list[Kind]:
    import pickle

    kind = partial(Kind, "models", read=_load)
    header = as_json({"rule.x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}})
    lying = len(header).to_bytes(8, "little") + header.encode() + bytes(64)
    return [
        kind("missing", nothing("model"), told="no such folder; expected one with model.json"),
        kind("no weights", _with(WEIGHTS, None), told="no trained model; expected"),
        kind("empty weights", _with(WEIGHTS, b""), told="not a readable file of tensors"),
        kind("a pickle", _with(WEIGHTS, pickle.dumps(Trap())), told="not a readable file of ten"),
        kind("a tensor of 2^42 bytes", _with(WEIGHTS, lying), told="not a readable file"),
        kind("weights of another model", _with(WEIGHTS, model_folders()[COLUMNS][WEIGHTS]),
             told="do not fit each other"),
        kind("weights are a folder", _folder_of_weights, told="no trained model"),
    ]  # fmt: skip


def _folder_of_weights(folder: Path) -> Path:
    _with(WEIGHTS, None)(folder)
    (folder / WEIGHTS).mkdir()
    return folder


def _clips() -> list[Kind]:
    kind = partial(Kind, "CLIPs", read=find_clip_files)

    def clip(config: Any, *weights: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            whole = config if isinstance(config, str) else as_json(config)
            (folder / "open_clip_config.json").write_text(whole, encoding="utf-8")
            for name in weights:
                (folder / name).write_bytes(b"x")
            return folder

        return make

    def wide(width: Any) -> Callable[[Path], Path]:
        return clip({"model_cfg": {"embed_dim": width, "text_cfg": {}}}, "a.safetensors")

    place = "open_clip_config.json"
    return [
        kind("missing", nothing("clip"), told="expected a folder with open_clip_config.json"),
        kind("no configuration", a_folder("clip"), told="no open_clip_config.json"),
        kind("broken JSON", clip("{", "a.bin"), told="not valid JSON, line 1", place=place),
        kind("no width", clip({"model_cfg": {}}, "a.bin"), told="no key 'embed_dim'", place=place),
        kind("a width as text", wide("8"), told="embed_dim is '8'; expected 1 to", place=place),
        kind("no weights", clip(CLIP_CONFIG), told="expected one file of weights .*found none"),
        kind("two weights", clip(CLIP_CONFIG, "a.bin", "b.pt"), told="found a.bin, b.pt"),
    ]


def put_texts_model(folder: Path) -> None:
    """Write a model of 4 questions about embeddings of width 8."""
    put_model(model_folders()[TEXTS], folder)
