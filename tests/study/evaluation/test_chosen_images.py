"""Which images are explained, and where their pictures come from."""

import numpy as np
import pytest

from infopursuit.core import tables
from infopursuit.core.errors import InputError
from infopursuit_study.evaluation.chosen_images import load_pictures, spread_rows
from tests.planted import png, split_columns


def test_most_rows_are_the_same_for_every_run_and_the_last_are_wrong():
    labels = np.repeat(np.arange(8), 10)
    right, wrong = labels.copy(), labels.copy()
    wrong[[13, 57]] += 1
    first, second = spread_rows(labels, right, 8), spread_rows(labels, wrong, 8)
    assert first[:6] == second[:6]
    assert len({int(labels[row]) for row in first[:6]}) == 6
    assert second[6:] == [13, 57]
    assert len({int(labels[row]) for row in first}) == 8  # nothing wrong: more of the spread


def test_pictures_of_a_table_and_damaged_ones_are_named(tmp_path):
    path = tmp_path / "images.parquet"
    columns = split_columns(4, "ab")
    pictures = [png(color) for color in ("red", "lime", "blue", "white")]
    tables.write_table(path, tables.IMAGES, columns | {"image": pictures})
    found = load_pictures(path, ["a", "b"], ["image/2", "image/0"])
    assert {name: picture.getpixel((0, 0)) for name, picture in found.items()} == {
        "image/2": (0, 0, 255),
        "image/0": (255, 0, 0),
    }
    with pytest.raises(InputError, match="no image 'i9'"):
        load_pictures(path, ["a", "b"], ["i9"])
    tables.write_table(path, tables.IMAGES, columns | {"image": [b"no image"] * 4})
    with pytest.raises(InputError, match="the image 'image/0' is not an image of a known format"):
        load_pictures(path, ["a", "b"], ["image/0"])
