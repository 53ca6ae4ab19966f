"""A fit on shards is the fit on the array, and has the same bytes however shards are done."""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pytest
import torch
from torch.nn import functional

from infopursuit import InformationPursuitClassifier, InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, embedding_array, table_files, table_writer
from infopursuit.datasets.labelled_images import EmbeddedShards
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.naive_bayes import sharded_set, training_set
from infopursuit.pursuit.naive_bayes.sharded_set import ShardedSet
from infopursuit.questions import texts

CLASSES = ("bee", "cow", "owl")
GENERATOR = np.random.default_rng(0)
PROPERTIES = GENERATOR.normal(size=(60, 24))
LABELS = GENERATOR.integers(0, 3, 700)
TEXTS = [f"thing {number}" for number in range(60)]


def unit(rows: np.ndarray) -> np.ndarray:
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float16)


MEANS = PROPERTIES[:12].reshape(3, 4, 24).sum(axis=1)
IMAGES = unit(MEANS[LABELS] + 2.0 * GENERATOR.normal(size=(700, 24)))
IMAGES[40], LABELS[40] = IMAGES[30], LABELS[30]  # the same image twice
TEXT_ROWS = unit(PROPERTIES)
# As they are read: float32 of unit norm.
READ = functional.normalize(torch.from_numpy(IMAGES).float(), dim=1).numpy()
NAMES = np.array(CLASSES)[LABELS]


@pytest.fixture(autouse=True)
def all_images_say_where_the_level_is(monkeypatch: pytest.MonkeyPatch) -> None:
    """Samples are drawn in other ways in memory and in shards."""
    monkeypatch.setattr(texts, "LEVELLED", 4096)


def write(
    path: Path, shard_rows: int | None = None, order: np.ndarray | None = None, chunk: int = 50
) -> Path:
    """The images as `train`, between rows of `test`; a row group for each `chunk` rows."""
    order = np.arange(700) if order is None else order
    rows = np.sort(np.r_[np.arange(700), np.arange(0, 700, 10)])
    test = np.r_[False, rows[1:] == rows[:-1]]
    picked = order[rows]
    columns = {
        "id": [f"{'test' if late else 'train'}{row}" for row, late in zip(rows, test, strict=True)],
        "split": np.where(test, "test", "train"),
        "label": LABELS[picked].astype(np.int32),
        "class_name": NAMES[picked],
        "embedding": embedding_array(IMAGES[picked]),
    }
    shards = None if shard_rows is None else (len(rows), shard_rows)
    with table_writer(path, EMBEDDED_IMAGES, 24, "ViT", shards) as writer:
        table = pa.table(columns, schema=writer.schema)
        for start in range(0, len(rows), chunk):
            writer.write_table(table.slice(start, chunk))
    return path


def model(**settings: Any) -> InformationPursuitClassifier:
    return InformationPursuitClassifier(TEXTS, TEXT_ROWS, 10, **settings)


def assert_same_model(
    found: InformationPursuitClassifier, expected: InformationPursuitClassifier
) -> None:
    """Up to the rounding of sums."""
    assert found.queries_ == expected.queries_
    np.testing.assert_array_equal(found.classes_, expected.classes_)
    for name, tensor in expected.pursuit_.rule.tensors().items():
        torch.testing.assert_close(found.pursuit_.rule.tensors()[name], tensor, atol=1e-5, rtol=0)
    for name, tensor in expected.pursuit_.classifier.tensors().items():
        torch.testing.assert_close(
            found.pursuit_.classifier.tensors()[name], tensor, atol=1e-4, rtol=0
        )
    np.testing.assert_allclose(found.answer(READ), expected.answer(READ), atol=1e-5)
    for key in ("images", "held_out_images", "held_out_accuracy"):
        assert found.provenance_[key] == expected.provenance_[key]
    np.testing.assert_allclose(found.conformity(READ), expected.conformity(READ), atol=1e-6)


@pytest.mark.parametrize("shard_rows", [None, 100])
def test_a_fit_on_shards_is_the_fit_on_the_array(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shard_rows: int | None
) -> None:
    path = write(tmp_path / "images.parquet", shard_rows)
    expected = model().fit(READ, NAMES)
    shards = EmbeddedShards(path, rows=90)
    assert len(shards.sizes) > 5
    for images in (str(path), shards):
        assert_same_model(model().fit(images), expected)
    assert model().fit(path).clip_ == "ViT"


def test_what_is_known_of_the_classes_counts_as_in_a_fit_on_the_array(tmp_path: Path) -> None:
    known = (np.arange(60)[None] // 4 == np.arange(3)[:, None]).astype(np.float32)
    expected = model(knowledge=known, keep=["thing 50"]).fit(READ, NAMES)
    found = model(knowledge=known, keep=["thing 50"]).fit(write(tmp_path / "x.parquet", 99))
    assert_same_model(found, expected)
    assert "thing 50" in found.queries_


def test_images_that_are_left_out_and_rows_to_validate_on_are_those_given(tmp_path: Path) -> None:
    held = np.arange(700) % 7 == 3
    expected = model().fit(READ[~held], NAMES[~held], validation=(READ[held], NAMES[held]))
    shards = EmbeddedShards(write(tmp_path / "x.parquet", 120))
    np.testing.assert_array_equal(shards.labels(), LABELS)
    np.testing.assert_array_equal(shards.take(np.flatnonzero(held)), READ[held])
    found = model().fit(ShardedSet(shards, held), validation=(READ[held], NAMES[held]))
    assert_same_model(found, expected)
    assert found.provenance_["images"] == 600


def backwards(
    start: Callable[[], Callable[[Any], Any]], shards: Iterable[tuple[int, Any]], cluster: Any
) -> Generator[tuple[int, Any], None, None]:
    """As a cluster may: the last shard first, each by a worker of its own."""
    for number, shard in reversed(list(shards)):
        yield number, start()(shard)


def saved(fitted: InformationPursuitClassifier, folder: Path) -> dict[str, bytes]:
    fitted.save(folder)
    return {file.name: file.read_bytes() for file in sorted(folder.iterdir())}


def test_the_order_in_which_shards_are_done_changes_no_byte(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_samples(monkeypatch)
    path = write(tmp_path / "images.parquet", 70)
    first = saved(model().fit(path), tmp_path / "one")
    monkeypatch.setattr(sharded_set, "run_shards", backwards)
    assert saved(model().fit(path), tmp_path / "two") == first


def small_samples(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sharded_set, "SAMPLED", 90)
    monkeypatch.setattr(sharded_set, "HELD_OUT", 31)
    monkeypatch.setattr(training_set, "HELD_OUT_OF_A_CLASS", 15)


def test_samples_are_those_whose_checksums_come_first_however_images_are_cut_and_ordered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    small_samples(monkeypatch)
    shuffled = np.random.default_rng(3).permutation(700)
    found = []
    for name, shard_rows, order in (("a", None, None), ("b", 64, None), ("c", 200, shuffled)):
        shards = EmbeddedShards(write(tmp_path / f"{name}.parquet", shard_rows, order), rows=50)
        found.append(ShardedSet(shards).split(0.1))
    for rows, held_out in found:
        assert held_out is not None
        assert rows.facts(held_out)["held_out_images"] == 45
        samples = [held_out, rows.sample(90)]
        sizes = [np.bincount(each.labels).tolist() for each in samples]
        assert sizes == [[11, 10, 10], [30, 30, 30]]
    keys = [
        [sorted(each.checksums.tolist()) for each in (held_out, rows.sample(90))]
        for rows, held_out in found
        if held_out is not None
    ]
    assert keys[0] == keys[1] == keys[2]
    held, sample = keys[0]
    assert not set(held) & set(sample)
    rows = found[0][0].sample(90)
    keys_of_all = UnitMatrix(READ, "images").checksums()
    for label in range(3):
        mine = np.unique(keys_of_all[label == LABELS])[15:]
        assert sorted(rows.checksums[rows.labels.numpy() == label].tolist()) == mine[:30].tolist()


def left_out(path: Path, which: np.ndarray) -> ShardedSet:
    return ShardedSet(EmbeddedShards(path), which)


@pytest.mark.parametrize(
    ("fit", "word"),
    [
        (lambda path: InformationPursuitClassifier(["a", "b"], np.eye(5)[:2]).fit(path), "24"),
        (lambda path: InformationPursuitClassifier().fit(path), "texts"),
        (lambda path: model().fit(left_out(path, np.array([True, False]))), "700"),
        (lambda path: model().fit(left_out(path, LABELS == 0)), "'bee'"),
        (lambda path: model().fit(path, NAMES), "shards"),
        (lambda path: EmbeddedShards(path, "validation"), "empty"),
        (lambda path: (table_files(path)[1].unlink(), model().fit(path)), "missing"),
    ],
)
def test_what_does_not_fit_is_refused(
    tmp_path: Path, fit: Callable[[Path], object], word: str
) -> None:
    with pytest.raises(InputError, match=word):
        fit(write(tmp_path / "x.parquet", 300))
