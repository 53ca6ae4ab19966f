"""One attribute of a scene switched on or off, and everything else as it was.

Only scenes of bodies that nothing hides are switched, so that the attribute can be seen. An
attribute that excludes others takes their place (red that of another colour, water that of grass),
and the attributes that say the same of a part follow it (`wheels` and `four_wheels`).
"""

import random
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

from menagerie.scenes import Scene, sample_scene, visible_parts
from menagerie.species import SPECIES

BY_NAME = {species.name: species for species in SPECIES}
UNHIDDEN = {"nothing": 1.0}
Change = Callable[[Scene], dict[str, Any]]


@dataclass(frozen=True)
class Switch:
    """Which classes an attribute is switched on, how, and which attributes follow it.

    Attributes:
        species: names of the classes, in turn.
        on: what of the scene to replace so that the attribute holds.
        off: what to replace so that it does not.
        follows: further attributes whose truth may change with it.
    """

    species: tuple[str, ...]
    on: Change
    off: Change
    follows: frozenset[str] = frozenset()


def _always(**changes: Any) -> Change:
    return lambda scene: changes


def _with(*names: str) -> Change:
    """All parts of these names that the species can have, beside those that the scene has."""
    return lambda scene: {
        "parts": tuple(
            part.name
            for part in scene.species.parts
            if part.name in names or part.name in scene.parts
        )
    }


def _without(*names: str) -> Change:
    return lambda scene: {"parts": tuple(part for part in scene.parts if part not in names)}


def _coloured(red: bool) -> Change:
    """Red, or the colour that the species has most often besides; trimmed in neither of the two."""

    def change(scene: Scene) -> dict[str, Any]:
        rates = {name: rate for name, rate in scene.species.colours.items() if name != "red"}
        other = max(rates, key=lambda name: rates[name])
        accent = scene.accent
        if accent in ("red", other):
            accent = "black" if other == "white" else "white"
        return {"colour": "red" if red else other, "accent": accent}

    return change


def _part(name: str, *species: str) -> Switch:
    return Switch(species, _with(name), _without(name))


_WHEELS = ("two_wheels", "four_wheels")
SWITCHES: dict[str, Switch] = {
    "striped": Switch(
        ("zebra", "tiger", "fish", "car", "bus", "motorcycle", "airplane", "sailboat"),
        _always(pattern="striped"),
        _always(pattern="plain"),
    ),
    "spotted": Switch(
        ("cow", "horse", "giraffe", "fish"), _always(pattern="spotted"), _always(pattern="plain")
    ),
    "red": Switch(
        ("car", "bus", "bicycle", "motorcycle", "helicopter", "parrot", "airplane"),
        _coloured(red=True),
        _coloured(red=False),
        frozenset({"white", "yellow", "green", "blue", "black", "gray", "orange"}),
    ),
    "wings": _part("wings", "airplane", "parrot", "swan"),
    "horns": _part("horns", "cow", "giraffe"),
    "tail": _part("tail", "horse", "tiger", "fish", "airplane", "helicopter", "parrot"),
    "wheels": Switch(
        ("car", "bus", "bicycle", "motorcycle"),
        _with(*_WHEELS),
        _without(*_WHEELS),
        frozenset(_WHEELS),
    ),
    "windows": _part("windows", "car", "bus", "airplane", "helicopter"),
    "rider": Switch(
        ("horse", "elephant", "bicycle", "motorcycle", "sailboat"),
        _always(rider=True),
        _always(rider=False),
    ),
    "place_water": Switch(
        ("airplane", "helicopter", "parrot", "swan"),
        _always(place="water", action="flying", near="nothing"),
        _always(place="grass", action="flying", near="nothing"),
        frozenset({"place_grass"}),
    ),
    "place_snow": Switch(
        ("horse", "tiger", "cow", "giraffe", "car", "motorcycle"),
        _always(place="snow", near="nothing"),
        _always(place="grass", near="nothing"),
        frozenset({"place_grass"}),
    ),
    "night": Switch(
        ("zebra", "cow", "giraffe", "car", "bus", "helicopter", "sailboat", "swan"),
        _always(weather="night"),
        _always(weather="clear"),
    ),
}


def switched(scene: Scene, attribute: str, holds: bool) -> Scene:
    """The scene with the attribute on (`holds`) or off, what can be seen of it brought in line."""
    switch = SWITCHES[attribute]
    changed = replace(scene, **(switch.on if holds else switch.off)(scene))
    visible = visible_parts(changed.species, changed.parts, changed.hidden, changed.action)
    return replace(changed, visible=visible)


def scene_to_switch(rng: random.Random, attribute: str, number: int) -> Scene:
    """A scene of the attribute's class number `number`, in turn, in which it can be switched."""
    names = SWITCHES[attribute].species
    species = BY_NAME[names[number % len(names)]]
    scene = sample_scene(rng, species, UNHIDDEN)
    while attribute == "place_snow" and scene.action in ("wading", "running"):
        scene = sample_scene(rng, species, UNHIDDEN)
    return scene
