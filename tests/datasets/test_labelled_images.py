from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_IMAGES, write_table
from infopursuit.datasets.labelled_images import hold_out, load_images


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
