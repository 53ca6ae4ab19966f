"""Drawing: deterministic pictures of the right kind in which hidden things are hidden."""

import io
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from PIL import Image, ImageFilter

from infopursuit.core.errors import InputError
from infopursuit.core.tables import IMAGES, read_table, write_table
from menagerie.counterfactuals import (
    COUNTERFACTUALS,
    counterfactual_columns,
    draw_pair,
    draw_pairs,
    load_pairs,
)
from menagerie.drawing import part_map, render
from menagerie.facts import facts_of
from menagerie.pictures import ATTRIBUTES, attribute_columns, draw_pictures, image_columns
from menagerie.places import place_of
from menagerie.scenes import ATTRIBUTE_NAMES, scene_for
from menagerie.switches import SWITCHES
from menagerie.training_pictures import draw_training_pictures, twin_scenes


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


PICTURES = draw_training_pictures(32, 2, 64, 2, workers=1)


def test_twins_stand_side_by_side_with_their_facts() -> None:
    assert len(PICTURES) == 64
    for index in range(32):
        scenes, _ = twin_scenes(2, index)
        for twin, scene in enumerate(scenes):
            picture = PICTURES[2 * index + twin]
            assert picture.facts == tuple(sorted(facts_of(scene)))
            assert len(picture.captions) == 2
        assert scenes[0].species == scenes[1].species


def test_twins_share_their_detail() -> None:
    """The picture of one scene with one thing switched differs in few of its pixels."""
    shares = []
    for first, second in zip(PICTURES[::2], PICTURES[1::2], strict=True):
        pixels = []
        for picture in (first, second):
            with Image.open(io.BytesIO(picture.png)) as image:
                pixels.append(np.asarray(image))
        shares.append((pixels[0] == pixels[1]).all(axis=2).mean())
    assert max(shares) < 1.0 or len(set(shares)) > 10
    assert sum(share > 0.5 for share in shares) >= 8


def test_neither_number_nor_processes_change_a_picture() -> None:
    assert draw_training_pictures(4, 2, 64, 2, workers=1) == PICTURES[:8]
    assert draw_training_pictures(2, 2, 16, 1, workers=2) == draw_training_pictures(
        2, 2, 16, 1, workers=1
    )
    assert draw_training_pictures(1, 3, 64, 2, workers=1)[0].png != PICTURES[0].png


def pixels(png: bytes) -> np.ndarray:
    with Image.open(io.BytesIO(png)) as picture:
        return np.asarray(picture, dtype=int)


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


def test_places_are_where_the_parts_are_drawn() -> None:
    for index in range(48):
        scene, rng = scene_for(2, "test", index)
        state = rng.getstate()
        whole = np.asarray(render(scene, rng, 64), dtype=int)
        rng.setstate(state)
        parts = np.asarray(part_map(scene, rng, 64))
        uncovered = scene.visible if scene.cover == "nothing" else set()
        for attribute in uncovered & {"tail", "sail", "mast", "windows", "rotor"}:
            place = place_of(attribute, parts)
            assert place is not None
            without = replace(scene, parts=tuple(set(scene.parts) - {attribute}))
            rng.setstate(state)
            changed = abs(np.asarray(render(without, rng, 64), dtype=int) - whole).max(axis=2) > 25
            # Pixels at an edge show two parts.
            wider = np.asarray(Image.fromarray(np.uint8(place)).filter(ImageFilter.MaxFilter(3)))
            assert wider[changed].mean() > 0.95, (index, attribute)
        coat = place_of("striped", parts)
        assert coat is not None
        assert coat.any() or scene.cover != "nothing"
    assert place_of("flying", parts) is None
