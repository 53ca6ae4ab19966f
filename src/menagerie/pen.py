"""A pen that draws a body in its own coordinates: facing right, x forward, y down, about 2 wide."""

import math
import random

import numpy as np
from jaxtyping import UInt8
from PIL import Image, ImageChops, ImageDraw

Colour = tuple[int, int, int]
Point = tuple[float, float]

PALETTE: dict[str, Colour] = {
    "red": (205, 40, 40),
    "orange": (235, 130, 35),
    "yellow": (240, 205, 50),
    "green": (45, 140, 65),
    "blue": (45, 90, 200),
    "white": (238, 238, 234),
    "black": (38, 36, 40),
    "brown": (130, 82, 48),
    "gray": (140, 142, 148),
}
# What a pixel may show, by number; COAT is added where a coat is.
PARTS = (
    "sky", "place", "near", "cover", "body", "legs", "neck", "tail", "wings", "beak", "fins",
    "horns", "trunk", "tusks", "ears", "mane", "whiskers", "wheels", "windows", "headlights",
    "handlebars", "basket", "propeller", "rotor", "mast", "sail", "flag", "rider",
)  # fmt: skip
COAT = 128
_CIRCLE = tuple(
    (math.cos(2 * math.pi * step / 18), math.sin(2 * math.pi * step / 18)) for step in range(18)
)


def shade(colour: Colour, factor: float) -> Colour:
    """A darker (factor < 1) or lighter (factor > 1) version of a colour."""
    red, green, blue = (max(0, min(255, round(value * factor))) for value in colour)
    return red, green, blue


class PartMap:
    """Which part each pixel of an image shows: what changes while a part is drawn is its place."""

    def __init__(self, image: Image.Image) -> None:
        self.image = image
        self.numbers: UInt8[np.ndarray, "h w"] = np.zeros(image.size[::-1], dtype=np.uint8)
        self.drawing: str | None = None
        self._before = image.copy()

    def begin(self, part: str | None) -> str | None:
        """Go on with a part, None for light and patterns; return the one that ends here."""
        ended, self.drawing = self.drawing, part
        if ended is not None:
            changed = ImageChops.difference(self.image, self._before)
            if box := changed.getbbox():
                left, top, right, bottom = box
                red, green, blue = changed.crop(box).split()
                here = np.asarray(ImageChops.lighter(ImageChops.lighter(red, green), blue)) > 0
                self.numbers[top:bottom, left:right][here] = PARTS.index(ended)
        self._before = self.image.copy()
        return ended


def vary(colour: Colour, rng: random.Random, spread: int) -> Colour:
    """A colour near another: each channel moves by at most `spread`."""
    red, green, blue = (max(0, min(255, v + rng.randint(-spread, spread))) for v in colour)
    return red, green, blue


class Pen:
    """Draws polygons, ovals and lines of a body onto an image, and remembers how far it reaches.

    Shapes drawn with `coat=True` also enter the coat mask, which stripes and spots are confined to.
    With a map, it is kept which pixels show which part.
    """

    def __init__(
        self,
        image: Image.Image,
        centre: Point,
        scale: float,
        angle: float,
        left: bool,
        parts: PartMap | None = None,
    ) -> None:
        self.image = image
        self.parts = parts
        self.draw = ImageDraw.Draw(image)
        self.coat = Image.new("L", image.size, 0)
        self._coat_draw = ImageDraw.Draw(self.coat)
        self.centre = centre
        self.scale = scale
        self._cos, self._sin = math.cos(angle), math.sin(angle)
        self._flip = -1.0 if left else 1.0
        self.low_x = self.low_y = 9.0
        self.high_x = self.high_y = -9.0

    def part(self, name: str | None) -> str | None:
        """Begin a part of the body; return the one that ends here."""
        return self.parts.begin(name) if self.parts else None

    def place(self, points: list[Point]) -> list[Point]:
        """Body coordinates to pixels."""
        (cx, cy), s, cos, sin = self.centre, self.scale, self._cos, self._sin
        flip = self._flip
        return [
            (cx + flip * s * (x * cos - y * sin), cy + s * (x * sin + y * cos)) for x, y in points
        ]

    def shape(self, points: list[Point], fill: Colour, coat: bool = False) -> None:
        """A filled polygon."""
        for x, y in points:
            self.low_x, self.high_x = min(self.low_x, x), max(self.high_x, x)
            self.low_y, self.high_y = min(self.low_y, y), max(self.high_y, y)
        pixels = self.place(points)
        self.draw.polygon(pixels, fill=fill)
        if coat:
            self._coat_draw.polygon(pixels, fill=255)

    def oval(
        self,
        x: float,
        y: float,
        rx: float,
        ry: float,
        fill: Colour,
        tilt: float = 0.0,
        coat: bool = False,
    ) -> None:
        """A filled ellipse, turned by `tilt` radians."""
        cos, sin = math.cos(tilt), math.sin(tilt)
        points = [
            (x + rx * a * cos - ry * b * sin, y + rx * a * sin + ry * b * cos) for a, b in _CIRCLE
        ]
        self.shape(points, fill, coat)

    def ring(self, x: float, y: float, radius: float, width: float, fill: Colour) -> None:
        """A circle's outline."""
        points = [(x + radius * a, y + radius * b) for a, b in _CIRCLE]
        self.line([*points, points[0]], width, fill)

    def line(self, points: list[Point], width: float, fill: Colour, coat: bool = False) -> None:
        """A polyline of a width in body units."""
        for x, y in points:
            self.low_x, self.high_x = min(self.low_x, x), max(self.high_x, x)
            self.low_y, self.high_y = min(self.low_y, y), max(self.high_y, y)
        pixels = self.place(points)
        thick = max(2, round(width * self.scale))
        self.draw.line(pixels, fill=fill, width=thick, joint="curve")
        if coat:
            self._coat_draw.line(pixels, fill=255, width=thick, joint="curve")

    def pattern(self, shapes: list[list[Point]], fill: Colour) -> None:
        """Polygons that show on the coat only: stripes and spots."""
        marks = Image.new("L", self.image.size, 0)
        draw = ImageDraw.Draw(marks)
        for points in shapes:
            draw.polygon(self.place(points), fill=255)
        self._on_coat(fill, marks)

    def shadow(self, below: float, strength: float) -> None:
        """Darken the coat below the line y = `below`: light comes from above."""
        marks = Image.new("L", self.image.size, 0)
        box = [(-9.0, below), (9.0, below), (9.0, 9.0), (-9.0, 9.0)]
        ImageDraw.Draw(marks).polygon(self.place(box), fill=round(255 * strength))
        self._on_coat((20, 20, 40), marks)

    def _on_coat(self, fill: Colour, marks: Image.Image) -> None:
        drawn = self.part(None)
        self.image.paste(fill, (0, 0), ImageChops.darker(marks, self.coat))
        self.part(drawn)
