"""What is behind a body: sky, ground, and what stands there."""

import random

import numpy as np
from PIL import Image, ImageDraw

from menagerie.pen import Colour, PartMap, shade, vary
from menagerie.scenes import Scene
from menagerie.streams import Streams

GROUND: dict[str, tuple[Colour, Colour]] = {
    "grass": ((120, 175, 85), (80, 140, 60)),
    "sand": ((232, 208, 150), (212, 180, 118)),
    "snow": ((240, 244, 250), (218, 226, 238)),
    "forest": ((85, 120, 62), (62, 92, 48)),
    "road": ((128, 128, 132), (104, 104, 110)),
    "water": ((75, 140, 195), (40, 100, 165)),
}
SKIES: dict[str, tuple[Colour, Colour]] = {
    "clear": ((105, 165, 232), (190, 220, 245)),
    "clouds": ((140, 170, 205), (205, 216, 228)),
    "sun": ((110, 175, 240), (215, 232, 240)),
    "fog": ((190, 196, 202), (215, 218, 222)),
    "night": ((30, 34, 70), (60, 66, 105)),
    "sunset": ((150, 95, 140), (250, 160, 90)),
}


def gradient(size: int, top: Colour, bottom: Colour, height: int) -> Image.Image:
    """A picture `size` wide and `height` high that goes from one colour to another, downwards."""
    ramp = np.linspace(0.0, 1.0, max(1, height))[:, None]
    column = np.asarray(top) * (1 - ramp) + np.asarray(bottom) * ramp
    rows = np.broadcast_to(column[:, None, :].round().astype(np.uint8), (len(column), size, 3))
    return Image.fromarray(np.ascontiguousarray(rows))


def paint_blob(
    draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: Colour, flat: float = 1.0
) -> None:
    draw.ellipse((x - r, y - r * flat, x + r, y + r * flat), fill=fill)


def _cloud(
    draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: Colour, rng: random.Random
) -> None:
    for step in (-1.1, -0.4, 0.4, 1.1):
        paint_blob(
            draw,
            x + step * r,
            y + rng.uniform(-0.2, 0.2) * r,
            r * rng.uniform(0.6, 0.85),
            fill,
            0.75,
        )


def _tree(
    draw: ImageDraw.ImageDraw, x: float, base: float, height: float, rng: random.Random
) -> None:
    trunk = vary((96, 68, 44), rng, 12)
    leaf = vary((48, 105, 52), rng, 18)
    draw.rectangle((x - height * 0.06, base - height * 0.45, x + height * 0.06, base), fill=trunk)
    for dx, dy in ((-0.16, -0.5), (0.16, -0.52), (0.0, -0.75)):
        paint_blob(
            draw, x + dx * height, base + dy * height, height * 0.26, shade(leaf, 1.0 - dy * 0.12)
        )


def _sky(image: Image.Image, scene: Scene, horizon: int, rng: random.Random) -> None:
    size = image.width
    draw = ImageDraw.Draw(image)
    high, low = (vary(colour, rng, 14) for colour in SKIES[scene.weather])
    image.paste(gradient(size, high, low, horizon), (0, 0))
    if scene.weather in ("sun", "sunset"):
        x, y, r = rng.uniform(0.1, 0.9) * size, rng.uniform(0.08, 0.22) * size, size * 0.075
        if scene.weather == "sunset":
            y = horizon - r * rng.uniform(0.0, 1.5)
        paint_blob(draw, x, y, r * 1.35, (255, 228, 150))
        paint_blob(draw, x, y, r, (255, 212, 70) if scene.weather == "sun" else (250, 110, 50))
    if scene.weather == "night":
        for _ in range(10):
            paint_blob(
                draw, rng.random() * size, rng.random() * horizon, size * 0.007, (235, 235, 210)
            )
        paint_blob(draw, rng.uniform(0.1, 0.9) * size, size * 0.12, size * 0.05, (240, 238, 205))
    if scene.weather == "clouds":
        for _ in range(rng.randint(2, 4)):
            tone = rng.randint(225, 250)
            _cloud(
                draw,
                rng.random() * size,
                rng.uniform(0.06, 0.8) * min(horizon, size * 0.5),
                size * rng.uniform(0.06, 0.11),
                (tone, tone, tone),
                rng,
            )


def _mountains(draw: ImageDraw.ImageDraw, size: int, horizon: int, rng: random.Random) -> None:
    for _ in range(3):
        x, h = rng.random() * size, size * rng.uniform(0.2, 0.34)
        rock = vary((112, 112, 132), rng, 14)
        draw.polygon([(x - h, horizon), (x, horizon - h), (x + h, horizon)], fill=rock)
        draw.polygon(
            [
                (x - h * 0.28, horizon - h * 0.72),
                (x, horizon - h),
                (x + h * 0.28, horizon - h * 0.72),
            ],
            fill=(238, 240, 246),
        )


def _texture(
    draw: ImageDraw.ImageDraw, scene: Scene, size: int, top: int, rng: random.Random
) -> None:
    tone = GROUND[scene.place][1]
    if scene.place == "road":
        for x in range(-1, 5):
            left = (x + rng.random() * 0.2) * size / 4
            draw.rectangle(
                (
                    left,
                    top + (size - top) * 0.42,
                    left + size * 0.13,
                    top + (size - top) * 0.42 + size * 0.02,
                ),
                fill=(235, 232, 215),
            )
        return
    for _ in range(34):
        x, y = rng.random() * size, rng.uniform(top, size)
        if scene.place == "water":
            draw.line(
                (x, y, x + size * 0.09, y), fill=shade(tone, rng.choice((0.85, 1.5))), width=2
            )
        elif scene.place in ("grass", "forest"):
            draw.line(
                (x, y, x + rng.uniform(-3, 3), y - size * 0.035),
                fill=shade(tone, rng.uniform(0.7, 1.3)),
                width=2,
            )
        else:
            paint_blob(draw, x, y, size * 0.012, shade(tone, rng.uniform(0.88, 1.06)), 0.5)


def _underwater(image: Image.Image, rng: random.Random) -> None:
    size = image.width
    top = vary((60, 150, 205), rng, 22)
    image.paste(gradient(size, top, shade(top, 0.5), size), (0, 0))
    draw = ImageDraw.Draw(image)
    if rng.random() < 0.6:
        draw.rectangle((0, size * 0.9, size, size), fill=vary((190, 175, 125), rng, 15))
    for _ in range(rng.randint(2, 9)):
        x, y, r = rng.random() * size, rng.random() * size, size * rng.uniform(0.008, 0.022)
        paint_blob(draw, x, y, r, (205, 232, 245))
    for _ in range(rng.randint(0, 5)):
        _weed(draw, rng.random() * size, float(size), size * rng.uniform(0.15, 0.4), rng)


def _weed(
    draw: ImageDraw.ImageDraw, x: float, base: float, height: float, rng: random.Random
) -> None:
    sway = rng.uniform(-0.2, 0.2) * height
    draw.line(
        (x, base, x + sway, base - height * 0.5, x, base - height),
        fill=vary((40, 125, 70), rng, 20),
        width=6,
        joint="curve",
    )


def paint_backdrop(
    image: Image.Image, scene: Scene, horizon: int, chance: Streams, parts: PartMap | None = None
) -> None:
    """Sky, ground and surroundings of a scene, over the whole image; `parts` keeps their places."""

    def begin(part: str) -> None:
        if parts:
            parts.begin(part)

    size = image.width
    begin("place" if scene.place == "underwater" else "sky")
    if scene.place == "underwater":
        _underwater(image, chance("underwater"))
        return
    _sky(image, scene, size if scene.place == "sky" else horizon, chance("sky"))
    draw = ImageDraw.Draw(image)
    near = chance("near")
    base = size if scene.place == "sky" else horizon
    begin("near")
    if scene.near == "mountains":
        _mountains(draw, size, base, near)
    if scene.place == "sky":
        return
    begin("place")
    ground = chance("ground")
    high, low = (vary(colour, ground, 16) for colour in GROUND[scene.place])
    image.paste(gradient(size, high, low, size - horizon), (0, horizon))
    if scene.place == "road":
        draw.rectangle(
            (0, horizon, size, horizon + size * 0.05), fill=vary((120, 150, 90), ground, 14)
        )
    _texture(draw, scene, size, horizon + round(size * 0.05), ground)
    begin("near")
    if scene.place == "forest":
        wood = chance("forest")
        for _ in range(6):
            x, height = wood.random() * size, size * wood.uniform(0.5, 0.8)
            _tree(draw, x, horizon + size * 0.04, height, wood)
    if scene.near == "trees":
        for _ in range(near.randint(2, 3)):
            x, height = near.random() * size, size * near.uniform(0.3, 0.45)
            _tree(draw, x, horizon + size * 0.03, height, near)
    if scene.near == "fence":
        wood = vary((150, 112, 72), near, 14)
        for rise in (0.05, 0.13):
            draw.rectangle(
                (0, horizon - size * rise, size, horizon - size * (rise - 0.025)), fill=wood
            )
        for post in range(6):
            x = (post + 0.4) * size / 6
            draw.rectangle(
                (x, horizon - size * 0.17, x + size * 0.028, horizon + size * 0.04), fill=wood
            )
    if scene.near == "flowers":
        for _ in range(26):
            x, y = near.random() * size, near.uniform(horizon + size * 0.05, size)
            petal = near.choice(((235, 80, 95), (245, 215, 80), (240, 240, 245), (190, 110, 210)))
            paint_blob(draw, x, y, size * 0.017, petal)
