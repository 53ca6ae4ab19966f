"""What is in a picture before it is drawn, and the truth of every attribute of it.

A scene is symbolic: species, coat, parts in view, place, weather, what hides the body. Drawing
realises it with free pose, size and colour, and captions speak of it, so both agree with the truth.
"""

import random
from collections.abc import Iterable
from dataclasses import dataclass

from menagerie.compositions import is_new_composition
from menagerie.species import SPECIES, Species

# How often something hides an end of a body, or its feet. One picture in ten shows half a body.
HIDDEN = {"nothing": 0.82, "front": 0.05, "rear": 0.05, "low": 0.08}
# Captions speak of more hidden bodies; recorded answers of the language model belong to them.
CAPTION_HIDDEN = {"nothing": 0.66, "front": 0.1, "rear": 0.1, "low": 0.14}
# What is trained on shows none of the compositions that are kept for the test pictures.
TRAINING = ("train", "pairs")
WEATHER = {"clear": 0.46, "clouds": 0.2, "sun": 0.1, "fog": 0.1, "night": 0.07, "sunset": 0.07}
SURROUNDINGS = {"nothing": 0.4, "trees": 0.2, "mountains": 0.15, "fence": 0.12, "flowers": 0.13}
ACCENTS = ("red", "blue", "yellow", "green", "white", "black", "orange")
SIDE_COVERS = {
    "grass": ("bush", "tree", "edge"),
    "forest": ("tree", "bush", "edge"),
    "sand": ("rock", "edge"),
    "snow": ("tree", "rock", "edge"),
    "road": ("bush", "wall", "edge"),
    "water": ("rock", "edge"),
    "underwater": ("rock", "weeds", "edge"),
    "sky": ("cloud", "edge"),
}
LOW_COVERS = {
    "grass": "tall grass",
    "forest": "bushes",
    "sand": "dune",
    "snow": "deep snow",
    "road": "wall",
    "water": "waves",
    "underwater": "weeds",
    "sky": "cloud",
}

PART_ATTRIBUTES = (
    "four_legs",
    "two_legs",
    "wings",
    "beak",
    "tail",
    "horns",
    "trunk",
    "tusks",
    "big_ears",
    "mane",
    "whiskers",
    "long_neck",
    "fins",
    "two_wheels",
    "four_wheels",
    "windows",
    "headlights",
    "handlebars",
    "basket",
    "propeller",
    "rotor",
    "mast",
    "sail",
    "flag",
)
KINDS = ("animal", "mammal", "bird", "vehicle", "aircraft", "boat")
COLOURS = ("red", "orange", "yellow", "green", "blue", "white", "black", "brown", "gray")
PLACES = ("grass", "sand", "snow", "forest", "road", "water", "underwater", "sky")
WEATHERS = ("clouds", "sun", "fog", "night", "sunset")
NEAR = ("trees", "mountains", "fence", "flowers")
MOVING = ("walking", "running", "driving", "flying", "swimming", "sailing", "wading", "jumping")

ATTRIBUTE_NAMES: tuple[str, ...] = (
    *KINDS,
    "striped",
    "spotted",
    *COLOURS,
    *PART_ATTRIBUTES,
    "wheels",
    "rider",
    *(f"place_{place}" for place in PLACES),
    *WEATHERS,
    *NEAR,
    "flying",
    "moving",
    "partly_hidden",
    "close_up",
    "far_away",
    "facing_left",
)


@dataclass(frozen=True)
class Scene:
    """Everything about one picture that can be said in words."""

    species: Species
    colour: str
    accent: str
    pattern: str
    parts: tuple[str, ...]
    visible: frozenset[str]
    place: str
    action: str
    rider: bool
    hidden: str
    cover: str
    weather: str
    near: str
    distance: str
    facing_left: bool

    @property
    def truth(self) -> dict[str, bool]:
        """The truth of every attribute, in the order of ATTRIBUTE_NAMES: what can be seen."""
        true = {
            *self.species.kinds,
            self.pattern,
            self.colour,
            f"place_{self.place}",
            self.weather,
            self.near,
            *self.visible,
        }
        flags = {
            "wheels": any(part in self.parts for part in ("two_wheels", "four_wheels"))
            and self.hidden != "low",
            "rider": self.rider,
            "flying": self.action == "flying",
            "moving": self.action in MOVING,
            "partly_hidden": self.hidden != "nothing",
            "close_up": self.distance == "close",
            "far_away": self.distance == "far",
            "facing_left": self.facing_left,
        }
        true |= {name for name, holds in flags.items() if holds}
        return {name: name in true for name in ATTRIBUTE_NAMES}

    @property
    def is_new(self) -> bool:
        """Whether it is a composition that is kept from all training."""
        return is_new_composition(self.species.name, self.colour, self.pattern, self.place)


def _draw(rng: random.Random, weights: dict[str, float]) -> str:
    return rng.choices(list(weights), list(weights.values()))[0]


def visible_parts(
    species: Species, parts: Iterable[str], hidden: str, action: str
) -> frozenset[str]:
    """Which of the parts that a body has can be seen: not what is covered, nor feet in water."""
    shown = set(parts)
    wet = action in ("swimming", "wading") or (action == "flying" and "bird" in species.kinds)
    return frozenset(
        part.name
        for part in species.parts
        if part.name in shown
        and part.region != hidden
        and not (part.region == "low" and wet)
        and not (hidden in ("front", "rear") and part.name in LEG_SETS)
    )


def sample_scene(
    rng: random.Random, species: Species, hidden_rates: dict[str, float] = HIDDEN
) -> Scene:
    """Draw one scene of a species; equal generator states give equal scenes."""
    colour = _draw(rng, species.colours)
    accent = rng.choice([name for name in ACCENTS if name != colour])
    pattern = _draw(rng, species.patterns)
    place, action, _ = rng.choices(species.settings, [row[2] for row in species.settings])[0]
    hidden = _draw(rng, hidden_rates)
    if hidden == "low" and (action in ("swimming", "flying", "wading") or place == "underwater"):
        hidden = "nothing"
    cover = "nothing"
    if hidden == "low":
        cover = LOW_COVERS[place]
    elif hidden != "nothing":
        cover = rng.choice(SIDE_COVERS[place])
    parts = tuple(part.name for part in species.parts if rng.random() < part.probability)
    weather = _draw(rng, WEATHER)
    near = _draw(rng, SURROUNDINGS)
    if place in ("sky", "water", "underwater") and near != "mountains":
        near = "nothing"
    if place == "underwater":
        near, weather = "nothing", "clear"
    if place in ("snow", "road", "sand", "forest") and near == "flowers":
        near = "nothing"
    rider = rng.random() < species.rider and action not in ("parked",)
    return Scene(
        species=species,
        colour=colour,
        accent=accent,
        pattern=pattern,
        parts=parts,
        visible=visible_parts(species, parts, hidden, action),
        place=place,
        action=action,
        rider=rider,
        hidden=hidden,
        cover=cover,
        weather=weather,
        near=near,
        distance=rng.choices(("middle", "close", "far"), (0.64, 0.18, 0.18))[0],
        facing_left=rng.random() < 0.5,
    )


# Hiding one end of a body leaves only some of these in view, so their number is no longer true.
LEG_SETS = ("four_legs", "two_wheels", "four_wheels")


def scene_for(seed: int, purpose: str, index: int) -> tuple[Scene, random.Random]:
    """Scene number `index` of one purpose, classes in turn, and a generator for all that follows.

    Every scene has its own generator, so a larger count leaves the earlier scenes as they were.
    """
    rng = random.Random(f"menagerie/{seed}/{purpose}/{index}")
    rates = CAPTION_HIDDEN if purpose == "captions" else HIDDEN
    scene = sample_scene(rng, SPECIES[index % len(SPECIES)], rates)
    while purpose in TRAINING and scene.is_new:
        scene = sample_scene(rng, scene.species, rates)
    return scene, random.Random(f"menagerie/{seed}/{purpose}/{index}/detail")
