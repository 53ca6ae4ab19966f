"""Answers as a language model gives them to captions, made by a seeded grammar.

Concepts follow a Zipf-Mandelbrot law: from some 50,000 for 25,014 captions to the 300,000 that the
paper reports for all captions of COCO. Answers come in every style of list, and with every kind of
line that `parsing.Rejection` knows. The answer to caption n depends only on the seed and on n.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator

from infopursuit.queries.corpora import Caption
from infopursuit.queries.language_models import Answer

CONCEPTS = 20  # lines of the list in an answer, as many as the prompt allows
HEAD = 1000.0  # number of the frequent concepts; more of them make more distinct ones
TAIL = 0.8  # exponent of the share of concepts rarer than a given one

QUALITIES = """, red, blue, green, yellow, white, black, brown, grey, orange, pink, purple,
silver, golden, beige, turquoise, bright, dark, pale, shiny, dull, round, square, curved, pointed,
flat, long, short, tall, thin, thick, striped, spotted, dotted, checkered, smooth, rough, fluffy,
wet, dusty, broken, folded, stacked, parked, closed, open, empty, crowded, colourful, old"""
MATERIALS = """, wooden, metal, plastic, glass, stone, brick, leather, woollen, cotton, paper,
concrete, ceramic, rubber, straw, denim, marble, steel, bamboo, canvas, wicker"""
THINGS = """wheel, window, tail, ear, wing, beak, handle, door, roof, chair, table, lamp, plate,
cup, bowl, spoon, knife, fork, bottle, basket, box, bag, book, screen, keyboard, cable, clock,
mirror, curtain, carpet, pillow, blanket, bed, shelf, drawer, sink, tap, oven, counter, fridge,
tile, wall, fence, gate, bridge, tower, sign, pole, light, road, track, rail, train, bus, truck,
car, bicycle, motorcycle, helmet, jacket, shirt, dress, hat, shoe, glove, scarf, tie, umbrella,
kite, ball, bat, racket, skateboard, surfboard, ski, boat, sail, anchor, wave, beach, sand, rock,
hill, field, tree, branch, leaf, flower, grass, bush, cloud, sky, shadow, puddle, snow, ice,
horse, cow, sheep, dog, cat, bird, elephant, giraffe, zebra, bear, mane, horn, paw, whisker,
saddle, harness, cart, wagon, bench, statue, fountain, pizza, sandwich, cake, slice, apple,
banana, carrot, salad, soup, candle, ribbon, balloon, toy, doll, guitar, drum, camera, phone,
laptop, monitor, desk, toilet, bathtub, towel, brush, ladder, bucket, hose, tent, backpack,
suitcase, crosswalk, airplane, propeller, runway, café, 2-seater, t-shirt, merry-go-round,
cow's-horn"""
PLACES = """, on grass, on sand, on snow, on ice, on water, on asphalt, on gravel, on wood, at
night, at sunset, at noon, at sea, in rain, in fog, in sunlight, in shade, in motion, in pairs, in
rows, in focus, in flight, in autumn, in spring, by windows, by water, by walls, by trees, near
people, near traffic, near cattle, under trees, under lamps, over water, over hills, behind glass,
behind bars, with stripes, with dots, with letters, with numbers, with handles, with wheels, with
people, with leaves, with flowers, with frost, without leaves, without wheels, from above"""


def _words(text: str) -> list[str]:
    return [" ".join(word.split()) for word in text.split(",")]


_THINGS, _PLACES = _words(THINGS), _words(PLACES)
_QUALITIES, _MATERIALS = _words(QUALITIES), _words(MATERIALS)
KINDS = len(_THINGS) * len(_PLACES) * len(_QUALITIES) * len(_MATERIALS)

NUMBERS = ["{n}. ", "{n}) ", "({n}) ", "{n}: ", "[{n}] ", "- {n}. ", "\t{n}.\t"]
MARKS = [*NUMBERS, "- ", "* ", "• ", "– "]
LINE_ENDS = ["\n"] * 8 + ["\r\n", "\n\n"]


def concept(rank: int) -> str:
    """The concept of a rank, at most five words, in lower case; a different one for each."""
    rank %= KINDS
    rank, thing = divmod(rank, len(_THINGS))
    rank, quality = divmod(rank, len(_QUALITIES))
    material, place = divmod(rank, len(_PLACES))
    parts = (_QUALITIES[quality], _MATERIALS[material], _THINGS[thing], _PLACES[place])
    return " ".join(part for part in parts if part)


def drawn(rng: random.Random, head: float = HEAD) -> str:
    """A concept, by the law of the grammar."""
    return concept(int(head * ((1 - rng.random()) ** (-1 / TAIL) - 1)))


# Other ways to write a concept, all with one normalised spelling.
SPELLINGS: list[Callable[[str], str]] = [
    str.title, str.capitalize, str.upper, "**{}**".format, '"{}"'.format, "“{}”".format,
    "`{}`".format, "{}.".format, "{} ".format, "{}\t".format, lambda text: text.replace(" ", "  "),
    lambda text: text.replace(" ", "\u00a0"),
    lambda text: text.replace("fl", "ﬂ").replace("fi", "ﬁ"),
    lambda text: text.replace("é", "e\u0301"),
    lambda text: "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in text),
]  # fmt: skip
# What a line of the list may hold instead of a concept, given two concepts.
FAULTS: list[Callable[[str, str], str]] = [
    "{0} or {1}".format, "{0} ({1})".format, "{0}, {1}".format, "{0}/{1}".format,
    "{0} - {1}".format, "{0} 3. {1}".format, "**{0}:** {1}".format, "{0}:".format,
    "{0} beside {1} and six more words".format, lambda first, _: " ".join([first] * 150),
    lambda *_: "", lambda *_: "...", "{0}\u200b".format, "{0}\ufeff".format, "{0}\ufffd".format,
    "{0}\x07".format, "{0}\x0c{1}".format, "{0} 🚌".format, "  a) (i) {0}".format,
]  # fmt: skip
BEFORE = ["Sure! Here are the concepts:", "Here is the list.", "Visual concepts:", "# Concepts"]
AFTER = ["Let me know if you need more!", "I hope this helps.", "Note: all can be seen.", "---"]
REFUSALS = [
    "I'm sorry, but I can't help with that.",
    "As an AI, I cannot list concepts for this.\nPlease send another caption.",
    "Unfortunately this is not possible",
]


def captions(count: int) -> list[Caption]:
    """Distinct captions."""
    return [Caption(_sentence(number), (number,)) for number in range(count)]


def _sentence(number: int) -> str:
    rng = random.Random(f"caption {number}")
    return f"A {drawn(rng)} and a {drawn(rng)}, photograph {number}."


def answers(count: int, seed: int = 0, head: float = HEAD) -> Iterator[Answer]:
    """Answers to `count` captions."""
    return (answer(number, seed, head) for number in range(count))


def answer(number: int, seed: int = 0, head: float = HEAD) -> Answer:
    """The answer to one caption."""
    rng = random.Random(f"{seed} {number}")
    kind = rng.random()
    if kind < 0.01:
        return Answer(rng.choice(["UNFIT", "UNFIT.", "Answer: UNFIT", "1. UNFIT", "unfit"]), "stop")
    if kind < 0.02:
        return Answer(rng.choice(REFUSALS), "stop")
    if kind < 0.025:
        return Answer(rng.choice(["", " \n\n", "\u00a0"]), "stop")
    if kind < 0.03:
        return Answer(f"<think>\nThere is {drawn(rng, head)}\nand {drawn(rng, head)}", "length")
    if kind < 0.035:
        return Answer(", ".join(drawn(rng, head) for _ in range(CONCEPTS)), "stop")
    text, reason = _list(rng, head), "stop"
    if kind < 0.06:
        thoughts = f"There is {drawn(rng, head)}.\n1. {drawn(rng, head)}\n"
        text = f"{'<think>' * (kind < 0.05)}\n{thoughts}</think>{' ' * (kind < 0.045)}\n{text}"
    elif kind < 0.07:
        text += f"\n\nUNFIT - {drawn(rng, head)}"
    elif kind < 0.10:
        text += f"\n\nCaption: {drawn(rng, head)}\n1. {drawn(rng, head)}\n2. {drawn(rng, head)}"
    elif kind < 0.15:
        text, reason = text[: rng.randrange(len(text) // 2, len(text))], "length"
    return Answer(text, reason)


def _list(rng: random.Random, head: float) -> str:
    plain = rng.random() < 0.05
    mark = "" if plain else rng.choice(MARKS)
    length = CONCEPTS + (rng.randrange(1, 6) if rng.random() < 0.05 else 0)
    lines: list[str] = []
    for n in range(1, length + 1):
        text = drawn(rng, head)
        odd = rng.random()
        if odd < 0.06:
            text = rng.choice(FAULTS)(text, drawn(rng, head))
        elif odd < 0.08 and lines:
            text = rng.choice(lines).lstrip("0123456789()[]:.-*•– \t")
        elif odd < 0.3:
            text = rng.choice(SPELLINGS)(text)
        lines.append(mark.format(n=n) + text)
    if rng.random() < 0.2:
        lines.insert(0, rng.choice(BEFORE))
    if rng.random() < 0.1:
        lines.append(rng.choice(AFTER))
    return rng.choice(LINE_ENDS).join(lines)
