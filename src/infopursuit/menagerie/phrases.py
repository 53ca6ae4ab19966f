"""The texts the menagerie's CLIP learns from: sentences, and short phrases of what holds.

Web captions teach a CLIP far more than what is in view: that a horse has hooves, that a bus
carries passengers. So a training text is a caption, or a few phrases in many wordings: attributes
that hold in the scene, where it is, and what is known of the species. Every phrase is true.
"""

import random

from infopursuit.menagerie.captions import NAMES, UNNAMED, caption
from infopursuit.menagerie.scenes import Scene
from infopursuit.menagerie.wordings import (
    ACTIONS,
    COLOUR_WORDS,
    COLOURS,
    COVERS,
    DISTANCES,
    KINDS,
    KNOWN,
    NEAR,
    PARTS,
    PATTERNS,
    PLACES,
    RIDER,
    WEATHER,
)


def phrases(scene: Scene, rng: random.Random) -> tuple[list[str], list[str]]:
    """True short phrases of a scene in random order: of the body, and of all around it."""
    noun = rng.choice((*scene.species.kinds, *UNNAMED[scene.species.name]))
    known = KNOWN[scene.species.name]
    body = [
        rng.choice(COLOUR_WORDS).format(rng.choice(COLOURS[scene.colour]), noun=noun),
        rng.choice(PATTERNS[scene.pattern]),
        *rng.sample(known, 3),
        rng.choice(KINDS[rng.choice(scene.species.kinds)]),
    ]
    body += [
        rng.choice(PARTS[part]).format(accent=scene.accent)
        for part in scene.parts
        if part in scene.visible
    ]
    if scene.rider:
        body.append(rng.choice(RIDER))
    around = [
        rng.choice(PLACES[scene.place]),
        rng.choice(ACTIONS[scene.action]),
        rng.choice(WEATHER[scene.weather]),
        rng.choice(DISTANCES[scene.distance]),
    ]
    if scene.near != "nothing":
        around.append(rng.choice(NEAR[scene.near]))
    if scene.cover != "nothing":
        around.append(rng.choice(COVERS[scene.cover.replace(" ", "_")]))
    rng.shuffle(body)
    rng.shuffle(around)
    return body, around


def training_text(scene: Scene, rng: random.Random) -> str:
    """One text to pair with the scene's picture: a sentence, a class name, or a few phrases.

    Lists say more of the body than of what is around it, since backgrounds are learnt anyway.
    """
    style = rng.random()
    if style < 0.25:
        return caption(scene, rng)
    body, around = phrases(scene, rng)
    if style < 0.45:
        return rng.choice((body, body, around))[0]
    name = scene.species.name
    noun = rng.choice((name, *NAMES.get(name, (name,))))
    if style < 0.6:
        return rng.choice((noun, f"a {noun}", f"a photo of a {noun}"))
    said = body[: rng.choice((1, 2, 3))] + around[: rng.choice((0, 0, 1, 2))]
    if style < 0.85:
        said.append(noun)
    rng.shuffle(said)
    return ", ".join(said)
