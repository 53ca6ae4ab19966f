"""`infopursuit fit`."""

from __future__ import annotations

import json
import os
import re
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from tests.datasets.test_packed_pictures import FORMS
from tests.estimators.conftest import World
from tests.estimators.test_pictures import TEXTS, picture, write_folder


def test_a_folder_of_images(run: Callable, tmp_path: Path, tiny_clip: Path) -> None:
    write_folder(tmp_path / "photos" / "train", 4)
    write_folder(tmp_path / "photos" / "test", 2, first=4)
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS) + "\n\n")
    status, out, log = run(
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 4, "--out", tmp_path / "model", "--ban", "legs", "wooden", "--first", "red",
    )  # fmt: skip
    assert (status, out) == (0, "")
    model = infopursuit.load(tmp_path / "model")
    assert "12 images, 3 classes, 4 questions" in log
    accuracy = model.provenance_["test_accuracy"]
    assert f"accuracy on 6 test images: {100 * accuracy:.0f} %" in log
    assert "red" in model.queries_
    assert not {"four legs", "a wooden table"} & set(model.queries_)
    file = tmp_path / "photos" / "test" / "red" / "0.png"
    assert model.explain([file])[0].questions[0] == "red"


NO_UTF_8 = os.fsdecode(b"caf\xe9.png")


@pytest.mark.filterwarnings("ignore:annotations. 1 of 1 texts have fewer")
def test_bad_images_are_listed_and_the_rest_is_fitted(
    run: Callable, tmp_path: Path, tiny_clip: Path
) -> None:
    write_folder(tmp_path / "photos", 3)
    for name in (*(f"bad{number:02}.png" for number in range(24)), NO_UTF_8):
        (tmp_path / "photos" / "red" / name).write_text("no")
    (tmp_path / "photos" / "blue" / "notes.txt").write_text("no picture")
    command = ("fit", tmp_path / "photos", "--clip", tiny_clip, "--out", tmp_path / "model")
    status, _, log = run(*command, "--test-fraction", 0)
    assert status == 1
    assert "9 images" in log
    assert "1 of 35 files are no pictures and are left out, the first is" in log
    assert log.count("left out: ") == 21
    assert "bad00.png: not an image" in log
    assert "left out: 5 more" in log
    assert len(infopursuit.load(tmp_path / "model").provenance_["rejected"]) == 25
    for bad in (tmp_path / "photos" / "red").glob("bad*.png"):
        bad.unlink()
    picture("red", 77).save(tmp_path / "photos" / "red" / NO_UTF_8)
    said = [f"red/{name}.png,warm,yes" for name in ("caf\ufffd", "0", "1", "2", "gone")]
    (tmp_path / "said.csv").write_text("\n".join(["image,text,answer", *said]), encoding="utf-8")
    status, _, log = run(*command, "--annotations", tmp_path / "said.csv")
    assert status == 0, "a file that is no picture was not meant as one"
    assert "said.csv: 1 of 5 annotations reach no image" in log
    facts = infopursuit.load(tmp_path / "model").provenance_
    assert facts["images"] + facts["test_images"] == 10


@pytest.mark.parametrize("form", FORMS)
def test_pictures_that_are_not_files_of_their_own(
    run: Callable, tmp_path: Path, tiny_clip: Path, form: str
) -> None:
    images = FORMS[form](tmp_path / "animals")
    (tmp_path / "texts.txt").write_text("\n".join(TEXTS))
    model = tmp_path / "model"
    status, _, log = run(
        "fit", images, "--texts", tmp_path / "texts.txt", "--clip", tiny_clip, "--queries", 3,
        "--out", model,
    )  # fmt: skip
    assert status == 0, log
    assert "9 images, 3 classes, 3 questions" in log
    assert "accuracy on 3 test images" in log
    status, out, log = run("predict", "--model", model, images)
    assert (status, len(out.splitlines())) == (0, 1 + 12), log
    status, _, log = run("export", "--model", model, "--images", images, tmp_path / "page.html")
    assert (status, "3 test images and 9 training images" in log) == (0, True), log


def write_npz(world: World, folder: Path) -> list[object]:
    np.savez(folder / "images.npz", embeddings=world.X, labels=world.y)
    return [folder / "images.npz"]


def write_splits(world: World, folder: Path) -> list[object]:
    names = np.unique(world.y)
    parts = {"train": (world.X.astype(np.float16), world.y), "test": (world.unseen, world.unseen_y)}
    arrays = {f"{split}_embeddings": X.astype(np.float32) for split, (X, _) in parts.items()}
    for split, (_, y) in parts.items():
        arrays[f"{split}_labels"] = np.searchsorted(names, y)
    np.savez(folder / "images.npz", **arrays, class_names=names)
    return [folder / "images.npz"]


def write_npy(world: World, folder: Path) -> list[object]:
    np.save(folder / "X.npy", world.X)
    (folder / "y.txt").write_text("\n".join(world.y))
    return [folder / "X.npy", "--labels", folder / "y.txt"]


def write_parquet(world: World, folder: Path) -> list[object]:
    rows = np.concatenate([world.X, world.unseen])
    columns = {
        "embedding": list(rows),
        "label": [*world.y, *world.unseen_y],
        "split": ["train"] * len(world.y) + ["test"] * len(world.unseen_y),
    }
    pq.write_table(pa.table(columns), folder / "images.parquet")
    return [folder / "images.parquet"]


def unlabelled(world: World, folder: Path) -> list[object]:
    [path] = write_parquet(world, folder)
    table = pq.read_table(path)
    names = np.array(table.column("label").to_pylist(), dtype=object)
    names[-5:-2] = "-1"
    names[-2:] = "new"
    splits = np.array(table.column("split").to_pylist(), dtype=object)
    splits[:4], splits[4:6] = "validation", "junk"
    columns = {"embedding": table.column("embedding"), "label": names, "split": splits}
    pq.write_table(pa.table(columns), path)
    return [path]


def numbers_beyond(
    world: World, folder: Path, key: str = "classes", least: int = 0
) -> list[object]:
    names, numbers = np.unique(world.y, return_inverse=True)
    numbers = numbers.astype(np.float32)
    numbers[3] += least
    np.savez(folder / "images.npz", embeddings=world.X, labels=numbers, **{key: names})
    return [folder / "images.npz"]


def test_rows_of_other_splits_and_classes_are_counted(
    run: Callable, tmp_path: Path, world: World
) -> None:
    np.savez(tmp_path / "texts.npz", texts=world.texts, embeddings=world.embeddings)
    options = ("--texts", tmp_path / "texts.npz", "--queries", 4, "--out", tmp_path / "model")
    status, _, log = run("fit", *unlabelled(world, tmp_path), *options)
    assert status == 0, log
    assert "2 of" in log
    assert "have the split 'junk' and are left out" in log
    assert "have the split 'validation' and are used as rows of the split 'train'" in log
    assert re.search(r"2 of \d+ classes have no training images, .* left out.*: '-1', 'new'", log)
    facts = infopursuit.load(tmp_path / "model").provenance_
    assert facts["test_images"] == len(world.unseen_y) - 5
    assert run("fit", *numbers_beyond(world, tmp_path), *options)[0] == 0
    assert sorted(set(world.y)) == infopursuit.load(tmp_path / "model").classes_.tolist()
    status, _, log = run("fit", *numbers_beyond(world, tmp_path, "class_names", 90), *options)
    assert status == 1
    assert re.search(r"labels has 1 of \d+ values outside of class_names .* in row 3", log)


@pytest.mark.parametrize("write", [write_npz, write_splits, write_npy, write_parquet])
@pytest.mark.parametrize("kind", ["parquet", "npz"])
def test_embeddings(
    run: Callable, tmp_path: Path, world: World, model, write: Callable, kind: str
) -> None:
    if kind == "npz":
        np.savez(tmp_path / "texts.npz", texts=world.texts, embeddings=world.embeddings)
    else:
        table = pa.table({"text": world.texts, "embedding": list(world.embeddings)})
        pq.write_table(table, tmp_path / "texts.parquet")
    status, _, log = run(
        "fit", *write(world, tmp_path), "--texts", tmp_path / f"texts.{kind}",
        "--queries", 6, "--out", tmp_path / "model",
    )  # fmt: skip
    assert status == 0
    again = infopursuit.load(tmp_path / "model")
    assert again.score(world.unseen, world.unseen_y) > 0.9
    if write is not write_splits:
        assert again.queries_ == model.queries_
    measured = "test_accuracy" in again.provenance_
    assert measured == (write in (write_splits, write_parquet))
    assert ("test images" in log) == measured


def test_questions_in_ones_own_words(
    run: Callable, colors: Path, tiny_clip: Path, tmp_path: Path
) -> None:
    """What is asked has the words of the table; what the CLIP embeds is the text."""
    texts = tmp_path / "texts.csv"
    name, photos = "Red, I say?", colors / "photos"
    rows = [f'{text},"{name if text == TEXTS[0] else ""}"' for text in TEXTS]
    texts.write_text("\n".join(["text,question", *rows]))
    fit = "fit", photos, "--clip", tiny_clip, "--queries", len(TEXTS), "--texts"
    assert run(*fit, texts, "--out", tmp_path / "own")[0] == 0
    (tmp_path / "plain.txt").write_text("\n".join(TEXTS))
    assert run(*fit, tmp_path / "plain.txt", "--out", tmp_path / "plain")[0] == 0
    own, plain = (infopursuit.load(tmp_path / each) for each in ("own", "plain"))
    assert set(own.queries_) == {name, *TEXTS[1:]}
    assert set(plain.queries_) == set(TEXTS)
    files = sorted(photos.rglob("*.png"))
    np.testing.assert_allclose(own.predict_proba(files), plain.predict_proba(files), atol=1e-6)
    page = tmp_path / "page.html"
    assert run("export", "--model", tmp_path / "own", "--images", photos, page)[0] == 0
    assert name in page.read_text(encoding="utf-8")
    for row, message in [
        ("green,Is it so", "row 2: the question is 'Is it so'; expected one that ends with ?"),
        ("green,Why?\nblue,Why?", "line 3 repeats 'Why?' of line 2"),
    ]:
        texts.write_text(f"text,question\n{row}\n")
        status, _, log = run(*fit, texts, "--out", tmp_path / "none")
        assert status == 1
        assert message in log


def test_knowledge_is_a_file(run: Callable, tmp_path: Path, world: World) -> None:
    texts, file = tmp_path / "texts.npz", tmp_path / "known.jsonl"
    np.savez(texts, texts=world.texts, embeddings=world.embeddings)
    fit = "fit", *write_npz(world, tmp_path), "--texts", texts, "--out", tmp_path / "model"
    names = np.unique(world.y).tolist()
    lines = [{"class": name, "yes": ["striped coat"], "sometimes": []} for name in names]
    for shown, status, message in [
        (lines, 0, f"warning: {file}: names 4 of 4 classes and 1 of"),
        ([{**line, "class": "x" + line["class"]} for line in lines], 1, "names 0 of 4 classes"),
        ([], 1, "known.jsonl: the file is empty"),
    ]:
        file.write_text("".join(f"{json.dumps(line)}\n" for line in shown))
        with warnings.catch_warnings():
            warnings.simplefilter("always")
            found, _, log = run(*fit, "--knowledge", file)
        assert found == status
        assert message in log


def test_a_mistake_is_told_before_images_are_embedded(
    run: Callable, tmp_path: Path, tiny_clip: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("infopursuit.estimators.plan.load_clip", None)  # nothing is embedded
    write_folder(tmp_path / "photos", 2)
    (tmp_path / "code.py").write_text("TEXTS = ['red', 'green grass']\n")
    (tmp_path / "commas.txt").write_text("red\n\nwings, a tail\n")
    (tmp_path / "twice.csv").write_text("text\nred\nred\n")
    (tmp_path / "known.jsonl").write_text('{"class": "dog", "yes": ["red"], "sometimes": []}\n')
    out = tmp_path / "model"
    for options, message in [
        (["--out", out, "--keep", "stripd"], "'stripd' is not among the texts; expected one such"),
        (["--out", out, "--first", "wheles"], "'wheles' is not among the texts"),
        (["--out", out, "--queries", 1, "--keep", "fur", "wood"], "2 questions; expected at most"),
        (["--out", out, "--knowledge", tmp_path / "known.jsonl"], "names 0 of 3 classes"),
        (["--out", out, "--knowledge", "wordnet"], "'wordnet': expected clip .* file"),
        (["--out", out, "--classes", "red"], "one class, 'red'; expected two or more"),
        (["--out", tmp_path / "code.py"], "code.py: is a file; expected a folder, or nothing"),
        (["--out", tmp_path / "code.py" / "model"], "code.py is a file; expected a folder"),
        (["--out", out, "--texts", tmp_path / "code.py"], "line 1 is .*, with '='"),
        (["--out", out, "--texts", tmp_path / "commas.txt"], "line 3 is 'wings, a tail', with ','"),
        (["--out", out, "--texts", tmp_path / "twice.csv"], "line 3 repeats 'red' of line 2"),
    ]:
        status, _, log = run("fit", tmp_path / "photos", "--clip", tiny_clip, *options)
        assert (status, log.count("\n")) == (1, 0), options
        assert re.search(message, log), log


def test_a_mistake_is_reported_in_one_line(run: Callable, tmp_path: Path, world: World) -> None:
    write_npz(world, tmp_path)
    texts = tmp_path / "texts.npz"
    np.savez(texts, texts=world.texts, embeddings=world.embeddings)
    (tmp_path / "lines.txt").write_text("a\nb\n")
    (tmp_path / "blank.txt").write_text("\n")
    np.savez(tmp_path / "short.npz", embeddings=world.X, labels=world.y[:-1])
    images, out = tmp_path / "images.npz", tmp_path / "model"
    cases = [
        ([images, "--texts", tmp_path / "lines.txt", "--out", out], "texts without embeddings"),
        ([images, "--texts", tmp_path / "blank.txt", "--out", out], "no lines"),
        ([images, "--texts", tmp_path / "no.txt", "--out", out], "no such file"),
        ([images, "--texts", texts, "--out", out, "--labels", texts], "with an .npy file"),
        ([images, "--texts", texts, "--out", out, "--classes", "a"], "with a folder"),
        ([images, "--texts", texts, "--out", out, "--first", "xyz"], "not among the texts"),
        ([tmp_path / "no.npz", "--texts", texts, "--out", out], "No such file"),
        ([tmp_path / "short.npz", "--texts", texts, "--out", out], "and labels (599,)"),
        ([texts, "--texts", images, "--out", out], "no array 'labels'; found embeddings, texts"),
        ([tmp_path / "nowhere", "--out", out], "nowhere: expected a folder CLASS/IMAGE"),
        ([tmp_path, "--out", out], "a file; expected one folder for each class"),
    ]
    for arguments, message in cases:
        status, printed, log = run("fit", *arguments)
        assert (status, printed) == (1, ""), arguments
        assert log.startswith("infopursuit: ")
        assert "\n" not in log
        assert message in log
        assert not out.exists()
