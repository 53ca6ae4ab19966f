"""`infopursuit fit --annotations`: what people say of single photographs measures and teaches."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.texts.annotations import Annotation, Annotations, add_annotations, read_annotations
from infopursuit.texts.picture_names import SEVERAL, pictures_named
from tests.cli.conftest import tiny_clip as tiny_clip
from tests.planted import PHOTO_TEXTS, write_folder

ROWS = [
    ("train/red/0.png", "warm", "yes", "anna"),
    ("train/red/0.png", "warm", "no", "bert"),
    ("train/red/0.png", "Warm", "yes", "carl"),
    ("train/blue/0.png", "warm", "not sure", "anna"),
    ("train/blue/1.png", "warm", "no", "anna"),
]


@pytest.fixture
def arguments(tmp_path: Path, tiny_clip: Path) -> list[Any]:
    """`fit` on pictures of three colours."""
    write_folder(tmp_path / "photos" / "train", 8)
    write_folder(tmp_path / "photos" / "test", 4, first=100)
    (tmp_path / "texts.txt").write_text("\n".join(PHOTO_TEXTS))
    return [
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 5, "--out", tmp_path / "model", "--annotations", tmp_path / "said.csv",
    ]  # fmt: skip


def write(path: Path, rows: list[tuple[str, ...]]) -> Path:
    names = ("image", "text", "answer", "by")[: len(rows[0])]
    path.write_text("\n".join(",".join(row) for row in [names, *rows]) + "\n")
    return path


def everything(folders: list[str], count: int) -> list[tuple[str, ...]]:
    """Two people who agree that red is warm, and green and blue are not."""
    return [
        (f"{folder}/{name}/{number}.png", "warm", "yes" if name == "red" else "no", by)
        for folder in folders
        for name in ("red", "green", "blue")
        for number in range(count)
        for by in ("anna", "bert")
    ]


def test_a_question_comes_from_annotations_alone(
    run: Callable, tmp_path: Path, arguments: list[Any]
) -> None:
    write(tmp_path / "said.csv", everything(["train"], 8) + everything(["test"], 4))
    status, _, log = run(*arguments, "--queries", 99)
    assert status == 0, log
    assert "annotations: 72 of 1 texts; 1 questions are fitted on them" in log
    assert "annotators agree in 100 % of 36 pairs of answers" in log
    assert re.search(r"warm: yes right 100 % of \d+ \(.*\), no 100 % of \d+", log)
    model = infopursuit.load(tmp_path / "model").without(*PHOTO_TEXTS)
    [explanation] = model.explain([tmp_path / "photos" / "test" / "red" / "0.png"])
    assert explanation.questions == ("warm",) and explanation.answers == ("yes",)


def test_most_people_decide_and_agreement_is_counted(tmp_path: Path) -> None:
    said = read_annotations(write(tmp_path / "said.csv", ROWS))
    table = pa.table(
        dict(zip(("image", "text", "answer", "by"), zip(*ROWS, strict=True), strict=True))
    )
    pq.write_table(table, tmp_path / "said.parquet")
    for each in (said, read_annotations(tmp_path / "said.parquet")):
        names = ["a/train/red/0.png", "b/train/blue/0.png", "c/train/blue/1.png", "d/0.png"]
        assert each.texts == ["warm"]
        values = each.of_images(names)["warm"].tolist()
        assert values[0] == 1
        assert values[1] != values[1]  # NaN: nobody was sure
        assert values[2:3] == [0]
        assert each.agreement() == (3, 1)
    # A name that two images end in is neither.
    assert not Annotations([Annotation("0.png", "warm", "yes")]).about(["a/0.png", "b/0.png"])


NAMES = [
    "/home/me/photos/train/circle/my photo 1.png",
    "/home/me/photos/train/circle/0.png",
    "/home/me/photos/train/dots/0.png",
    "/home/me/photos/test/dots/cafe\u0301.png",
    "/home/me/photos/test/dots/12.png",
]


@pytest.mark.parametrize(
    ("text", "place"),
    [
        ("circle/0.png", 1),
        ("train\\dots\\0.png", 2),
        ("my photo 1.png", 0),
        ("/data/upload/1/3fa8c2e1-my_photo_1.png", 0),
        ("/data/upload/1/20241127-12.png", 4),
        ("20241127-12.png", None),
        ("http://host/data/local-files/?d=pictures/dots/caf%C3%A9.png", 3),
        ("D:\\photos\\test\\dots\\caf\xe9.png", 3),
        ("0.png", SEVERAL),
        ("circle/12.png", None),
    ],
)
def test_a_picture_is_found_by_what_other_programs_call_it(text: str, place: int | None) -> None:
    assert pictures_named([text], NAMES, foreign=True) == {text: place}


def test_what_reaches_no_picture_is_counted_and_agreement_is_within_one(
    caplog: pytest.LogCaptureFixture,
) -> None:
    rows = [("circle/0.png", "a"), ("/x/train/circle/0.png", "b"), ("0.png", "a"), ("0.png", "b")]
    said = Annotations([Annotation(name, "red", "yes", by) for name, by in [*rows, ("9.png", "")]])
    caplog.set_level("INFO")
    found = said.of_pictures(NAMES)
    assert [row.image for row in found.rows] == [NAMES[1]] * 2
    assert found.agreement() == (1, 1)
    left_out, renamed = caplog.messages
    assert "3 of 5 annotations" in left_out and "'0.png'" in left_out
    assert "1 of 5 annotations" in renamed
    assert found.of_pictures(NAMES).rows == found.rows
    with pytest.raises(InputError, match=r"'9\.png'"):
        Annotations([Annotation("9.png", "red", "yes")]).of_pictures(NAMES)


@pytest.mark.parametrize(
    ("content", "word"),
    [
        ("image,text\na,b\n", "'answer'"),
        ("image,text,answer\na,b,maybe\n", "maybe"),
        ("image,text,answer\n,b,yes\n", "row 2"),
        ("image,text,answer,by\na,b,yes,c\na,B,no,c\n", "row 3"),
    ],
)
def test_mistakes_in_annotations(tmp_path: Path, content: str, word: str) -> None:
    (tmp_path / "said.csv").write_text(content)
    with pytest.raises(InputError, match=word):
        read_annotations(tmp_path / "said.csv")


def test_a_file_without_by_gets_one_when_somebody_has_a_name(tmp_path: Path) -> None:
    path = write(tmp_path / "said.csv", [("a.png", "warm", "yes")])
    nobody, anna = Annotation("b.png", "warm", "no"), Annotation("a.png", "warm", "no", "anna")
    assert len(add_annotations(path, [nobody], nobody).rows) == 2
    assert path.read_text().startswith('"image","text","answer"\n')
    rows = add_annotations(path, [anna], anna).rows
    assert rows == (Annotation("a.png", "warm", "yes"), nobody, anna)


PERSON = """
import sys
from pathlib import Path
from infopursuit.texts.annotations import Annotation, add_annotations

given = []
for number in range(25):
    given.append(Annotation(f"{number}.png", "warm", "yes", sys.argv[1]))
    add_annotations(Path("said.csv"), given, given[-1])
"""


def test_two_people_answer_into_one_file_at_once(tmp_path: Path) -> None:
    people = [
        subprocess.Popen([sys.executable, "-c", PERSON, name], cwd=tmp_path)
        for name in ("anna", "bob")
    ]
    assert [person.wait() for person in people] == [0, 0]
    said = read_annotations(tmp_path / "said.csv").rows
    assert {(row.image, row.by) for row in said} == {
        (f"{number}.png", name) for number in range(25) for name in ("anna", "bob")
    }
    assert len(said) == 50
    assert {each.name for each in tmp_path.iterdir()} == {"said.csv", "said.csv.lock"}


def test_embeddings_with_ids_take_annotations(run: Callable, tmp_path: Path) -> None:
    draw = np.random.default_rng(0)
    labels, warm = np.arange(120) % 2, draw.random(120) < 0.5
    rows = np.stack([labels, 1 - labels, warm, ~warm], axis=1) + 0.3 * draw.standard_normal(
        (120, 4)
    )
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    splits = np.where(np.arange(120) < 80, "train", "test")
    columns = {"class_name": [f"class {each}" for each in labels], "split": splits}
    ids = {"id": [f"{number}.jpg" for number in range(120)]}
    texts = pa.table({"text": ["first", "warm", "other"], "embedding": list(np.eye(3, 4))})
    pq.write_table(texts, tmp_path / "texts.parquet")
    said = [f"{number}.jpg,warm,{'yes' if warm[number] else 'no'}" for number in range(120)]
    (tmp_path / "said.csv").write_text("\n".join(["image,text,answer", *said]))
    command = [
        "fit", tmp_path / "X.parquet", "--texts", tmp_path / "texts.parquet", "--queries", 3,
        "--out", tmp_path / "model", "--annotations", tmp_path / "said.csv",
    ]  # fmt: skip
    pq.write_table(pa.table({**columns, "embedding": list(rows)}), tmp_path / "X.parquet")
    status, _, log = run(*command)
    assert status == 1
    assert "about none of the images: 120 annotations, the first of '0.jpg'" in log
    pq.write_table(pa.table({**ids, **columns, "embedding": list(rows)}), tmp_path / "X.parquet")
    status, _, log = run(*command)
    assert status == 0, log
    facts = infopursuit.load(tmp_path / "model").provenance_
    assert facts["annotated"]["warm"]["images"] == 80, "the training images teach"
    assert facts["annotated"]["warm"]["auroc"] > 0.8
