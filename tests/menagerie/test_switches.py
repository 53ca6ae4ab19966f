"""Switched scenes and pairs of pictures: exactly one attribute differs, in words and in pixels."""

import io
from pathlib import Path

import numpy as np
import pytest
from menagerie.counterfactuals import (
    COUNTERFACTUALS,
    counterfactual_columns,
    draw_pair,
    draw_pairs,
    load_pairs,
)
from menagerie.scenes import ATTRIBUTE_NAMES
from menagerie.switches import SWITCHES
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.tables import read_table, write_table


def pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture, dtype=int)


def test_twelve_attributes_are_switched() -> None:
    assert len(SWITCHES) == 12
    for name, switch in SWITCHES.items():
        assert {name, *switch.follows} <= set(ATTRIBUTE_NAMES)


@pytest.mark.parametrize("place", range(12))
def test_the_truth_differs_in_the_attribute_and_what_follows_it_alone(place: int) -> None:
    attribute, switch = list(SWITCHES.items())[place]
    for number in range(24):
        on, off = draw_pair(place + 12 * number, 2, 16)
        assert (on.attribute, on.holds, off.holds) == (attribute, True, False)
        assert on.pair == off.pair == f"{attribute}-{number:04d}"
        assert on.class_name == off.class_name
        assert on.class_name == switch.species[number % len(switch.species)]
        truths = dict(zip(ATTRIBUTE_NAMES, zip(on.truth, off.truth, strict=True), strict=True))
        differing = {name for name, (before, after) in truths.items() if before != after}
        assert truths[attribute] == (True, False)
        assert differing - {attribute} <= switch.follows
        assert on.png != off.png, on.pair


@pytest.mark.parametrize("attribute", ["striped", "wings", "horns", "tail", "wheels", "rider"])
def test_pixels_away_from_the_attribute_are_the_same(attribute: str) -> None:
    place = list(SWITCHES).index(attribute)
    for number in range(12):
        on, off = draw_pair(place + 12 * number, 2, 64)
        equal = (pixels(on.png) == pixels(off.png)).all(axis=2)
        assert 0.5 < equal.mean() < 1.0, on.pair
        assert equal[0].all() or attribute in ("rider", "wings", "horns"), on.pair


def test_of_another_ground_the_body_stays() -> None:
    place = list(SWITCHES).index("place_water")
    on, off = draw_pair(place, 2, 64)
    equal = (pixels(on.png) == pixels(off.png)).all(axis=2)
    assert equal[:16].all()
    assert not equal[-8:].any(axis=1).all()


def test_pairs_do_not_depend_on_their_number_or_on_processes() -> None:
    few, many = draw_pairs(1, 2, 16, workers=1), draw_pairs(2, 2, 16, workers=1)
    assert len(many) == 48
    assert many[:24] == few
    assert [picture.holds for picture in few] == [True, False] * 12
    assert draw_pairs(1, 3, 16, workers=1)[0].png != few[0].png


def test_the_table_reads_back_as_pairs(tmp_path: Path) -> None:
    path = tmp_path / "counterfactuals.parquet"
    pictures = draw_pairs(2, 2, 16, workers=1)
    write_table(path, COUNTERFACTUALS, counterfactual_columns(pictures))
    assert read_table(path, COUNTERFACTUALS).num_rows == 48
    pairs = load_pairs(path)
    assert pairs.names[:2] == ["striped-0000", "spotted-0000"]
    assert pairs.attributes == list(SWITCHES) * 2
    assert pairs.truth.tolist() == [list(picture.truth) for picture in pictures]


def test_rows_that_are_no_pairs_are_named(tmp_path: Path) -> None:
    path = tmp_path / "counterfactuals.parquet"
    pictures = draw_pairs(1, 2, 16, workers=1)
    broken = [*pictures[:2], pictures[3], pictures[2], *pictures[4:]]
    write_table(path, COUNTERFACTUALS, counterfactual_columns(broken))
    with pytest.raises(InputError, match=r"row 2: expected two rows of one pair"):
        load_pairs(path)
