"""Training pictures: twins that differ in something, facts and captions that are true of them."""

import io

import numpy as np
from menagerie.facts import facts_of
from menagerie.scenes import COLOURS
from menagerie.training_pictures import draw_training_pictures, draw_twins, twin_scenes
from PIL import Image

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


def test_half_of_the_scenes_are_more_varied_than_the_world() -> None:
    scenes = [scene for index in range(400) for scene in twin_scenes(2, index)[0]]
    strange = [scene.colour not in scene.species.colours for scene in scenes]
    assert 0.1 < sum(strange) / len(strange) < 0.6
    shown = {scene.colour for scene in scenes if scene.species.name == "zebra"}
    assert shown <= set(COLOURS)
    assert len(shown) >= 6


def test_captions_name_the_place_of_flight() -> None:
    told = [
        caption
        for index in range(16 * 12)
        for scene in twin_scenes(2, index)[0]
        if scene.action == "flying" and scene.place == "snow"
        for caption in draw_twins(index, 2, 16, 1)[0].captions
        + draw_twins(index, 2, 16, 1)[1].captions
    ]
    assert any("above the snow" in text or "over snowy ground" in text for text in told)


def test_neither_number_nor_processes_change_a_picture() -> None:
    assert draw_training_pictures(4, 2, 64, 2, workers=1) == PICTURES[:8]
    assert draw_training_pictures(2, 2, 16, 1, workers=2) == draw_training_pictures(
        2, 2, 16, 1, workers=1
    )
    assert draw_training_pictures(1, 3, 64, 2, workers=1)[0].png != PICTURES[0].png
