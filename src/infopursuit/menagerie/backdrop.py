"""What is around a body: ground and sky behind it, covers in front of it, weather over it all."""

import math
import random

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

from infopursuit.menagerie.pen import Colour, shade, vary
from infopursuit.menagerie.scenes import Scene

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


def _blob(
    draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: Colour, flat: float = 1.0
) -> None:
    draw.ellipse((x - r, y - r * flat, x + r, y + r * flat), fill=fill)


def _cloud(
    draw: ImageDraw.ImageDraw, x: float, y: float, r: float, fill: Colour, rng: random.Random
) -> None:
    for step in (-1.1, -0.4, 0.4, 1.1):
        _blob(
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
        _blob(
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
        _blob(draw, x, y, r * 1.35, (255, 228, 150))
        _blob(draw, x, y, r, (255, 212, 70) if scene.weather == "sun" else (250, 110, 50))
    if scene.weather == "night":
        for _ in range(10):
            _blob(draw, rng.random() * size, rng.random() * horizon, size * 0.007, (235, 235, 210))
        _blob(draw, rng.uniform(0.1, 0.9) * size, size * 0.12, size * 0.05, (240, 238, 205))
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
            _blob(draw, x, y, size * 0.012, shade(tone, rng.uniform(0.88, 1.06)), 0.5)


def _underwater(image: Image.Image, rng: random.Random) -> None:
    size = image.width
    top = vary((60, 150, 205), rng, 22)
    image.paste(gradient(size, top, shade(top, 0.5), size), (0, 0))
    draw = ImageDraw.Draw(image)
    if rng.random() < 0.6:
        draw.rectangle((0, size * 0.9, size, size), fill=vary((190, 175, 125), rng, 15))
    for _ in range(rng.randint(2, 9)):
        x, y, r = rng.random() * size, rng.random() * size, size * rng.uniform(0.008, 0.022)
        _blob(draw, x, y, r, (205, 232, 245))
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


def paint_backdrop(image: Image.Image, scene: Scene, horizon: int, rng: random.Random) -> None:
    """Sky, ground and surroundings of a scene, over the whole image."""
    size = image.width
    if scene.place == "underwater":
        _underwater(image, rng)
        return
    _sky(image, scene, size if scene.place == "sky" else horizon, rng)
    draw = ImageDraw.Draw(image)
    base = size if scene.place == "sky" else horizon
    if scene.near == "mountains":
        _mountains(draw, size, base, rng)
    if scene.place == "sky":
        return
    near, far = (vary(colour, rng, 16) for colour in GROUND[scene.place])
    image.paste(gradient(size, near, far, size - horizon), (0, horizon))
    if scene.place == "road":
        draw.rectangle(
            (0, horizon, size, horizon + size * 0.05), fill=vary((120, 150, 90), rng, 14)
        )
    _texture(draw, scene, size, horizon + round(size * 0.05), rng)
    if scene.place == "forest":
        for _ in range(6):
            _tree(
                draw, rng.random() * size, horizon + size * 0.04, size * rng.uniform(0.5, 0.8), rng
            )
    if scene.near == "trees":
        for _ in range(rng.randint(2, 3)):
            _tree(
                draw, rng.random() * size, horizon + size * 0.03, size * rng.uniform(0.3, 0.45), rng
            )
    if scene.near == "fence":
        wood = vary((150, 112, 72), rng, 14)
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
            x, y = rng.random() * size, rng.uniform(horizon + size * 0.05, size)
            petal = rng.choice(((235, 80, 95), (245, 215, 80), (240, 240, 245), (190, 110, 210)))
            _blob(draw, x, y, size * 0.017, petal)


def paint_cover(
    image: Image.Image, cover: str, box: tuple[float, float, float, float], rng: random.Random
) -> None:
    """Paint what hides one end, or the feet, of a body over the pixel box (left, top, right, bottom)."""
    draw = ImageDraw.Draw(image)
    left, top, right, bottom = box
    width, height = right - left, bottom - top
    middle = (left + right) / 2
    if cover in ("bush", "bushes", "cloud"):
        base = vary((58, 118, 54) if cover != "cloud" else (240, 242, 246), rng, 14)
        radius = max(6.0, min(width, height) * 0.42)
        columns, lines = max(2, round(width / radius)), max(2, round(height / radius))
        for line in range(lines + 1):
            for column in range(columns + 1):
                tone = shade(base, rng.uniform(0.88, 1.1))
                x = left + width * column / columns + rng.uniform(-0.3, 0.3) * radius
                y = top + height * line / lines + rng.uniform(-0.3, 0.3) * radius
                _blob(draw, x, y, radius * rng.uniform(0.75, 1.05), tone)
    elif cover == "tree":
        draw.rectangle(
            (left + width * 0.08, -5, right - width * 0.08, bottom + height * 0.1),
            fill=vary((98, 70, 46), rng, 14),
        )
        for step in range(4):
            x = left + width * (0.2 + 0.2 * step)
            draw.line((x, 0, x, bottom), fill=(74, 52, 34), width=2)
        for _ in range(5):
            _blob(
                draw,
                middle + rng.uniform(-0.9, 0.9) * width,
                rng.uniform(-8, 14),
                width * 0.5,
                vary((48, 108, 52), rng, 14),
            )
    elif cover == "rock":
        stone = vary((126, 122, 118), rng, 14)
        outline = [
            (left - width * 0.15, bottom + 6),
            (left, top + height * 0.25),
            (left + width * 0.3, top - 4),
            (left + width * 0.75, top - 2),
            (right + width * 0.05, top + height * 0.35),
            (right + width * 0.2, bottom + 6),
        ]
        draw.polygon(outline, fill=stone)
        draw.polygon(
            [outline[2], outline[3], (middle, bottom), (left, bottom)], fill=shade(stone, 0.85)
        )
    elif cover == "wall":
        brick = vary((168, 88, 70), rng, 14)
        draw.rectangle((left - 4, top, right + 4, bottom + 6), fill=brick)
        for row in range(int(top), int(bottom) + 6, 9):
            draw.line((left - 4, row, right + 4, row), fill=shade(brick, 0.7), width=2)
    elif cover in ("weeds", "tall grass"):
        for step in range(max(14, round(width / 5))):
            x = left + width * rng.random()
            tone = vary((66, 138, 56) if cover == "tall grass" else (40, 120, 70), rng, 24)
            draw.line(
                (x, bottom + 8, x + rng.uniform(-6, 6), top - rng.uniform(0, 6) * (step % 2)),
                fill=tone,
                width=7 if cover == "weeds" else 5,
            )
    else:
        tone = {"dune": (222, 194, 134), "deep snow": (234, 239, 247), "waves": (58, 122, 182)}[
            cover
        ]
        crest = [(left + width * step / 12, top + 4 * math.sin(step * 1.1)) for step in range(13)]
        draw.polygon([*crest, (right, bottom + 10), (left, bottom + 10)], fill=vary(tone, rng, 8))


def apply_weather(image: Image.Image, scene: Scene, rng: random.Random) -> Image.Image:
    """Fog, night and sunset change the light on everything."""
    if scene.weather == "fog":
        return Image.blend(
            image, Image.new("RGB", image.size, (212, 215, 219)), rng.uniform(0.3, 0.52)
        )
    if scene.weather == "night":
        return Image.blend(
            image, Image.new("RGB", image.size, (14, 18, 52)), rng.uniform(0.35, 0.55)
        )
    if scene.weather == "sunset":
        return Image.blend(
            image, Image.new("RGB", image.size, (200, 95, 50)), rng.uniform(0.12, 0.3)
        )
    return image


def soften(image: Image.Image, rng: random.Random) -> Image.Image:
    """A camera out of focus, now and then."""
    if rng.random() < 0.15:
        return image.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.9)))
    return image
