"""Every parser and reader of the product, with inputs that are almost right, for fuzzing."""

from __future__ import annotations

import gc
import json
import tempfile
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import torch
from hypothesis import strategies as st
from PIL import Image
from ruamel.yaml import YAML
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

import infopursuit
from benchmarks.made_up import unit
from campaigns.kinds import Reader
from campaigns.mutations import (
    changed_bytes,
    json_files,
    json_lines_files,
    parquet_files,
    saved,
    text_files,
    texts,
    yaml_files,
)
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.weights import ClipFiles, find_clip_files, read_pinned_weights
from infopursuit.core.files import read_text_list
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, write_table
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.embedded_files import (
    read_embedded_images,
    read_embedded_texts,
    read_embeddings,
)
from infopursuit.datasets.given import Given, read_given
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.persistence import DESCRIPTION, WEIGHTS
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import Served, decoded, server
from infopursuit.pipeline.params import load_params
from infopursuit.queries.class_knowledge import KnownTexts, Unusable, parse_knowledge
from infopursuit.queries.class_queries import read_dictionary
from infopursuit.queries.corpora import (
    Caption,
    Corpus,
    described_corpus,
    given_corpus,
    read_captions,
)
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.openai_server import read_completion
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import load_template
from infopursuit.texts.knowledge import open_knowledge, read_judge, read_knowledge, read_strict
from infopursuit.texts.normalization import normalize
from infopursuit.texts.wording import question
from tests.explorer.made_up import STOP, images, naive_bayes

ROOT = Path(__file__).parents[1]
TABLE = "table.parquet"  # the name of a table that `kinds.parquet` writes
CLASSES = ["cat", "dog", "owl"]
PHRASES = ["four legs", "feathers", "a long tail", "two wings"]
WIDTH = 4


# Valid inputs.


def _unit(rows: int, seed: int = 0, width: int = WIDTH) -> np.ndarray:
    drawn = np.random.default_rng(seed).standard_normal((rows, width))
    return unit(drawn).astype(np.float32)


def _embeddings(rows: int) -> pa.Array:
    values = pa.array(_unit(rows).astype(np.float16).reshape(-1))
    return pa.FixedSizeListArray.from_arrays(values, WIDTH)


def picture(kind: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (12, 10)) -> bytes:
    """Return a small picture, encoded."""
    pixels = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    return saved(lambda file: image.save(file, kind))


IMAGE_COLUMNS = {
    "id": [f"image {row}" for row in range(6)],
    "split": ["train", "test"] * 3,
    "label": pa.array([0, 1, 2] * 2, pa.int32()),
    "class_name": CLASSES * 2,
}
TEXT_TABLE = pa.table(
    {"text": PHRASES, "source": ["list"] * 4, "embedding": _embeddings(4)}
).replace_schema_metadata({"clip": "tiny"})
IMAGE_TABLE = pa.table({**IMAGE_COLUMNS, "image": [picture()] * 6})
EMBEDDED_TABLE = pa.table({**IMAGE_COLUMNS, "embedding": _embeddings(6)})
UNIVERSE_TABLE = pa.table(
    {"text": PHRASES, "sources": [["list"]] * 4, "caption_ids": pa.array([[1]] * 4)}
)
KNOWLEDGE_TABLE = pa.table(
    {
        "class": ["cat", "cat", "dog"],
        "text": PHRASES[:3],
        "value": pa.array([1, 0.5, 0], pa.float32()),
    }
)
ARRAYS = {
    "train_embeddings": _unit(4),
    "train_labels": np.array([0, 1, 2, 0]),
    "test_embeddings": _unit(3),
    "test_labels": np.array(["cat", "dog", "owl"]),
    "class_names": np.array(CLASSES),
}
CAPTIONS = {"annotations": [{"id": 1, "caption": "A dog."}, {"id": 2, "caption": "A  cat."}]}
LISTS = [
    {"complete": True},
    {"class": "cat", "yes": ["four legs"], "sometimes": []},
    {"class": "dog", "yes": ["a long tail"], "sometimes": ["four legs"]},
]
JUDGE = [{"complete": False}, {"text": "four legs", "true": ["cat"], "often": ["dog"]}]
STRICT = [{"text": "an animal", "kind": "hypernym", "true": ["cat", "dog"], "unknown": ["owl"]}]
RECORDED = [
    {"template": "t", "text": "Concepts of {{ caption }}, at most {{ n }}"},
    {
        "template": "t",
        "variables": {"caption": "A dog.", "n": 3},
        "answer": "1. four legs",
        "finish_reason": "stop",
    },
]
REPLY = {"choices": [{"message": {"content": "1. four legs"}, "finish_reason": "stop"}]}
CSV = "path,label,split\na.png,cat,train\nb.png,1,test\nc.png,owl,train\n"
VOCABULARY = "phrase,kind\nfour legs,part\nfeathers,texture\n"
PROMPT = "Concepts of {{ caption }}{% if max_concepts %}!{% endif %}"
PIN = {"hub": "a/b", "revision": "0" * 40, "splits": {"train": "t"}, "counts": {"train": 3}}
WEIGHTS_PIN = {"architecture": "RN50", "url": "https://example.org/x", "sha256": "0" * 64}
CLIP_CONFIG = {"model_cfg": {"embed_dim": 8, "vision_cfg": {}, "text_cfg": {}}}
HISTORIES = {"histories": [[{"query": 0, "answer": 1.0}, {"query": 2, "answer": 0}]]}
ANSWER = "Sure! Here is a list:\n1. Four legs\n2) **feathers**\n- a long tail\n<think>x</think>\n"
KNOWN_ANSWER = "<think>cats</think>\ntrue: 1, 3\nsometimes: none"
KINDS = [None, "thing", "part", "color", "action", "state", "material", "picture", "no kind"]
PICTURES = (
    *(("PNG", mode) for mode in ("RGB", "P", "I;16", "RGBA")),
    *(("JPEG", "RGB"), ("JPEG", "CMYK"), ("GIF", "P"), ("BMP", "RGB"), ("TIFF", "F")),
    *(("TIFF", "RGB"), ("WEBP", "RGB"), ("PPM", "RGB"), ("TGA", "RGB"), ("ICO", "RGBA")),
)
# Models whose folders are fuzzed: a naive-Bayes model of texts, one of columns, and networks.
TEXTS, COLUMNS, NETWORKS = MODELS = ("texts", "columns", "networks")


@cache
def model_files(name: str) -> dict[str, bytes]:
    """Fit a model and return its files."""
    labels = np.arange(60) % 3
    rows = unit(_unit(60, 3, 8) + np.eye(8, dtype=np.float32)[labels])
    given: dict[str, Any] = {"texts": [f"text {row}" for row in range(8)]}
    given |= {"text_embeddings": np.eye(8), "n_queries": 4}
    if name == TEXTS:
        model = InformationPursuitClassifier(**given).fit(rows, labels)
    elif name == COLUMNS:
        model = InformationPursuitClassifier(n_queries=4).fit(rows[:, :3], labels)
    else:
        updates = {"random_updates": 2, "biased_updates": 2}
        model = VariationalInformationPursuit(**given, hidden=(5, 3), **updates).fit(rows, labels)
    with tempfile.TemporaryDirectory() as folder:
        model.save(folder)
        return {path.name: path.read_bytes() for path in Path(folder).iterdir()}


def fit_models() -> None:
    """Fit all models now: a fit draws random numbers, which no strategy of Hypothesis may do."""
    for name in MODELS:
        model_files(name)
    gc.freeze()  # what is there by now: collections before each example need not look at it


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a model with their checksums."""
    description = json.loads(files[DESCRIPTION])
    others = {name: content for name, content in files.items() if name != DESCRIPTION}
    description["sha256"] = {name: sha256(each).hexdigest() for name, each in others.items()}
    return {**files, DESCRIPTION: json.dumps(description).encode()}


# Readers whose result takes more than a call.


def read_rows(path: Path) -> tuple[pa.Table, list[np.ndarray]]:
    """Read embedded images in both ways: as rows, and as blocks of embeddings."""
    assert has_embeddings(path) in (True, False)
    table = read_embedded_images(path, CLASSES, WIDTH, "tiny")
    return table.rows, list(table.blocks())


def read_reply(content: bytes) -> Answer:
    """Read the reply of a language-model server."""
    return read_completion(content.decode(errors="replace"), "http://localhost/v1")


def _described(given: tuple[tuple[str, str, int], Path]) -> Corpus:
    (text, reason, limit), folder = given
    corpus = described_corpus([Caption("A dog.", (1, 2))], [Answer(text, reason)], limit)
    write_table(folder / "queries.parquet", QUERIES, corpus.queries)
    write_table(folder / "answers.parquet", ANSWERS, corpus.answers)
    write_table(folder / "rejected.parquet", REJECTED_LINES, corpus.rejected)
    lines = [line for line in text.splitlines() if line.strip()]
    thoughts = "<think>" in text or "</think>" in text
    assert thoughts or corpus.counts["lines"] == len(lines), "a line of the answer is lost"
    return corpus


def _known(answer: tuple[str, str]) -> KnownTexts | Unusable:
    return parse_knowledge(Answer(*answer), 4)


def _asked(phrase: tuple[str, str | None]) -> str:
    assert normalize(normalize(phrase[0])) == normalize(phrase[0])
    return question(*phrase)


def _rendered(path: Path) -> str:
    template = load_template(path, ["caption"], ["max_concepts"])
    return template.render(caption="x", max_concepts=3)


def _decoded_rows(path: Path) -> list[Image.Image | str]:
    """Decode the images of a data set; a picture, or the reason why there is none, per row."""
    rows = []
    for encoded in open_image_source(path, CLASSES).images(0):
        try:
            rows.append(to_rgb(encoded))
        except UnreadableError as reason:
            assert str(reason)
            rows.append(str(reason))
    return rows


def _shown(path: Path) -> Given:
    return read_given(str(path))


def _clip(config: Path) -> ClipFiles:
    (config.parent / "open_clip_model.safetensors").write_bytes(b"weights")
    return find_clip_files(config.parent)


@cache
def _served() -> TestClient:
    """Return a client of the explorer's server with a table."""
    pursuit = naive_bayes()
    model = Served(pursuit, lambda some: pursuit.answers(torch.zeros(len(some), 6)))
    content = contents((pursuit, Facts("m0", STOP)), images(pursuit), served=True)
    app = server(model, content)
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


def post(path: str, content: bytes) -> Any:
    """Post a body to the explorer's server."""
    return _served().post(path, content=content, headers={"content-type": "application/json"})


# What a result must be, besides of its type.


def _are_stripped(texts: list[str]) -> bool:
    return all(text.strip() == text != "" for text in texts)


def _are_places(known: KnownTexts | Unusable) -> bool:
    if isinstance(known, Unusable):
        return True
    places = [*known.true, *known.sometimes]
    return len(set(places) & set(range(4))) == len(places)


def _are_rows(value: Any) -> bool:
    rows, blocks = value
    return len(rows) == sum(map(len, blocks)) and all(block.shape[1] == WIDTH for block in blocks)


def _are_labelled(parts: Any) -> bool:
    return all(
        part is None or (part.rows.ndim == 2 and len(part.labels) == len(part.rows))
        for part in parts
    )


def _is_source(source: Any) -> bool:
    rows = source.rows.to_pylist()
    return bool(rows) and all(CLASSES[row["label"]] == row["class_name"] for row in rows)


def _is_whole(source: Given) -> bool:
    columns = (source.splits, source.classes)
    return all(column is None or len(column) == len(source.ids) for column in columns)


def _is_rgb(image: Image.Image) -> bool:
    return image.mode == "RGB"


def _is_answer(response: Any) -> bool:
    if response.status_code == 200:
        return "error" not in response.json()
    refused = 400 <= response.status_code < 500 and list(response.json()) == ["error"]
    return refused and "\n" not in response.json()["error"] and len(response.text) < 3000


def _predicts(model: Any) -> bool:
    shares = model.predict_proba(_unit(2, 5, model.n_features_in_))
    return shares.shape == (2, len(model.classes_)) and bool(np.isfinite(shares).all())


# Inputs.


@st.composite
def _array_files(draw: st.DrawFn) -> bytes:
    """Draw files of named arrays: of other types and shapes, or with changed bytes."""
    arrays: dict[str, Any] = dict(ARRAYS)
    for _ in range(draw(st.integers(0, 2))):
        name = draw(st.sampled_from([*ARRAYS, "train_ids", "test_ids", "X", "y"]))
        shape = tuple(draw(st.lists(st.integers(0, 4), max_size=3)))
        kind = draw(st.sampled_from(["f2", "f4", "f8", "i8", "u1", "U3", "b", "c8", "M8[D]", "S2"]))
        arrays[name] = np.zeros(shape, kind)
        if kind.startswith("f") and draw(st.booleans()):
            arrays[name] = np.full(shape, draw(st.floats(width=16)), kind)
        if draw(st.booleans()):
            arrays.pop(draw(st.sampled_from(list(ARRAYS))), None)
    content = saved(lambda file: np.savez(file, **arrays))
    return draw(changed_bytes(content)) if draw(st.booleans()) else content


@st.composite
def _model_folders(draw: st.DrawFn, changed: str) -> dict[str, bytes]:
    """Draw folders of models with something wrong in one file, mostly in the header of tensors."""
    files = model_files(draw(st.sampled_from(MODELS)))
    content = files[changed]
    if changed == DESCRIPTION:
        return {**files, changed: draw(json_files(json.loads(content)))}
    end = 8 + int.from_bytes(content[:8], "little") if draw(st.booleans()) else len(content)
    return sealed({**files, changed: draw(changed_bytes(content[:end])) + content[end:]})


def _answers(text: st.SearchStrategy[str], *more: Any) -> st.SearchStrategy[Any]:
    return st.tuples(text, st.sampled_from(["stop", "length", "content_filter"]), *more)


def _and_folder(value: Any, folder: Path) -> tuple[Any, Path]:
    return value, folder


def _changed_text(text: str) -> st.SearchStrategy[str]:
    return changed_bytes(text.encode()).map(lambda content: content.decode("utf-8", "replace"))


# What a language model can send: all Unicode but halves of surrogate pairs, which engines replace.
_LINES = st.lists(texts.map(lambda text: text.encode("utf-8", "replace").decode())).map("\n".join)
_WRITTEN = st.text(max_size=60) | _LINES | _changed_text(ANSWER)
_DESCRIBED = _answers(_WRITTEN, st.integers(1, 3)).map(lambda given: partial(_and_folder, given))
_NUMBERED = (
    st.text("0123456789,: \ntruesomimn", max_size=60)
    | _changed_text(KNOWN_ANSWER)
    | st.integers(1, 6000).map(lambda digits: f"true: {'9' * digits}\nsometimes: none")
)
PARAMS = (ROOT / "params.yaml").read_text(encoding="utf-8")
_PARAMS_FILES = changed_bytes(PARAMS.encode()) | yaml_files(YAML(typ="safe").load(PARAMS))
_LISTS = text_files("four legs\nfeathers\n")
_PICTURES = st.sampled_from([picture(*kind) for kind in PICTURES]).flatmap(changed_bytes)
_PICTURES |= st.binary(max_size=40)
_EMBEDDED, _TEXTS = parquet_files(EMBEDDED_TABLE), parquet_files(TEXT_TABLE)
_GIVEN = parquet_files(IMAGE_TABLE.append_column("embedding", _embeddings(6)))
_judge = partial(read_judge, classes=CLASSES, texts=PHRASES)
_strict = partial(read_strict, classes=CLASSES)
_open = partial(open_image_source, classes=CLASSES)
_load = partial(infopursuit.load, device="cpu")
_post_picture, _post_steps = partial(post, "/api/images"), partial(post, "/api/steps")

READERS: dict[str, Reader] = {
    "captions (JSON)": Reader(read_captions, "captions.json", json_files(CAPTIONS)),
    "text lists": Reader(read_text_list, "list.txt", _LISTS, _are_stripped),
    "dictionaries": Reader(partial(read_dictionary, k=2), "list.txt", _LISTS, _are_stripped),
    "corpora (CSV)": Reader(given_corpus, "c.csv", text_files(VOCABULARY)),
    "prompts": Reader(_rendered, "p.jinja", text_files(PROMPT)),
    "recorded answers": Reader(RecordedAnswers, "r.jsonl", json_lines_files(RECORDED)),
    "answers: queries": Reader(_described, "", _DESCRIBED),
    "answers: knowledge": Reader(_known, "", _answers(_NUMBERED), _are_places),
    "replies of a server": Reader(read_reply, "", json_files(REPLY)),
    "wording": Reader(_asked, "", st.tuples(texts, st.sampled_from(KINDS))),
    "knowledge (lists)": Reader(open_knowledge, "k.jsonl", json_lines_files(LISTS)),
    "knowledge (Parquet)": Reader(read_knowledge, TABLE, parquet_files(KNOWLEDGE_TABLE)),
    "judge's tables": Reader(_judge, "j.jsonl", json_lines_files(JUDGE)),
    "strict lists": Reader(_strict, "j.jsonl", json_lines_files(STRICT)),
    "params.yaml": Reader(load_params, "params.yaml", _PARAMS_FILES),
    "pinned data sets": Reader(read_pinned_dataset, "p.yaml", yaml_files(PIN)),
    "pinned weights": Reader(read_pinned_weights, "p.yaml", yaml_files(WEIGHTS_PIN)),
    "texts (Parquet)": Reader(PrecomputedTexts, TABLE, _TEXTS),
    "embedded images (Parquet)": Reader(read_rows, TABLE, _EMBEDDED, _are_rows),
    "images (Parquet)": Reader(_decoded_rows, TABLE, parquet_files(IMAGE_TABLE)),
    "images (CSV)": Reader(_open, "set.csv", text_files(CSV), _is_source),
    "embedded images (.npz)": Reader(read_rows, "set.npz", _array_files(), _are_rows),
    "command line: images (.npz)": Reader(
        read_embeddings, "set.npz", _array_files(), _are_labelled
    ),
    "command line: images (Parquet)": Reader(read_embeddings, TABLE, _EMBEDDED, _are_labelled),
    "command line: texts (Parquet)": Reader(
        read_embedded_texts, TABLE, _TEXTS, lambda read: len(read[0]) == len(read[1])
    ),
    "command line: shown images": Reader(_shown, TABLE, _GIVEN, _is_whole),
    "a CLIP's configuration": Reader(_clip, "open_clip_config.json", json_files(CLIP_CONFIG)),
    "pictures": Reader(to_rgb, "", _PICTURES, _is_rgb, UnreadableError),
    "pictures sent": Reader(decoded, "", _PICTURES, _is_rgb, HTTPException),
    "requests: pictures": Reader(_post_picture, "", _PICTURES, _is_answer),
    "requests: histories": Reader(_post_steps, "", json_files(HISTORIES), _is_answer),
    "a model's description": Reader(_load, "", _model_folders(DESCRIPTION), _predicts),
    "a model's tensors": Reader(_load, "", _model_folders(WEIGHTS), _predicts),
}
