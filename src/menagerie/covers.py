"""What is in front of a body: bushes, rocks and walls, then fog, night, and a lens out of focus."""

import math
import random

from PIL import Image, ImageDraw, ImageFilter

from menagerie.backdrop import paint_blob
from menagerie.pen import shade, vary
from menagerie.scenes import Scene


def paint_cover(
    image: Image.Image, cover: str, box: tuple[float, float, float, float], rng: random.Random
) -> None:
    """Paint what hides an end, or the feet, of a body over a box (left, top, right, bottom)."""
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
                paint_blob(draw, x, y, radius * rng.uniform(0.75, 1.05), tone)
    elif cover == "tree":
        draw.rectangle(
            (left + width * 0.08, -5, right - width * 0.08, bottom + height * 0.1),
            fill=vary((98, 70, 46), rng, 14),
        )
        for step in range(4):
            x = left + width * (0.2 + 0.2 * step)
            draw.line((x, 0, x, bottom), fill=(74, 52, 34), width=2)
        for _ in range(5):
            paint_blob(
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
            image, Image.new("RGB", image.size, (212, 215, 219)), rng.uniform(0.22, 0.42)
        )
    if scene.weather == "night":
        return Image.blend(
            image, Image.new("RGB", image.size, (14, 18, 52)), rng.uniform(0.28, 0.46)
        )
    if scene.weather == "sunset":
        return Image.blend(
            image, Image.new("RGB", image.size, (200, 95, 50)), rng.uniform(0.12, 0.3)
        )
    return image


def soften(image: Image.Image, rng: random.Random) -> Image.Image:
    """A camera out of focus, now and then."""
    if rng.random() < 0.12:
        return image.filter(ImageFilter.GaussianBlur(rng.uniform(0.4, 0.9)))
    return image
