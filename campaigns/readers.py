"""Every parser and reader of the product, with inputs that are almost right, for fuzzing."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path
from typing import Any, NamedTuple

import httpx
import numpy as np
import pyarrow as pa
import torch
from hypothesis import strategies as st
from PIL import Image
from starlette.exceptions import HTTPException
from starlette.testclient import TestClient

import infopursuit
from campaigns.mutations import (
    changed_bytes,
    changed_values,
    dumped,
    json_files,
    json_lines_files,
    parquet_files,
    saved,
    text_files,
    texts,
)
from infopursuit.cli.explore import read_source
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.clip.weights import find_clip_files, read_pinned_weights
from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.core.tables import (
    ANSWERS,
    QUERIES,
    REJECTED_LINES,
    write_table,
)
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.datasets.embedded_files import (
    read_embedded_images,
    read_embedded_texts,
    read_embeddings,
)
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.estimators.base import PursuitClassifier
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
    """Something that reads what others wrote.

    Attributes:
        inputs: most of them wrong.
        read: given an input and an empty folder.
        fits: whether what it gave is what its documentation says.
        refusal: what it raises for an input that is at fault.
    """

    inputs: st.SearchStrategy[Any]
    read: Callable[[Any, Path], Any]
    fits: Callable[[Any], bool]
    refusal: type[Exception] = InputError


def _file(name: str, read: Callable[[Path], Any]) -> Callable[[bytes, Path], Any]:
    """A reader of a file with the content that it is given."""

    def read_file(content: bytes, folder: Path) -> Any:
        path = folder / name
        path.write_bytes(content)
        return read(path)

    return read_file


def _lists_of(kind: type) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, list) and all(isinstance(each, kind) for each in found)


def _are_texts(found: Any) -> bool:
    return _lists_of(str)(found) and all(text.strip() == text != "" for text in found)


def _is(kind: type | tuple[type, ...]) -> Callable[[Any], bool]:
    return lambda found: isinstance(found, kind)


def _unit(rows: int, seed: int = 0, width: int = WIDTH) -> np.ndarray:
    values = np.random.default_rng(seed).standard_normal((rows, width))
    return (values / np.linalg.norm(values, axis=1, keepdims=True)).astype(np.float32)


def _embeddings(rows: int, seed: int = 0) -> pa.Array:
    return pa.FixedSizeListArray.from_arrays(
        pa.array(_unit(rows, seed).astype(np.float16).reshape(-1)), WIDTH
    )


def image_rows(rows: int = 6) -> dict[str, Any]:
    """The columns of a table of images but for the images."""
    labels = [row % len(CLASSES) for row in range(rows)]
    return {
        "id": [f"image {row}" for row in range(rows)],
        "split": ["train", "test"] * (rows // 2),
        "label": pa.array(labels, pa.int32()),
        "class_name": [CLASSES[label] for label in labels],
    }


def picture(kind: str = "PNG", mode: str = "RGB", size: tuple[int, int] = (12, 10)) -> bytes:
    """A small picture, encoded."""
    pixels = np.random.default_rng(1).integers(0, 256, (size[1], size[0], 3), dtype=np.uint8)
    image = Image.fromarray(pixels).convert(mode)
    return saved(lambda file: image.save(file, kind))


TEXT_TABLE = pa.table(
    {"text": PHRASES, "source": ["list"] * 4, "embedding": _embeddings(4)}
).replace_schema_metadata({"clip": "tiny"})
IMAGE_TABLE = pa.table({**image_rows(), "image": [picture()] * 6})
EMBEDDED_TABLE = pa.table({**image_rows(), "embedding": _embeddings(6)})
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
PIN = {"hub": "a/b", "revision": "0" * 40, "splits": {"train": "t"}, "counts": {"train": 3}}
WEIGHTS_PIN = {"architecture": "RN50", "url": "https://example.org/x", "sha256": "0" * 64}
CLIP_CONFIG = {"model_cfg": {"embed_dim": 8, "vision_cfg": {}, "text_cfg": {}}}
HISTORIES = {"model": 0, "histories": [[{"query": 0, "answer": 1.0}, {"query": 2, "answer": 0}]]}
ANSWER = "Sure! Here is a list:\n1. Four legs\n2) **feathers**\n- a long tail\n<think>x</think>\n"
KNOWN_ANSWER = "<think>cats</think>\ntrue: 1, 3\nsometimes: none"
KINDS = [None, "thing", "part", "color", "action", "state", "material", "picture", "no kind"]


@cache
def _params() -> str:
    return (ROOT / "params.yaml").read_text(encoding="utf-8")


def _params_of(content: bytes, folder: Path) -> Params:
    (folder / "params.yaml").write_bytes(content)
    return load_params(folder / "params.yaml")


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


def _known(answer: tuple[str, str], folder: Path) -> KnownTexts | Unusable:
    return parse_knowledge(Answer(*answer), 4)


def _is_known(found: Any) -> bool:
    if isinstance(found, Unusable):
        return True
    places = [*found.true, *found.sometimes]
    return isinstance(found, KnownTexts) and len(set(places) & set(range(4))) == len(places)


def _replied(content: bytes, folder: Path) -> Answer:
    return read_completion(httpx.Response(200, content=content), "http://localhost/v1")


def _rendered(content: bytes, folder: Path) -> str:
    path = folder / "prompt.jinja"
    path.write_bytes(content)
    return load_template(path, ["caption"], ["max_concepts"]).render(caption="x", max_concepts=3)


def _asked(phrase: tuple[str, str | None], folder: Path) -> str:
    assert normalize(normalize(phrase[0])) == normalize(phrase[0])
    return question(*phrase)


def _embedded(path: Path) -> Any:
    assert has_embeddings(path) in (True, False)
    found = read_embedded_images(path, CLASSES, WIDTH, "tiny")
    return found.rows, list(found.blocks())


def _is_embedded(found: Any) -> bool:
    rows, blocks = found
    return len(rows) == sum(map(len, blocks)) and all(block.shape[1] == WIDTH for block in blocks)


def _is_source(found: Any) -> bool:
    rows = found.rows.to_pylist()
    return bool(rows) and all(CLASSES[row["label"]] == row["class_name"] for row in rows)


def _pixels(path: Path) -> list[Any]:
    """What a data set's rows are decoded to: a picture, or why there is none."""
    found = []
    for encoded in open_image_source(path, CLASSES).images(0):
        try:
            found.append(to_rgb(encoded))
        except UnreadableError as reason:
            assert str(reason)
            found.append(str(reason))
    return found


def _is_rgb(found: Any) -> bool:
    return isinstance(found, Image.Image) and found.mode == "RGB"


def picture_files() -> st.SearchStrategy[bytes]:
    """Pictures of the formats that people have, with bytes changed."""
    whole = [
        picture(kind, mode)
        for kind, mode in (
            ("PNG", "RGB"),
            ("PNG", "P"),
            ("PNG", "I;16"),
            ("PNG", "RGBA"),
            ("JPEG", "RGB"),
            ("JPEG", "CMYK"),
            ("GIF", "P"),
            ("BMP", "RGB"),
            ("TIFF", "F"),
            ("TIFF", "RGB"),
            ("WEBP", "RGB"),
            ("PPM", "RGB"),
            ("TGA", "RGB"),
            ("ICO", "RGBA"),
        )
    ]
    return st.sampled_from(whole).flatmap(changed_bytes) | st.binary(max_size=40)


# Models are fitted once: what is fuzzed is their folders.


@cache
def model_folders() -> tuple[dict[str, bytes], ...]:
    """The files of a naive-Bayes model of texts, one of columns, and one of networks."""
    labels = np.arange(60) % 3
    rows = _unit(60, 3, 8) + np.eye(8, dtype=np.float32)[labels]
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    given = {"texts": [f"text {row}" for row in range(8)], "text_embeddings": np.eye(8)}
    models: list[PursuitClassifier] = [
        InformationPursuitClassifier(**given, n_queries=4).fit(rows, labels),
        InformationPursuitClassifier(n_queries=4).fit(rows[:, :3], labels),
        VariationalInformationPursuit(
            **given, n_queries=4, hidden=(5, 3), random_updates=2, biased_updates=2
        ).fit(rows, labels),
    ]
    found = []
    for model in models:
        with tempfile.TemporaryDirectory() as folder:
            model.save(folder)
            found.append({path.name: path.read_bytes() for path in Path(folder).iterdir()})
    return tuple(found)


def put_model(files: dict[str, bytes], folder: Path) -> Path:
    """Write the files of a model."""
    for name, content in files.items():
        (folder / name).write_bytes(content)
    return folder


def _loaded(change: tuple[int, str, bytes], folder: Path) -> PursuitClassifier:
    number, name, content = change
    put_model({**model_folders()[number], name: content}, folder)
    return infopursuit.load(folder, device="cpu")


@st.composite
def model_descriptions(draw: st.DrawFn) -> tuple[int, str, bytes]:
    """Folders of a model whose description has something wrong."""
    number = draw(st.integers(0, 2))
    valid = json.loads(model_folders()[number][DESCRIPTION])
    return number, DESCRIPTION, draw(json_files(valid))


@st.composite
def model_weights(draw: st.DrawFn) -> tuple[int, str, bytes]:
    """Folders of a model whose file of tensors has bytes changed, most of them in its header."""
    number = draw(st.integers(0, 2))
    content = model_folders()[number][WEIGHTS]
    size = 8 + int.from_bytes(content[:8], "little")
    if draw(st.booleans()):
        return number, WEIGHTS, draw(changed_bytes(content[:size])) + content[size:]
    return number, WEIGHTS, draw(changed_bytes(content))


def _is_working_model(found: Any) -> bool:
    """Whether a loaded model answers, or says in one way or the other that a row is no row."""
    rows = _unit(2, 5, found.n_features_in_)
    shares = found.predict_proba(rows)
    return shares.shape == (2, len(found.classes_)) and bool(np.isfinite(shares).all())


@cache
def served() -> TestClient:
    """The explorer's server with a table and networks."""
    models = [
        Served(each, lambda image, each=each: each.answers(torch.zeros(1, 6)))
        for each in (naive_bayes(), networks())
    ]
    pursuits = [each.pursuit for each in models]
    named = [(each, Facts(f"m{number}", STOP)) for number, each in enumerate(pursuits)]
    app = server(models, contents(named, images(pursuits), served=True))
    return TestClient(app, base_url="http://127.0.0.1:8000", raise_server_exceptions=False)


def _posted(path: str, content: bytes, folder: Path) -> httpx.Response:
    return served().post(path, content=content, headers={"content-type": "application/json"})


def _is_answer(response: httpx.Response) -> bool:
    if response.status_code == 200:
        return "error" not in response.json()
    refused = 400 <= response.status_code < 500 and list(response.json()) == ["error"]
    return refused and "\n" not in response.json()["error"] and len(response.text) < 3000


def _given_source(path: Path) -> Any:
    return read_source(str(path))


def _npz(arrays: dict[str, np.ndarray]) -> bytes:
    return saved(lambda file: np.savez(file, **arrays))


@st.composite
def array_files(draw: st.DrawFn) -> bytes:
    """Files of named arrays: of other types and shapes, or with bytes changed."""
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
    content = _npz(arrays)
    return draw(changed_bytes(content)) if draw(st.booleans()) else content


def _split(path: Path) -> Any:
    return read_embeddings(path)


def _is_labelled(found: Any) -> bool:
    return all(
        part is None or (part.rows.ndim == 2 and len(part.labels) == len(part.rows))
        for part in found
    )


def _yaml(valid: Any) -> st.SearchStrategy[bytes]:
    """YAML reads JSON; aliases, tags and dates are its own."""
    aliases = "a: &a [x, x, x, x, x, x, x, x, x]\n" + "".join(
        f"{chr(98 + n)}: &{chr(98 + n)} [{', '.join(['*' + chr(97 + n)] * 9)}]\n" for n in range(9)
    )
    own = [aliases, "a: &a [*a]", "a: 2001-99-99", "a: !!python/name:os.system", "? [a]\n: b"]
    own += [
        "a: " + "9" * 5000,
        "a: !!float x",
        "<<: 3",
        "a: !!timestamp 1",
        "--- 1\n--- 2",
        "a: 1:1",
        "[" * 300,
        'a: "\\ud800"',
        'a: "\\0"',
    ]
    changed = st.builds(dumped, changed_values(valid), st.booleans())
    return changed | changed_bytes(dumped(valid, False)) | st.sampled_from(own).map(str.encode)


def _server_answers(text: st.SearchStrategy[str], *more: Any) -> st.SearchStrategy[Any]:
    return st.tuples(text, st.sampled_from(["stop", "length", "content_filter"]), *more)


# What a language model can send: all Unicode but halves of surrogate pairs, which engines replace.
_WRITTEN = (
    st.text(max_size=60) | st.lists(texts.map(lambda t: t.encode("utf-8", "replace").decode()))
    .map("\n".join) | changed_bytes(ANSWER.encode()).map(lambda b: b.decode("utf-8", "replace"))
)  # fmt: skip
_NUMBERED = (
    st.text("0123456789,: \ntruesomimn", max_size=60)
    | changed_bytes(KNOWN_ANSWER.encode()).map(lambda b: b.decode("utf-8", "replace"))
    | st.integers(1, 6000).map(lambda digits: f"true: {'9' * digits}\nsometimes: none")
)


def readers() -> dict[str, Reader]:
    """All of them by name; the model's folders are made here."""
    model_folders()
    parquet = partial(_file, "table.parquet")
    return {
        "captions (JSON)": Reader(
            json_files(CAPTIONS), _file("captions.json", read_captions), _lists_of(Caption)
        ),
        "text lists": Reader(
            text_files("four legs\nfeathers\n"), _file("list.txt", read_text_list), _are_texts
        ),
        "dictionaries": Reader(
            text_files("four legs\nfeathers\n"),
            _file("list.txt", lambda path: read_dictionary(path, 2)),
            _are_texts,
        ),
        "corpora (CSV)": Reader(
            text_files(VOCABULARY), _file("phrases.csv", given_corpus), _is(Corpus)
        ),
        "prompts": Reader(
            text_files("Concepts of {{ caption }}{% if max_concepts %}!{% endif %}"),
            _rendered,
            _is(str),
        ),
        "recorded answers": Reader(
            json_lines_files(RECORDED), _file("r.jsonl", RecordedAnswers), _is(RecordedAnswers)
        ),
        "answers: queries": Reader(
            _server_answers(_WRITTEN, st.integers(1, 3)), _described, _is(Corpus)
        ),
        "answers: knowledge": Reader(_server_answers(_NUMBERED), _known, _is_known),
        "replies of a server": Reader(json_files(REPLY), _replied, _is(Answer)),
        "wording": Reader(st.tuples(texts, st.sampled_from(KINDS)), _asked, _is(str)),
        "knowledge (lists)": Reader(
            json_lines_files(LISTS), _file("k.jsonl", open_knowledge), _is(KnowledgeTable)
        ),
        "knowledge (Parquet)": Reader(
            parquet_files(KNOWLEDGE_TABLE), parquet(read_knowledge), _is(KnowledgeTable)
        ),
        "judge's tables": Reader(
            json_lines_files(JUDGE),
            _file("j.jsonl", lambda path: read_judge(path, CLASSES, PHRASES)),
            _is(KnowledgeTable),
        ),
        "strict lists": Reader(
            json_lines_files(STRICT),
            _file("s.jsonl", lambda path: read_strict(path, CLASSES)),
            _is(KnowledgeTable),
        ),
        "params.yaml": Reader(
            changed_bytes(_params().encode()) | _yaml(_params_value()), _params_of, _is(Params)
        ),
        "pinned data sets": Reader(_yaml(PIN), _file("p.yaml", read_pinned_dataset), bool),
        "pinned weights": Reader(_yaml(WEIGHTS_PIN), _file("p.yaml", read_pinned_weights), bool),
        "texts (Parquet)": Reader(
            parquet_files(TEXT_TABLE), parquet(PrecomputedTexts), _is(PrecomputedTexts)
        ),
        "embedded images (Parquet)": Reader(
            parquet_files(EMBEDDED_TABLE), parquet(_embedded), _is_embedded
        ),
        "images (Parquet)": Reader(parquet_files(IMAGE_TABLE), parquet(_pixels), _is(list)),
        "images (CSV)": Reader(
            text_files(CSV),
            _file("set.csv", lambda path: open_image_source(path, CLASSES)),
            _is_source,
        ),
        "embedded images (.npz)": Reader(array_files(), _file("set.npz", _embedded), _is_embedded),
        "command line: images (.npz)": Reader(
            array_files(), _file("set.npz", _split), _is_labelled
        ),
        "command line: images (Parquet)": Reader(
            parquet_files(EMBEDDED_TABLE), parquet(_split), _is_labelled
        ),
        "command line: texts (Parquet)": Reader(
            parquet_files(TEXT_TABLE),
            parquet(read_embedded_texts),
            lambda found: len(found[0]) == len(found[1]),
        ),
        "command line: shown images": Reader(
            parquet_files(IMAGE_TABLE.append_column("embedding", _embeddings(6))),
            parquet(_given_source),
            lambda found: len(found.ids) == len(found.splits) == len(found.classes),
        ),
        "a CLIP's configuration": Reader(
            json_files(CLIP_CONFIG), _clip_found, lambda found: bool(found.name)
        ),
        "pictures": Reader(
            picture_files(), lambda content, _: to_rgb(content), _is_rgb, UnreadableError
        ),
        "pictures sent": Reader(
            picture_files(), lambda content, _: decoded(content), _is_rgb, HTTPException
        ),
        "requests: pictures": Reader(picture_files(), partial(_posted, "/api/images"), _is_answer),
        "requests: histories": Reader(
            json_files(HISTORIES), partial(_posted, "/api/steps"), _is_answer
        ),
        "a model's description": Reader(model_descriptions(), _loaded, _is_working_model),
        "a model's tensors": Reader(model_weights(), _loaded, _is_working_model),
    }


def _params_value() -> Any:
    from ruamel.yaml import YAML

    return YAML(typ="safe").load(_params())


def _clip_found(content: bytes, folder: Path) -> Any:
    (folder / "open_clip_config.json").write_bytes(content)
    (folder / "open_clip_model.safetensors").write_bytes(b"weights")
    return find_clip_files(folder)
