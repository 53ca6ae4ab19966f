"""Tiny folders arranged like the archives of the data sets that people download by hand."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source
from tests.datasets.images import encoded


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


@pytest.mark.parametrize(
    ("name", "old", "new", "message"),
    [
        ("classes.txt", "2 141", "3 141", r"classes\.txt: expected the numbers 1 to 2"),
        ("classes.txt", "Artic", "Arctic", r"images\.txt: line 3: .* in 141\.Arctic_Tern/"),
        ("classes.txt", "2 141", "x 141", r"classes\.txt: line 2: expected a number.* found 'x 1"),
        ("images.txt", "3 141.Artic_Tern/t 1.jpg", "3", r"images\.txt: line 3: .* found '3'"),
        ("images.txt", "3 141", "2 141", r"images\.txt: line 3 repeats the number 2"),
        (
            "images.txt",
            "141.Artic_Tern/t_2",
            "Artic/t_2",
            r"images\.txt: line 4: expected a file in",
        ),
        ("image_class_labels.txt", "3 2", "3 9", r"labels\.txt: line 3: .* 1 to 2, found '9'"),
        ("image_class_labels.txt", "3 2", "3 b", r"labels\.txt: line 3: .* 1 to 2, found 'b'"),
        ("image_class_labels.txt", "4 2\n", "", r"labels\.txt: image 4 is in it or in images\.txt"),
        ("train_test_split.txt", "4 0", "4 0\n5 0", r"split\.txt: image 5 is in it or in images"),
        ("train_test_split.txt", "2 1", "2 7", r"split\.txt: line 2: expected 0 \(test\) or 1"),
        ("train_test_split.txt", BIRD_FILES["train_test_split.txt"], "", r"split\.txt: .* empty"),
    ],
)
def test_mistakes_in_the_files_of_cub200_are_told(
    cub200: Path, name: str, old: str, new: str, message: str
) -> None:
    path = cub200 / name
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))
    fails(pinned_of(cub200, "cub200"), BIRDS, message)


def test_missing_files_of_cub200_are_told(cub200: Path) -> None:
    pinned = pinned_of(cub200, "cub200")
    (cub200 / "images/141.Artic_Tern/t_2.jpg").unlink()
    fails(pinned, BIRDS, r"pinned\.yaml: 1 of 4 images are missing, .*t_2\.jpg: the download is")
    (cub200 / "train_test_split.txt").write_bytes(b"\xff 1")
    fails(pinned, BIRDS, r"train_test_split\.txt: not a readable UTF-8")
    (cub200 / "train_test_split.txt").unlink()
    fails(pinned, BIRDS, r"train_test_split\.txt: no such file")
    fails(pinned, [*BIRDS, "Puffin"], r"train_test_split\.txt: no such file")


def test_other_numbers_of_images_or_classes_are_told(cub200: Path) -> None:
    fails(
        pinned_of(cub200, "cub200", "counts: {train: 2, test: 3}\n"),
        BIRDS,
        r"pinned\.yaml: the split 'test' has 2 images; expected 3 .*download is incomplete",
    )
    fails(
        pinned_of(cub200, "cub200", "counts: {train: 1, test: null}\n"),
        BIRDS,
        r"the split 'train' has 2 images; expected 1 .* not of the data set",
    )
    fails(pinned_of(cub200, "cub200"), [*BIRDS, "Puffin"], r"has 2 classes; expected the 3")
    fails(pinned_of(cub200, "cub200"), BIRDS[::-1], r"label 0 is '001\.Black_footed_Albatross' in")


def test_a_pinned_set_can_rename_a_class(cub200: Path) -> None:
    classes = [BIRDS[0], "Arctic Tern"]
    pinned = pinned_of(cub200, "cub200", "renamed: {141.Artic_Tern: Arctic tern}\n")
    assert rows_of(open_image_source(pinned, classes))[3][3] == "Arctic Tern"
    fails(pinned, BIRDS, r"label 1 is '141\.Artic_Tern' in the data set; expected the class 'Artic")


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


def test_a_flat_or_partial_imagenet_is_told(imagenet: Path) -> None:
    pinned, classes = pinned_of(imagenet, "imagenet", WNIDS_YAML), ["tree frog", "tench"]
    fails(pinned, ["tench", "tree frog"], r"pinned\.yaml: label 0 is 'tree frog' in the data set")
    (imagenet / "train/n01000000/n01000000_2.JPEG").unlink()
    (imagenet / "train/n01000000/n01000000_10.JPEG").unlink()
    fails(pinned, classes, r"train/n01000000: no images; expected those of 'tench'")
    for file in (imagenet / "train/n01000000").iterdir():
        file.unlink()
    (imagenet / "train/n01000000").rmdir()
    fails(pinned, classes, r"train/n01000000: no such folder; .* 'tench' \(unpack .*WNID\.tar")
    picture(imagenet / "train/n01000000/n01000000_2.JPEG")
    for folder in list((imagenet / "val").iterdir()):
        for file in folder.iterdir():
            file.rename(imagenet / "val" / file.name)
        folder.rmdir()
    fails(pinned, classes, r"imagenet/val: its images lie side by side; expected val/WNID/: move")
    (imagenet / "val").rename(imagenet / "val.X")
    fails(pinned, classes, r"imagenet/val: no such folder; .*val\.X, move their folders")


@pytest.mark.parametrize(
    ("layout", "more", "message"),
    [
        ("imagenet", "", r"wnids: expected WordNet ids .* the layout is imagenet"),
        ("cub200", WNIDS_YAML, r"wnids: expected WordNet ids .* the layout is cub200"),
        ("imagenet", "wnids: {tench: n01000000}\n", r"wnids\.tench.*: String should match"),
        ("imagenet", "counts: {train: 0}\n", r"counts\.train: .* greater than or equal to 1"),
        ("imagenet", "split: half\n", r"split: unknown key"),
        ("caltech", "", r"layout: .* 'stanford_cars'"),
    ],
)
def test_mistakes_in_a_pinned_layout_are_told(
    tmp_path: Path, layout: str, more: str, message: str
) -> None:
    fails(pinned_of(tmp_path, layout, more), ["tench"], r"pinned\.yaml: " + message)
    (tmp_path / "pinned.yaml").write_text("layout: cub200\nroot: absent\n")
    fails(tmp_path / "pinned.yaml", ["tench"], r"root: no folder absent")


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


def address(name: str) -> str:
    wnid, _, file = name.partition("_")
    return f"https://example.org/imagenet/train/{wnid}/{file}"


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
    splits = {"train": list(map(address, TRAIN)), "test": list(map(address, TEST))}
    (root / "meta").mkdir()
    (root / "meta/label_mappings.json").write_text(json.dumps(MAPPINGS))
    (root / "meta/wnid_to_class.json").write_text(json.dumps(OF_WNID))
    (root / "meta/train_test_split_by_url.json").write_text(json.dumps(splits))
    return root


@pytest.mark.parametrize("listed", [True, False])
def test_rival10_has_its_plain_images(rival10: Path, listed: bool) -> None:
    if not listed:
        (rival10 / "meta/train_test_split_by_url.json").unlink()
    source = open_image_source(pinned_of(rival10, "rival10"), ANIMALS)
    assert rows_of(source) == [
        (f"train/ordinary/{TRAIN[1]}", "train", 1, "frog"),
        (f"train/ordinary/{TRAIN[0]}", "train", 0, "truck"),
        (f"test/ordinary/{TEST[0]}", "test", 1, "frog"),
        (f"test/ordinary/{TEST[1]}", "test", 0, "truck"),
    ]
    assert [to_rgb(image).size for image in source.images(0)] == [(40, 36)] * 4


@pytest.mark.parametrize("name", [TRAIN[0], "n03796401_7.JPEG"])
def test_rival10_with_an_image_in_both_splits_is_told(rival10: Path, name: str) -> None:
    picture(rival10 / "test/ordinary" / name)
    message = rf"test/ordinary/{name}: the same image as .*train/ordinary/{TRAIN[0]}; .*both splits"
    fails(pinned_of(rival10, "rival10"), ANIMALS, message)


def test_rival10_with_an_image_in_the_wrong_split_is_told(rival10: Path) -> None:
    folder = rival10 / "test/ordinary"
    (folder / TEST[0]).rename(rival10 / "train/ordinary" / TEST[0])
    message = r"train/ordinary/n01644900_\S+: ILSVRC2012_val_00000005 is of the other split"
    fails(pinned_of(rival10, "rival10"), ANIMALS, message)


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("label_mappings.json", "{", r"label_mappings\.json: not valid JSON, line 1"),
        ("label_mappings.json", "[]", r"label_mappings\.json: expected a JSON object, found list"),
        ("label_mappings.json", '{"a": ["truck"]}', r"'a': expected a class .* \['truck'\]"),
        ("label_mappings.json", '{"a": ["x", 0], "b": ["y", 0]}', r"'b': .* found \['y', 0\]"),
        ("label_mappings.json", '{"a": ["x", 2]}', r"expected labels 0 to 0, found \[2\]"),
        (
            "label_mappings.json",
            '{"moving van": ["truck", 1], "tree-frog": ["frog", 0], "Ascaphus trui": ["frog", 0]}',
            r"label_mappings\.json: label 0 is 'frog' in the data set; expected the class 'truck'",
        ),
        (
            "wnid_to_class.json",
            '{"n03796401": "moving van"}',
            r"n01644373_\S+: expected a name that begins with the WordNet id .* 'n01644373'",
        ),
        ("train_test_split_by_url.json", '{"train": []}', r"url\.json: test: expected a list"),
    ],
)
def test_mistakes_in_the_lists_of_rival10_are_told(
    rival10: Path, name: str, text: str, message: str
) -> None:
    (rival10 / "meta" / name).write_text(text)
    fails(pinned_of(rival10, "rival10"), ANIMALS, message)


def test_missing_parts_of_rival10_are_told(rival10: Path) -> None:
    pinned = pinned_of(rival10, "rival10")
    picture(rival10 / "train/ordinary/van.JPEG")
    fails(pinned, ANIMALS, r"train/ordinary/van\.JPEG: expected a name that begins with the Word")
    (rival10 / "train/ordinary/van.JPEG").unlink()
    (rival10 / "test/ordinary").rename(rival10 / "test/plain")
    fails(pinned, ANIMALS, r"test/ordinary: no such folder")
    (rival10 / "meta/wnid_to_class.json").unlink()
    fails(pinned, ANIMALS, r"wnid_to_class\.json: no such file")


CARS = ["Audi S4 Sedan 2007", "Ram C/V Cargo Van Minivan 2012"]


def annotate(path: Path, numbers: list[int], fields: tuple[str, ...] = ("class", "fname")) -> None:
    """Annotations as MATLAB structs, with one of the fields of the box that nobody reads."""
    kinds = [(field, object) for field in ("bbox_x1", *fields)]
    annotations = np.empty((1, len(numbers)), dtype=kinds)
    for place, number in enumerate(numbers):
        values = {"class": number, "fname": f"{place + 1:05d}.jpg"}
        annotations[0, place] = (30, *(values[field] for field in fields))
    path.parent.mkdir(parents=True, exist_ok=True)
    savemat(path, {"annotations": annotations})


@pytest.fixture
def cars(tmp_path: Path) -> Path:
    root = tmp_path / "stanford_cars"
    annotate(root / "devkit/cars_train_annos.mat", [2, 1, 2])
    annotate(root / "devkit/cars_test_annos_withlabels.mat", [1])
    names = np.array([CARS], dtype=object)
    savemat(root / "devkit/cars_meta.mat", {"class_names": names})
    for seed in range(3):
        picture(root / f"cars_train/{seed + 1:05d}.jpg", seed)
    picture(root / "cars_test/00001.jpg", 3)
    return root


@pytest.mark.parametrize("beside", [False, True])
def test_stanford_cars_has_the_order_of_its_annotations(cars: Path, beside: bool) -> None:
    if beside:
        name = "cars_test_annos_withlabels.mat"
        (cars / "devkit" / name).rename(cars / name)
    source = open_image_source(
        pinned_of(cars, "stanford_cars"), [CARS[0], "Ram C-V cargo van Minivan 2012"]
    )
    assert [row[:3] for row in rows_of(source)] == [
        ("cars_train/00001.jpg", "train", 1),
        ("cars_train/00002.jpg", "train", 0),
        ("cars_train/00003.jpg", "train", 1),
        ("cars_test/00001.jpg", "test", 0),
    ]
    (file,) = source.images(3)
    assert file.read_bytes() == encoded(3, "JPEG")


def test_the_order_of_the_classes_of_stanford_cars_is_checked(cars: Path) -> None:
    message = r"cars_meta\.mat: label 0 is 'Audi S4 Sedan 2007' in the data set; expected the class"
    fails(pinned_of(cars, "stanford_cars"), CARS[::-1], message)


@pytest.mark.parametrize(
    ("name", "write", "message"),
    [
        ("cars_meta.mat", Path.unlink, r"cars_meta\.mat: no such file"),
        ("cars_meta.mat", lambda path: path.write_bytes(b"no"), r"cars_meta\.mat: not a readable"),
        (
            "cars_meta.mat",
            lambda path: annotate(path, [1]),
            r"no variable 'class_names'; found ann",
        ),
        ("cars_test_annos_withlabels.mat", Path.unlink, r"annos_withlabels\.mat: no such file"),
        (
            "cars_test_annos_withlabels.mat",
            lambda path: annotate(path, [1], ("fname",)),
            r"annos_withlabels\.mat: annotations has no field 'class'; found bbox_x1, fname",
        ),
        (
            "cars_train_annos.mat",
            lambda path: annotate(path, [2, 3, 2]),
            r"train_annos\.mat: annotation 2: expected a class from 1 to 2, found 3",
        ),
        (
            "cars_train_annos.mat",
            lambda path: annotate(path, [2, 1, 2, 1]),
            r"pinned\.yaml: 1 of 5 images are missing, the first is .*cars_train/00004\.jpg",
        ),
    ],
)
def test_mistakes_in_the_files_of_stanford_cars_are_told(
    cars: Path, name: str, write: Callable[[Path], object], message: str
) -> None:
    write(cars / "devkit" / name)
    fails(pinned_of(cars, "stanford_cars"), CARS, message)
