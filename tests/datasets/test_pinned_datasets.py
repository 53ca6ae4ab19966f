"""Data sets that a YAML file pins: of the hub, of torchvision, and tiny folders like archives."""

from __future__ import annotations

import json
import pickle
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text_list
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source
from infopursuit.datasets.pinned_datasets import HubDataset, hub_files
from tests.datasets.images import CLASSES, encoded
from tests.small_hub import serving, write_card

COMMIT = "0123456789abcdef0123456789abcdef01234567"


def picture(path: Path, seed: int = 0) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(encoded(seed, "JPEG"))


def pinned_of(root: Path, layout: str, more: str = "") -> Path:
    path = root.parent / "pinned.yaml"
    path.write_text(f"layout: {layout}\nroot: {root}\n{more}")
    return path


def rows_of(source: ImageSource) -> list[tuple[str, str, int, str]]:
    return [tuple(row.values()) for row in source.rows.to_pylist()]


def fails(pinned: Path, classes: list[str], message: str) -> None:
    with pytest.raises(InputError, match=message):
        open_image_source(pinned, classes)


BIRDS = ["Black footed Albatross", "Artic Tern"]
BIRD_FILES = {
    "classes.txt": "1 001.Black_footed_Albatross\n2 141.Artic_Tern\n",
    "images.txt": (
        "1 001.Black_footed_Albatross/a_46.jpg\n2 001.Black_footed_Albatross/a_9.jpg\n"
        "3 141.Artic_Tern/t 1.jpg\n4 141.Artic_Tern/t_2.jpg\n"
    ),
    "image_class_labels.txt": "1 1\n2 1\n3 2\n4 2\n",
    "train_test_split.txt": "1 0\n2 1\n3 1\n4 0\n",
}


@pytest.fixture
def cub200(tmp_path: Path) -> Path:
    root = tmp_path / "CUB_200_2011"
    root.mkdir()
    for name, text in BIRD_FILES.items():
        (root / name).write_text(text)
    for seed, line in enumerate(BIRD_FILES["images.txt"].splitlines()):
        picture(root / "images" / line.split(" ", 1)[1], seed)
    return root


def test_cub200_has_its_official_split_and_order(cub200: Path) -> None:
    pinned = pinned_of(cub200, "cub200", "counts: {train: 2, test: 2}\n")
    source = open_image_source(pinned, BIRDS)
    assert rows_of(source) == [
        ("images/001.Black_footed_Albatross/a_46.jpg", "test", 0, BIRDS[0]),
        ("images/001.Black_footed_Albatross/a_9.jpg", "train", 0, BIRDS[0]),
        ("images/141.Artic_Tern/t 1.jpg", "train", 1, BIRDS[1]),
        ("images/141.Artic_Tern/t_2.jpg", "test", 1, BIRDS[1]),
    ]
    files = list(source.images(2))
    assert [file.read_bytes() for file in files] == [encoded(seed, "JPEG") for seed in (2, 3)]
    assert to_rgb(files[0]).size == (40, 36)
    (cub200 / "images/141.Artic_Tern/t_2.jpg").write_bytes(b"edited")
    assert open_image_source(pinned, BIRDS).stamp != source.stamp


def test_missing_files_and_other_numbers_or_classes_are_named(cub200: Path) -> None:
    for more, classes, word in [
        ("counts: {train: 2, test: 3}", BIRDS, "expected 3 .*incomplete"),
        ("counts: {train: 1, test: null}", BIRDS, "expected 1"),
        ("", [*BIRDS, "Puffin"], "2 classes"),
        ("", BIRDS[::-1], "label 0"),
    ]:
        fails(pinned_of(cub200, "cub200", more), classes, word)
    (cub200 / "images/141.Artic_Tern/t_2.jpg").unlink()
    fails(pinned_of(cub200, "cub200"), BIRDS, "1 of 4 images are missing")


IMAGENET = {"n02": "tree frog", "n01": "tench", "n03": "wheel"}
WNIDS = {f"{wnid}000000": name for wnid, name in IMAGENET.items()}
WNIDS_YAML = "wnids: {n02000000: tree frog, n01000000: tench}\n"


@pytest.fixture
def imagenet(tmp_path: Path) -> Path:
    root = tmp_path / "imagenet"
    for place, wnid in enumerate(WNIDS):
        picture(root / "train" / wnid / f"{wnid}_10.JPEG")
        picture(root / "train" / wnid / f"{wnid}_2.JPEG")
        picture(root / "val" / wnid / f"ILSVRC2012_val_0000000{place}.JPEG")
    (root / "train/n01000000/.n01000000_3.JPEG").write_bytes(b"")
    (root / "train/n01000000/boxes.xml").write_bytes(b"")
    return root


def test_imagenet_has_the_classes_of_its_file_in_its_order(imagenet: Path) -> None:
    pinned = pinned_of(imagenet, "imagenet", WNIDS_YAML + "counts: {train: 4, test: 2}\n")
    source = open_image_source(pinned, ["tree frog", "Tench"])
    assert rows_of(source) == [
        ("train/n02000000/n02000000_10.JPEG", "train", 0, "tree frog"),
        ("train/n02000000/n02000000_2.JPEG", "train", 0, "tree frog"),
        ("train/n01000000/n01000000_10.JPEG", "train", 1, "Tench"),
        ("train/n01000000/n01000000_2.JPEG", "train", 1, "Tench"),
        ("val/n02000000/ILSVRC2012_val_00000000.JPEG", "test", 0, "tree frog"),
        ("val/n01000000/ILSVRC2012_val_00000001.JPEG", "test", 1, "Tench"),
    ]


def test_imagenet_may_be_in_the_folders_of_kaggle(imagenet: Path) -> None:
    (imagenet / "train/n01000000").rename(imagenet / "moved")
    (imagenet / "train").rename(imagenet / "train.X1")
    (imagenet / "train.X2").mkdir()
    (imagenet / "moved").rename(imagenet / "train.X2/n01000000")
    (imagenet / "val").rename(imagenet / "val.X")
    pinned = pinned_of(imagenet, "imagenet", WNIDS_YAML + "counts: {train: 4, test: 2}\n")
    source = open_image_source(pinned, ["tree frog", "tench"])
    assert source.rows.column("label").to_pylist() == [0, 0, 1, 1, 0, 1]


ANIMALS = ["truck", "frog"]
MAPPINGS = {"moving van": ["truck", 0], "tree-frog": ["frog", 1], "Ascaphus trui": ["frog", 1]}
OF_WNID = {
    "n03796401": "moving van",
    "n01644373": "tree-frog",
    "n01644900": "Ascaphus trui",
    "n01440764": "Tinca tinca",
}
TRAIN = ["n03796401_n03796401_7.JPEG", "n01644373_n01644373_12.JPEG"]
TEST = ["n01644900_ILSVRC2012_val_00000005.JPEG", "n03796401_n03796401_8.JPEG"]


@pytest.fixture
def rival10(tmp_path: Path) -> Path:
    root = tmp_path / "RIVAL10"
    for split, names in (("train", TRAIN), ("test", TEST)):
        for seed, name in enumerate(names):
            file = root / split / "ordinary" / name
            picture(file, seed)
            picture(file.with_name(f"{file.stem}_merged_mask.JPEG"))
            file.with_name(f"{file.stem}_attr_labels.npy").write_bytes(b"")
        picture(root / split / "superimposed" / names[0])
    (root / "meta").mkdir()
    (root / "meta/label_mappings.json").write_text(json.dumps(MAPPINGS))
    (root / "meta/wnid_to_class.json").write_text(json.dumps(OF_WNID))
    return root


def test_rival10_has_its_plain_images(rival10: Path) -> None:
    source = open_image_source(pinned_of(rival10, "rival10"), ANIMALS)
    assert rows_of(source) == [
        (f"train/ordinary/{TRAIN[1]}", "train", 1, "frog"),
        (f"train/ordinary/{TRAIN[0]}", "train", 0, "truck"),
        (f"test/ordinary/{TEST[0]}", "test", 1, "frog"),
        (f"test/ordinary/{TEST[1]}", "test", 0, "truck"),
    ]
    assert [to_rgb(image).size for image in source.images(0)] == [(40, 36)] * 4


# Opens what is named, and prints a line for each: rows, or the mistake.
OPEN = """
import sys
from pathlib import Path
from infopursuit.core.errors import InputError
from infopursuit.datasets.open_images import open_image_source
from infopursuit.datasets.pinned_datasets import hub_samples
for each in sys.argv[1:]:
    path, _, classes = each.partition("=")
    try:
        if each.startswith("hf:"):
            given = hub_samples(each)
            print(given.ids, given.classes, given.splits, given.some([5]))
        else:
            source = open_image_source(Path(path), classes.split(","))
            names = ("id", "class_name", "split")
            columns = [source.rows.column(name).to_pylist() for name in names]
            print(*columns, list(source.images(5))[:1])
    except InputError as error:
        print(str(error).replace(chr(10), " "))
"""


def opened(env: dict[str, str], *named: object) -> list[str]:
    """Open in a process of its own: the hub's client reads its address when it is imported."""
    command = [sys.executable, "-c", OPEN, *map(str, named)]
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def write_hub(folder: Path) -> None:
    """A repository of seven animals in three splits, as the hub stores it."""
    import datasets

    features = {"img": datasets.Image(), "label": datasets.ClassLabel(names=HUB_NAMES)}
    rows = {
        "img": [{"bytes": encoded(row), "path": None} for row in range(7)],
        "label": [row % 3 for row in range(7)],
    }
    data = datasets.Dataset.from_dict(rows, features=datasets.Features(features))
    repository = folder / "datasets/zoo/animals" / COMMIT
    (repository / "data").mkdir(parents=True)
    splits = ("train", "test", "blurred")
    for split in splits:
        data.to_parquet(str(repository / "data" / f"{split}-00000-of-00001.parquet"))
    write_card(repository, "default", {split: f"data/{split}-*" for split in splits})


HUB_NAMES = ["cat", "giant_panda", "zebra"]


@pytest.mark.parametrize(
    ("pattern", "inside"),
    [
        ("data/train-*.parquet", True),
        ("a..b/**", True),
        ("https://a.example/x.parquet", False),
        ("zip://a.csv::data.zip", False),
        ("/etc/*.parquet", False),
        ("data/../../x.parquet", False),
        ("..", False),
        ("C:\\x.parquet", False),
    ],
)
def test_a_card_names_files_of_its_data_set_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, pattern: str, inside: bool
) -> None:
    write_card(tmp_path, "default", {"train": pattern, "test": "t-*"})
    monkeypatch.setattr(
        "huggingface_hub.hf_hub_download", lambda *_, **__: str(tmp_path / "README.md")
    )
    pinned = HubDataset(hub="zoo/animals", revision=COMMIT, image="img")
    if inside:
        assert hub_files(pinned) == {"train": [pattern], "test": ["t-*"]}
    else:
        with pytest.raises(InputError, match=r"README\.md names .* of the data set alone"):
            hub_files(pinned)


def test_a_set_of_the_hub_is_the_two_splits_of_its_commit_or_an_error(tmp_path: Path) -> None:
    write_hub(tmp_path)
    pin, other = tmp_path / "pin.yaml", tmp_path / "other.yaml"
    pin.write_text(f"hub: zoo/animals\nrevision: {COMMIT}\nimage: img\ncounts: {{train: 7}}\n")
    other.write_text(f"hub: zoo/animals\nrevision: {'f' * 40}\nimage: img\n")
    renamed = tmp_path / "renamed.yaml"
    renamed.write_text(pin.read_text() + "renamed: {giant_panda: dog}\n")
    named, by_name = ",".join(CLASSES), f"hf:zoo/animals@{COMMIT}"
    with serving(tmp_path) as env:
        found = opened(
            env, f"{pin}={named}", f"{pin}=cat,dog,zebra", f"{renamed}=cat,dog,zebra",
            f"{other}={named}", "hf:zoo/animals", "hf:zoo/nothing",
        )  # fmt: skip
    ids = [f"{split}/{row:07d}" for split in ("train", "test") for row in range(7)]
    splits = ["train"] * 7 + ["test"] * 7
    classes = [CLASSES[row % 3] for row in range(7)] * 2
    assert found[0] == f"{ids} {classes} {splits} {[encoded(5)]}"
    assert "label 1 is 'giant_panda' in the data set; expected the class 'dog'" in found[1]
    assert found[2].count("'dog'") == 4
    assert re.search(r"other\.yaml: cannot load zoo/animals at f{40} \(.*not found", found[3], re.I)
    assert (
        found[4] == f"{ids} {[HUB_NAMES[row % 3] for row in range(7)] * 2} {splits} {[encoded(5)]}"
    )
    assert "hf:zoo/nothing: the hub does not say which commit this is" in found[5]
    asked = (tmp_path / "asked.txt").read_text()
    assert "data/train" in asked
    assert "data/blurred" not in asked, "other splits are not fetched"
    offline = {**env, "HF_HUB_OFFLINE": "1"}
    without = opened(offline, f"{pin}={named}", by_name, f"{other}={named}", "hf:zoo/animals")
    assert without[:2] == [found[0], found[4]]
    assert "other.yaml: cannot load zoo/animals at ffff" in without[2]
    assert "hf:zoo/animals: the hub does not say" in without[3]


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
    fails(pinned, ["cat", "dog", "zebra"], "class 'dog'")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("torchvision: NoSuchSet\nroot: data\n", "'NoSuchSet'"),
        ("torchvision: CIFAR10\nroot: absent\ndownload: false\n", "'train'"),
        ("torchvision: Caltech101\nroot: absent\n", "split"),
        ("clip: x\n", "torchvision"),
        ("hub: x\nlayout: cub200\n", "torchvision"),
        ("layout: imagenet\nroot: .\n", "wnids"),
        (f"layout: cub200\nroot: .\n{WNIDS_YAML}", "wnids"),
        ("layout: imagenet\nroot: .\nwnids: {tench: n01000000}\n", "tench"),
        ("layout: imagenet\nroot: .\ncounts: {train: 0}\n", "counts"),
        ("layout: imagenet\nroot: .\nsplit: half\n", "split"),
        ("layout: caltech\nroot: .\n", "layout"),
        ("layout: cub200\nroot: absent\n", "absent"),
    ],
)
def test_mistakes_in_a_pinned_set_are_named(
    tmp_path: Path, text: str, word: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "pinned.yaml").write_text(text)
    fails(tmp_path / "pinned.yaml", CLASSES, word)


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
