"""Draws a scene: backdrop, body in a free pose, what hides it, weather, noise; 64 x 64 as default.

Drawn three times as large and averaged down, so edges are smooth. Equal scenes and equal generator
states give equal bytes.
"""

import io
import random
from collections.abc import Callable

import numpy as np
from PIL import Image, ImageDraw

from menagerie import birds_and_fish, quadrupeds, vehicles
from menagerie.backdrop import paint_backdrop
from menagerie.covers import apply_weather, paint_cover, soften
from menagerie.pen import COAT, PALETTE, PARTS, Colour, PartMap, Pen, vary
from menagerie.scenes import Scene
from menagerie.streams import Streams

OVERSAMPLING = 3
SCALES = {"close": 0.46, "middle": 0.4, "far": 0.33}
WATERLINE = {"wading": 0.5, "swimming": 0.12, "sailing": 0.34}

Body = Callable[[Pen, Scene, Streams, Colour], None]
BODIES: dict[str, Body] = {
    **dict.fromkeys(
        ("zebra", "horse", "tiger", "cow", "giraffe", "elephant"), quadrupeds.draw_quadruped
    ),
    **dict.fromkeys(("swan", "parrot"), birds_and_fish.draw_bird),
    "fish": birds_and_fish.draw_fish,
    "car": vehicles.draw_car,
    "bus": vehicles.draw_bus,
    "bicycle": vehicles.draw_bicycle,
    "motorcycle": vehicles.draw_motorcycle,
    "airplane": vehicles.draw_airplane,
    "helicopter": vehicles.draw_helicopter,
    "sailboat": vehicles.draw_sailboat,
}
# How far a body reaches below its middle when it stands on the ground, in body units.
FEET = {
    "zebra": 0.72, "horse": 0.79, "tiger": 0.5, "cow": 0.6, "giraffe": 0.9, "elephant": 0.76,
    "swan": 0.62, "parrot": 0.5, "fish": 0.3, "car": 0.47, "bus": 0.52, "bicycle": 0.7,
    "motorcycle": 0.6, "airplane": 0.41, "helicopter": 0.5, "sailboat": 0.45,
}  # fmt: skip


def _pose(
    scene: Scene, size: int, rng: random.Random
) -> tuple[tuple[float, float], float, float, int]:
    """Centre and scale of the body in pixels, its tilt, and the row of the horizon."""
    name = scene.species.name
    scale = SCALES[scene.distance] * rng.uniform(0.88, 1.12) * (0.82 if name == "giraffe" else 1.0)
    horizon = rng.uniform(0.42, 0.58)
    x = rng.uniform(0.42, 0.58) if scene.distance != "far" else rng.uniform(0.32, 0.68)
    free = scene.action in ("flying", "jumping") or scene.place == "underwater"
    tilt = rng.uniform(-0.28, 0.28) if free else rng.uniform(-0.07, 0.07)
    if free:
        y = rng.uniform(0.36, 0.62)
    elif scene.action == "perching":
        y = rng.uniform(0.42, 0.56)
    else:
        feet = rng.uniform(max(horizon + 0.1, 0.66), 0.92)
        y = feet - FEET[name] * scale
        if name in ("giraffe", "sailboat") and scene.distance != "far":
            y = max(y, 0.56)
    return (x * size, y * size), scale * size, tilt, round(horizon * size)


def _hide(pen: Pen, scene: Scene, left: bool, rng: random.Random) -> None:
    """Cover the hidden end or the feet of the body; the edge of the picture covers by the pose."""
    if scene.cover in ("nothing", "edge"):
        return
    x0, x1, y0, y1 = pen.low_x, pen.high_x, pen.low_y, pen.high_y
    if scene.hidden == "front":
        x0 = 0.4
    elif scene.hidden == "rear":
        x1 = -0.42
    else:
        y0, x0, x1 = y1 - 0.42 * min(1.0, y1 - y0), x0 - 0.15, x1 + 0.15
        if scene.species.name == "giraffe":
            y0 = y1 - 0.7
    corners = pen.place([(x0, y0), (x1, y1)])
    columns = sorted(corner[0] for corner in corners)
    rows = sorted(corner[1] for corner in corners)
    paint_cover(pen.image, scene.cover, (columns[0], rows[0], columns[1], rows[1]), rng)


def _water_line(image: Image.Image, pen: Pen, scene: Scene, rng: random.Random) -> None:
    """Water over everything below the line that the body floats or wades at."""
    draw = ImageDraw.Draw(image)
    depth = WATERLINE[scene.action]
    if scene.species.name == "swan":
        depth = 0.16
    row = pen.place([(0.0, depth)])[0][1]
    tone = vary((60, 122, 182), rng, 10)
    (left, _), (right, _) = pen.place([(-1.1, 0.0), (1.1, 0.0)])
    left, right = min(left, right), max(left, right)
    draw.rectangle((left, row, right, row + pen.scale * 0.6), fill=tone)
    for _ in range(5):
        x = rng.uniform(left, right)
        draw.line(
            (x - 12, row + rng.uniform(0, 6), x + 12, row + rng.uniform(0, 6)),
            fill=(205, 228, 242),
            width=3,
        )


def render(scene: Scene, rng: random.Random, size: int) -> Image.Image:
    """Draw a scene as a size x size RGB picture; `rng` decides everything words do not.

    Equal generator states draw two scenes that differ in one attribute alike in all others.
    """
    chance = Streams(rng)
    image = Image.new("RGB", (size * OVERSAMPLING, size * OVERSAMPLING))
    _paint(image, scene, chance, None)
    seen = apply_weather(image, scene, chance("weather")).reduce(OVERSAMPLING)
    return _finish(seen, chance("camera"))


def part_map(scene: Scene, rng: random.Random, size: int) -> Image.Image:
    """Draw the scene that `render` draws; return which part each of its pixels shows (`pen.PARTS`).

    COAT is added where the coat is.
    """
    image = Image.new("RGB", (size * OVERSAMPLING, size * OVERSAMPLING))
    parts = PartMap(image)
    pen = _paint(image, scene, Streams(rng), parts)
    coat = (np.asarray(pen.coat) > 0) & (parts.numbers >= PARTS.index("body"))
    middle = slice(OVERSAMPLING // 2, None, OVERSAMPLING)
    return Image.fromarray((parts.numbers + np.uint8(COAT) * coat)[middle, middle])


def _paint(image: Image.Image, scene: Scene, chance: Streams, parts: PartMap | None) -> Pen:
    """Paint backdrop, body and cover over the whole image; return the pen of the body."""
    large = image.width
    centre, scale, tilt, horizon = _pose(scene, large, chance("pose"))
    paint_backdrop(image, scene, horizon, chance, parts)
    left = scene.facing_left
    if scene.cover == "edge":
        towards_right = (scene.hidden == "front") != left
        reach = 0.4 if scene.hidden == "front" else 0.42
        x = large - reach * scale if towards_right else reach * scale
        centre = (x, centre[1])
    pen = Pen(image, centre, scale, tilt, left, parts)
    pen.part("place")
    if scene.action in ("standing", "walking", "running", "driving", "parked"):
        feet = FEET[scene.species.name]
        pen.oval(0.0, feet, 0.85, 0.07, (60, 66, 56))
    if scene.action == "perching":
        perch = pen.place([(-3.0, 0.45), (3.0, 0.4)])
        ImageDraw.Draw(image).line(perch, fill=(96, 66, 42), width=max(4, round(scale * 0.13)))
    pen.part("body")
    colour = vary(PALETTE[scene.colour], chance("colour"), 16)
    BODIES[scene.species.name](pen, scene, chance, colour)
    pen.part("place")
    if scene.action in WATERLINE and scene.place == "water":
        _water_line(image, pen, scene, chance("water"))
    pen.part("cover")
    _hide(pen, scene, left, chance("cover"))
    pen.part(None)
    return pen


def _finish(image: Image.Image, rng: random.Random) -> Image.Image:
    """Light, focus and sensor noise."""
    pixels = np.asarray(soften(image, rng), dtype=np.float32)
    noise = np.random.Generator(np.random.PCG64(rng.getrandbits(64)))
    sigma, light = rng.uniform(1.0, 6.0), rng.uniform(0.82, 1.12)
    pixels = pixels * light + sigma * noise.standard_normal(pixels.shape, dtype=np.float32)
    return Image.fromarray(np.clip(pixels, 0, 255).astype(np.uint8))


def to_png(image: Image.Image) -> bytes:
    """The picture as PNG bytes, without metadata."""
    buffer = io.BytesIO()
    image.save(buffer, format="PNG", compress_level=6)
    return buffer.getvalue()
