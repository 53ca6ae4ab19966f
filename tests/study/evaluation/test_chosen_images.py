"""Which images are explained, and where their pictures come from."""

import numpy as np
import pytest

from infopursuit.core import tables
from infopursuit.core.errors import InputError
from infopursuit_study.evaluation.chosen_images import load_pictures, spread_rows
from tests.planted import png


def test_most_rows_are_the_same_for_every_run_and_the_last_are_wrong():
    labels = np.repeat(np.arange(8), 10)
    right, wrong = labels.copy(), labels.copy()
    wrong[[13, 57]] += 1
    first, second = spread_rows(labels, right, 8), spread_rows(labels, wrong, 8)
    assert first[:6] == second[:6]
    assert len({int(labels[row]) for row in first[:6]}) == 6
    assert second[6:] == [13, 57]
    assert len({int(labels[row]) for row in first}) == 8  # nothing wrong: more of the spread


def write_images(path, contents: list[bytes]) -> None:
    n = len(contents)
    tables.write_table(
        path,
        tables.IMAGES,
        {
            "id": [f"i{row}" for row in range(n)],
            "split": ["train" if row % 2 else "test" for row in range(n)],
            "label": [row // 2 % 2 for row in range(n)],
            "class_name": ["ab"[row // 2 % 2] for row in range(n)],
            "image": contents,
        },
    )


def test_pictures_of_a_table_and_damaged_ones_are_named(tmp_path):
    path = tmp_path / "images.parquet"
    write_images(path, [png(color) for color in ("red", "lime", "blue", "white")])
    found = load_pictures(path, ["a", "b"], ["i2", "i0"])
    assert {name: picture.getpixel((0, 0)) for name, picture in found.items()} == {
        "i2": (0, 0, 255),
        "i0": (255, 0, 0),
    }
    with pytest.raises(InputError, match="no image 'i9'"):
        load_pictures(path, ["a", "b"], ["i9"])
    write_images(path, [b"no image"] * 4)
    with pytest.raises(InputError, match="the image 'i0' is not an image of a known format"):
        load_pictures(path, ["a", "b"], ["i0"])
