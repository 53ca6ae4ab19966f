from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.settings import read_one_of
from infopursuit.core.text_lists import read_text_list
from infopursuit.datasets.dataset_settings import KINDS, HubDataset, LayoutDataset
from infopursuit.datasets.image_source import check_class_names, labels_of
from infopursuit.datasets.open_images import has_embeddings, open_image_source
from tests.datasets.images import CLASSES, encoded

COMMIT = "0123456789abcdef0123456789abcdef01234567"


@pytest.mark.parametrize("start", [0, 1, 6, 7, 11, 12])
@pytest.mark.parametrize("group", [1, 5, 100])
def test_a_table_gives_its_images_from_any_row(
    image_table: Callable[..., Path], start: int, group: int
) -> None:
    path = image_table()
    pq.write_table(pq.read_table(path), path, row_group_size=group)
    source = open_image_source(path, CLASSES)
    assert list(source.images(start)) == [encoded(row) for row in range(start, 12)]
    assert source.rows.column("id").to_pylist() == [f"image-{row}" for row in range(12)]


@pytest.mark.parametrize(
    ("columns", "message"),
    [
        ({"label": [0, 1, 3]}, "label 3 of row 2 has no class name"),
        ({"label": [-1, 1, 2]}, "label -1 of row 0 has no class name"),
        ({"class_name": ["cat", "zebra", "zebra"]}, "row 1 has the class name 'zebra'"),
        ({"split": ["test", "train", "val"]}, "split of row 2 is 'val'"),
        ({"split": ["test", "test", "test"]}, "split 'train' is empty"),
        ({"split": ["train", "train", "train"]}, "split 'test' is empty"),
        ({"id": ["a", "b", "a"]}, "id 'a' of row 2 is also that of row 0"),
    ],
)
def test_rows_that_do_not_fit_are_told(
    image_table: Callable[..., Path], columns: dict[str, list[object]], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        open_image_source(image_table(3, **columns), CLASSES)


def test_underscores_in_class_names_are_blanks(image_table: Callable[..., Path]) -> None:
    path = image_table(3, class_name=["cat", "giant_panda", "zebra"])
    rows = open_image_source(path, CLASSES).rows
    assert rows.column("class_name").to_pylist() == CLASSES


def test_a_table_without_images_is_told(image_table: Callable[..., Path], tmp_path: Path) -> None:
    path = image_table()
    table = pq.read_table(path)
    pq.write_table(table.drop_columns(["image"]), path)
    with pytest.raises(InputError, match="no column 'image'"):
        open_image_source(path, CLASSES)
    pq.write_table(table.set_column(4, "image", pa.array(["x"] * 12)), path)
    with pytest.raises(InputError, match="column 'image' is string"):
        open_image_source(path, CLASSES)
    assert not has_embeddings(path)
    (tmp_path / "bad.parquet").write_bytes(b"no")
    with pytest.raises(InputError, match="not a readable Parquet file"):
        has_embeddings(tmp_path / "bad.parquet")
    with pytest.raises(InputError, match="found nothing"):
        open_image_source(tmp_path / "absent", CLASSES)


def make_folder(root: Path) -> Path:
    for split in ("train", "test"):
        for label, name in enumerate(["cat", "giant_panda", "zebra"]):
            folder = root / split / name
            folder.mkdir(parents=True)
            for number, kind in enumerate(("jpeg", "png", "webp")):
                (folder / f"{number}.{kind}").write_bytes(encoded(label * 3 + number, kind))
    return root


def test_a_folder_is_ordered_by_split_class_and_name(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "set")
    classes = ["zebra", "cat", "giant panda"]
    source = open_image_source(root, classes)
    ids = source.rows.column("id").to_pylist()
    assert len(ids) == 18
    assert ids[0] == "train/zebra/0.jpeg"
    assert ids[-1] == "test/giant_panda/2.webp"
    assert source.rows.column("label").to_pylist() == [0, 0, 0, 1, 1, 1, 2, 2, 2] * 2
    assert source.rows.column("class_name").to_pylist()[8] == "giant panda"
    assert [file.relative_to(root).as_posix() for file in source.images(5)] == ids[5:]
    stamp = source.stamp
    (root / ids[4]).write_bytes(b"edited")
    assert open_image_source(root, classes).stamp != stamp


def test_a_folder_of_an_unknown_class_or_without_a_split_is_told(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "set")
    with pytest.raises(InputError, match=r"giant_panda: no class has this name"):
        open_image_source(root, ["cat", "zebra"])
    (root / "test").rename(root / "val")
    with pytest.raises(InputError, match="no folder 'test'"):
        open_image_source(root, CLASSES)


def test_folders_and_classes_agree_but_for_case_numbers_and_punctuation(tmp_path: Path) -> None:
    root = make_folder(tmp_path / "set")
    for split in ("train", "test"):
        (root / split / "giant_panda").rename(root / split / "002.Giant-Panda")
    rows = open_image_source(root, CLASSES).rows
    assert rows.column("class_name").to_pylist()[3] == "giant panda"
    with pytest.raises(InputError, match="classes 'giant panda' and 'Giant_Panda' have one name"):
        open_image_source(root, [*CLASSES, "Giant_Panda"])


def make_hub_set(root: Path, names: list[str], count: int = 7) -> Path:
    """A data set as the hub stores it: Parquet files with a described image and a class label."""
    import datasets

    features = datasets.Features(
        {"img": datasets.Image(), "label": datasets.ClassLabel(names=names)}
    )
    for split in ("train", "test"):
        rows = {
            "img": [{"bytes": encoded(row), "path": None} for row in range(count)],
            "label": [row % len(names) for row in range(count)],
        }
        data = datasets.Dataset.from_dict(rows, features=features)
        (root / "data").mkdir(parents=True, exist_ok=True)
        data.to_parquet(str(root / "data" / f"{split}-00000-of-00001.parquet"))
    return root


def test_a_set_of_the_hub_gives_both_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    root = make_hub_set(tmp_path / "hub", ["cat", "giant_panda", "zebra"])
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"hub: {root}\nrevision: {COMMIT}\nimage: img\n")
    source = open_image_source(pinned, CLASSES)
    ids = source.rows.column("id").to_pylist()
    assert (ids[0], ids[-1]) == ("train/0000000", "test/0000006")
    assert source.rows.column("label").to_pylist() == [0, 1, 2, 0, 1, 2, 0] * 2
    assert list(source.images(5)) == [encoded(row) for row in [5, 6, *range(7)]]
    assert list(source.images(9)) == [encoded(row) for row in range(2, 7)]
    with pytest.raises(InputError, match=r"label 1 is 'giant_panda' in .* the class 'dog'"):
        open_image_source(pinned, ["cat", "dog", "zebra"])
    with pytest.raises(InputError, match="has 3 classes; expected the 2"):
        open_image_source(pinned, ["cat", "giant panda"])
    whole = pinned.read_text()
    pinned.write_text(whole + "renamed: {giant_panda: dog}\ncounts: {train: 7}\n")
    rows = open_image_source(pinned, ["cat", "dog", "zebra"]).rows
    assert rows.column("class_name").to_pylist()[:3] == ["cat", "dog", "zebra"]
    pinned.write_text(whole + "counts: {train: 7, test: 8}\n")
    message = r"pinned\.yaml: the split 'test' has 7 images; expected 8 \(counts\): .* incomplete"
    with pytest.raises(InputError, match=message):
        open_image_source(pinned, CLASSES)
    pinned.write_text(f"hub: {root}\nrevision: {COMMIT}\n")
    with pytest.raises(InputError, match="no column 'image'; found img, label"):
        open_image_source(pinned, CLASSES)
    pinned.write_text(f"hub: {root}\nrevision: {COMMIT}\nsplits: {{test: validation}}\n")
    with pytest.raises(
        InputError, match=r"pinned\.yaml: .*'image'|cannot load the split 'validation'"
    ):
        open_image_source(pinned, CLASSES)


def test_without_a_network_a_set_of_the_hub_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import datasets
    import huggingface_hub

    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    monkeypatch.setattr(datasets.config, "HF_HUB_OFFLINE", True)
    monkeypatch.setattr(huggingface_hub.constants, "HF_HUB_OFFLINE", True)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"hub: nobody/no-images\nrevision: {COMMIT}\n")
    with pytest.raises(InputError, match=r"cannot load the split 'train' of nobody/no-images"):
        open_image_source(pinned, CLASSES)


def test_a_pinned_torchvision_set_gives_both_splits(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from torchvision import datasets

    folder = tmp_path / datasets.CIFAR10.base_folder
    folder.mkdir()
    pixels = np.random.default_rng(0).integers(0, 256, (5, 3072), dtype=np.uint8)
    batches = [name for name, _ in datasets.CIFAR10.train_list + datasets.CIFAR10.test_list]
    for name in batches:
        content = {"data": pixels, "labels": [0, 1, 2, 0, 1]}
        (folder / name).write_bytes(pickle.dumps(content))
    (folder / "batches.meta").write_bytes(pickle.dumps({"label_names": ["cat", "panda", "zebra"]}))
    monkeypatch.setattr("torchvision.datasets.cifar.check_integrity", lambda *_: True)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(f"torchvision: CIFAR10\nroot: {tmp_path}\ndownload: false\n")
    source = open_image_source(pinned, ["cat", "panda", "zebra"])
    assert source.rows.column("split").to_pylist() == ["train"] * 25 + ["test"] * 5
    images = list(source.images(24))
    assert len(images) == 6
    first = np.asarray(images[0]())
    np.testing.assert_array_equal(first, pixels[4].reshape(3, 32, 32).transpose(1, 2, 0))
    with pytest.raises(InputError, match="class 'dog'"):
        open_image_source(pinned, ["cat", "dog", "zebra"])
    pinned.write_text(pinned.read_text() + "counts: {train: 50000, test: 10000}\n")
    with pytest.raises(InputError, match="split 'train' has 25 images; expected 50000"):
        open_image_source(pinned, ["cat", "panda", "zebra"])


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("torchvision: NoSuchSet\nroot: data\n", "no data set 'NoSuchSet'"),
        ("torchvision: CIFAR10\nroot: absent\ndownload: false\n", "cannot load the split 'train'"),
        ("torchvision: Caltech101\nroot: absent\n", "is not split"),
        ("clip: x\n", "one of the keys hub, disk, torchvision, layout"),
        ("hub: x\nlayout: cub200\n", "one of the keys hub, disk, torchvision, layout"),
    ],
)
def test_mistakes_in_a_pinned_set_are_told(
    tmp_path: Path, text: str, message: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    pinned = tmp_path / "pinned.yaml"
    pinned.write_text(text)
    with pytest.raises(InputError, match=message):
        open_image_source(pinned, CLASSES)


SHIPPED = {
    "cifar10": ("cifar10", 10, 50000, 10000),
    "cifar100": ("cifar100", 100, 50000, 10000),
    "cifar100-torchvision": ("cifar100", 100, 50000, 10000),
    "rival10": ("rival10", 10, 21098, 5286),
    "imagenet100": ("imagenet100", 100, 130000, 5000),
    "cub200": ("cub200", 200, 5994, 5794),
    "stanford_cars": ("stanford_cars", 196, 8144, 8041),
    "stanford_cars-hub": ("stanford_cars", 196, 8144, 8041),
}


@pytest.mark.parametrize(
    "path", sorted(Path("params/images").iterdir()), ids=lambda path: path.stem
)
def test_the_shipped_data_sets_fit_their_class_lists(path: Path) -> None:
    pinned = read_one_of(path, KINDS, "a pinned data set")
    name, classes, train, test = SHIPPED[path.stem]
    assert (pinned.counts.train, pinned.counts.test) == (train, test)
    listed = read_text_list(f"params/classes/{name}.txt")
    assert len(labels_of(name, listed)) == len(listed) == classes
    if isinstance(pinned, LayoutDataset) and pinned.wnids is not None:
        check_class_names(path, list(pinned.wnids.values()), listed, pinned.renamed)
        assert [*pinned.wnids][:3] == ["n01968897", "n01770081", "n01818515"]
    if isinstance(pinned, HubDataset):
        assert set(pinned.renamed.values()) <= set(listed)


def test_the_shipped_class_lists_are_in_the_order_of_the_labels() -> None:
    """Names at places that are known from the data sets' own files."""
    places = {
        "cifar10": {0: "airplane", 9: "truck"},
        "cifar100": {0: "apple", 26: "crab", 41: "lawn mower", 99: "worm"},
        "rival10": {0: "truck", 6: "equine", 9: "bird"},
        "imagenet100": {0: "chambered nautilus", 13: "tench", 99: "rooster"},
        "cub200": {0: "Black footed Albatross", 111: "Great Grey Shrike", 140: "Artic Tern"},
        "stanford_cars": {0: "AM General Hummer SUV 2000", 195: "smart fortwo Convertible 2012"},
    }
    for name, expected in places.items():
        listed = read_text_list(f"params/classes/{name}.txt")
        assert {place: listed[place] for place in expected} == expected
