"""Drawing: deterministic pictures of the right kind in which hidden things are hidden."""

import io

import numpy as np
import pytest
from menagerie.drawing import BODIES, FEET, render, to_png
from menagerie.pictures import (
    ATTRIBUTES,
    attribute_columns,
    draw_pictures,
    image_columns,
)
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.species import CLASS_NAMES
from PIL import Image

from infopursuit.core.tables import IMAGES, read_table, write_table


def test_every_class_has_a_body_and_a_place_for_its_feet() -> None:
    assert set(BODIES) == set(FEET) == set(CLASS_NAMES)


@pytest.mark.parametrize("size", [32, 64])
def test_pictures_have_the_size_asked_for_and_are_not_blank(size: int) -> None:
    for index in range(160):
        scene, rng = scene_for(3, "test", index)
        picture = render(scene, rng, size)
        assert picture.size == (size, size)
        assert picture.mode == "RGB"
        assert np.asarray(picture).std() > 4


def test_equal_seeds_give_equal_bytes_however_many_processes_draw() -> None:
    alone = draw_pictures(40, 3, "test", 32, workers=1)
    together = draw_pictures(40, 3, "test", 32, workers=2)
    assert alone == together
    assert draw_pictures(16, 3, "test", 32, workers=1) == alone[:16]
    assert len({picture.png for picture in alone}) == 40
    assert draw_pictures(1, 4, "test", 32, workers=1)[0].png != alone[0].png


def test_png_bytes_read_back_as_the_same_pixels() -> None:
    scene, rng = scene_for(3, "test", 8)
    picture = render(scene, rng, 64)
    with Image.open(io.BytesIO(to_png(picture))) as read:
        assert np.array_equal(np.asarray(read), np.asarray(picture))


def test_tables_hold_every_picture_and_its_truth(tmp_path) -> None:
    pictures = {
        "train": draw_pictures(32, 3, "train", 16, workers=1),
        "test": draw_pictures(16, 3, "test", 16, workers=1),
    }
    write_table(tmp_path / "images.parquet", IMAGES, image_columns(pictures))
    write_table(tmp_path / "attributes.parquet", ATTRIBUTES, attribute_columns(pictures))
    images = read_table(tmp_path / "images.parquet", IMAGES)
    attributes = read_table(tmp_path / "attributes.parquet", ATTRIBUTES)
    assert images.num_rows == attributes.num_rows == 48
    assert images.column("id").equals(attributes.column("id"))
    assert images.column("label").to_pylist() == [index % 16 for index in range(48)]
    assert attributes.column_names == ["id", *ATTRIBUTE_NAMES, "new_composition"]
    assert (
        attributes.column("trunk")[5].as_py()
        == pictures["train"][5].truth[ATTRIBUTE_NAMES.index("trunk")]
    )
    expected = [scene_for(3, "test", index)[0].is_new for index in range(16)]
    assert attributes.column("new_composition").to_pylist() == [False] * 32 + expected


def test_one_picture_in_ten_shows_half_a_body() -> None:
    hidden = [scene_for(2, "test", index)[0].hidden for index in range(1600)]
    half = sum(end in ("front", "rear") for end in hidden) / len(hidden)
    assert 0.07 < half < 0.13
