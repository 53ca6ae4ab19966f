from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn import functional

from infopursuit.errors import InputError
from infopursuit.evaluation.baselines import linear_probe, load_class_embeddings, zero_shot
from infopursuit.pursuit.images import LabelledImages, hold_out
from infopursuit.tables import EMBEDDED_CLASSES, EMBEDDED_IMAGES, write_table

NAMES = ("cat", "dog", "owl")
CENTRES = functional.normalize(torch.tensor([[1.0, 0, 0, 1], [0, 1, 0, 1], [0, 0, 1, 1]]), dim=1)


def blobs(n: int, seed: int) -> LabelledImages:
    generator = torch.Generator().manual_seed(seed)
    labels = torch.arange(n) % 3
    noise = 0.05 * torch.randn(n, 4, generator=generator)
    points = functional.normalize(CENTRES[labels] + noise, dim=1)
    return LabelledImages(tuple(map(str, range(n))), labels, points, NAMES)


def test_linear_probe_and_zero_shot_on_separate_clusters() -> None:
    train, held_out = hold_out(blobs(60, 0), 0.2, 0)
    probe = linear_probe(train, held_out, blobs(30, 1))
    assert probe.correct.all()
    assert probe.held_out_accuracy == 1.0
    assert probe.strength == 1.0  # the smallest of equals
    assert zero_shot(CENTRES, blobs(30, 1)).all()
    assert not zero_shot(CENTRES.roll(1, dims=0), blobs(30, 1)).any()


def test_the_probe_weakens_its_penalty_where_that_helps() -> None:
    """Rare class 1 needs a steep boundary; a strong penalty leaves everything in class 0."""
    generator = torch.Generator().manual_seed(0)
    points = torch.rand(400, 2, generator=generator)
    labels = (points[:, 0] > 0.9).long()
    images = LabelledImages(tuple(map(str, range(400))), labels, points, ("left", "right"))
    train, held_out = hold_out(images, 0.25, 0)
    probe = linear_probe(train, held_out, held_out, (0.001, 1000.0))
    assert probe.strength == 1000.0
    assert probe.held_out_accuracy > 0.95


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
