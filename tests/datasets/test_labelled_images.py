"""Embedded images with labels: read, held out, sampled; near copies and empty classes."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
import torch

from infopursuit.core.arrays import unit_rows
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, NEAR_COPIES, read_table, write_table
from infopursuit.datasets import duplicates
from infopursuit.datasets.duplicates import (
    classes_without_images,
    find_near_copies,
    list_near_copies,
    log_empty_classes,
)
from infopursuit.datasets.labelled_images import (
    even_sample,
    hold_out,
    load_images,
    load_training,
    spread_sample,
)


def written(path: Path, **changes: list) -> Path:
    columns = {
        "id": [f"i{row}" for row in range(8)],
        "split": ["train", "test"] * 4,
        "label": [0, 0, 1, 1, 0, 0, 1, 1],
        "class_name": ["car", "car", "bus", "bus"] * 2,
        "embedding": 3 * np.ones((8, 2)) + np.arange(8)[:, None] * np.array([[1, 0]]),
    }
    write_table(path, EMBEDDED_IMAGES, {**columns, **changes})
    return path


def test_a_split_is_read_in_order_with_unit_norm(tmp_path: Path) -> None:
    images = load_images(written(tmp_path / "x.parquet"), "test")
    assert images.ids == ("i1", "i3", "i5", "i7")
    assert images.labels.tolist() == [0, 1, 0, 1]
    assert images.class_names == ("car", "bus")
    torch.testing.assert_close(images.embeddings.norm(dim=1), torch.ones(4))


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"split": ["train"] * 8}, "the split 'test' is empty; found train"),
        ({"label": [0, 0, 2, 2, 0, 0, 2, 2]}, r"labels are \[0, 2\].*expected 0, 1"),
        ({"class_name": ["car", "bus"] * 4}, "row 1 calls label 0 'bus'; expected 'car'"),
    ],
)
def test_mistakes_in_a_table_are_named(tmp_path: Path, changes: dict, message: str) -> None:
    with pytest.raises(InputError, match=message):
        load_images(written(tmp_path / "x.parquet", **changes), "test")


def test_every_class_gives_its_share_and_keeps_an_image(tmp_path: Path) -> None:
    images = load_images(written(tmp_path / "x.parquet"), "train")
    kept, held = hold_out(images, 0.1, seed=0)
    assert sorted(kept.ids + held.ids) == sorted(images.ids)
    assert sorted(held.labels.tolist()) == [0, 1]
    assert hold_out(images, 0.1, seed=0)[1].ids == held.ids
    kept, held = hold_out(images, 0.99, seed=0)
    assert sorted(kept.labels.tolist()) == [0, 1]
    path = written(tmp_path / "x.parquet", split=["train", "train", "train", *["test"] * 5])
    with pytest.raises(InputError, match="class 'bus' has 1 training images"):
        hold_out(load_images(path, "train"), 0.1, seed=0)


def many(path: Path) -> Path:
    """600 training and 300 test images, mixed; a third of both is of class 0."""
    rows = np.arange(900)
    columns = {
        "id": [f"i{row}" for row in rows],
        "split": np.where(rows % 3 == 2, "test", "train").tolist(),
        "label": (rows // 3 % 3 > 0).astype(int).tolist(),
        "class_name": np.where(rows // 3 % 3 > 0, "bus", "car").tolist(),
        "embedding": np.random.default_rng(0).normal(size=(900, 4)),
    }
    write_table(path, EMBEDDED_IMAGES, columns)
    return path


def test_of_a_larger_split_a_sample_is_read(tmp_path: Path) -> None:
    path = many(tmp_path / "x.parquet")
    everything = load_images(path, "test")
    assert load_images(path, "test", 300).ids == everything.ids
    few = load_images(path, "test", 60, always=["i5", "i8", "i899", "unknown"])
    places = [everything.ids.index(each) for each in few.ids]
    assert places == sorted(set(places))
    assert {"i5", "i8", "i899"} <= set(few.ids)
    assert 60 <= len(places) <= 63
    assert few.labels.tolist() == everything.labels[places].tolist()
    assert torch.equal(few.embeddings, everything.embeddings[places])
    plain = load_images(path, "test", 60)
    assert torch.bincount(plain.labels).tolist() == [20, 40]
    assert set(plain.ids) <= set(few.ids)


def test_a_sample_of_training_images_has_none_that_are_held_out(tmp_path: Path) -> None:
    path = many(tmp_path / "x.parquet")
    whole = hold_out(load_images(path, "train"), 0.2, seed=3)
    for mine, expected in zip(load_training(path, 0.2, 3), whole, strict=True):
        assert mine.ids == expected.ids
        assert torch.equal(mine.embeddings, expected.embeddings)
        assert torch.equal(mine.labels, expected.labels)
    kept, held_out = load_training(path, 0.2, 3, most=90)
    assert torch.bincount(kept.labels).tolist() == [30, 60]
    assert torch.bincount(held_out.labels).tolist() == [30, 60]
    assert set(kept.ids) <= set(whole[0].ids)
    assert set(held_out.ids) <= set(whole[1].ids)


def test_even_samples_have_equally_many_images_of_each_class() -> None:
    labels = torch.cat([torch.zeros(500), torch.ones(40), torch.full((7,), 2)]).long()
    labels = labels[torch.randperm(547, generator=torch.Generator().manual_seed(1))]
    generator = torch.Generator().manual_seed(0)
    places = even_sample(labels, 60, generator)
    assert places.tolist() == sorted(set(places.tolist()))
    sizes = torch.bincount(labels[places]).tolist()
    assert sizes[2] == 7
    assert sum(sizes) == 60
    assert abs(sizes[0] - sizes[1]) <= 1
    again = even_sample(labels, 60, torch.Generator().manual_seed(0))
    assert torch.equal(places, again)
    assert not torch.equal(places, even_sample(labels, 60, torch.Generator().manual_seed(1)))
    assert torch.equal(even_sample(labels, 547, generator), torch.arange(547))


def test_a_spread_sample_has_classes_in_proportion_and_two_of_the_rare_ones() -> None:
    labels = torch.cat(
        [torch.zeros(6000), torch.ones(3990), torch.full((9,), 2), torch.tensor([3])]
    )
    labels = labels.long()[torch.randperm(10000, generator=torch.Generator().manual_seed(1))]
    places = spread_sample(labels, 1000)
    assert places.tolist() == sorted(set(places.tolist()))
    assert torch.bincount(labels[places]).tolist() == [600, 399, 2, 1]
    assert torch.equal(places, spread_sample(labels, 1000))
    assert not torch.equal(places, spread_sample(labels, 1000, seed=1))
    assert torch.equal(spread_sample(labels, 10000), torch.arange(10000))


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


@pytest.mark.parametrize("against", [8192, 1])
def test_a_table_lists_each_copy_with_its_training_image(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch, against: int
) -> None:
    monkeypatch.setattr(duplicates, "AGAINST", against)
    out = tmp_path / "copies.parquet"
    assert list_near_copies(embedded(tmp_path / "x.parquet"), out) == 2
    assert "2 of 3 test images nearly equal a training image (cosine above 0.999)" in caplog.text
    assert [tuple(row.values()) for row in read_table(out, NEAR_COPIES).to_pylist()] == [
        ("d", "dog", "b", "dog", 1.0, 1),
        ("f", "cow", "a", "cat", 1.0, 1),
    ]
    caplog.clear()
    assert list_near_copies(tmp_path / "x.parquet", out, threshold=1.5) == 0
    assert len(read_table(out, NEAR_COPIES)) == 0
    assert not caplog.records
    without_test_images = embedded(tmp_path / "x.parquet", ["train"])
    assert list_near_copies(without_test_images, out) == 0


def test_classes_without_images_are_listed(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    classes = ["cat", "dog", "cow", "ape"]
    rows = pa.table({"split": ["train", "test", "train"], "label": [0, 1, 1]})
    found = classes_without_images(rows, classes)
    assert found == {"train": ["cow", "ape"], "test": ["cat", "cow", "ape"]}
    assert classes_without_images(rows.slice(0, 2), ["cat"]) == {"test": ["cat"]}
    with caplog.at_level(logging.WARNING):
        log_empty_classes(embedded(tmp_path / "x.parquet"), classes)
    assert "1 of 4 classes have no training images: 'ape'" in caplog.text
    assert "2 of 4 classes have no test images: 'cat', 'ape'" in caplog.text
