"""The sixteen classes of the menagerie and what each of them may look like.

A species is a table row, not code: which colours, coats, parts and places it takes, and how often.
Classes share almost everything with some neighbour (zebra and tiger their stripes, giraffe and
swan their long neck, bus and airplane their windows), so that no single question settles a class.
"""

from dataclasses import dataclass
from typing import Literal

Region = Literal["front", "rear", "low", "middle"]


@dataclass(frozen=True)
class Part:
    """A part that may be seen: where it sits on the body, and how often the species shows it."""

    name: str
    region: Region
    probability: float = 1.0


@dataclass(frozen=True)
class Species:
    """One class. Weights need not sum to one; order matters to the sampler, so append only."""

    name: str
    kinds: tuple[str, ...]
    colours: dict[str, float]
    patterns: dict[str, float]
    parts: tuple[Part, ...]
    settings: tuple[tuple[str, str, float], ...]
    rider: float = 0.0


_LAND = (
    ("grass", "standing", 0.3),
    ("grass", "walking", 0.2),
    ("grass", "running", 0.12),
    ("sand", "standing", 0.1),
    ("sand", "walking", 0.1),
    ("forest", "standing", 0.1),
    ("snow", "standing", 0.05),
    ("water", "wading", 0.06),
    ("road", "walking", 0.06),
)
_ROAD = (
    ("road", "driving", 0.5),
    ("road", "parked", 0.2),
    ("grass", "parked", 0.1),
    ("sand", "driving", 0.08),
    ("snow", "driving", 0.08),
    ("forest", "parked", 0.06),
)
_LEGS = Part("four_legs", "low")


def _tail(probability: float) -> Part:
    return Part("tail", "rear", probability)


SPECIES: tuple[Species, ...] = (
    Species(
        "zebra",
        ("animal", "mammal"),
        {"white": 0.85, "brown": 0.15},
        {"striped": 1.0},
        (_LEGS, Part("mane", "front", 0.8), _tail(0.7)),
        _LAND,
    ),
    Species(
        "horse",
        ("animal", "mammal"),
        {"brown": 0.4, "white": 0.25, "black": 0.2, "gray": 0.15},
        {"plain": 0.75, "spotted": 0.25},
        (_LEGS, Part("mane", "front", 0.85), _tail(0.85)),
        _LAND,
        rider=0.25,
    ),
    Species(
        "tiger",
        ("animal", "mammal"),
        {"orange": 0.75, "white": 0.25},
        {"striped": 1.0},
        (_LEGS, Part("whiskers", "front", 0.5), _tail(0.85)),
        _LAND,
    ),
    Species(
        "cow",
        ("animal", "mammal"),
        {"white": 0.45, "brown": 0.35, "black": 0.2},
        {"spotted": 0.6, "plain": 0.4},
        (_LEGS, Part("horns", "front", 0.65), _tail(0.7)),
        _LAND,
    ),
    Species(
        "giraffe",
        ("animal", "mammal"),
        {"yellow": 0.55, "orange": 0.25, "brown": 0.2},
        {"spotted": 0.95, "plain": 0.05},
        (_LEGS, Part("long_neck", "front"), Part("horns", "front", 0.8), _tail(0.6)),
        _LAND,
    ),
    Species(
        "elephant",
        ("animal", "mammal"),
        {"gray": 0.8, "brown": 0.2},
        {"plain": 1.0},
        (
            _LEGS,
            Part("trunk", "front"),
            Part("tusks", "front", 0.6),
            Part("big_ears", "front", 0.85),
            _tail(0.5),
        ),
        _LAND,
        rider=0.12,
    ),
    Species(
        "swan",
        ("animal", "bird"),
        {"white": 0.75, "black": 0.25},
        {"plain": 1.0},
        (
            Part("two_legs", "low"),
            Part("long_neck", "front"),
            Part("beak", "front"),
            Part("wings", "middle", 0.55),
        ),
        (("water", "swimming", 0.65), ("grass", "standing", 0.2), ("sky", "flying", 0.15)),
    ),
    Species(
        "parrot",
        ("animal", "bird"),
        {"red": 0.35, "green": 0.3, "blue": 0.2, "yellow": 0.15},
        {"plain": 0.8, "striped": 0.2},
        (
            Part("two_legs", "low"),
            Part("beak", "front"),
            Part("wings", "middle", 0.7),
            _tail(0.9),
        ),
        (("forest", "perching", 0.5), ("sky", "flying", 0.35), ("grass", "standing", 0.15)),
    ),
    Species(
        "fish",
        ("animal",),
        {"orange": 0.35, "blue": 0.2, "yellow": 0.2, "red": 0.1, "gray": 0.15},
        {"striped": 0.45, "plain": 0.35, "spotted": 0.2},
        (Part("fins", "middle", 0.9), _tail(0.95)),
        (("underwater", "swimming", 0.85), ("water", "jumping", 0.15)),
    ),
    Species(
        "car",
        ("vehicle",),
        {"red": 0.3, "blue": 0.2, "white": 0.15, "black": 0.15, "yellow": 0.1, "green": 0.1},
        {"plain": 0.8, "striped": 0.2},
        (
            Part("four_wheels", "low"),
            Part("windows", "middle", 0.95),
            Part("headlights", "front", 0.7),
        ),
        _ROAD,
    ),
    Species(
        "bus",
        ("vehicle",),
        {"yellow": 0.35, "red": 0.3, "blue": 0.15, "green": 0.1, "white": 0.1},
        {"plain": 0.65, "striped": 0.35},
        (
            Part("four_wheels", "low"),
            Part("windows", "middle"),
            Part("headlights", "front", 0.5),
        ),
        _ROAD,
    ),
    Species(
        "bicycle",
        ("vehicle",),
        {"red": 0.25, "blue": 0.25, "black": 0.2, "green": 0.15, "yellow": 0.15},
        {"plain": 1.0},
        (
            Part("two_wheels", "low"),
            Part("handlebars", "front"),
            Part("basket", "front", 0.3),
        ),
        (*_ROAD[1:], ("road", "driving", 0.3)),
        rider=0.45,
    ),
    Species(
        "motorcycle",
        ("vehicle",),
        {"red": 0.3, "black": 0.3, "blue": 0.2, "orange": 0.2},
        {"plain": 0.8, "striped": 0.2},
        (
            Part("two_wheels", "low"),
            Part("handlebars", "front"),
            Part("headlights", "front", 0.6),
        ),
        _ROAD,
        rider=0.5,
    ),
    Species(
        "airplane",
        ("vehicle", "aircraft"),
        {"white": 0.5, "gray": 0.2, "blue": 0.15, "red": 0.15},
        {"plain": 0.65, "striped": 0.35},
        (
            Part("wings", "middle"),
            Part("windows", "middle", 0.7),
            Part("propeller", "front", 0.3),
            _tail(1.0),
        ),
        (("sky", "flying", 0.75), ("road", "parked", 0.25)),
    ),
    Species(
        "helicopter",
        ("vehicle", "aircraft"),
        {"red": 0.25, "green": 0.25, "white": 0.2, "yellow": 0.15, "black": 0.15},
        {"plain": 0.75, "striped": 0.25},
        (
            Part("rotor", "middle"),
            Part("windows", "front", 0.9),
            _tail(1.0),
        ),
        (("sky", "flying", 0.75), ("grass", "parked", 0.15), ("road", "parked", 0.1)),
    ),
    Species(
        "sailboat",
        ("vehicle", "boat"),
        {"white": 0.35, "red": 0.2, "blue": 0.25, "brown": 0.2},
        {"plain": 0.7, "striped": 0.3},
        (
            Part("mast", "middle"),
            Part("sail", "middle", 0.88),
            Part("flag", "middle", 0.3),
        ),
        (("water", "sailing", 0.85), ("sand", "parked", 0.15)),
        rider=0.25,
    ),
)

CLASS_NAMES: tuple[str, ...] = tuple(species.name for species in SPECIES)
