"""Every parser and reader of the product, with inputs that are almost right, for fuzzing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any, NamedTuple

import httpx
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
from infopursuit.cli.explore import read_source
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.weights import find_clip_files, read_pinned_weights
from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.core.settings import Section
from infopursuit.core.tables import ANSWERS, QUERIES, REJECTED_LINES, write_table
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.embedded_files import (
    read_embedded_images,
    read_embedded_texts,
    read_embeddings,
)
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import PinnedDataset, read_pinned_dataset
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.persistence import DESCRIPTION, WEIGHTS
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.explorer.contents import Facts, contents
from infopursuit.explorer.server import Served, decoded, server
from infopursuit.pipeline.params import Params, load_params
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
from infopursuit.texts.knowledge import (
    KnowledgeTable,
    open_knowledge,
    read_judge,
    read_knowledge,
    read_strict,
)
from infopursuit.texts.normalization import normalize
from infopursuit.texts.wording import question
from tests.explorer.made_up import STOP, images, naive_bayes, networks

ROOT = Path(__file__).parents[1]
CLASSES = ["cat", "dog", "owl"]
PHRASES = ["four legs", "feathers", "a long tail", "two wings"]
WIDTH = 4


class Reader(NamedTuple):
    """A function that reads what others wrote.

    Attributes:
        inputs: examples, most of them wrong.
        read: the function of an input and an empty folder.
        fits: whether a result is what the documentation of the reader promises.
        refusal: the exception for a bad input.
    """

    inputs: st.SearchStrategy[Any]
    read: Callable[[Any, Path], Any]
    fits: Callable[[Any], bool]
    refusal: type[Exception] = InputError


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
HISTORIES = {"model": 0, "histories": [[{"query": 0, "answer": 1.0}, {"query": 2, "answer": 0}]]}
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


def sealed(files: dict[str, bytes]) -> dict[str, bytes]:
    """Return the files of a model with the checksum of its weights."""
    description = json.loads(files[DESCRIPTION])
    description["weights_sha256"] = sha256(files.get(WEIGHTS, b"")).hexdigest()
    return {**files, DESCRIPTION: json.dumps(description).encode()}


def put_model(files: dict[str, bytes], folder: Path) -> Path:
    """Write the files of a model."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


# Readers whose result takes more than a call.


def read_rows(path: Path) -> Any:
    """Read embedded images in both ways: as rows, and as blocks of embeddings."""
    assert has_embeddings(path) in (True, False)
    table = read_embedded_images(path, CLASSES, WIDTH, "tiny")
    return table.rows, list(table.blocks())


def read_reply(content: bytes) -> Answer:
    """Read the reply of a language-model server."""
    return read_completion(content.decode(errors="replace"), "http://localhost/v1")


def _described(answer: tuple[str, str, int], folder: Path) -> Corpus:
    text, reason, limit = answer
    corpus = described_corpus([Caption("A dog.", (1, 2))], [Answer(text, reason)], limit)
    write_table(folder / "queries.parquet", QUERIES, corpus.queries)
    write_table(folder / "answers.parquet", ANSWERS, corpus.answers)
    write_table(folder / "rejected.parquet", REJECTED_LINES, corpus.rejected)
    lines = [line for line in text.splitlines() if line.strip()]
    thoughts = "<think>" in text or "</think>" in text
    assert thoughts or corpus.counts["lines"] == len(lines), "a line of the answer is lost"
    return corpus


def _asked(phrase: tuple[str, str | None], folder: Path) -> str:
    assert normalize(normalize(phrase[0])) == normalize(phrase[0])
    return question(*phrase)


def _decoded_rows(path: Path) -> list[Any]:
    """Decode the images of a data set; a picture, or the reason why there is none, per row."""
    rows = []
    for encoded in open_image_source(path, CLASSES).images(0):
        try:
            rows.append(to_rgb(encoded))
        except UnreadableError as reason:
            assert str(reason)
            rows.append(str(reason))
    return rows


def _clip(config: Path) -> Any:
    (config.parent / "open_clip_model.safetensors").write_bytes(b"weights")
    return find_clip_files(config.parent)


@cache
def _served() -> TestClient:
    """Return a client of the explorer's server with a table and networks."""
    pursuits = [naive_bayes(), networks()]
    models = [
        Served(pursuit, lambda image, pursuit=pursuit: pursuit.answers(torch.zeros(1, 6)))
        for pursuit in pursuits
    ]
    named = [(pursuit, Facts(f"m{number}", STOP)) for number, pursuit in enumerate(pursuits)]
    app = server(models, contents(named, images(pursuits), served=True))
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


def post(path: str, content: bytes) -> httpx.Response:
    """Post a body to the explorer's server."""
    return _served().post(path, content=content, headers={"content-type": "application/json"})


# What a result must be.


def _is(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, kind)


def _lists_of(kind: type) -> Callable[[Any], bool]:
    return lambda value: isinstance(value, list) and all(isinstance(part, kind) for part in value)


def _are_texts(value: Any) -> bool:
    return _lists_of(str)(value) and all(text.strip() == text != "" for text in value)


def _are_places(known: Any) -> bool:
    if isinstance(known, Unusable):
        return True
    places = [*known.true, *known.sometimes]
    return isinstance(known, KnownTexts) and len(set(places) & set(range(4))) == len(places)


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


def _is_rgb(image: Any) -> bool:
    return isinstance(image, Image.Image) and image.mode == "RGB"


def _is_answer(response: httpx.Response) -> bool:
    if response.status_code == 200:
        return "error" not in response.json()
    refused = 400 <= response.status_code < 500 and list(response.json()) == ["error"]
    return refused and "\n" not in response.json()["error"] and len(response.text) < 3000


def _predicts(model: Any) -> bool:
    shares = model.predict_proba(_unit(2, 5, model.n_features_in_))
    return shares.shape == (2, len(model.classes_)) and bool(np.isfinite(shares).all())


# Inputs.


@st.composite
def array_files(draw: st.DrawFn) -> bytes:
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
def model_folders(draw: st.DrawFn, changed: str) -> dict[str, bytes]:
    """Draw folders of models with something wrong in one file, mostly in the header of tensors."""
    files = model_files(draw(st.sampled_from(MODELS)))
    content = files[changed]
    if changed == DESCRIPTION:
        return {**files, changed: draw(json_files(json.loads(content)))}
    end = 8 + int.from_bytes(content[:8], "little") if draw(st.booleans()) else len(content)
    return sealed({**files, changed: draw(changed_bytes(content[:end])) + content[end:]})


def _answers(text: st.SearchStrategy[str], *more: Any) -> st.SearchStrategy[Any]:
    return st.tuples(text, st.sampled_from(["stop", "length", "content_filter"]), *more)


def _changed_text(text: str) -> st.SearchStrategy[str]:
    return changed_bytes(text.encode()).map(lambda content: content.decode("utf-8", "replace"))


# What a language model can send: all Unicode but halves of surrogate pairs, which engines replace.
_LINES = st.lists(texts.map(lambda text: text.encode("utf-8", "replace").decode())).map("\n".join)
_WRITTEN = st.text(max_size=60) | _LINES | _changed_text(ANSWER)
_NUMBERED = (
    st.text("0123456789,: \ntruesomimn", max_size=60)
    | _changed_text(KNOWN_ANSWER)
    | st.integers(1, 6000).map(lambda digits: f"true: {'9' * digits}\nsometimes: none")
)


def _file(
    inputs: st.SearchStrategy[bytes],
    name: str,
    read: Callable[[Path], Any],
    fits: Callable[[Any], bool],
) -> Reader:
    """Return a reader of a file with this name."""

    def read_file(content: bytes, folder: Path) -> Any:
        (folder / name).write_bytes(content)
        return read(folder / name)

    return Reader(inputs, read_file, fits)


def readers() -> dict[str, Reader]:
    """Return all readers by name."""
    params = (ROOT / "params.yaml").read_text(encoding="utf-8")
    params_files = changed_bytes(params.encode()) | yaml_files(YAML(typ="safe").load(params))
    lists, knowledge = text_files("four legs\nfeathers\n"), _is(KnowledgeTable)
    embedded, encoded = parquet_files(EMBEDDED_TABLE), parquet_files(IMAGE_TABLE)
    given = parquet_files(IMAGE_TABLE.append_column("embedding", _embeddings(6)))
    pictures = st.sampled_from([picture(*kind) for kind in PICTURES]).flatmap(changed_bytes)
    pictures = pictures | st.binary(max_size=40)

    def prompt(path: Path) -> str:
        template = load_template(path, ["caption"], ["max_concepts"])
        return template.render(caption="x", max_concepts=3)

    def loaded(files: dict[str, bytes], folder: Path) -> Any:
        return infopursuit.load(put_model(files, folder), device="cpu")

    def posted(path: str, content: bytes, folder: Path) -> httpx.Response:
        return post(path, content)

    return {
        "captions (JSON)": _file(json_files(CAPTIONS), "c.json", read_captions, _lists_of(Caption)),
        "text lists": _file(lists, "list.txt", read_text_list, _are_texts),
        "dictionaries": _file(lists, "list.txt", partial(read_dictionary, k=2), _are_texts),
        "corpora (CSV)": _file(text_files(VOCABULARY), "c.csv", given_corpus, _is(Corpus)),
        "prompts": _file(text_files(PROMPT), "prompt.jinja", prompt, _is(str)),
        "recorded answers": _file(
            json_lines_files(RECORDED), "r.jsonl", RecordedAnswers, _is(RecordedAnswers)
        ),
        "answers: queries": Reader(_answers(_WRITTEN, st.integers(1, 3)), _described, _is(Corpus)),
        "answers: knowledge": Reader(
            _answers(_NUMBERED), lambda answer, _: parse_knowledge(Answer(*answer), 4), _are_places
        ),
        "replies of a server": Reader(
            json_files(REPLY), lambda content, _: read_reply(content), _is(Answer)
        ),
        "wording": Reader(st.tuples(texts, st.sampled_from(KINDS)), _asked, _is(str)),
        "knowledge (lists)": _file(json_lines_files(LISTS), "k.jsonl", open_knowledge, knowledge),
        "knowledge (Parquet)": _file(
            parquet_files(KNOWLEDGE_TABLE), "k.parquet", read_knowledge, knowledge
        ),
        "judge's tables": _file(
            json_lines_files(JUDGE),
            "j.jsonl",
            lambda path: read_judge(path, CLASSES, PHRASES),
            knowledge,
        ),
        "strict lists": _file(
            json_lines_files(STRICT), "s.jsonl", lambda path: read_strict(path, CLASSES), knowledge
        ),
        "params.yaml": _file(params_files, "params.yaml", load_params, _is(Params)),
        "pinned data sets": _file(
            yaml_files(PIN), "p.yaml", read_pinned_dataset, _is(PinnedDataset)
        ),
        "pinned weights": _file(
            yaml_files(WEIGHTS_PIN), "p.yaml", read_pinned_weights, _is(Section)
        ),
        "texts (Parquet)": _file(
            parquet_files(TEXT_TABLE), "t.parquet", PrecomputedTexts, _is(PrecomputedTexts)
        ),
        "embedded images (Parquet)": _file(embedded, "t.parquet", read_rows, _are_rows),
        "images (Parquet)": _file(encoded, "t.parquet", _decoded_rows, _is(list)),
        "images (CSV)": _file(
            text_files(CSV), "set.csv", lambda path: open_image_source(path, CLASSES), _is_source
        ),
        "embedded images (.npz)": _file(array_files(), "set.npz", read_rows, _are_rows),
        "command line: images (.npz)": _file(
            array_files(), "set.npz", read_embeddings, _are_labelled
        ),
        "command line: images (Parquet)": _file(
            embedded, "t.parquet", read_embeddings, _are_labelled
        ),
        "command line: texts (Parquet)": _file(
            parquet_files(TEXT_TABLE),
            "t.parquet",
            read_embedded_texts,
            lambda read: len(read[0]) == len(read[1]),
        ),
        "command line: shown images": _file(
            given,
            "t.parquet",
            lambda path: read_source(str(path)),
            lambda source: len(source.ids) == len(source.splits) == len(source.classes),
        ),
        "a CLIP's configuration": _file(
            json_files(CLIP_CONFIG), "open_clip_config.json", _clip, lambda clip: bool(clip.name)
        ),
        "pictures": Reader(pictures, lambda content, _: to_rgb(content), _is_rgb, UnreadableError),
        "pictures sent": Reader(
            pictures, lambda content, _: decoded(content), _is_rgb, HTTPException
        ),
        "requests: pictures": Reader(pictures, partial(posted, "/api/images"), _is_answer),
        "requests: histories": Reader(
            json_files(HISTORIES), partial(posted, "/api/steps"), _is_answer
        ),
        "a model's description": Reader(model_folders(DESCRIPTION), loaded, _predicts),
        "a model's tensors": Reader(model_folders(WEIGHTS), loaded, _predicts),
    }
