"""Scenes that the world itself does not show, for training: a green cow on a road, a bus in snow.

A CLIP that only ever sees striped zebras learns that stripes are zebras. Web pictures are more
varied than any one data set, and so are those the menagerie's CLIP learns from: half of them have
other colours, coats, parts, places and weather than their class has.
"""

import random
from dataclasses import replace

from menagerie.scenes import ACCENTS, COLOURS, Scene, sample_scene, visible_parts

_MAMMAL = (
    *((place, action) for place in ("grass", "sand", "snow", "forest", "road")
      for action in ("standing", "walking")),
    ("water", "wading"),
)  # fmt: skip
_GROUND = tuple(
    (place, action)
    for place in ("grass", "sand", "snow", "forest", "road")
    for action in ("driving", "parked")
)
_ALOFT = tuple(
    (place, "flying") for place in ("sky", "grass", "sand", "snow", "forest", "road", "water")
)
_SETTINGS = {
    **dict.fromkeys(("zebra", "horse", "tiger", "cow", "giraffe", "elephant"), _MAMMAL),
    **dict.fromkeys(("car", "bus", "bicycle", "motorcycle"), _GROUND),
    **dict.fromkeys(("airplane", "helicopter"), (*_ALOFT, ("road", "parked"), ("grass", "parked"))),
    "swan": (*_ALOFT, ("water", "swimming"), ("grass", "standing"), ("snow", "standing")),
    "parrot": (*_ALOFT, ("forest", "perching"), ("grass", "standing"), ("sand", "standing")),
    "fish": (("underwater", "swimming"), ("underwater", "swimming"), ("water", "jumping")),
    "sailboat": (("water", "sailing"), ("water", "sailing"), ("sand", "parked")),
}
_PATTERNS = {
    **dict.fromkeys(
        ("zebra", "horse", "tiger", "cow", "giraffe", "elephant", "fish"),
        ("plain", "striped", "spotted"),
    ),
    **dict.fromkeys(("swan", "parrot", "car", "bus", "motorcycle"), ("plain", "striped")),
    **dict.fromkeys(("airplane", "helicopter", "sailboat"), ("plain", "striped")),
    "bicycle": ("plain",),
}
_RIDDEN = ("horse", "elephant", "bicycle", "motorcycle", "sailboat")
_MISSING = 0.25
# Parts without which the bodies are not drawn.
_FIXED = ("four_legs", "long_neck", "trunk", "beak")


def vary(scene: Scene, rng: random.Random) -> Scene:
    """A scene of the same species with one to four of its sides drawn anew, from a wider world."""
    name = scene.species.name
    sides = rng.sample(("colour", "pattern", "parts", "setting"), rng.randint(1, 4))
    if "colour" in sides:
        colour = rng.choice(COLOURS)
        accent = rng.choice([accent for accent in ACCENTS if accent != colour])
        scene = replace(scene, colour=colour, accent=accent)
    if "pattern" in sides:
        scene = replace(scene, pattern=rng.choice(_PATTERNS[name]))
    if "parts" in sides:
        kept = tuple(
            part.name
            for part in scene.species.parts
            if rng.random() >= _MISSING or part.name in _FIXED
        )
        scene = replace(scene, parts=kept, rider=name in _RIDDEN and rng.random() < 0.5)
    if "setting" in sides:
        # What hides a body, its weather and its surroundings belong to the place.
        place, action = rng.choice(_SETTINGS[name])
        elsewhere = replace(scene.species, settings=((place, action, 1.0),))
        around = sample_scene(rng, elsewhere)
        scene = replace(
            scene,
            place=place,
            action=action,
            hidden=around.hidden,
            cover=around.cover,
            weather=around.weather,
            near=around.near,
            rider=scene.rider and action != "parked",
        )
    visible = visible_parts(scene.species, scene.parts, scene.hidden, scene.action)
    return replace(scene, visible=visible)
