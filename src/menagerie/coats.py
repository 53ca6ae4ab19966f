"""What goes on and onto bodies of several kinds: stripes, spots, and a rider."""

import math
import random

from menagerie.pen import PALETTE, Colour, Pen, Point

DARK: Colour = (36, 32, 34)
SKINS: tuple[Colour, ...] = ((232, 190, 160), (190, 135, 100), (120, 80, 60))


def draw_person(pen: Pen, x: float, y: float, size: float, lean: float, rng: random.Random) -> None:
    """A seated person whose hips are at (x, y)."""
    pen.part("rider")
    shirt = PALETTE[rng.choice(("red", "blue", "yellow", "green", "orange", "white"))]
    skin = rng.choice(SKINS)
    shoulder = (x + lean * size, y - 0.55 * size)
    pen.line(
        [(x, y), (x + 0.22 * size, y + 0.15 * size), (x + 0.15 * size, y + 0.55 * size)],
        0.15 * size,
        (45, 50, 90),
    )
    pen.line([(x, y), shoulder], 0.28 * size, shirt)
    pen.line([shoulder, (shoulder[0] + 0.4 * size, shoulder[1] + 0.3 * size)], 0.1 * size, skin)
    pen.oval(shoulder[0] + 0.04, shoulder[1] - 0.2 * size, 0.15 * size, 0.17 * size, skin)


def stripes(
    rng: random.Random, start: float, end: float, count: int, reach: float = 1.6
) -> list[list[Point]]:
    """Slanting bands across a body from x = start to x = end."""
    step = (end - start) / count
    bands = []
    for index in range(count):
        x = start + step * (index + rng.uniform(-0.15, 0.15))
        width = step * rng.uniform(0.4, 0.55)
        slant, bend = rng.uniform(-0.12, 0.12), rng.uniform(-0.05, 0.05)
        left = [(x + slant, -reach), (x + bend, 0.0), (x - slant, reach)]
        bands.append([*left, *((px + width, py) for px, py in reversed(left))])
    return bands


def spots(
    rng: random.Random, box: tuple[float, float, float, float], count: int, size: float
) -> list[list[Point]]:
    """Uneven blots inside a box (left, top, right, bottom)."""
    blots = []
    for _ in range(count):
        x, y = rng.uniform(box[0], box[2]), rng.uniform(box[1], box[3])
        radius = size * rng.uniform(0.7, 1.3)
        blots.append(
            [
                (
                    x + radius * rng.uniform(0.7, 1.2) * math.cos(turn),
                    y + radius * rng.uniform(0.7, 1.2) * math.sin(turn),
                )
                for turn in (0.0, 0.9, 1.8, 2.7, 3.6, 4.5, 5.4)
            ]
        )
    return blots
