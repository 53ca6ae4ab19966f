"""`infopursuit fit`."""

from __future__ import annotations

import os
import re
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import infopursuit
from infopursuit.core.numbers import percent
from tests.estimators.conftest import World
from tests.planted import PHOTO_TEXTS, picture, write_folder


def test_a_folder_of_images(run: Callable, tmp_path: Path, tiny_clip: Path) -> None:
    write_folder(tmp_path / "photos" / "train", 4)
    write_folder(tmp_path / "photos" / "test", 2, first=4)
    (tmp_path / "texts.txt").write_text("\n".join(PHOTO_TEXTS) + "\n\n")
    status, out, log = run(
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 4, "--out", tmp_path / "model", "--ban", "legs", "wooden", "--first", "red",
    )  # fmt: skip
    assert (status, out) == (0, "")
    model = infopursuit.load(tmp_path / "model")
    assert "12 images, 3 classes, 4 questions" in log
    accuracy, sure = (model.provenance_[f"test_{key}"] for key in ("accuracy", "confidence"))
    assert f"accuracy on 6 test images: {percent(accuracy)}; mean confidence {percent(sure)}" in log
    highest = model.predict_proba([*(tmp_path / "photos" / "test").glob("*/*")]).max(axis=1)
    assert sure == pytest.approx(highest.mean())
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
    (tmp_path / "texts.txt").write_text("\n".join(PHOTO_TEXTS))
    command = (
        "fit", tmp_path / "photos", "--texts", tmp_path / "texts.txt", "--clip", tiny_clip,
        "--queries", 4, "--out", tmp_path / "model",
    )  # fmt: skip
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
    assert "said.csv: 1 of 5 annotations name no image here" in log
    facts = infopursuit.load(tmp_path / "model").provenance_
    assert facts["images"] + facts["test_images"] == 10


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


@pytest.mark.parametrize(
    ("write", "kind"),
    [(write_npz, "npz"), (write_splits, "parquet"), (write_npy, "npz"), (write_parquet, "parquet")],
)
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
    rows = [f'{text},"{name if text == PHOTO_TEXTS[0] else ""}"' for text in PHOTO_TEXTS]
    texts.write_text("\n".join(["text,question", *rows]))
    fit = "fit", photos, "--clip", tiny_clip, "--queries", len(PHOTO_TEXTS), "--texts"
    assert run(*fit, texts, "--out", tmp_path / "own")[0] == 0
    (tmp_path / "plain.txt").write_text("\n".join(PHOTO_TEXTS))
    assert run(*fit, tmp_path / "plain.txt", "--out", tmp_path / "plain")[0] == 0
    own, plain = (infopursuit.load(tmp_path / each) for each in ("own", "plain"))
    assert set(own.queries_) == {name, *PHOTO_TEXTS[1:]}
    assert set(plain.queries_) == set(PHOTO_TEXTS)
    files = sorted(photos.rglob("*.png"))
    np.testing.assert_allclose(own.predict_proba(files), plain.predict_proba(files), atol=1e-6)
    page = tmp_path / "page.html"
    assert run("export", "--model", tmp_path / "own", "--images", photos, page)[0] == 0
    assert name in page.read_text(encoding="utf-8")


@pytest.mark.parametrize(
    ("options", "word"),
    [
        (["--keep", "stripd"], "stripd"),
        (["--first", "wheles"], "wheles"),
        (["--queries", 1, "--keep", "fur", "wood"], "2"),
        (["--knowledge", "known.csv"], "0 of 3"),
        (["--knowledge", "wordnet"], ".csv"),
        (["--classes", "red"], "red"),
        (["--out", "code.py"], "file"),
        (["--out", "code.py/model"], "file"),
        (["--texts", "code.py"], "line 1"),
        (["--texts", "commas.txt"], "line 3"),
        (["--texts", "twice.csv"], "line 3"),
        (["--texts", "asked.csv"], "row 2"),
        (["--texts", "blank.txt"], "lines"),
        (["--texts", "no.txt"], "no.txt"),
        (["--labels", "texts.npz"], ".npy"),
        (["X.npz", "--texts", "lines.txt"], "embeddings"),
        (["X.npz", "--texts", "texts.npz", "--labels", "texts.npz"], ".npy"),
        (["X.npz", "--texts", "texts.npz", "--classes", "a"], "folder"),
        (["X.npz", "--texts", "texts.npz", "--first", "xyz"], "xyz"),
        (["no.npz", "--texts", "texts.npz"], "no.npz"),
        (["short.npz", "--texts", "texts.npz"], "599"),
        (["texts.npz", "--texts", "X.npz"], "labels"),
        (["nowhere"], "CLASS/IMAGE"),
    ],
)
def test_a_mistake_is_one_line_before_images_are_embedded(
    run: Callable,
    tmp_path: Path,
    tiny_clip: Path,
    world: World,
    monkeypatch: pytest.MonkeyPatch,
    options: list,
    word: str,
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("infopursuit.estimators.plan.load_clip", None)  # nothing is embedded
    write_folder(Path("photos"), 2)
    for name, text in {
        "code.py": "PHOTO_TEXTS = ['red', 'green grass']\n",
        "commas.txt": "red\n\nwings, a tail\n",
        "twice.csv": "text\nred\nred\n",
        "asked.csv": "text,question\ngreen,Is it so\n",
        "known.csv": "class,red\ndog,1\n",
        "lines.txt": "a\nb\n",
        "blank.txt": "\n",
    }.items():
        Path(name).write_text(text)
    write_npz(world, tmp_path)[0].rename("X.npz")
    np.savez("texts.npz", texts=world.texts, embeddings=world.embeddings)
    np.savez("short.npz", embeddings=world.X, labels=world.y[:-1])
    named = str(options[0]).endswith(".npz") or options[0] == "nowhere"
    given = options if named else ["photos", "--clip", tiny_clip, *options]
    status, printed, log = run("fit", *given, *(["--out", "model"] * ("--out" not in options)))
    assert (status, printed, log.count("\n")) == (1, "", 0)
    assert log.startswith("infopursuit: ")
    assert word in log
    assert not Path("model").exists()
