"""How the seven vehicles are drawn, each from its scene's parts, in the pen's coordinates."""

import math
import random

from menagerie.coats import draw_person
from menagerie.pen import PALETTE, Colour, Pen, Point, shade
from menagerie.scenes import Scene
from menagerie.streams import Streams

TYRE: Colour = (32, 32, 36)
GLASS: Colour = (165, 208, 230)
METAL: Colour = (110, 114, 120)


def _wheel(pen: Pen, x: float, y: float, radius: float) -> None:
    drawn = pen.part("wheels")
    pen.oval(x, y, radius, radius, TYRE)
    pen.oval(x, y, radius * 0.5, radius * 0.5, (190, 192, 198))
    pen.part(drawn)


def _bands(rng: random.Random, top: float, bottom: float) -> list[list[Point]]:
    """One or two lengthwise stripes between two heights."""
    count = rng.choice((1, 2, 2))
    step = (bottom - top) / count
    return [
        [
            (-2.0, top + step * i + step * 0.2),
            (2.0, top + step * i + step * 0.2),
            (2.0, top + step * i + step * 0.75),
            (-2.0, top + step * i + step * 0.75),
        ]
        for i in range(count)
    ]


def draw_car(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A car: body, cabin, near wheels, and the far wheels behind them."""
    roof = chance("roof").uniform(0.36, 0.48)
    wheeled = "four_wheels" in scene.parts
    for x in (-0.4, 0.64) if wheeled else ():
        _wheel(pen, x, 0.26, 0.17)
    pen.shape([(-0.6, -0.05), (-0.42, -roof), (0.2, -roof), (0.48, -0.05)], colour, coat=True)
    pen.shape(
        [(-0.95, 0.25), (-0.97, -0.02), (-0.6, -0.1), (0.5, -0.1), (0.92, 0.02), (0.98, 0.25)],
        colour,
        coat=True,
    )
    pen.shadow(0.13, 0.25)
    if scene.pattern == "striped":
        pen.pattern(_bands(chance("coat"), -0.08, 0.2), PALETTE[scene.accent])
    if "windows" in scene.parts:
        pen.part("windows")
        pen.shape(
            [(-0.48, -0.09), (-0.36, -roof + 0.06), (-0.1, -roof + 0.06), (-0.1, -0.09)], GLASS
        )
        pen.shape(
            [(-0.03, -0.09), (-0.03, -roof + 0.06), (0.17, -roof + 0.06), (0.36, -0.09)], GLASS
        )
    if "headlights" in scene.parts:
        pen.part("headlights")
        pen.oval(0.9, 0.06, 0.09, 0.07, (255, 244, 170))
    for x in (-0.55, 0.52) if wheeled else ():
        _wheel(pen, x, 0.27, 0.2)


def draw_bus(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A bus: a long box with a row of windows and a door."""
    top = chance("top").uniform(-0.55, -0.42)
    wheeled = "four_wheels" in scene.parts
    for x in (-0.45, 0.72) if wheeled else ():
        _wheel(pen, x, 0.34, 0.14)
    pen.shape(
        [
            (-1.0, 0.32),
            (-1.0, top + 0.06),
            (-0.95, top),
            (0.95, top),
            (1.0, top + 0.1),
            (1.02, 0.32),
        ],
        colour,
        coat=True,
    )
    pen.shadow(0.2, 0.22)
    if scene.pattern == "striped":
        pen.pattern(_bands(chance("coat"), 0.0, 0.26), PALETTE[scene.accent])
    if "windows" in scene.parts:
        pen.part("windows")
        count = chance("windows").randint(4, 6)
        width = 1.55 / count
        for index in range(count):
            x = -0.9 + index * width
            pen.shape(
                [
                    (x, top + 0.1),
                    (x + width * 0.78, top + 0.1),
                    (x + width * 0.78, -0.08),
                    (x, -0.08),
                ],
                GLASS,
            )
        pen.shape(
            [(0.72, top + 0.1), (0.95, top + 0.1), (0.95, 0.24), (0.72, 0.24)], shade(GLASS, 0.85)
        )
    if "headlights" in scene.parts:
        pen.part("headlights")
        pen.oval(0.99, 0.2, 0.07, 0.08, (255, 244, 170))
    for x in (-0.58, 0.58) if wheeled else ():
        _wheel(pen, x, 0.35, 0.17)


def _spoked_wheel(pen: Pen, x: float, y: float, radius: float, rng: random.Random) -> None:
    drawn = pen.part("wheels")
    turn = rng.uniform(0.0, 1.0)
    for spoke in range(4):
        angle = turn + spoke * math.pi / 4
        dx, dy = radius * math.cos(angle), radius * math.sin(angle)
        pen.line([(x - dx, y - dy), (x + dx, y + dy)], 0.015, (185, 187, 192))
    pen.ring(x, y, radius, 0.07, TYRE)
    pen.part(drawn)


def draw_bicycle(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A bicycle: two spoked wheels and a thin frame."""
    turns = chance("wheels")
    radius = turns.uniform(0.36, 0.42)
    rear, front = (-0.55, 0.3), (0.58, 0.3)
    for x, y in (rear, front) if "two_wheels" in scene.parts else ():
        _spoked_wheel(pen, x, y, radius, turns)
    crank, seat, head = (-0.05, 0.3), (-0.22, -0.28), (0.42, -0.24)
    width = 0.075
    pen.line([rear, seat, head, crank, rear], width, colour, coat=True)
    pen.line([crank, seat, (-0.25, -0.38)], width, colour, coat=True)
    pen.line([front, head, (0.4, -0.42)], width, colour, coat=True)
    pen.line([(-0.38, -0.4), (-0.12, -0.4)], 0.09, TYRE)
    pen.oval(crank[0], crank[1], 0.08, 0.08, METAL)
    if "handlebars" in scene.parts:
        pen.part("handlebars")
        pen.line([(0.4, -0.42), (0.52, -0.48), (0.46, -0.58), (0.3, -0.56)], 0.07, TYRE)
    if "basket" in scene.parts:
        pen.part("basket")
        pen.shape([(0.5, -0.4), (0.84, -0.4), (0.78, -0.12), (0.54, -0.12)], (165, 115, 60))
        pen.line([(0.52, -0.27), (0.8, -0.27)], 0.03, (105, 70, 35))
    if scene.rider:
        draw_person(pen, -0.24, -0.44, 0.95, 0.28, chance("rider"))


def draw_motorcycle(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A motorcycle: two thick wheels, an engine, a tank and an exhaust."""
    pen.part("wheels")
    for x in (-0.58, 0.62) if "two_wheels" in scene.parts else ():
        pen.oval(x, 0.28, 0.32, 0.32, TYRE)
        pen.oval(x, 0.28, 0.2, 0.2, (150, 152, 158))
        pen.oval(x, 0.28, 0.08, 0.08, TYRE)
    pen.part("body")
    pen.line([(0.62, 0.28), (0.36, -0.38)], 0.09, METAL)
    pen.shape([(-0.3, 0.1), (0.25, 0.05), (0.28, 0.36), (-0.2, 0.4)], METAL)
    pen.line([(-0.05, 0.38), (-0.85, 0.38)], 0.1, (190, 192, 196))
    pen.shape(
        [(-0.9, -0.06), (-0.7, -0.22), (-0.25, -0.08), (-0.2, 0.08), (-0.7, 0.06)],
        colour,
        coat=True,
    )
    pen.oval(0.12, -0.14, 0.33, 0.17, colour, tilt=-0.15, coat=True)
    pen.shape([(0.35, 0.05), (0.62, -0.1), (0.9, 0.06), (0.62, -0.02)], colour, coat=True)
    if scene.pattern == "striped":
        pen.pattern(_bands(chance("coat"), -0.24, 0.02), PALETTE[scene.accent])
    pen.line([(-0.72, -0.2), (-0.2, -0.14)], 0.12, TYRE)
    if "handlebars" in scene.parts:
        pen.part("handlebars")
        pen.line([(0.38, -0.38), (0.28, -0.54), (0.12, -0.52)], 0.08, TYRE)
    if "headlights" in scene.parts:
        pen.part("headlights")
        pen.oval(0.5, -0.34, 0.12, 0.12, (255, 244, 170))
    if scene.rider:
        draw_person(pen, -0.35, -0.26, 0.95, 0.25, chance("rider"))


def draw_airplane(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """An airplane: a tube with a near and a far wing and a tail fin."""
    sweep = chance("wings").uniform(0.2, 0.42)
    trim = PALETTE[scene.accent]
    if "tail" in scene.parts:
        pen.part("tail")
        pen.shape([(-0.7, -0.1), (-1.0, -0.52), (-0.82, -0.52), (-0.45, -0.12)], trim)
    if "wings" in scene.parts:
        pen.part("wings")
        far = [(-0.1, -0.1), (-0.1 - sweep, -0.5), (0.05 - sweep, -0.5), (0.3, -0.1)]
        pen.shape(far, shade(colour, 0.7))
    pen.part("body")
    if scene.action == "parked":
        for x in (-0.15, 0.65):
            pen.line([(x, 0.1), (x, 0.3)], 0.05, METAL)
            pen.oval(x, 0.33, 0.08, 0.08, TYRE)
    pen.shape(
        [
            (-1.0, -0.12),
            (-0.9, 0.02),
            (-0.4, 0.17),
            (0.7, 0.17),
            (0.95, 0.08),
            (1.02, 0.0),
            (0.9, -0.1),
            (0.7, -0.16),
            (-0.5, -0.16),
        ],
        colour,
        coat=True,
    )
    pen.shadow(0.06, 0.2)
    if scene.pattern == "striped":
        pen.pattern(_bands(chance("coat"), -0.02, 0.16), trim)
    if "windows" in scene.parts:
        pen.part("windows")
        for index in range(6):
            pen.oval(-0.45 + index * 0.18, -0.05, 0.045, 0.045, (60, 90, 130))
        pen.shape([(0.74, -0.13), (0.9, -0.08), (0.86, -0.01), (0.72, -0.04)], (60, 90, 130))
    if "wings" in scene.parts:
        pen.part("wings")
        near = [(-0.12, 0.08), (-0.2 - sweep, 0.62), (0.0 - sweep, 0.62), (0.36, 0.08)]
        pen.shape(near, shade(colour, 0.86))
    pen.part("body")
    pen.shape([(-0.85, -0.02), (-1.08, 0.14), (-0.95, 0.14), (-0.6, 0.0)], shade(colour, 0.8))
    if "propeller" in scene.parts:
        pen.part("propeller")
        pen.line([(1.05, -0.36), (1.05, 0.36)], 0.07, (70, 70, 76))
        pen.oval(1.04, 0.0, 0.07, 0.07, TYRE)


def draw_helicopter(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A helicopter: an egg with a boom, a rotor and skids."""
    pen.shape([(-0.2, -0.18), (-1.0, -0.2), (-1.0, -0.1), (-0.2, 0.12)], colour, coat=True)
    if "tail" in scene.parts:
        pen.part("tail")
        pen.shape([(-0.92, -0.14), (-1.12, -0.48), (-0.98, -0.48), (-0.82, -0.16)], colour)
        pen.ring(-1.0, -0.2, 0.15, 0.04, METAL)
    pen.part("body")
    for x in (0.0, 0.42):
        pen.line([(x, 0.2), (x + 0.02, 0.46)], 0.04, METAL)
    pen.line([(-0.25, 0.47), (0.66, 0.47), (0.74, 0.4)], 0.06, TYRE)
    pen.oval(0.22, 0.0, 0.52, 0.32, colour, coat=True)
    pen.shadow(0.1, 0.22)
    if scene.pattern == "striped":
        pen.pattern(_bands(chance("coat"), 0.02, 0.24), PALETTE[scene.accent])
    if "windows" in scene.parts:
        pen.part("windows")
        pen.shape([(0.32, -0.24), (0.56, -0.2), (0.7, 0.0), (0.34, 0.02)], GLASS)
        pen.shape([(0.02, -0.22), (0.24, -0.24), (0.24, 0.0), (0.02, 0.0)], GLASS)
    if "rotor" in scene.parts:
        pen.part("rotor")
        pen.line([(0.15, -0.3), (0.15, -0.47)], 0.06, METAL)
        rotor = chance("rotor")
        reach, tip = rotor.uniform(0.7, 1.05), rotor.uniform(-0.05, 0.05)
        pen.line([(0.15 - reach, -0.48 - tip), (0.15 + reach, -0.48 + tip)], 0.06, (60, 60, 66))


def draw_sailboat(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A sailboat: a hull, a mast, and one or two sails in the accent colour."""
    sail = PALETTE[scene.accent]
    top = chance("top").uniform(-1.15, -0.95)
    if "mast" in scene.parts:
        pen.part("mast")
        pen.line([(0.05, 0.25), (0.05, top)], 0.06, (105, 72, 45))
    if "sail" in scene.parts:
        pen.part("sail")
        sails = chance("sail")
        belly = sails.uniform(-0.12, 0.08)
        pen.shape(
            [(0.0, top + 0.06), (-0.4 + belly, -0.3), (-0.72, 0.12), (0.0, 0.12)], sail, coat=True
        )
        if sails.random() < 0.7:
            pen.shape(
                [(0.12, top + 0.16), (0.12, 0.12), (0.72, 0.12), (0.45 + belly, -0.3)],
                shade(sail, 0.88),
                coat=True,
            )
        if scene.pattern == "striped":
            pen.pattern(
                [
                    [(-2.0, y), (2.0, y), (2.0, y + 0.12), (-2.0, y + 0.12)]
                    for y in (-0.86, -0.6, -0.34, -0.08)
                ],
                colour,
            )
    if "flag" in scene.parts:
        pen.part("flag")
        pen.shape([(0.05, top), (-0.2, top + 0.07), (0.05, top + 0.15)], (215, 45, 55))
    pen.part("body")
    pen.shape([(-0.9, 0.2), (0.98, 0.2), (0.7, 0.5), (-0.72, 0.5)], colour)
    pen.shape([(-0.83, 0.36), (0.84, 0.36), (0.7, 0.5), (-0.72, 0.5)], shade(colour, 0.72))
    if scene.pattern == "striped":
        pen.shape([(-0.9, 0.24), (0.95, 0.24), (0.9, 0.31), (-0.87, 0.31)], sail)
    if scene.rider:
        draw_person(pen, -0.6, 0.18, 0.6, 0.02, chance("rider"))
