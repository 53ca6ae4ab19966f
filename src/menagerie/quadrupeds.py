"""How the six four-legged animals are drawn, from their scene's parts, in the pen's coordinates."""

import math
import random
from dataclasses import dataclass

from menagerie.coats import DARK, draw_person, spots, stripes
from menagerie.pen import PALETTE, Colour, Pen, Point, shade
from menagerie.scenes import Scene
from menagerie.streams import Streams


@dataclass(frozen=True)
class Build:
    """Proportions of a four-legged animal: half-axes of the trunk, lengths of legs, neck, head."""

    rx: float
    ry: float
    leg: float
    leg_width: float
    neck: float
    neck_angle: float
    neck_width: float
    head: float
    snout: float


BUILDS = {
    "zebra": Build(0.62, 0.3, 0.55, 0.13, 0.5, 0.95, 0.26, 0.17, 0.3),
    "horse": Build(0.62, 0.27, 0.64, 0.12, 0.6, 1.0, 0.26, 0.16, 0.32),
    "tiger": Build(0.72, 0.25, 0.36, 0.16, 0.26, 0.4, 0.3, 0.26, 0.12),
    "cow": Build(0.72, 0.36, 0.4, 0.14, 0.26, 0.35, 0.34, 0.2, 0.22),
    "giraffe": Build(0.5, 0.27, 0.75, 0.11, 1.15, 1.2, 0.2, 0.14, 0.24),
    "elephant": Build(0.72, 0.46, 0.5, 0.2, 0.2, 0.4, 0.5, 0.32, 0.0),
}


def _mark(pen: Pen, scene: Scene, rng: random.Random, colour: Colour) -> None:
    name = scene.species.name
    faint = rng.uniform(0.0, 0.35)
    if scene.pattern == "striped":
        dark = {"brown": (60, 36, 22), "black": (215, 212, 206)}.get(scene.colour, DARK)
        ink = tuple(round(a + faint * (b - a)) for a, b in zip(dark, colour, strict=True))
        count = rng.randint(9, 13) if name == "zebra" else rng.randint(7, 10)
        pen.pattern(stripes(rng, -0.85, 1.15, count), (ink[0], ink[1], ink[2]))
    elif scene.pattern == "spotted":
        if name == "giraffe":
            ink = shade(colour, 0.55) if scene.colour != "black" else (190, 180, 165)
            pen.pattern(spots(rng, (-0.5, -1.5, 1.1, 0.3), 46, 0.085), ink)
        else:
            ink = PALETTE["white"] if scene.colour in ("black", "brown") else DARK
            pen.pattern(spots(rng, (-0.7, -0.4, 0.7, 0.3), rng.randint(5, 8), 0.16), ink)


def _legs(pen: Pen, build: Build, scene: Scene, rng: random.Random, colour: Colour) -> list[float]:
    swing = {"running": 0.32, "walking": 0.16, "wading": 0.1}.get(scene.action, 0.04)
    top = build.ry * 0.55
    for x in (-build.rx * 0.55, build.rx * 0.7):
        _leg(pen, build, x, top, rng.uniform(-swing, swing) - swing / 2, shade(colour, 0.72))
    return [rng.uniform(-swing, swing) + swing / 2 for _ in range(2)]


def _leg(pen: Pen, build: Build, x: float, top: float, swing: float, colour: Colour) -> None:
    foot = (x + swing, top + build.leg)
    knee = (x + swing * 0.3, top + build.leg * 0.5)
    pen.line([(x, top - 0.1), knee, foot], build.leg_width, colour, coat=True)
    pen.oval(foot[0] + 0.02, foot[1], build.leg_width * 0.6, 0.05, shade(colour, 0.5))


def draw_quadruped(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """Zebra, horse, tiger, cow, giraffe or elephant."""
    name, build = scene.species.name, BUILDS[scene.species.name]
    nod = chance("nod").uniform(-0.3, 0.15)
    pen.part("legs")
    near_swings = _legs(pen, build, scene, chance("legs"), colour)
    if "tail" in scene.parts:
        pen.part("tail")
        _tail(pen, name, build, chance("tail"), colour)
    pen.part("body")
    pen.oval(0.0, 0.0, build.rx, build.ry, colour, coat=True)
    base = (build.rx * 0.68, -build.ry * 0.3)
    angle = build.neck_angle + nod
    head = (base[0] + build.neck * math.cos(angle) + 0.08, base[1] - build.neck * math.sin(angle))
    half = build.neck_width / 2
    pen.part("neck")
    pen.shape(
        [
            (base[0] - half * 1.3, base[1] - 0.02),
            (base[0] + half, base[1] + half * 1.6),
            (head[0] + half * 0.5, head[1] + half * 0.7),
            (head[0] - half * 0.8, head[1] - half * 0.2),
        ],
        colour,
        coat=True,
    )
    pen.part("legs")
    for x, swing in zip((-build.rx * 0.72, build.rx * 0.55), near_swings, strict=True):
        _leg(pen, build, x, build.ry * 0.55, swing, colour)
    pen.part("body")
    if name == "cow":
        pen.oval(-0.32, build.ry + 0.02, 0.14, 0.11, (228, 165, 155))
    droop = chance("droop").uniform(0.25, 0.6)
    pen.oval(head[0], head[1], build.head, build.head * 0.8, colour, tilt=droop, coat=True)
    if build.snout:
        pen.oval(
            head[0] + build.snout * 0.62 * math.cos(droop),
            head[1] + build.snout * 0.62 * math.sin(droop),
            build.snout * 0.68,
            build.head * 0.55,
            colour,
            tilt=droop,
            coat=True,
        )
    pen.shadow(build.ry * 0.35, 0.22)
    _mark(pen, scene, chance("coat"), colour)
    _face(pen, scene, build, head, droop, chance("face"), colour)
    if "mane" in scene.parts:
        pen.part("mane")
        ink = DARK if scene.colour != "black" else (110, 100, 95)
        if name == "horse" and scene.colour == "brown":
            ink = chance("mane").choice((DARK, (225, 205, 165)))
        pen.line(
            [
                (base[0] - half * 1.2, base[1] - 0.05),
                (head[0] - half * 0.9, head[1] - 0.12),
                (head[0] + 0.05, head[1] - 0.17),
            ],
            0.13,
            ink,
        )
    if scene.rider:
        draw_person(pen, -0.02, -build.ry - 0.04, 0.75, 0.1, chance("rider"))


def _tail(pen: Pen, name: str, build: Build, rng: random.Random, colour: Colour) -> None:
    x, y = -build.rx * 0.95, -build.ry * 0.25
    sway = rng.uniform(-0.1, 0.12)
    if name == "tiger":
        pen.line(
            [
                (x, y),
                (x - 0.25, y + 0.15 + sway),
                (x - 0.42, y - 0.1 + sway),
                (x - 0.5, y - 0.3 + sway),
            ],
            0.1,
            colour,
            coat=True,
        )
    elif name == "horse":
        dark = shade(colour, 0.55) if max(colour) > 80 else (95, 88, 85)
        pen.line([(x, y - 0.05), (x - 0.16, y + 0.1), (x - 0.2 + sway, y + 0.55)], 0.16, dark)
    else:
        end = (x - 0.14 + sway, y + 0.42)
        pen.line([(x, y), (x - 0.12, y + 0.12), end], 0.06, shade(colour, 0.85))
        pen.oval(end[0], end[1], 0.06, 0.1, DARK)


def _face(
    pen: Pen,
    scene: Scene,
    build: Build,
    head: Point,
    droop: float,
    rng: random.Random,
    colour: Colour,
) -> None:
    name, (x, y) = scene.species.name, head
    nose = (
        x + (build.snout + build.head * 0.4) * math.cos(droop),
        y + (build.snout + build.head * 0.4) * math.sin(droop),
    )
    if name == "elephant":
        if "big_ears" in scene.parts:
            pen.part("ears")
            pen.oval(x - 0.2, y + 0.04, 0.27, 0.36, shade(colour, 0.78), tilt=0.2)
            pen.oval(x - 0.2, y + 0.04, 0.19, 0.27, shade(colour, 0.9), tilt=0.2)
        pen.part("trunk")
        curl = rng.uniform(-0.12, 0.22)
        pen.line(
            [(x + 0.2, y), (x + 0.38, y + 0.3), (x + 0.38, y + 0.62), (x + 0.45 + curl, y + 0.8)],
            0.17,
            shade(colour, 0.92),
        )
        if "tusks" in scene.parts:
            pen.part("tusks")
            pen.line(
                [(x + 0.22, y + 0.24), (x + 0.45, y + 0.42), (x + 0.62, y + 0.36)],
                0.08,
                (250, 246, 225),
            )
    elif name == "tiger":
        for side in (-0.13, 0.1):
            pen.oval(x + side, y - 0.19, 0.08, 0.08, colour)
            pen.oval(x + side, y - 0.19, 0.045, 0.045, DARK)
        pen.oval(nose[0] - 0.06, nose[1] + 0.02, 0.11, 0.09, (245, 238, 228))
        pen.oval(nose[0] + 0.0, nose[1] - 0.03, 0.045, 0.035, (190, 90, 95))
        if "whiskers" in scene.parts:
            pen.part("whiskers")
            for rise in (-0.12, 0.0, 0.12):
                pen.line(
                    [(nose[0] - 0.05, nose[1]), (nose[0] + 0.26, nose[1] + rise)],
                    0.03,
                    (252, 252, 252),
                )
    else:
        pen.oval(x - 0.1, y - 0.16, 0.055, 0.13, shade(colour, 0.85), tilt=-0.35)
        if name == "cow":
            pen.oval(nose[0] - 0.06, nose[1], 0.11, 0.1, (225, 165, 150), tilt=droop)
        elif name in ("zebra", "giraffe"):
            pen.oval(nose[0] - 0.07, nose[1], 0.09, 0.075, shade(colour, 0.45), tilt=droop)
    if "horns" in scene.parts:
        pen.part("horns")
        if name == "cow":
            for lean in (-0.16, 0.16):
                pen.line(
                    [
                        (x - 0.02 + lean * 0.4, y - 0.13),
                        (x + lean, y - 0.24),
                        (x + lean * 0.9, y - 0.38),
                    ],
                    0.075,
                    (235, 225, 195),
                )
        else:
            for lean in (-0.08, 0.06):
                pen.line(
                    [(x + lean, y - 0.08), (x + lean * 1.3, y - 0.3)], 0.05, shade(colour, 0.7)
                )
                pen.oval(x + lean * 1.3, y - 0.3, 0.045, 0.045, DARK)
    pen.part("body")
    pen.oval(x + 0.06, y - 0.05, 0.04, 0.045, (15, 15, 15) if max(colour) > 80 else (235, 235, 235))
