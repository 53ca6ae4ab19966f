"""Bad folders of models and of CLIPs."""

from __future__ import annotations

import json
import os
import pickle
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.numpy import load, save

import infopursuit
from campaigns.bad_files import DEEP, Trap
from campaigns.kinds import Kind, Reader, family, put, saved
from campaigns.readers import (
    CLIP_CONFIG,
    COLUMNS,
    NETWORKS,
    TEXTS,
    model_files,
    sealed,
)
from infopursuit.clip.towers import load_clip
from infopursuit.clip.weights import find_clip_files
from infopursuit.estimators.persistence import DESCRIPTION, WEIGHTS
from tests.clip.conftest import MODEL

Make = Callable[[Path], Path]
Files = dict[str, bytes]
CONFIG = "open_clip_config.json"


def _model(name: str, content: bytes | None, model: str = TEXTS) -> dict[str, bytes]:
    """Return the files of a model with another file, or without it."""
    files = {**model_files(model), name: content}
    kept = {name: content for name, content in files.items() if content is not None}
    return sealed(kept) if name == WEIGHTS and content is not None else kept


def _embedded(folder: Path) -> Any:
    return load_clip(folder, "cpu").encode_texts(["a"])


_load = partial(infopursuit.load, device="cpu")


def _fits(model: Any) -> bool:
    return len(model.classes_) == 3


def _weighed(change: Callable[[dict[str, Any]], Any], model: str = TEXTS) -> Files:
    weights = {name: value.copy() for name, value in load(model_files(model)[WEIGHTS]).items()}
    change(weights)
    return _model(WEIGHTS, save(weights), model)


def _of_nothing(name: str, size: int) -> Make:
    """Return a function that writes a model with a large file, of which the disk holds nothing."""

    def make(folder: Path) -> Path:
        put(model_files(TEXTS), folder)
        os.truncate(folder / name, size)
        return folder

    return make


def _descriptions() -> list[Kind]:
    def changed(section: str = "", model: str = TEXTS, **more: Any) -> Files:
        description = json.loads(model_files(model)[DESCRIPTION])
        (description[section] if section else description).update(more)
        return _model(DESCRIPTION, json.dumps(description).encode(), model)

    classes, settings, provenance = (
        partial(changed, section) for section in ("classes", "settings", "provenance")
    )
    clip = {"name": [1], "source": None}
    rows = [
        ("no description", _model(DESCRIPTION, None), "no trained model; expected"),
        ("a description of 300 MB", _of_nothing(DESCRIPTION, 3 * 10**8), "300 MB; .* most 268 MB"),
        ("an empty description", _model(DESCRIPTION, b""), "not valid JSON, line 1"),
        ("a list", _model(DESCRIPTION, b"[]"), "format None; expected 4"),
        ("lists in lists", _model(DESCRIPTION, DEEP.encode()), "too deep in one another"),
        ("an unknown estimator", changed(estimator="os.system"), "estimator: .*'os.system'"),
        ("questions are one text", changed(queries="abcd"), "queries: .*list, found 'abcd'"),
        ("a question twice", changed(queries=["a", "b", "c", "a"]), "there twice"),
        ("a class twice", classes(values=[0, 1, 1]), "distinct texts or numbers"),
        ("classes of 4 GB", classes(values=["a", "b", "c"], type="<U300000000"), _fits),
        ("classes are programs", classes(type="O,i4"), "classes of type"),
        ("a width of 10^9", changed(width=10**9), "rule.directions has the shape"),
        ("a column of 10^9", changed(model=COLUMNS, width=10**9), _fits),
        ("sources are a list", provenance(sources=[]), "provenance.sources"),
        ("an accuracy of 1e308", provenance(test_accuracy=1e308), "provenance.test_accuracy"),
        ("a number of images is markup", provenance(test_images="9\n\n# x"), "test_images"),
        ("columns are a number", changed(columns=5), "columns: .*list"),
        ("a first question of 1.0", changed(first=1.0), "first: .*integer"),
        ("1e300 questions", settings(stop={"max_queries": 1e300}), "stop.max_queries"),
        ("texts of another type", classes(values=[0.1, 0.2, 0.3], type="<i8"), "cannot hold"),
        ("another width", changed(width=7), r"shape \(4, 8\); expected \(4, 7\)"),
        ("an unknown first question", changed(first=99), "first question 99 is none of 4"),
        ("an unknown setting", settings(x=1), "'x'"),
        ("a rule of stopping", settings(stop={"p": 1}), "settings.stop.p: unknown key"),
        ("layers of 10^12", settings(NETWORKS, hidden=[10**6, 10**6]), "shape .*; expected"),
        ("the CLIP's name is a list", changed(clip=clip), r"clip.name: .*string, found \[1\]"),
    ]
    return family("models", Reader(_load, DESCRIPTION), rows)


def _tensors() -> list[Kind]:
    def given(name: str, value: Any) -> Files:
        return _weighed(lambda weights: weights.update({name: value}))

    def first_is(name: str, value: float, model: str = TEXTS) -> Files:
        return _weighed(lambda weights: weights[name].__setitem__(0, value), model)

    def without(name: str, model: str = TEXTS) -> Files:
        return _weighed(lambda weights: weights.pop(name), model)

    table, prior, head = "log_likelihood", "classifier.log_prior", "querier.head.weight"
    swapped = {prior: f"classifier.{table}", f"classifier.{table}": prior}
    swap = _weighed(lambda w: w.update({new: w[old] for new, old in swapped.items()}))
    large, double = np.zeros((3, 4000, 300), np.float32), np.zeros((5, 4, 3))
    four = np.zeros((4, 4, 3))
    rows = [
        ("a tensor less", without(prior), "no tensor classifier.log_p"),
        ("a tensor too many", given("rule.more", np.zeros(3)), "a tensor rule.more"),
        ("an unknown part", given("x.y", np.zeros(1)), "a tensor x.y, which"),
        ("a table of float64", given(f"classifier.{table}", double), "is torch.float64; expected"),
        ("a table of NaN", first_is(f"classifier.{table}", np.nan), f"{table} holds NaN or inf"),
        ("a spread of 0", given("classifier.spread", np.zeros(())), "spread is 0.0; expected more"),
        ("a table of 4 answers", given(f"classifier.{table}", four), r"shape \(4, 4, 3\)"),
        ("an oversized table", given(f"classifier.{table}", large), "4, 3"),
        ("swapped tensors", swap, "has the shape"),
        ("familiar by NaN", first_is(f"familiarity.{table}", np.nan), "holds NaN"),
        ("familiar answers beyond", first_is("familiarity.held_out", 200), "expected 0 to"),
        ("an unknown column", first_is("rule.columns", 99, COLUMNS), "expected 0 to 2"),
        ("networks of NaN", first_is(head, np.nan, NETWORKS), "head.weight holds NaN"),
        ("no network", without(head, NETWORKS), "no tensor querier"),
    ]
    return family("models", Reader(_load, WEIGHTS), rows)


def _files() -> list[Kind]:
    def weights_are_a_folder(folder: Path) -> Path:
        put(_model(WEIGHTS, None), folder)
        (folder / WEIGHTS).mkdir()
        return folder

    huge = {"rule.x": {"dtype": "F32", "shape": [2**40], "data_offsets": [0, 2**42]}}
    header = json.dumps(huge).encode()
    lying = len(header).to_bytes(8, "little") + header + bytes(64)
    other = model_files(COLUMNS)[WEIGHTS]
    rows = [
        ("missing", lambda folder: folder / "model", "no such folder; expected one with model"),
        ("no weights", _model(WEIGHTS, None), "no trained model; expected"),
        ("empty weights", _model(WEIGHTS, b""), "not a readable file of tensors"),
        ("a pickle", _model(WEIGHTS, pickle.dumps(Trap())), "not a readable file of tensors"),
        ("a tensor of 2^42 bytes", _model(WEIGHTS, lying), "not a readable file of tensors"),
        ("weights of another model", _model(WEIGHTS, other), "do not fit each other"),
        ("weights of 200 GB", _of_nothing(WEIGHTS, 2 * 10**11), "200,000 MB; expected at most"),
        ("weights are a folder", weights_are_a_folder, "no trained model"),
    ]
    return family("models", Reader(_load), rows)


def _clips() -> list[Kind]:
    def clip(config: Any, *weights: str) -> Files:
        return {CONFIG: json.dumps(config).encode(), **dict.fromkeys(weights, b"x")}

    def tower(name: str, **more: Any) -> Files:
        return clip({"model_cfg": {**CLIP_CONFIG["model_cfg"], name: more}}, "a.bin")

    def pipe(folder: Path) -> Path:
        os.mkfifo(folder / "clip.yaml")
        return folder / "clip.yaml"

    vision, text = partial(tower, "vision_cfg"), partial(tower, "text_cfg")
    text_width = {"model_cfg": {"embed_dim": "8", "text_cfg": {}}}
    configurations = [
        ("missing", lambda folder: folder / "x", "expected a folder with open_clip_config"),
        ("no configuration", {}, "no open_clip_config.json"),
        ("broken JSON", {CONFIG: b"{", "a.bin": b"x"}, "not valid JSON, line 1"),
        ("no width", clip({"model_cfg": {}}, "a.bin"), "no key 'embed_dim'"),
        ("10^6 layers", vision(layers=10**6), "layers is 1000000; expected at most 256"),
        ("more than its weights", vision(layers=99, width=9999), "weights is too small for them"),
        ("pictures of 40000", vision(image_size=[40000, 2]), "image_size is 40000"),
        ("6e7 words", text(vocab_size=6e7), "vocab_size is 60000000.0"),
        ("a tower of transformers", text(hf_model_name="x/y"), "hf_model_name, .* bring code"),
        ("code for a tokenizer", text(tokenizer_kwargs={"trust_remote_code": True}), "sets trust"),
        ("a width as text", clip(text_width, "a.safetensors"), "embed_dim is '8'; expected 1 to"),
    ]
    others = [
        ("no weights", clip(CLIP_CONFIG), "expected one file of weights .*found none"),
        ("two weights", clip(CLIP_CONFIG, "a.bin", "b.pt"), "found a.bin, b.pt"),
        ("a pipe", pipe, "not a regular file"),
    ]

    def pickled(value: Any) -> bytes:
        return saved(lambda file: torch.save(value, file))

    damaged = {
        "empty": b"",
        "a text": b"weights",
        "a list": pickled([1]),
        "None": pickled(None),
        "numbers as keys": pickled({1: torch.zeros(1)}),
        "no tensors": pickled({}),
        "a program": pickled(Trap()),
        "half an archive": pickled({"a": torch.zeros(9)})[:300],
    }
    weights = [
        (what, {**clip({"model_cfg": MODEL}), "a.pt" if what == "a text" else "a.bin": content},
         "cannot load")
        for what, content in damaged.items()
    ]  # fmt: skip
    return [
        *family("weights of CLIPs", Reader(_embedded), weights),
        *family("CLIPs", Reader(find_clip_files, CONFIG), configurations),
        *family("CLIPs", Reader(find_clip_files), others),
    ]


KINDS = [*_descriptions(), *_tensors(), *_files(), *_clips()]
