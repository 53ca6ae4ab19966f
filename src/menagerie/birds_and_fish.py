"""How swan, parrot and fish are drawn, each from its scene's parts, in the pen's coordinates."""

from menagerie.coats import DARK, spots, stripes
from menagerie.pen import PALETTE, Colour, Pen, shade, vary
from menagerie.scenes import Scene
from menagerie.streams import Streams


def draw_bird(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """Swan or parrot."""
    swan = scene.species.name == "swan"
    beak = vary((235, 120, 40) if swan else (60, 55, 55), chance("beak"), 15)
    if "two_legs" in scene.parts and scene.action in ("standing", "perching"):
        pen.part("legs")
        reach = 0.62 if scene.action == "standing" else 0.42
        for x in (-0.08, 0.12):
            pen.line([(x, 0.2), (x + 0.02, reach), (x + 0.14, reach)], 0.06, shade(beak, 0.8))
    wings = chance("wings")
    lift = wings.uniform(0.75, 1.05)
    spread = "wings" in scene.parts and (scene.action == "flying" or wings.random() < 0.6)
    pen.part("wings")
    if spread:
        pen.shape(
            [(-0.25, -0.1), (-0.5, -0.75 * lift), (-0.1, -0.95 * lift), (0.3, -0.12)],
            shade(colour, 0.75),
        )
    pen.part("body")
    if swan:
        pen.shape([(-0.45, -0.18), (-0.85, -0.3), (-0.5, 0.12)], colour, coat=True)
        pen.oval(0.0, 0.0, 0.58, 0.29, colour, coat=True)
        if scene.action == "flying":
            neck = [(0.45, -0.05), (0.8, -0.12), (1.15, -0.16)]
        else:
            neck = [(0.42, -0.02), (0.62, -0.2), (0.5, -0.5), (0.56, -0.78), (0.72, -0.86)]
        pen.part("neck")
        pen.line(neck, 0.15, colour, coat=True)
    else:
        if "tail" in scene.parts:
            pen.part("tail")
            pen.shape(
                [(-0.3, -0.1), (-1.0, 0.42), (-0.85, 0.52), (-0.2, 0.2)],
                shade(PALETTE[scene.accent], 0.95),
                coat=True,
            )
        pen.part("body")
        pen.oval(0.0, 0.0, 0.42, 0.27, colour, tilt=-0.35, coat=True)
        neck = [(0.3, -0.2), (0.42, -0.36)]
    x, y = neck[-1]
    pen.part("body")
    size = 0.13 if swan else 0.22
    pen.oval(x, y, size, size * 0.9, colour, coat=True)
    pen.shadow(0.1, 0.2)
    if scene.pattern == "striped":
        pen.pattern(stripes(chance("coat"), -0.9, 0.7, 8), PALETTE[scene.accent])
    if "wings" in scene.parts:
        pen.part("wings")
        wing = shade(colour, 0.86) if swan else PALETTE[scene.accent]
        if spread:
            pen.shape([(-0.3, 0.0), (-0.7, -0.7 * lift), (-0.35, -0.85 * lift), (0.28, 0.0)], wing)
        else:
            pen.oval(-0.12, 0.02, 0.36, 0.16, wing, tilt=-0.25)
    pen.part("beak")
    if swan:
        pen.shape([(x + 0.07, y - 0.06), (x + 0.32, y + 0.05), (x + 0.07, y + 0.07)], beak)
        pen.oval(x + 0.09, y - 0.03, 0.05, 0.045, DARK)
    else:
        pen.part("body")
        pen.oval(x + 0.1, y + 0.0, 0.11, 0.1, (245, 240, 230))
        pen.part("beak")
        pen.shape(
            [(x + 0.13, y - 0.12), (x + 0.34, y + 0.02), (x + 0.22, y + 0.2), (x + 0.13, y + 0.08)],
            beak,
        )
        pen.oval(x + 0.06, y - 0.05, 0.045, 0.045, (10, 10, 10))


def draw_fish(pen: Pen, scene: Scene, chance: Streams, colour: Colour) -> None:
    """A fish, seen from the side."""
    height = chance("body").uniform(0.3, 0.45)
    trimmed = chance("fins").random() < 0.4
    fin = shade(PALETTE[scene.accent], 0.9) if trimmed else shade(colour, 0.75)
    if "tail" in scene.parts:
        pen.part("tail")
        sway = chance("tail").uniform(-0.08, 0.08)
        pen.shape(
            [(-0.5, 0.0), (-1.0, -0.38 + sway), (-0.86, 0.0 + sway), (-1.0, 0.38 + sway)], fin
        )
    pen.part("fins")
    if "fins" in scene.parts:
        pen.shape([(-0.3, -height * 0.8), (0.0, -height - 0.3), (0.35, -height * 0.75)], fin)
        pen.shape([(-0.1, height * 0.8), (-0.15, height + 0.24), (0.25, height * 0.8)], fin)
    pen.part("body")
    pen.oval(0.05, 0.0, 0.68, height, colour, coat=True)
    pen.shadow(height * 0.3, 0.2)
    rng = chance("coat")
    if scene.pattern == "striped":
        ink = PALETTE["white"] if scene.colour in ("orange", "red", "blue") else DARK
        pen.pattern(stripes(rng, -0.5, 0.5, rng.randint(4, 5)), ink)
    elif scene.pattern == "spotted":
        ink = DARK if scene.colour in ("yellow", "gray", "orange") else PALETTE["white"]
        pen.pattern(spots(rng, (-0.4, -0.3, 0.4, 0.3), 14, 0.075), ink)
    pen.part("fins")
    if "fins" in scene.parts:
        pen.shape([(0.1, 0.05), (-0.2, 0.22), (-0.12, 0.0)], shade(fin, 0.85))
    pen.part("body")
    pen.oval(0.45, -0.08, 0.09, 0.09, (250, 250, 250))
    pen.oval(0.47, -0.08, 0.05, 0.05, (10, 10, 10))
    pen.line([(0.7, 0.08), (0.55, 0.12)], 0.03, shade(colour, 0.5))
