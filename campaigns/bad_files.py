"""Bad settings, captions, lists, tables, arrays, answers, knowledge and judgements."""

from __future__ import annotations

import json
import pickle
import zipfile
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from campaigns.kinds import Kind, Reader, family, lines, parquet, put, saved, written
from campaigns.readers import (
    ARRAYS,
    EMBEDDED_TABLE,
    IMAGE_TABLE,
    KNOWLEDGE_TABLE,
    LISTS,
    PARAMS,
    READERS,
    RECORDED,
    TABLE,
    TEXT_TABLE,
    UNIVERSE_TABLE,
    WIDTH,
)
from infopursuit.core.tables import EMBEDDED_TEXTS, UNIVERSE, read_table
from infopursuit.datasets.image_folders import read_class_names
from infopursuit.queries.class_knowledge import Unusable
from infopursuit.queries.corpora import Caption, described_corpus, has_captions
from infopursuit.queries.language_models import Answer

# Lists within lists.
DEEP = "[" * 2000 + "]" * 2000
LONG_NUMBER = "9" * 5000
LATIN_1 = "Bär\n".encode("latin-1")


class Trap:
    """An object that raises SystemError when it is unpickled."""

    def __reduce__(self) -> tuple[Any, ...]:
        return exec, ("raise SystemError('a pickle was opened')",)


def _settings() -> list[Kind]:
    def changed(old: str, new: str) -> str:
        assert old in PARAMS, old
        return PARAMS.replace(old, new, 1)

    fraction = "validation_fraction: 0.1"
    yaml = [
        ("missing", None, "no such file"),
        ("empty", "", "expected a mapping of settings, found NoneType"),
        ("a list", "- run\n", "expected a mapping of settings, found list"),
        ("a key that is a list", "? [a]\n: b\n", r"the key \('a',\); expected a text"),
        ("Latin-1", LATIN_1, "not a readable UTF-8"),
        ("broken YAML", "run: [\n", "not valid YAML: while parsing"),
        ("a key twice", "run: 1\nrun: 2\n", "duplicate key"),
        ("an impossible date", "a: 2001-99-99\n", "not valid YAML"),
        ("5000 digits", f"a: {LONG_NUMBER}\n", "not valid YAML: Exceeds"),
        ("lists in lists", "a: " + DEEP[:400] + DEEP[-400:], "too deep|missing key"),
        ("a section missing", "run: {}\n", "missing key"),
        ("an unknown key", changed("run:\n", "rum: 1\nrun:\n"), "rum: unknown key"),
        ("out of range", changed(fraction, fraction.replace("0", "1")), ": .*less than 1, found 1"),
        ("10^9 threads", changed("  threads: 2", f"  threads: {10**9}"), "compute.threads: "),
        ("a seed of 2^64", changed("  - 0\n", f"  - {2**64}\n"), "run.seeds"),
        ("a name for a shell", changed("\ndatasets:\n", '\ndatasets:\n  "$(x)": {}\n'), "datasets"),
    ]
    pins = [
        ("a pin of no kind", "colour: red\n", "expected a pinned data set, with one of the keys"),
        ("a pin to a branch", "hub: a/b\nrevision: main\n", "revision: .*pattern.*found 'main'"),
    ]
    return [
        *family("settings", READERS["params.yaml"], yaml),
        *family("settings", READERS["pinned data sets"], pins),
    ]


def _captions() -> list[Kind]:
    def annotated(*annotations: Any) -> str:
        return json.dumps({"annotations": annotations})

    first = {"id": 1, "caption": "A dog."}
    rows = [
        ("missing", None, "no such file; expected COCO captions"),
        ("empty", "", "not valid JSON, line 1"),
        ("truncated", '{"annotations": [{"id": 1,\n "cap', "valid JSON, line 2"),
        ("another document", '{"images": []}', "annotations: Field required"),
        ("an annotation is a text", annotated("x"), r"\[0\]: .* found .x"),
        ("no caption", annotated({"id": 4}), r"annotations\[0\].caption: Field required"),
        ("an id of 1.5", annotated({**first, "id": 1.5}), "id: .*found 1.5"),
        ("an id beyond 64 bits", annotated({**first, "id": 2**64}), "id: .* less than 9223"),
        ("an id twice", annotated(first, first), r"annotations\[1\] has the id 1 of"),
        ("a blank caption", annotated({"id": 3, "caption": " \n"}), "an empty caption"),
        ("half a character", annotated({"id": 1, "caption": "\ud83d"}), "surrogate"),
        ("lists in lists", DEEP, "too deep in one another"),
        ("a key of 10 MB", json.dumps({"x" * 10**7: 1}), "annotations: Field required"),
    ]
    return family("captions", READERS["captions (JSON)"], rows)


def _lists() -> list[Kind]:
    name, long = "lists and class files", "x" * 20_000_000
    texts = [
        ("missing", None, "no such file; expected one text a line"),
        ("empty", "", "the file is empty; expected one text a line"),
        ("a text twice", "a\nb\n a\n", "line 3 repeats 'a' of line 1"),
        ("Latin-1", LATIN_1, "not a readable UTF-8"),
        ("a byte order mark", "\ufeffcat\r\ndog\r\n", lambda texts: texts == ["cat", "dog"]),
        ("a text of 20 MB", long, lambda texts: texts == [long]),
    ]
    dictionaries = [
        ("too few queries", "a\n", "expected k = 2 queries, one a line, found 1"),
        ("two spellings of one query", "Four legs\nfour legs.\n", "and 'four legs.' are one query"),
    ]
    classes, folder = Reader(read_class_names, "list.txt"), Reader(read_class_names, "stray.txt")
    stray = (
        "a file next to folders",
        {"cat/1.png": b"", "stray.txt": b""},
        "a file; expected one folder",
    )
    return [
        *family(name, READERS["text lists"], texts),
        *family(name, READERS["dictionaries"], dictionaries),
        *family(name, classes, [("one class", "cat\n", "1 class; expected")]),
        *family(name, folder, [stray]),
    ]


def _corpora() -> list[Kind]:
    long = ["x" * 50_000_000, "a", "b", "c"]
    csv = [
        ("no column phrase", "a,b\n1,2\n", "no column 'phrase'"),
        ("a blank phrase", "kind,phrase\na,x\na, \n", "row 1 is blank"),
        ("the mark of Excel", "\ufeffphrase\nred\n", lambda corpus: corpus.counts["rows"] == 1),
        ("no rows", "phrase\n", "no rows; expected one text a row"),
        ("a cut cell", f'phrase\n"{"x" * 200_000}', "row 2: a quote that is not closed"),
    ]

    def fifty_mb(folder: Path) -> Path:
        return put({TABLE: parquet(UNIVERSE_TABLE, text=long)}, folder) / TABLE

    tables = [
        ("missing", None, "no such file"),
        ("numbers", parquet(UNIVERSE_TABLE, text=[[1]] * 4), "column 'text' is list"),
        ("a text of 50 MB", fifty_mb, lambda corpus: corpus.counts["rows"] == 4),
    ]
    reader = READERS["corpora (CSV)"]
    return [
        *family("corpora", reader, csv),
        *family("corpora", reader._replace(file=TABLE), tables),
        Kind("corpora", "of no kind", "c.docx", Reader(has_captions), "unknown kind of corpus"),
    ]


def _tables() -> list[Kind]:
    table = partial(parquet, EMBEDDED_TABLE)

    def rows(values: Sequence[Any], width: int = WIDTH) -> bytes:
        kind = pa.list_(pa.float32(), width) if width else pa.list_(pa.float32())
        return table(embedding=pa.array(values, kind))

    def clip(name: bytes) -> bytes:
        return parquet(EMBEDDED_TABLE.replace_schema_metadata({b"clip": name}))

    content = written(EMBEDDED_TABLE)
    one_nan = [[1.0] * WIDTH] * 3 + [[np.nan] * WIDTH] + [[1.0] * WIDTH] * 2
    bad_utf8 = pa.array([b"\xff\xfe"] + [b"a"] * 3, pa.binary()).view(pa.string())
    second_text = TEXT_TABLE.append_column("text", pa.array(["x"] * 4))
    more = TEXT_TABLE.append_column("more", pa.array([1] * 4))
    images = [
        ("missing", None, "no such file; expected a Parquet file"),
        ("empty", b"", "not a readable Parquet file"),
        ("truncated", content[: len(content) // 2], "not a readable Parquet"),
        ("labels are words", table(label=["cat"] * 6), "'label' is string; expected int"),
        ("a label of no class", table(label=[0, 1, 7, 0, 1, 2]), "label 7 of row 2 has"),
        ("another class name", table(class_name=["cat"] * 6), "row 1 has the class name"),
        ("an id twice", table(id=["a", "b", "c", "d", "b", "e"]), "'b' of row 4 is also"),
        ("one split", table(split=["train"] * 6), "the split 'test' is empty"),
        ("no rows", parquet(EMBEDDED_TABLE.slice(0, 0)), "the split 'train' is empty"),
        ("an embedding is NaN", rows(one_nan), "row 3 is NaN"),
        ("an embedding is null", rows([None] * 6), "row 0 is empty"),
        ("embeddings of two widths", rows([[1.0]] * 5 + [[1.0, 2.0]], 0), "row 5 has 2 numbers"),
        ("another width", rows([[1.0] * 3] * 6, 3), "width 3, but"),
        ("another CLIP", clip(b"other"), "embedded by other, but `clip` is tiny"),
        ("a CLIP whose name is not UTF-8", clip(b"\xff"), "the name of its CLIP is b'.xff'"),
    ]
    texts = [
        ("a text is null", parquet(TEXT_TABLE, text=["a", None, "b", "c"]), "in row 1"),
        ("a text twice", parquet(TEXT_TABLE, text=["a", "b", "a", "c"]), "both 'a'"),
        ("a text is not UTF-8", parquet(TEXT_TABLE, text=bad_utf8), "Invalid UTF8"),
        ("two columns of a name", parquet(second_text), "several columns are called 'text'"),
    ]
    dates = table(class_name=np.zeros(6, "M8[D]"))
    command_images = [
        ("labels are null", table(class_name=["cat", None, "owl"] * 2), "class is empty in row 1"),
        ("labels are dates", dates, "is date32.*expected texts or"),
    ]
    command_texts = [
        ("a null text for fit", parquet(TEXT_TABLE, text=["a", None, "b", "c"]), "empty in row 1"),
        ("texts are numbers", parquet(TEXT_TABLE, text=[1, 2, 3, 4]), "not a column of texts"),
    ]
    encoded = parquet(IMAGE_TABLE, image=["x"] * 6)
    of_schemas = [
        ("of another schema", UNIVERSE, parquet(KNOWLEDGE_TABLE), "no column 'sources'; expected"),
        ("columns beyond the schema", EMBEDDED_TEXTS, parquet(more), lambda table: len(table) == 4),
    ]
    name = "Parquet tables"
    return [
        *family(name, READERS["embedded images (Parquet)"], images),
        *family(name, READERS["texts (Parquet)"], texts),
        *family(name, READERS["command line: images (Parquet)"], command_images),
        *family(name, READERS["command line: texts (Parquet)"], command_texts),
        *(
            Kind(name, what, source, Reader(partial(read_table, schema=schema), TABLE), expected)
            for what, schema, source, expected in of_schemas
        ),
        Kind(name, "encoded images are texts", encoded, READERS["images (Parquet)"],
             "is string; expected binary"),
    ]  # fmt: skip


def _arrays() -> list[Kind]:
    def npz(**changed: Any) -> bytes:
        arrays = {key: value for key, value in {**ARRAYS, **changed}.items() if value is not None}
        return saved(lambda target: np.savez(target, **arrays))

    def claimed(folder: Path) -> Path:
        header = {"descr": "<f4", "fortran_order": False, "shape": (10**12, 4)}
        array = saved(lambda target: np.lib.format.write_array_header_1_0(target, header))
        with zipfile.ZipFile(folder / "set.npz", "w") as archive:
            archive.writestr("train_embeddings.npy", array)
        return folder / "set.npz"

    pickled = npz(train_labels=np.array([Trap()], dtype=object))
    vector, nine = ARRAYS["train_embeddings"][0], np.zeros(9, int)
    rows = [
        ("missing", None, "no such file; expected arrays"),
        ("empty", b"", "plain arrays of numpy .no .npz"),
        ("a pickle inside", pickled, "not readable as plain arrays"),
        ("10^12 rows claimed", claimed, "not readable as plain arrays"),
        ("an array less", npz(test_labels=None), "no array 'test_labels'"),
        ("vectors", npz(train_embeddings=vector), r"train_embeddings \(4,\) and"),
        ("too many labels", npz(train_labels=nine), r"train_labels \(9,\); expected"),
        ("an unknown class", npz(test_labels=np.array(["x"] * 3)), "the class 'x'"),
        ("other classes", npz(class_names=np.array(["a", "b", "c"])), "label 0 is 'a'"),
    ]
    name = "arrays of numpy"
    below, reader = npz(train_labels=np.array([0, -1, 2, 0])), READERS["embedded images (.npz)"]
    outside = ("labels below 0", below, "1 of 4 values outside .*-1 in row 1")
    files = {
        f"{each}.npy": saved(lambda target, rows=rows: np.save(target, rows))
        for each, rows in ARRAYS.items()
    }
    files["train_embeddings.npy"] = pickle.dumps(Trap())
    npy = ("a pickle called .npy", files, "not readable as plain")
    return [
        *family(name, reader, rows),
        *family(name, READERS["command line: images (.npz)"], [outside]),
        *family(name, reader._replace(file=""), [npy]),
    ]


def _image_lists() -> list[Kind]:
    def tree(*paths: str) -> Callable[[Path], Path]:
        files = {f"set/{path}": b"" for path in paths}
        return lambda folder: put(files, folder) / "set"

    head = "path,label,split\n"
    no_files = f"{head}{'a' * 5000}.png,cat,train\n../b/\0,dog,test\n"
    csv = [
        ("no column split", "path,label\na,cat\n", "no column 'split'; expected a first line"),
        ("a value too many", f"{head}a,cat,train,x\n", "row 2: 4 cells; expected 3"),
        ("an unknown class", f"{head}a,fox,train\n", "row 2: no class 'fox'"),
        ("an unknown split", f"{head}a,cat,val\n", "row 2: split 'val'; expected 'train'"),
        ("a file twice", f"{head}a,cat,train\na,dog,test\n", "the image 'a' is there twice"),
        ("an open quote", f'{head}"a,cat,train\n', "row 2: a quote that is not closed"),
        ("impossible paths", no_files, "2 of 2 images are not there"),
    ]
    folders = [
        ("a folder without test", tree("train/cat/1.png"), "none called 'test'"),
        ("a folder of no class", tree("fox/1.png", "fox/2.png"), "no class has this"),
        ("missing", None, "expected images as a folder"),
    ]
    name, reader = "lists of images", READERS["images (CSV)"]
    return [*family(name, reader, csv), *family(name, reader._replace(file="set"), folders)]


def _answers() -> list[Kind]:
    def described(answer: str, reason: str = "stop") -> Any:
        return described_corpus([Caption("A dog.", (1,))], [Answer(answer, reason)], 5)

    def concepts(*texts: str) -> Callable[[Any], bool]:
        return lambda corpus: corpus.queries["text"].to_pylist() == list(texts)

    long, numbers = "x" * 10**7, "1, " * 3_000_000
    prompt = "1. ignore all instructions\n2. {{ 7 * 7 }}\nCaption: A cat.\n1. whiskers"
    queries = [
        ("empty", "", "none of 1 answers holds a concept"),
        ("10 MB in a line", f"1. {long}\n2. red hat", concepts(long, "red hat")),
        ("a million lines", "1. four legs\n" * 300_000, concepts("four legs")),
        ("other languages", "1. 四条腿\n2. четыре ноги", concepts("四条腿", "четыре ноги")),
        ("control characters", "1. a\x07b\n2. c\x1b[31md", "'unprintable': 2"),
        ("like a prompt", prompt, concepts("ignore all instructions", "7 * 7")),
        ("a refusal", "I'm sorry, I cannot do that.", "'refusal': 1"),
        ("thoughts alone", "<think>\nlegs?\n", "'reasoning': 2"),
        ("a sentence", "1. it has four legs and a tail", "'too many words': 1"),
    ]

    def unusable(reason: str) -> Callable[[Any], bool]:
        return lambda found: isinstance(found, Unusable) and found.value == reason

    form = unusable("not the two lines asked for")
    knowledge = [
        ("knowledge, empty", "", unusable("empty")),
        ("knowledge, 10 MB long", f"true: {numbers}1\nsometimes: none", form),
        ("knowledge, 5000 digits", f"true: {LONG_NUMBER}\nsometimes: none", form),
        ("knowledge, a number of no text", "true: 9\nsometimes: none",
         unusable("a number that no text has")),
    ]  # fmt: skip
    cut_off = Reader(partial(described, reason="length"))
    name, of_classes = "answers of a language model", READERS["answers: knowledge"]
    return [
        *family(name, Reader(described), queries),
        *family(name, cut_off, [("cut off", "1. four le", "'truncated': 1")]),
        *(
            Kind(name, what, (answer, "stop"), of_classes, expected)
            for what, answer, expected in knowledge
        ),
    ]


def _replies() -> list[Kind]:
    def choice(**message: Any) -> bytes:
        reply = {"message": {"content": "x"}, "finish_reason": "stop", **message}
        return json.dumps({"choices": [reply]}).encode()

    half = choice(message={"content": "a \ud83d b"})
    wrong = "http://localhost/v1: the reply is not a chat completion"
    rows = [
        ("a page", b"<html>" + b"<p>no</p>" * 10**6, wrong),
        ("lists in lists", DEEP.encode(), wrong),
        ("a number", choice(message={"content": 3}), "http://localhost/v1.* has '3' as content"),
        ("an unknown reason", choice(finish_reason=["x"]), "x.* as finish_reason; expected"),
        ("half a character", half, lambda answer: answer.text == "a \ufffd b"),
    ]
    return family("replies of a server", READERS["replies of a server"], rows)


def _knowledge() -> list[Kind]:
    cat = LISTS[1]
    lists = [
        ("missing", None, "no such file; expected knowledge of classes"),
        ("not JSON", "{\n", "line 1 is not valid JSON"),
        ("a class is a number", lines({**cat, "class": 3}), "class: .*found 3"),
        ("a text is a list", lines({**cat, "yes": [["a"]]}), r"yes\[0\]: .*found \["),
        ("a class twice", lines(cat, cat), "line 2 is about the class 'cat', as"),
        ("a text twice", lines({**cat, "sometimes": ["Four legs"]}), "twice"),
        ("complete is 1", lines({"complete": 1}), "complete: .*found 1"),
        ("half a character", lines({**cat, "class": "\ud800"}), "surrogate"),
    ]
    repeated = parquet(KNOWLEDGE_TABLE, text=["a", "A.", "b"])
    tables = [
        ("a value of 0.3", parquet(KNOWLEDGE_TABLE, value=[1, 0.3, 0]), "of row 1 is 0.3"),
        ("a cell twice", repeated, "row 1 gives a value to the class 'cat'"),
        ("no class", parquet(KNOWLEDGE_TABLE, **{"class": None}), "no column 'class'"),
    ]
    return [
        *family("knowledge", READERS["knowledge (lists)"], lists),
        *family("knowledge", READERS["knowledge (Parquet)"], tables),
    ]


def _judgements() -> list[Kind]:
    line = {"text": "four legs", "true": ["cat"], "often": []}
    judge = [
        ("missing", None, "no such file; expected judgements"),
        ("not JSON", "x", "line 1 is not valid JSON"),
        ("an unknown class", lines({**line, "true": ["fox"]}), "'fox' is not"),
        ("a class twice", lines({**line, "often": ["cat"]}), "'cat' has .* twice"),
        ("a text twice", lines(line, line), "line 2 is about .*as line 1"),
        ("half a character", lines({**line, "text": "\ud800"}), "surrogate"),
    ]
    strict = [
        ("a judge's line", lines(line), "line 1: kind: Field required"),
        ("5000 digits", f"[{LONG_NUMBER}]", "Exceeds the limit"),
    ]
    return [
        *family("judgements", READERS["judge's tables"], judge),
        *family("judgements", READERS["strict lists"], strict),
    ]


def _prompts() -> list[Kind]:
    template, answer = RECORDED
    named_self = {**answer, "variables": {"self": 1}}
    prompts = [
        ("missing", None, "no such file; expected a prompt template"),
        ("no variable", "hello", "the prompt never uses 'caption'"),
        ("another variable", "{{ caption }}{{ x }}", "unknown variable 'x'"),
        ("broken", "{{ caption", "line 1 is not valid Jinja"),
        ("an unknown filter", "{{ caption | run }}", "not valid Jinja"),
        ("parentheses", "{{ " + "(" * 3000 + "caption", "not valid Jinja"),
        ("divides by zero", "{{ caption }}{{ 1 / 0 }}", "ZeroDivisionError"),
    ]
    recorded = [
        ("no template", lines(answer), "line 1 names the template 't'"),
        ("a template twice", lines(template, template), "second time"),
        ("an answer twice", lines(template, answer, answer), "line 3 answ"),
        ("a key less", lines(template, {"template": "t"}), "line 2: variables"),
        ("an answer is a list", lines(template, {**answer, "answer": ["x"]}), r"answer: .*\["),
        ("a variable called self", lines(template, named_self), "'caption' is undefined"),
    ]
    return [
        *family("prompts", READERS["prompts"], prompts),
        *family("prompts", READERS["recorded answers"], recorded),
    ]


KINDS = [
    *_settings(), *_captions(), *_lists(), *_corpora(), *_tables(), *_arrays(),
    *_image_lists(), *_answers(), *_replies(), *_knowledge(), *_judgements(), *_prompts(),
]  # fmt: skip
