"""CLIP's own classifier, and the embedded class names it compares images with."""

from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.baselines.zero_shot import ZeroShot, load_class_embeddings
from infopursuit.core.errors import InputError
from infopursuit.core.tables import EMBEDDED_CLASSES, EMBEDDED_IMAGES, write_table
from tests.baselines.blobs import CENTRES, NAMES, blobs


def test_images_are_of_the_nearest_class() -> None:
    images = blobs(30, 1)
    labels = images.labels.tolist()
    assert ZeroShot(CENTRES).fit(images, images).predict(images.embeddings).tolist() == labels
    rolled = ZeroShot(CENTRES.roll(1, dims=0)).predict(images.embeddings).tolist()
    assert rolled == [(label + 1) % 3 for label in labels]


def write_images(path: Path, clip: str | None = "small") -> None:
    columns = {"id": ["a"], "split": ["test"], "label": [0], "class_name": ["cat"]}
    write_table(path, EMBEDDED_IMAGES, columns | {"embedding": CENTRES[:1].numpy()}, clip)


def write_classes(path: Path, order: list[int], clip: str | None = "small") -> None:
    columns = {"label": order, "class_name": [NAMES[label] for label in order]}
    rows = 2 * CENTRES[order].numpy()
    write_table(path, EMBEDDED_CLASSES, columns | {"embedding": rows}, clip)


def test_class_embeddings_come_in_the_order_of_the_labels_and_of_unit_norm(tmp_path: Path) -> None:
    write_images(tmp_path / "i.parquet")
    write_classes(tmp_path / "c.parquet", [2, 0, 1])
    found = load_class_embeddings(tmp_path / "c.parquet", tmp_path / "i.parquet", NAMES)
    assert found is not None
    torch.testing.assert_close(found, CENTRES, atol=1e-3, rtol=0)
    torch.testing.assert_close(found.norm(dim=1), torch.ones(3))


def test_a_file_without_rows_gives_no_zero_shot(tmp_path: Path) -> None:
    columns = {"label": [], "class_name": [], "embedding": np.zeros((0, 4))}
    write_table(tmp_path / "c.parquet", EMBEDDED_CLASSES, columns)
    write_images(tmp_path / "i.parquet")
    assert load_class_embeddings(tmp_path / "c.parquet", tmp_path / "i.parquet", NAMES) is None


@pytest.mark.parametrize("order", [[0, 1], [0, 1, 2, 2]])
def test_missing_and_repeated_classes_are_refused(tmp_path: Path, order: list[int]) -> None:
    write_images(tmp_path / "i.parquet")
    write_classes(tmp_path / "c.parquet", order)
    with pytest.raises(InputError, match=r"c\.parquet: \d classes; expected each of the 3"):
        load_class_embeddings(tmp_path / "c.parquet", tmp_path / "i.parquet", NAMES)


def test_another_clip_is_refused(tmp_path: Path) -> None:
    write_images(tmp_path / "i.parquet", clip="other")
    write_classes(tmp_path / "c.parquet", [0, 1, 2])
    with pytest.raises(InputError, match="expected one CLIP"):
        load_class_embeddings(tmp_path / "c.parquet", tmp_path / "i.parquet", NAMES)
