from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, write_table
from infopursuit.datasets.labelled_images import hold_out, load_images, load_training


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
def test_what_does_not_fit_is_named(tmp_path: Path, changes: dict, message: str) -> None:
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


def test_a_class_of_one_image_cannot_be_held_out(tmp_path: Path) -> None:
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
