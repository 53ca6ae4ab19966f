"""A text as the question that a person reads: "four legs" becomes "Does it have four legs?".

The kind of a text (see `visual_vocabulary`) chooses the verb; its grammatical form, read off its
words, chooses the article. The head of a noun phrase is the word before its first preposition or
verb, or else its last: a "bowl of nuts" is one bowl. The lists hold what English spelling does not
tell: they are complete for the vocabulary, and texts from elsewhere are mostly, not always, right.
"""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from infopursuit.core.errors import InputError


class Form(Enum):
    """The part that a text can take in a sentence."""

    SINGULAR = "singular"  # long tail
    PLURAL = "plural"  # four legs
    MASS = "mass"  # brown fur
    STATE = "state"  # striped, made of wood, seen from above, running


# How a question about a noun phrase begins, by kind.
_NOUN_BEGINNINGS = {
    **dict.fromkeys(("thing", "picture"), "Is it"),
    **dict.fromkeys(
        (
            "part",
            "color",
            "texture",
            "pattern",
            "shape",
            "number",
            "animal trait",
            "plant trait",
            "food trait",
        ),
        "Does it have",
    ),
    **dict.fromkeys(
        ("material", "scene", "light", "action", "state", "clothing", "person trait"),
        "Does it show",
    ),
}
_STATE_BEGINNINGS = {
    "texture": "Does it look",
    "clothing": "Does it show someone",
    "person trait": "Does it show someone",
}


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


_PREPOSITIONS = _words(
    """
    above across against along among around as at away behind below beside between beyond by
    down for from in into like near of off on onto out over past per than through to toward
    under up with within
    """
)
_ADVERBS = _words(
    """
    apart asleep back backward close downward far fast flat forward left open right still
    together upright upside upward wide
    """
)
_AFTER_HEAD = _PREPOSITIONS | _words("inside nearby only outside overhead underneath visible")
_PLACES = _words("indoors outdoors sideways underground underwater")
_PLURAL_NUMBERS = _words(
    """
    two three four five six seven eight nine ten twelve many several few some all both
    """
)
_DETERMINERS = _PLURAL_NUMBERS | _words(
    "one each every a an the its his her their my your this that"
)

# Adjectives that may end a text, colors among them; those in -ed are known by their spelling.
_ADJECTIVES = _words(
    """
    alone angular antique asymmetrical bare beige big black blue boxy bright bristly brown
    bubbly bulbous bulky bumpy burgundy bushy busy buttery cheesy chewy circular clean clear
    cloudy colorful conical creamy crimson crispy crumbly crunchy crusty crystalline cubic
    cylindrical damp dark deep dense dim dirty doughy dry dull dusty empty feathery fibrous
    flaky fleshy flowery fluffy foamy foggy fresh frothy full furry futuristic fuzzy gauzy
    geometric giant glossy golden grainy gray greasy green grey gritty hairy hard hazy
    hexagonal high hollow horizontal huge icy iridescent juicy lacy large larger lavender leafy
    leathery long longer lopsided low lumpy magenta maroon matte messy metallic miniature misty
    modern moist moldy monochrome mossy muddy narrow neat new newborn octagonal oily old open
    orange overcast overgrown pale papery patchy pebbly pink plump porous powdery prickly
    purple rainy raw ready rectangular red reflective ripe rough round rubbery runny rustic
    rusty sandy scaly scarlet see-through shaggy sharp shiny short shorter silky sleek slender
    slimy small smaller smooth snowy soft soupy sparse spherical spiky spiny spongy sticky
    stormy straight sugary sunny symmetrical tall taller tan teal thick thin thorny tidy tiny
    translucent transparent triangular tubular turquoise uneven unripe upright upside-down
    velvety vertical violet warty wavy waxy wet white wide wider windy woolly yellow young
    """
)
# Adjectives where they stand alone or after "and", and nouns elsewhere: "small square".
_ADJECTIVES_ALONE = _words("flat oval paisley plaid plain spiral square zigzag")
_PARTICIPLES = _words(
    """
    backlit bent bitten blown broken built candlelit cut drawn eaten floodlit frozen grown
    handwritten held hidden hung lit made moonlit rotten seen set shown shut spread sunken
    sunlit swollen torn worn woven written
    """
)
_NOUNS_IN_ED = _words(
    """
    bed flowerbed moped reed riverbed seabed seaweed seed shed sled speed tweed weed
    """
)
_NOUNS_IN_ING = _words(
    """
    advertising awning bedding binding building carving ceiling cladding clothing coating
    coloring colouring covering crossing drawing dressing duckling dumpling earring engraving
    etching evening fencing filling fledgling flooring frosting handwriting hatchling icing
    king landing lettering lighting lightning marking morning nestling netting opening
    packaging painting paneling parking pudding railing rendering rigging ring seedling shading
    sling spring stitching stuffing styling swing thing topping warning wing writing
    """
)
_MASS = _words(
    """
    acrylic advertising aluminum amber armor art ash asphalt bacon bamboo bark bedding bodywork
    brass bread breakfast brick broccoli bronze broth burlap butter cabbage camouflage
    candlelight candy canvas caramel cardboard cauliflower ceramic cereal chalk charcoal cheese
    chiffon chocolate chrome cladding clay cloth clothing coal cobblestone coloring colouring
    concrete condensation confetti contrast copper corduroy cork corn cotton countryside
    cowhide cream crockery dawn daylight denim dirt dough dressing driftwood drywall dusk dust
    earth enamel fabric farmland felt fiber fiberglass film firelight firewood flagstone
    flannel fleece flesh flour foam fog foil foliage food frost frosting froth fruit fur
    furniture garbage garlic gelatin glare glass glitter glue gold graffiti grain granite grass
    grassland gravel ground hair ham hay honey ice icing ink iron ivory ivy jade jewelry juice
    ketchup lace lacquer land latex laundry lava leather lettering lettuce lichen light
    lightning limestone linen lipstick liquid litter mail makeup marble mayonnaise meat mesh
    metal milk mist mold moonlight moss mud mustard netting newsprint night noise nylon oil
    origami packaging paint paneling paper parchment parsley pasta patchwork pearl plaster
    plastic plumage plywood pollen popcorn porcelain pottery poultry powder rain rattan rice
    rigging rope rubber rust salt sand sandstone satin sauce sawdust scrub seafood seaweed
    shade shading silicone silk silver skin slate smoke snow soap soil soup space spaghetti
    spinach spray starlight steam steel stone straw stucco styling suede sugar sunlight sushi
    syrup tape text thatch thread tile tin toast toothpaste traffic tweed twilight twine
    upholstery vegetation velvet vinyl vision wallpaper water wax weather wicker wood wool wrap
    yarn yogurt
    """
)
# Things that are called by what they are made of.
_COUNTED = frozenset(
    {
        "clothes iron",
        "drinking glass",
        "drinking straw",
        "lamp shade",
        "magnifying glass",
        "screw thread",
        "street light",
        "traffic light",
        "warning light",
        "wine glass",
    }
)
_PLURALS = _words(
    """
    algae antennae bacteria cattle children dice feet geese men mice people police teeth women
    """
)
_SINGULARS_IN_S = _words("canvas gas lens rhinoceros")


def question(phrase: str, kind: str | None = None) -> str:
    """A text as a yes/no question about a picture or what is in it.

    Outer blanks and a full stop at the end are dropped, and a capital letter at the start is made
    small where the rest of the word is. A text that is a question already stays as it is.

    Args:
        phrase: the text.
        kind: a kind of `visual_vocabulary`, or None where the kind is not known.

    Raises:
        InputError: the text is blank, or there is no such kind.
    """
    if kind is not None and kind not in _NOUN_BEGINNINGS:
        raise InputError(
            f"unknown kind {kind!r} of the text {phrase!r}; expected one of "
            f"{', '.join(_NOUN_BEGINNINGS)}"
        )
    text = " ".join(phrase.split())
    if not text.strip(" .?"):
        raise InputError(f"cannot ask about the text {phrase!r}; expected at least one word")
    if text.endswith("?"):
        return text
    text = text.rstrip(" .")
    first, _, rest = text.partition(" ")
    if first.istitle():
        text = f"{first.lower()} {rest}".rstrip()
    form = grammatical_form(text, kind)
    if form is Form.STATE:
        return f"{_STATE_BEGINNINGS.get(kind or '', 'Is it')} {text}?"
    beginning = _NOUN_BEGINNINGS.get(kind or "", "Does it show")
    if kind in ("thing", "picture") and form is Form.PLURAL:
        beginning = "Does it show"
    if kind == "material" and form is Form.MASS:
        beginning = "Is it made of"
    return f"{beginning} {_article(text, form)}{text}?"


def grammatical_form(phrase: str, kind: str | None = None) -> Form:
    """The grammatical form of a text, guessed from its words; things are always nouns.

    Args:
        phrase: one word or more.
        kind: as for `question`.
    """
    words = phrase.lower().split()
    if kind != "thing" and _begins_as_state(words, kind):
        return Form.STATE
    end = _end_of_head(words)
    head = words[end - 1]
    if kind != "thing" and _is_state(head, after=words[end - 2] if end > 1 else "and"):
        return Form.STATE
    if words[0] in _PLURAL_NUMBERS or is_plural(head):
        return Form.PLURAL
    if "and" in words[1:end] and is_plural(words[words.index("and") - 1]):
        return Form.PLURAL  # pedals and chain
    if head in _MASS and words[0] != "one":
        measures = words[end : end + 1] == ["of"]  # a glass of water
        counted = " ".join(words[max(end - 2, 0) : end]) in _COUNTED
        return Form.SINGULAR if measures or counted else Form.MASS
    return Form.SINGULAR


def _begins_as_state(words: Sequence[str], kind: str | None) -> bool:
    """Whether a text begins with a preposition, or with a verb that no noun follows."""
    first, follower = words[0], words[1] if len(words) > 1 else ""
    if first in _PREPOSITIONS or words[-1] in _PLACES:
        return True
    if first.endswith("ing") and (kind == "action" or follower in _DETERMINERS):
        return True
    if _is_participle(first) and follower in (_PREPOSITIONS | _ADVERBS) - {"back"}:
        # "covered in snow", but "an arched back" and "fixed wide wings"
        return not (follower in _ADJECTIVES and len(words) > 2)
    if not _is_ing_verb(first):
        return False
    return not follower or first == "wearing" or follower in _PREPOSITIONS | _ADVERBS


def _end_of_head(words: Sequence[str]) -> int:
    """How many words there are up to the head, the head included."""
    for place in range(1, len(words)):
        word, before = words[place], words[place - 1]
        follower = words[place + 1] if place + 1 < len(words) else None
        if word in _AFTER_HEAD:
            return place
        describes = before in _ADJECTIVES | _DETERMINERS | {"and", "half"}
        if describes or before.endswith("ly") or _is_participle(before):
            continue  # "long hanging ears", "freshly painted", "potted flowering plant"
        if _is_ing_verb(word):
            return place
        if _is_participle(word) and (follower is None or follower in _PREPOSITIONS | _ADVERBS):
            return place
    return len(words)


def is_plural(noun: str) -> bool:
    """Whether a noun is in the plural, guessed from its ending and from lists of exceptions."""
    ends_as_plural = noun.endswith("s") and not noun.endswith(("ss", "us", "is"))
    return noun in _PLURALS or (ends_as_plural and noun not in _SINGULARS_IN_S)


def _is_state(word: str, after: str) -> bool:
    """Whether a head is an adjective or a verb; `after` is the word before it ("and" for none)."""
    if word in _ADJECTIVES_ALONE:
        return after == "and"
    last = word.rsplit("-", 1)[-1]  # knee-high
    return word in _ADJECTIVES or last in _ADJECTIVES | {"like"} or _is_verb(last)


def _is_verb(word: str) -> bool:
    return _is_participle(word) or _is_ing_verb(word)


def _is_participle(word: str) -> bool:
    return word in _PARTICIPLES or (word.endswith("ed") and word not in _NOUNS_IN_ED)


def _is_ing_verb(word: str) -> bool:
    return word.endswith("ing") and not word.endswith("string") and word not in _NOUNS_IN_ING


def _article(text: str, form: Form) -> str:
    """The article of a noun phrase with a blank behind it, or nothing."""
    first, _, rest = text.partition(" ")
    if form is not Form.SINGULAR or first.lower() in _DETERMINERS or first[0].isdigit():
        return ""
    if first == "half" and rest.startswith(("a ", "an ", "of ")):
        return ""
    return "an " if _begins_with_vowel(first) else "a "


def _begins_with_vowel(word: str) -> bool:
    """Whether a word is spoken with a vowel first: an hour, an x-ray, but a uniform."""
    if len(word) == 1 or word[1] == "-" or word.isupper():  # by letters: an s-shaped curve
        return word[0].lower() in "aefhilmnorsx"
    word = word.lower()
    if word.startswith(("hour", "honest", "heir", "unid", "unim", "unin")):
        return True
    if word.startswith(("uni", "use", "eu", "one", "ukulele", "uti")):
        return False
    return word[0] in "aeiou"
