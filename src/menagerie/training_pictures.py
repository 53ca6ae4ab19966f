"""Draws the pictures that the menagerie's CLIP is trained on, two of every scene.

Picture 2i + 1 is picture 2i with something changed and all else equal to the last pixel: an
attribute switched, or a coat or place that the class does not have. Such twins teach that stripes
are stripes, whoever wears them. No scene is a composition that is kept for the test pictures.
"""

from __future__ import annotations

import random
from functools import partial
from typing import Any, NamedTuple

from menagerie.captions import caption
from menagerie.drawing import render, to_png
from menagerie.facts import facts_of
from menagerie.processes import draw_all
from menagerie.scenes import Scene, scene_for
from menagerie.switches import SWITCHES, switched
from menagerie.variety import vary

PURPOSE = "pairs"
SWITCHED, VARIED = 0.5, 0.5


class TrainingPicture(NamedTuple):
    """A picture with all facts of its scene, sorted, and captions that are true of it."""

    png: bytes
    facts: tuple[str, ...]
    captions: tuple[str, ...]


def _changed(scene: Scene, rng: random.Random) -> Scene:
    """The scene with an attribute switched where one can be, or varied."""
    name = scene.species.name
    possible = [attribute for attribute, switch in SWITCHES.items() if name in switch.species]
    if scene.hidden == "nothing" and possible and rng.random() < SWITCHED:
        attribute = rng.choice(possible)
        return switched(scene, attribute, not scene.truth[attribute])
    return vary(scene, rng)


def _familiar(scene: Scene, rng: random.Random, change: Any) -> Scene:
    """The scene changed, drawn again for as long as it is a composition kept from training."""
    found = change(scene, rng)
    while found.is_new:
        found = vary(scene, rng)
    return found


def twin_scenes(seed: int, index: int) -> tuple[tuple[Scene, Scene], int]:
    """Two scenes that training shows together, and the seed of their common detail."""
    scene, detail = scene_for(seed, PURPOSE, index)
    rng = random.Random(f"menagerie/{seed}/{PURPOSE}/{index}/variety")
    if rng.random() < VARIED:
        scene = _familiar(scene, rng, vary)
    return (scene, _familiar(scene, rng, _changed)), detail.getrandbits(64)


def draw_twins(
    index: int, seed: int, size: int, captions: int
) -> tuple[TrainingPicture, TrainingPicture]:
    """Draw the two pictures of scene number `index`, with `captions` captions each."""
    scenes, detail = twin_scenes(seed, index)
    words = random.Random(f"menagerie/{seed}/{PURPOSE}/{index}/captions")
    first, second = (
        TrainingPicture(
            png=to_png(render(scene, random.Random(detail), size)),
            facts=tuple(sorted(facts_of(scene))),
            captions=tuple(caption(scene, words) for _ in range(captions)),
        )
        for scene in scenes
    )
    return first, second


def draw_training_pictures(
    scenes: int, seed: int, size: int, captions: int, workers: int
) -> list[TrainingPicture]:
    """The pictures of the first `scenes` scenes, twins side by side.

    A larger number begins with the pictures of a smaller one.
    """
    draw = partial(draw_twins, seed=seed, size=size, captions=captions)
    return [picture for twins in draw_all(draw, scenes, workers, PURPOSE) for picture in twins]
