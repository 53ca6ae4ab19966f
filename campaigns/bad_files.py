"""Bad settings, captions, lists, tables, arrays, answers, knowledge and judgements."""

from __future__ import annotations

import io
import json
import pickle
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import httpx
import numpy as np
import pyarrow as pa

from campaigns.kinds import (
    ACCEPTED,
    Kind,
    as_json,
    file,
    given,
    lines,
    nothing,
    parquet,
)
from campaigns.mutations import saved
from campaigns.readers import (
    ARRAYS,
    CLASSES,
    EMBEDDED_TABLE,
    IMAGE_TABLE,
    KNOWLEDGE_TABLE,
    LISTS,
    PHRASES,
    RECORDED,
    ROOT,
    TEXT_TABLE,
    UNIVERSE_TABLE,
    WIDTH,
)
from infopursuit.clip.precomputed_texts import PrecomputedTexts
from infopursuit.core.files import read_text_list
from infopursuit.core.tables import EMBEDDED_TEXTS, UNIVERSE, read_table
from infopursuit.datasets.embedded_files import read_embedded_images
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.datasets.open_images import open_image_source
from infopursuit.datasets.pinned_datasets import read_pinned_dataset
from infopursuit.pipeline.params import load_params
from infopursuit.queries.class_knowledge import parse_knowledge
from infopursuit.queries.class_queries import read_dictionary
from infopursuit.queries.corpora import (
    Caption,
    described_corpus,
    given_corpus,
    has_captions,
    read_captions,
)
from infopursuit.queries.language_models import Answer
from infopursuit.queries.language_models.openai_server import read_completion
from infopursuit.queries.language_models.recorded import RecordedAnswers
from infopursuit.queries.templates import load_template
from infopursuit.texts.knowledge import open_knowledge, read_judge, read_knowledge, read_strict

# A list with one more list in it, and so on.
DEEP = "[" * 2000 + "]" * 2000
LONG_NUMBER = "9" * 5000


def kinds() -> list[Kind]:
    """All of them."""
    return [
        *_settings(),
        *_captions(),
        *_lists(),
        *_corpora(),
        *_tables(),
        *_arrays(),
        *_image_lists(),
        *_answers(),
        *_replies(),
        *_knowledge(),
        *_judgements(),
        *_prompts(),
    ]


def _params(old: str, new: str) -> Callable[[Path], Path]:
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    assert old in text, old
    return file("params.yaml", text.replace(old, new, 1))


def _settings() -> list[Kind]:
    kind = partial(Kind, "settings", read=load_params, place="params.yaml")
    whole = partial(file, "params.yaml")
    return [
        kind("missing", nothing("params.yaml"), told="no such file"),
        kind("empty", whole(""), told="expected a mapping of settings, found NoneType"),
        kind("a list", whole("- run\n"), told="expected a mapping of settings, found list"),
        kind("Latin-1", whole("name: é".encode("latin-1")), told="not a readable UTF-8"),
        kind("broken YAML", whole("run: [\n"), told="not valid YAML: while parsing"),
        kind("a key twice", whole("run: 1\nrun: 2\n"), told="duplicate key"),
        kind("a date that is none", whole("a: 2001-99-99\n"), told="not valid YAML"),
        kind("5000 digits", whole(f"a: {LONG_NUMBER}\n"), told="not valid YAML: Exceeds"),
        kind(
            "lists in lists", whole("a: " + DEEP[:400] + DEEP[-400:]), told="too deep|missing key"
        ),
        kind("a section missing", whole("run: {}\n"), told=r"missing key"),
        kind("an unknown key", _params("run:\n", "rum: 1\nrun:\n"), told="rum: unknown key"),
        kind(
            "out of range",
            _params("validation_fraction: 0.1", "validation_fraction: 1.5"),
            told="validation_fraction: .*less than 1, found 1.5",
        ),
        kind(
            "a name for a shell",
            _params("datasets:\n", 'datasets:\n  "$(touch x)": {}\n'),
            told="datasets",
        ),
        Kind(
            "settings",
            "a pin of no kind",
            file("p.yaml", "colour: red\n"),
            read_pinned_dataset,
            "expected a pinned data set, with one of the keys hub",
            "p.yaml",
        ),
        Kind(
            "settings",
            "a pin to a branch",
            file("p.yaml", "hub: a/b\nrevision: main\n"),
            read_pinned_dataset,
            "revision: .*pattern.*found 'main'",
            "p.yaml",
        ),
    ]


def _annotated(*annotations: Any) -> Callable[[Path], Path]:
    return file("captions.json", as_json({"annotations": list(annotations)}))


def _captions() -> list[Kind]:
    kind = partial(Kind, "captions", read=read_captions, place="captions.json")
    whole = partial(file, "captions.json")
    first = {"id": 1, "caption": "A dog."}
    return [
        kind("missing", nothing("captions.json"), told="no such file; expected COCO captions"),
        kind("empty", whole(""), told="not valid JSON, line 1"),
        kind("truncated", whole('{"annotations": [{"id": 1,\n "cap'), told="valid JSON, line 2"),
        kind("another document", whole('{"images": []}'), told="annotations: Field required"),
        kind(
            "an annotation is a text",
            _annotated("x"),
            told=r"\[0\]: .* found .x",
        ),
        kind("no caption", _annotated({"id": 4}), told=r"annotations\[0\].caption: Field required"),
        kind("an id of 1.5", _annotated({**first, "id": 1.5}), told="id: .*found 1.5"),
        kind(
            "an id beyond 64 bits",
            _annotated({**first, "id": 2**64}),
            told="id: .* less than 9223",
        ),
        kind("an id twice", _annotated(first, first), told=r"annotations\[1\] has the id 1 of"),
        kind("a blank caption", _annotated({"id": 3, "caption": " \n"}), told="an empty caption"),
        kind("half a character", _annotated({"id": 1, "caption": "\ud83d"}), told="surrogate"),
        kind("lists in lists", whole(DEEP), told="too deep in one another"),
        kind(
            "a key of 10 MB", whole(as_json({"x" * 10**7: 1})), told="annotations: Field required"
        ),
    ]


def _lists() -> list[Kind]:
    kind = partial(Kind, "lists and class files", read=read_text_list, place="list.txt")
    whole = partial(file, "list.txt")

    def stray(folder: Path) -> Path:
        (folder / "cat").mkdir()
        (folder / "stray.txt").touch()
        return folder

    classes = partial(Kind, "lists and class files", read=read_class_names)
    return [
        kind("missing", nothing("list.txt"), told="no such file; expected one text a line"),
        kind("empty", whole(""), told="the file is empty; expected one text a line"),
        kind("a text twice", whole("a\nb\n a\n"), told="line 3 repeats 'a' of line 1"),
        kind("Latin-1", whole("Bär\n".encode("latin-1")), told="not a readable UTF-8"),
        kind(
            "a mark of Windows",
            whole("\ufeffcat\r\ndog\r\n"),
            told=ACCEPTED,
            fits=lambda found: found == ["cat", "dog"],
        ),
        kind(
            "a text of 20 MB",
            whole("x" * 20_000_000),
            told=ACCEPTED,
            fits=lambda found: len(found[0]) == 20_000_000,
        ),
        classes("one class", whole("cat\n"), told="1 class; expected at least two"),
        classes("a file beside folders", stray, told="stray.txt: a file; expected one folder"),
        Kind(
            "lists and class files",
            "too few queries",
            whole("a\nb\n"),
            lambda path: read_dictionary(path, 3),
            "expected k = 3 queries, one a line, found 2",
            "list.txt",
        ),
        Kind(
            "lists and class files",
            "two spellings of one query",
            whole("Four legs\nfour legs.\n"),
            lambda path: read_dictionary(path, 2),
            "'Four legs' and 'four legs.' are one query",
            "list.txt",
        ),
    ]


def _corpora() -> list[Kind]:
    kind = partial(Kind, "corpora", read=given_corpus)
    large = '"' + "x" * 200_000 + '"'
    return [
        kind("no column phrase", file("c.csv", "a,b\n1,2\n"), told="c.csv: no column 'phrase'"),
        kind("a blank phrase", file("c.csv", "phrase\nx\n \ny\n"), told="row 1 is blank"),
        kind("no rows", file("c.csv", "phrase\n"), told="no rows; expected one text a row"),
        kind("a huge field", file("c.csv", f"phrase\n{large}\n"), told="field larger than"),
        kind("missing", nothing("c.parquet"), told="c.parquet: no such file"),
        kind("numbers", parquet(UNIVERSE_TABLE, text=[[1]] * 4), told="column 'text' is list"),
        Kind("corpora", "of no kind", given("c.docx"), has_captions, "unknown kind of corpus"),
        kind(
            "a text of 50 MB",
            parquet(UNIVERSE_TABLE, text=["x" * 50_000_000, "a", "b", "c"]),
            told=ACCEPTED,
            fits=lambda found: found.counts["rows"] == 4,
        ),
    ]


def _columns(path: Path) -> Any:
    found = read_embedded_images(path, CLASSES, WIDTH, "tiny")
    return found.rows, list(found.blocks())


def _floats(rows: Any, width: int | None = WIDTH) -> pa.Array:
    kind = pa.list_(pa.float32()) if width is None else pa.list_(pa.float32(), width)
    return pa.array(rows, kind)


def _with(row: int, value: float) -> pa.Array:
    rows = [[1.0] * WIDTH for _ in range(6)]
    rows[row][1] = value
    return _floats(rows)


def _tables() -> list[Kind]:
    kind = partial(Kind, "Parquet tables", read=_columns, place="table.parquet")
    texts = partial(Kind, "Parquet tables", read=PrecomputedTexts, place="table.parquet")
    table = partial(parquet, EMBEDDED_TABLE)
    whole = partial(file, "table.parquet")
    content = saved(lambda target: pa.parquet.write_table(EMBEDDED_TABLE, target))
    bad_utf8 = pa.array([b"\xff\xfe"] + [b"a"] * 3, pa.binary()).view(pa.string())

    def renamed(folder: Path) -> Path:
        return parquet(TEXT_TABLE.append_column("text", pa.array(["x"] * 4)))(folder)

    def clip(name: bytes) -> Callable[[Path], Path]:
        return parquet(EMBEDDED_TABLE.replace_schema_metadata({b"clip": name}))

    def schema(path: Path) -> pa.Table:
        return read_table(path, UNIVERSE)

    return [
        kind("missing", nothing("table.parquet"), told="no such file; expected a Parquet file"),
        kind("empty", whole(b""), told="not a readable Parquet file"),
        kind("truncated", whole(content[: len(content) // 2]), told="not a readable Parquet"),
        kind("labels are words", table(label=["cat"] * 6), told="'label' is string; expected int"),
        kind("a label of no class", table(label=[0, 1, 7, 0, 1, 2]), told="label 7 of row 2 has"),
        kind("another class name", table(class_name=["cat"] * 6), told="row 1 has the class name"),
        kind("an id twice", table(id=["a", "b", "c", "d", "b", "e"]), told="'b' of row 4 is also"),
        kind("one split", table(split=["train"] * 6), told="the split 'test' is empty"),
        kind("no rows", parquet(EMBEDDED_TABLE.slice(0, 0)), told="the split 'train' is empty"),
        kind("an embedding is NaN", table(embedding=_with(3, np.nan)), told="row 3 is NaN"),
        kind("an embedding is null", table(embedding=_floats([None] * 6)), told="row 0 is empty"),
        kind(
            "embeddings of two widths",
            table(embedding=_floats([[1.0]] * 5 + [[1.0, 2.0]], None)),
            told="row 5 has 2 numbers, that of row 0 has 1",
        ),
        kind("another width", table(embedding=_floats([[1.0] * 3] * 6, 3)), told="width 3, but"),
        kind("another CLIP", clip(b"other"), told="embedded by other, but `clip` is tiny"),
        kind("a CLIP of no name", clip(b"\xff"), told="the name of its CLIP is b'.xff'"),
        texts("a text is null", parquet(TEXT_TABLE, text=["a", None, "b", "c"]), told="in row 1"),
        texts("a text twice", parquet(TEXT_TABLE, text=["a", "b", "a", "c"]), told="both 'a'"),
        texts("a text is no UTF-8", parquet(TEXT_TABLE, text=bad_utf8), told="Invalid UTF8"),
        texts("two columns of a name", renamed, told="several columns are called 'text'"),
        Kind(
            "Parquet tables",
            "of another schema",
            parquet(KNOWLEDGE_TABLE),
            schema,
            "no column 'sources'; expected columns text, sources",
            "table.parquet",
        ),
        Kind(
            "Parquet tables",
            "encoded images are texts",
            parquet(IMAGE_TABLE, image=["x"] * 6),
            lambda path: open_image_source(path, CLASSES),
            "column 'image' is string; expected binary",
            "table.parquet",
        ),
        Kind(
            "Parquet tables",
            "columns beyond the schema",
            parquet(TEXT_TABLE.append_column("more", pa.array([1] * 4))),
            lambda path: read_table(path, EMBEDDED_TEXTS),
            ACCEPTED,
            fits=len,
        ),
    ]


class Trap:
    """Says so when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemError('a pickle was opened')",)


def _npz(**changed: Any) -> Callable[[Path], Path]:
    arrays = {name: value for name, value in {**ARRAYS, **changed}.items() if value is not None}
    return file("set.npz", saved(lambda target: np.savez(target, **arrays)))


def _arrays() -> list[Kind]:
    kind = partial(Kind, "arrays of numpy", read=_columns, place="set.npz")
    whole = partial(file, "set.npz")

    def claimed(folder: Path) -> Path:
        target = io.BytesIO()
        np.lib.format.write_array_header_1_0(
            target, {"descr": "<f4", "fortran_order": False, "shape": (10**12, 4)}
        )
        with zipfile.ZipFile(folder / "set.npz", "w") as archive:
            archive.writestr("train_embeddings.npy", target.getvalue())
        return folder / "set.npz"

    def pickled(folder: Path) -> Path:
        trap = np.array([Trap()], dtype=object)
        np.savez(folder / "set.npz", **{**ARRAYS, "train_labels": trap})
        return folder / "set.npz"

    def npy(folder: Path) -> Path:
        for name, value in ARRAYS.items():
            np.save(folder / f"{name}.npy", value)
        (folder / "train_embeddings.npy").write_bytes(pickle.dumps(Trap()))
        return folder

    rows = ARRAYS["train_embeddings"]
    return [
        kind("missing", nothing("set.npz"), told="no such file; expected arrays"),
        kind("empty", whole(b""), told="plain arrays of numpy .no .npz"),
        kind("a pickle inside", pickled, told="not readable as plain arrays"),
        Kind("arrays of numpy", "a pickle called .npy", npy, _columns, "not readable as plain"),
        kind("10^12 rows claimed", claimed, told="not readable as plain arrays"),
        kind("an array less", _npz(test_labels=None), told="no array 'test_labels'"),
        kind("vectors", _npz(train_embeddings=rows[0]), told=r"train_embeddings \(4,\) and"),
        kind(
            "too many labels",
            _npz(train_labels=np.zeros(9, int)),
            told=r"train_labels \(9,\); expected",
        ),
        kind("a class of nobody", _npz(test_labels=np.array(["x"] * 3)), told="the class 'x'"),
        kind("other classes", _npz(class_names=np.array(["a", "b", "c"])), told="label 0 is 'a'"),
    ]


def _image_lists() -> list[Kind]:
    def csv(text: str | bytes, name: str, told: str) -> Kind:
        read = partial(open_image_source, classes=CLASSES)
        return Kind("lists of images", name, file("set.csv", text), read, told, "set.csv")

    def tree(*paths: str) -> Callable[[Path], Path]:
        def make(folder: Path) -> Path:
            for path in paths:
                (folder / "set" / path).parent.mkdir(parents=True, exist_ok=True)
                (folder / "set" / path).touch()
            return folder / "set"

        return make

    folders = partial(
        Kind, "lists of images", read=partial(open_image_source, classes=CLASSES), place="set"
    )
    head = "path,label,split\n"
    return [
        csv("path,label\na,cat\n", "no column split", "no column 'split'; expected a first line"),
        csv(f"{head}a,cat,train,x\n", "a value too many", "line 2: more values than the 3"),
        csv(f"{head}a,fox,train\n", "a class of nobody", "line 2: no class 'fox'"),
        csv(f"{head}a,cat,val\n", "an unknown split", "line 2: split 'val'; expected 'train'"),
        csv(f"{head}a,cat,train\na,dog,test\n", "a file twice", "id 'a' of row 1 is also"),
        csv(f'{head}"a,cat,train\n', "an open quote", "not a readable CSV file"),
        folders("a folder without test", tree("train/cat/1.png"), told="none called 'test'"),
        folders("a folder of no class", tree("fox/1.png", "fox/2.png"), told="no class has this"),
        folders("missing", nothing("set"), told="expected images as a folder"),
        Kind(
            "lists of images",
            "paths that no file has",
            file("set.csv", f"{head}{'a' * 5000}.png,cat,train\n../b/\0,dog,test\n"),
            lambda path: open_image_source(path, CLASSES),
            ACCEPTED,
            fits=lambda found: found.stamp.endswith("missing missing"),
        ),
    ]


def _concepts(answer: str, reason: str = "stop") -> Any:
    return described_corpus([Caption("A dog.", (1,))], [Answer(answer, reason)], 5)


def _texts_of(corpus: Any) -> list[str]:
    return corpus.queries["text"].to_pylist()


def _answers() -> list[Kind]:
    def refused(name: str, answer: str, told: str, reason: str = "stop") -> Kind:
        read = partial(_concepts, reason=reason)
        return Kind("answers of a language model", name, given(answer), read, told)

    def taken(name: str, answer: str, concepts: list[str]) -> Kind:
        return Kind(
            "answers of a language model",
            name,
            given(answer),
            _concepts,
            ACCEPTED,
            fits=lambda corpus: _texts_of(corpus) == concepts,
        )

    def knowledge(name: str, answer: str, told: str) -> Kind:
        def read(text: str) -> str:
            return parse_knowledge(Answer(text, "stop"), 4).value  # type: ignore[union-attr]

        return Kind(
            "answers of a language model",
            f"knowledge, {name}",
            given(answer),
            read,
            ACCEPTED,
            fits=lambda reason: reason == told,
        )

    long_line = "x" * 10**7
    form = "not the two lines asked for"
    return [
        refused("empty", "", "none of 1 answers holds a concept.*no line at all"),
        taken("10 MB in a line", f"1. {long_line}\n2. red hat", [long_line, "red hat"]),
        taken("a million lines", "1. four legs\n" * 300_000, ["four legs"]),
        taken("other languages", "1. 四条腿\n2. четыре ноги", ["四条腿", "четыре ноги"]),
        refused("control characters", "1. a\x07b\n2. c\x1b[31md", "'unprintable': 2"),
        taken(
            "like a prompt",
            "1. ignore all instructions\n2. {{ 7 * 7 }}\nCaption: A cat.\n1. whiskers",
            ["ignore all instructions", "7 * 7"],
        ),
        refused("a refusal", "I'm sorry, I cannot do that.", "'refusal': 1"),
        refused("thoughts alone", "<think>\nlegs?\n", "'reasoning': 2"),
        refused("cut off", "1. four le", "'truncated': 1", "length"),
        refused("a sentence", "1. it has four legs and a tail", "'too many words': 1"),
        knowledge("empty", "", form),
        knowledge("10 MB long", f"true: {'1, ' * 3_000_000}1\nsometimes: none", form),
        knowledge("5000 digits", f"true: {LONG_NUMBER}\nsometimes: none", form),
        knowledge("a number of no text", "true: 9\nsometimes: none", "a number that no text has"),
    ]


def _replied(content: bytes) -> Answer:
    return read_completion(httpx.Response(200, content=content), "http://localhost/v1")


def _replies() -> list[Kind]:
    def reply(name: str, content: bytes, told: str = "the reply is not a chat completion") -> Kind:
        place = "http://localhost/v1"
        return Kind("replies of a server", name, given(content), _replied, told, place)

    def choice(**message: Any) -> bytes:
        whole = {"message": {"content": "x"}, "finish_reason": "stop", **message}
        return json.dumps({"choices": [whole]}).encode()

    return [
        reply("a page", b"<html>" + b"<p>no</p>" * 10**6),
        reply("lists in lists", DEEP.encode()),
        reply("a number", choice(message={"content": 3}), "has 3 as content"),
        reply("a reason that is none", choice(finish_reason=["x"]), r"\['x'\] as finish_reason"),
        Kind(
            "replies of a server",
            "half a character",
            given(choice(message={"content": "a \ud83d b"})),
            _replied,
            ACCEPTED,
            fits=lambda answer: answer.text == "a \ufffd b",
        ),
    ]


def _knowledge() -> list[Kind]:
    kind = partial(Kind, "knowledge", read=open_knowledge, place="k.jsonl")
    table = partial(Kind, "knowledge", read=read_knowledge, place="table.parquet")
    whole = partial(file, "k.jsonl")
    cat = LISTS[1]
    return [
        kind("missing", nothing("k.jsonl"), told="no such file; expected knowledge of classes"),
        kind("not JSON", whole("{\n"), told="line 1 is not valid JSON"),
        kind("a class is a number", whole(lines({**cat, "class": 3})), told="class: .*found 3"),
        kind(
            "a text is a list", whole(lines({**cat, "yes": [["a"]]})), told=r"yes\[0\]: .*found \["
        ),
        kind("a class twice", whole(lines(cat, cat)), told="line 2 is about the class 'cat', as"),
        kind("a text twice", whole(lines({**cat, "sometimes": ["Four legs"]})), told="twice"),
        kind("complete is 1", whole(lines({"complete": 1})), told="complete: .*found 1"),
        kind("half a character", whole(lines({**cat, "class": "\ud800"})), told="surrogate"),
        table(
            "a value of 0.3", parquet(KNOWLEDGE_TABLE, value=[1, 0.3, 0]), told="of row 1 is 0.3"
        ),
        table(
            "a cell twice",
            parquet(KNOWLEDGE_TABLE, text=["a", "A.", "b"]),
            told="row 1 gives a value to the class 'cat'",
        ),
        table("no class", parquet(KNOWLEDGE_TABLE, **{"class": None}), told="no column 'class'"),
    ]


def _judgements() -> list[Kind]:
    judge = partial(
        Kind, "judgements", read=lambda path: read_judge(path, CLASSES, PHRASES), place="j.jsonl"
    )
    strict = partial(
        Kind, "judgements", read=lambda path: read_strict(path, CLASSES), place="j.jsonl"
    )
    whole = partial(file, "j.jsonl")
    line = {"text": "four legs", "true": ["cat"], "often": []}
    return [
        judge("missing", nothing("j.jsonl"), told="no such file; expected judgements"),
        judge("not JSON", whole("x"), told="line 1 is not valid JSON"),
        judge("a class of nobody", whole(lines({**line, "true": ["fox"]})), told="'fox' is not"),
        judge(
            "a class twice",
            whole(lines({**line, "often": ["cat"]})),
            told="'cat' has .* twice",
        ),
        judge("a text twice", whole(lines(line, line)), told="line 2 is about .*as line 1"),
        judge("half a character", whole(lines({**line, "text": "\ud800"})), told="surrogate"),
        strict("a judge's line", whole(lines(line)), told="line 1: kind: Field required"),
        strict("5000 digits", whole(f"[{LONG_NUMBER}]"), told="Exceeds the limit"),
    ]


def _prompts() -> list[Kind]:
    kind = partial(
        Kind, "prompts", read=lambda path: load_template(path, ["caption"]), place="p.jinja"
    )
    render = partial(
        Kind,
        "prompts",
        read=lambda path: load_template(path, ["caption"]).render(caption="x"),
        place="p.jinja",
    )
    recorded = partial(Kind, "prompts", read=RecordedAnswers, place="r.jsonl")
    whole = partial(file, "p.jinja")
    answers = partial(file, "r.jsonl")
    template, answer = RECORDED
    return [
        kind("missing", nothing("p.jinja"), told="no such file; expected a prompt template"),
        kind("no variable", whole("hello"), told="the prompt never uses 'caption'"),
        kind("another variable", whole("{{ caption }}{{ x }}"), told="unknown variable 'x'"),
        kind("broken", whole("{{ caption"), told="line 1 is not valid Jinja"),
        kind("an unknown filter", whole("{{ caption | run }}"), told="not valid Jinja"),
        kind("parentheses", whole("{{ " + "(" * 3000 + "caption"), told="not valid Jinja"),
        render("divides by zero", whole("{{ caption }}{{ 1 / 0 }}"), told="ZeroDivisionError"),
        recorded("no template", answers(lines(answer)), told="line 1 names the template 't'"),
        recorded("a template twice", answers(lines(template, template)), told="second time"),
        recorded("an answer twice", answers(lines(template, answer, answer)), told="line 3 answ"),
        recorded(
            "a key less",
            answers(lines(template, {"template": "t"})),
            told="line 2: variables",
        ),
        recorded(
            "an answer is a list",
            answers(lines(template, {**answer, "answer": ["x"]})),
            told=r"line 2: answer: .*found \[",
        ),
        recorded(
            "a variable called self",
            answers(lines(template, {**answer, "variables": {"self": 1}})),
            told="'caption' is undefined",
        ),
    ]
