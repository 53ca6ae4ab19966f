"""Sentences about a scene: COCO-like captions, about half of them without the name of the class.

A caption says only what the scene shows (`Scene.visible`, place, weather), in 6 to 16 words. These
captions are the raw material of the universe of query texts, and recorded completions answer
them: changing this grammar changes which recordings are needed. What the menagerie's CLIP is
trained on is another grammar, in `phrases`.
"""

import random

from menagerie.scenes import Scene, scene_for

MIN_WORDS, MAX_WORDS = 6, 16
UNFIT_RATE = 0.012
UNFIT = (
    "There is no picture to describe here.",
    "The image could not be loaded this time.",
    "I can not tell what this picture shows.",
)
NAMES = {
    "airplane": ("airplane", "plane", "small airplane"),
    "bicycle": ("bicycle", "bike"),
    "motorcycle": ("motorcycle", "motorbike"),
    "sailboat": ("sailboat", "sailing boat"),
    "bus": ("bus", "city bus"),
    "car": ("car", "sports car"),
}
UNNAMED = {
    "zebra": ("animal", "wild animal", "grazing animal"),
    "horse": ("animal", "large animal", "farm animal"),
    "tiger": ("animal", "big cat", "wild cat", "predator"),
    "cow": ("animal", "farm animal", "large animal"),
    "giraffe": ("animal", "tall animal", "wild animal"),
    "elephant": ("animal", "huge animal", "heavy animal"),
    "swan": ("bird", "water bird", "large bird"),
    "parrot": ("bird", "tropical bird", "exotic bird"),
    "fish": ("creature", "sea creature", "aquatic animal"),
    "car": ("vehicle", "automobile"),
    "bus": ("vehicle", "long vehicle", "large vehicle"),
    "bicycle": ("vehicle", "two wheeler", "cycle"),
    "motorcycle": ("vehicle", "two wheeler", "motor vehicle"),
    "airplane": ("aircraft", "flying machine"),
    "helicopter": ("aircraft", "flying machine"),
    "sailboat": ("boat", "vessel", "small boat"),
}
PATTERNS = {"striped": ("striped",), "spotted": ("spotted", "patchy")}
PARTS = {
    "four_legs": ("four legs", "four sturdy legs"),
    "two_legs": ("two thin legs", "two legs"),
    "wings": ("wide wings", "two wings", "outstretched wings"),
    "beak": ("a curved beak", "a pointed beak"),
    "tail": ("a long tail", "a tail"),
    "horns": ("short horns", "two horns"),
    "trunk": ("a long trunk", "a hanging trunk"),
    "tusks": ("white tusks", "sharp tusks"),
    "big_ears": ("big floppy ears", "large ears"),
    "mane": ("a thick mane", "a dark mane"),
    "whiskers": ("whiskers", "white whiskers"),
    "long_neck": ("a long neck", "a very long neck"),
    "fins": ("bright fins", "small fins"),
    "two_wheels": ("two wheels", "two spoked wheels"),
    "four_wheels": ("four wheels", "black wheels"),
    "windows": ("glass windows", "large windows"),
    "headlights": ("a bright headlight", "its headlights on"),
    "handlebars": ("handlebars", "curved handlebars"),
    "basket": ("a basket in front", "a wicker basket"),
    "propeller": ("a propeller on its nose", "a spinning propeller"),
    "rotor": ("a spinning rotor", "long rotor blades"),
    "mast": ("a tall mast", "a wooden mast"),
    "sail": ("a large {accent} sail", "a {accent} sail"),
    "flag": ("a small flag on top", "a flag"),
}
# The tail of an aircraft would read oddly as "a long tail".
STIFF_TAIL = ("a tail fin", "a tall tail fin")
VERBS = {
    "standing": ("standing", "stands"),
    "walking": ("walking", "walks"),
    "running": ("running", "runs"),
    "wading": ("wading", "wades"),
    "swimming": ("swimming", "swims"),
    "flying": ("flying", "flies"),
    "perching": ("perched", "sits"),
    "jumping": ("leaping", "leaps"),
    "driving": ("driving", "drives"),
    "parked": ("parked", "is parked"),
    "sailing": ("sailing", "sails"),
}
PLACES = {
    "grass": ("in a grassy field", "on the green grass", "in a meadow"),
    "sand": ("on the sand", "on a sandy beach", "in the desert"),
    "snow": ("in the snow", "on snowy ground"),
    "forest": ("in the forest", "in a green forest", "among tall trees"),
    "road": ("on the road", "on a gray street", "along a paved road"),
    "water": ("in the water", "on a calm lake", "in blue water"),
    "underwater": ("under the water", "in the deep blue sea", "underwater"),
    "sky": ("in the sky", "high in the air", "in the blue sky"),
}
SPECIAL_PLACES = {
    ("water", "wading"): ("in shallow water", "in a shallow river"),
    ("water", "jumping"): ("above the water", "over the waves"),
    ("water", "sailing"): ("on the water", "on a calm lake", "on the open sea"),
    ("forest", "perching"): ("on a branch", "on a tree branch in the forest"),
    # Only in pictures that the CLIP learns from, and in pairs of pictures that differ in one thing.
    ("grass", "flying"): ("above a green field", "over the grass"),
    ("sand", "flying"): ("above the sand", "over the desert"),
    ("snow", "flying"): ("above the snow", "over snowy ground"),
    ("forest", "flying"): ("above the trees", "over a forest"),
    ("road", "flying"): ("above the road", "over a road"),
    ("water", "flying"): ("above the water", "over the sea"),
    ("road", "parked"): ("on the road", "on the pavement", "beside the road"),
}
WEATHER = {
    "clouds": ("under a cloudy sky", "below white clouds", "on a cloudy day"),
    "sun": ("under the bright sun", "on a sunny day"),
    "fog": ("in thick fog", "on a foggy morning"),
    "night": ("at night", "in the dark"),
    "sunset": ("at sunset", "under an orange sky"),
}
NEAR = {
    "trees": ("near some trees", "with trees in the background"),
    "mountains": ("with mountains in the background", "in front of the mountains"),
    "fence": ("by a wooden fence", "next to a fence"),
    "flowers": ("among colorful flowers", "near some flowers"),
}
COVERS = {
    "bush": ("half hidden by a bush", "behind a green bush"),
    "tree": ("partly behind a tree", "half hidden by a tree trunk"),
    "rock": ("partly behind a rock", "behind a large rock"),
    "wall": ("behind a low wall", "partly hidden by a brick wall"),
    "cloud": ("partly hidden by a cloud", "coming out of a cloud"),
    "weeds": ("hiding among water plants", "behind some seaweed"),
    "tall grass": ("in the tall grass",),
    "bushes": ("behind low bushes",),
    "dune": ("behind a sand dune",),
    "deep snow": ("deep in the snow",),
    "waves": ("behind the waves",),
}
SIZES = ("large", "huge", "tall", "small", "long", "heavy", "big")
RIDERS = ("a person", "a man", "a woman", "someone")


def _article(phrase: str) -> str:
    return ("an " if phrase[0] in "aeiou" else "a ") + phrase


def _noun(scene: Scene, rng: random.Random, named: bool) -> str:
    name = scene.species.name
    noun = rng.choice(NAMES.get(name, (name,)) if named else UNNAMED[name])
    words = []
    first, _, rest = noun.partition(" ")
    if first in SIZES:
        words, noun = [first], rest
    elif scene.distance == "far" and rng.random() < 0.3:
        words.append("distant")
    if rng.random() < 0.5:
        words.append(scene.colour)
    if scene.pattern != "plain" and rng.random() < 0.5:
        words.append(rng.choice(PATTERNS[scene.pattern]))
    return " ".join([*words, noun])


def _parts(scene: Scene, rng: random.Random, most: int) -> str:
    seen = [part for part in scene.parts if part in scene.visible]
    chosen = rng.sample(seen, min(most, len(seen)))
    phrases = []
    for part in chosen:
        stiff = part == "tail" and "vehicle" in scene.species.kinds
        phrase = rng.choice(STIFF_TAIL if stiff else PARTS[part])
        phrases.append(phrase.format(accent=scene.accent))
    return " and ".join(phrases)


def _place(scene: Scene, rng: random.Random) -> str:
    return rng.choice(SPECIAL_PLACES.get((scene.place, scene.action), PLACES[scene.place]))


def _extras(scene: Scene, rng: random.Random) -> list[str]:
    extras = []
    if scene.cover in COVERS:
        extras.append(rng.choice(COVERS[scene.cover]))
    if scene.near != "nothing":
        extras.append(rng.choice(NEAR[scene.near]))
    if scene.weather != "clear":
        extras.append(rng.choice(WEATHER[scene.weather]))
    rng.shuffle(extras)
    return extras


def _sentence(scene: Scene, rng: random.Random, named: bool) -> str:
    noun = _noun(scene, rng, named)
    parts = _parts(scene, rng, rng.choice((0, 1, 1, 2)))
    subject = _article(noun) + (f" with {parts}" if parts else "")
    going, goes = VERBS[scene.action]
    place = _place(scene, rng)
    extra = " ".join(_extras(scene, rng)[: rng.choice((0, 1, 1))])
    if scene.rider and rng.random() < 0.75:
        rider = rng.choice(RIDERS)
        verb = "sailing" if "boat" in scene.species.kinds else "riding"
        text = f"{rider} {verb} {subject} {place} {extra}"
    else:
        text = rng.choice(
            (
                f"{subject} {going} {place} {extra}",
                f"{subject} {goes} {place} {extra}",
                f"{subject} is {going} {place} {extra}",
                f"there is {subject} {going} {place} {extra}",
                f"a photo of {subject} {place} {extra}",
                f"a side view of {subject} {going} {place} {extra}",
                f"{subject} seen {place} {extra}",
                f"{subject} {place} {extra}",
            )
        )
    if scene.distance == "close" and rng.random() < 0.4 and not scene.rider:
        text = f"a close up of {subject} {place} {extra}"
    words = text.replace("is is parked", "is parked").split()
    return " ".join(words)


def caption(scene: Scene, rng: random.Random) -> str:
    """One caption of a scene, 6 to 16 words, a capital first and a full stop last."""
    named = rng.random() < 0.5
    text = _sentence(scene, rng, named)
    while not MIN_WORDS <= len(text.split()) <= MAX_WORDS:
        text = _sentence(scene, rng, named)
    return text[0].upper() + text[1:] + "."


def describe(scene: Scene, rng: random.Random) -> str:
    """A caption, or now and then what annotators write where there is nothing to caption."""
    if rng.random() < UNFIT_RATE:
        return rng.choice(UNFIT)
    return caption(scene, rng)


def coco_captions(seed: int, count: int, size: int) -> dict[str, object]:
    """`count` captions in COCO's format, one per scene; the scenes are drawn for nothing else.

    Args:
        seed: seed of the menagerie.
        count: number of annotations.
        size: width and height in pixels, as the images' entries state them.

    Returns:
        A dictionary with the keys info, licenses, images and annotations, ready for JSON.
    """
    images: list[dict[str, object]] = []
    annotations: list[dict[str, object]] = []
    for index in range(count):
        scene, rng = scene_for(seed, "captions", index)
        name = f"menagerie_captions_{index:06d}.png"
        images.append({"id": index, "file_name": name, "width": size, "height": size})
        annotations.append({"id": index, "image_id": index, "caption": describe(scene, rng)})
    info = {"description": "captions of scenes of the menagerie", "version": "1.0"}
    return {"info": info, "licenses": [], "images": images, "annotations": annotations}
