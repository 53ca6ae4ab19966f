from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from infopursuit.core.embeddings import unit_rows
from infopursuit.core.tables import EMBEDDED_IMAGES, NEAR_COPIES, read_table, write_table
from infopursuit.datasets import duplicates
from infopursuit.datasets.duplicates import (
    classes_without_images,
    find_near_copies,
    list_near_copies,
    tell_empty_classes,
)


@pytest.mark.parametrize(("block", "against"), [(1024, 8192), (3, 4), (1, 1), (7, 100)])
def test_near_copies_are_those_of_the_whole_product(
    block: int, against: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(duplicates, "BLOCK", block)
    generator = np.random.default_rng(0)
    train = generator.normal(size=(23, 16)).astype(np.float32)
    test = generator.normal(size=(17, 16)).astype(np.float32)
    test[2], test[9], test[16] = 5 * train[22], train[3], train[3] + 1e-3 * train[4]
    train[11] = 0.5 * train[3]
    cosines = unit_rows(test, "test") @ unit_rows(train, "train").T
    blocks = [train[start : start + against] for start in range(0, len(train), against)]
    found = find_near_copies(test, blocks)
    assert found.test.tolist() == np.flatnonzero((cosines > 0.999).any(axis=1)).tolist()
    assert found.test.tolist() == [2, 9, 16]
    assert found.train[0] == 22
    assert set(found.train[1:]) <= {3, 11}
    assert found.copies.tolist() == [1, 2, 2]
    np.testing.assert_allclose(found.cosine, cosines.max(axis=1)[[2, 9, 16]], atol=1e-6)
    every = find_near_copies(test, blocks, threshold=-1.0)
    assert every.test.tolist() == list(range(17))
    np.testing.assert_allclose(every.cosine, cosines.max(axis=1), atol=1e-6)


def embedded(path: Path, splits: Sequence[str] = ("train", "test")) -> Path:
    matrix = np.eye(8, dtype=np.float16)[[0, 1, 2, 1, 5, 0]]
    columns = {
        "id": ["a", "b", "c", "d", "e", "f"],
        "split": [split for split in splits for _ in range(6 // len(splits))],
        "label": [0, 1, 2, 1, 2, 2],
        "class_name": ["cat", "dog", "cow", "dog", "cow", "cow"],
        "embedding": matrix,
    }
    write_table(path, EMBEDDED_IMAGES, columns)
    return path


@pytest.mark.parametrize("held", [None, 1, 2])
def test_a_table_lists_each_copy_with_its_training_image(
    tmp_path: Path,
    caplog: pytest.LogCaptureFixture,
    monkeypatch: pytest.MonkeyPatch,
    held: int | None,
) -> None:
    if held is not None:  # test images come in parts
        monkeypatch.setattr(duplicates, "AGAINST", 1)
        monkeypatch.setattr(duplicates, "HELD", held)
    out = tmp_path / "copies.parquet"
    assert list_near_copies(embedded(tmp_path / "x.parquet"), out) == 2
    assert "2 of 3 test images nearly equal a training image (cosine above 0.999)" in caplog.text
    assert read_table(out, NEAR_COPIES).to_pylist() == [
        {
            "id": "d",
            "class_name": "dog",
            "train_id": "b",
            "train_class_name": "dog",
            "cosine": 1.0,
            "copies": 1,
        },
        {
            "id": "f",
            "class_name": "cow",
            "train_id": "a",
            "train_class_name": "cat",
            "cosine": 1.0,
            "copies": 1,
        },
    ]
    caplog.clear()
    assert list_near_copies(tmp_path / "x.parquet", out, threshold=1.5) == 0
    assert len(read_table(out, NEAR_COPIES)) == 0
    assert not caplog.records


def test_without_test_images_there_are_no_copies(tmp_path: Path) -> None:
    images = embedded(tmp_path / "x.parquet", ["train"])
    assert list_near_copies(images, tmp_path / "copies.parquet") == 0


def test_classes_without_images_are_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    classes = ["cat", "dog", "cow", "ape"]
    rows = pa.table({"split": ["train", "test", "train"], "label": [0, 1, 1]})
    found = classes_without_images(rows, classes)
    assert found == {"train": ["cow", "ape"], "test": ["cat", "cow", "ape"]}
    assert classes_without_images(rows.slice(0, 2), ["cat"]) == {"test": ["cat"]}
    with caplog.at_level(logging.WARNING):
        tell_empty_classes(embedded(tmp_path / "x.parquet"), classes)
    assert "1 of 4 classes have no training images: 'ape'" in caplog.text
    assert "2 of 4 classes have no test images: 'cat', 'ape'" in caplog.text
