"""The texts the menagerie's CLIP learns from: phrases, names, and short descriptions.

Web captions teach a CLIP far more than what is in view: that a horse has hooves, that a bus carries
passengers. So a text is a phrase in one of many wordings, of an attribute that holds in the scene,
of where it is, or of what is known of the species; or it joins two or three of them. Whole
sentences come from the grammar of captions.
"""

import random
from collections.abc import Sequence

from menagerie import wordings
from menagerie.captions import NAMES, PLACES, UNNAMED, VERBS
from menagerie.facts import Text
from menagerie.species import CLASS_NAMES

Need = frozenset[str]


def _phrase_table() -> dict[str, Need]:
    found: dict[str, set[str]] = {}

    def say(phrases: Sequence[str], *facts: str) -> None:
        for phrase in phrases:
            found.setdefault(phrase, set()).update(facts)

    for part, phrases in wordings.PARTS.items():
        said = [phrase for phrase in phrases if "{accent}" not in phrase]
        say(said, part)
    for table, prefix in (
        (wordings.PATTERNS, ""),
        (wordings.WEATHER, ""),
        (wordings.NEAR, ""),
        (wordings.KINDS, ""),
        (wordings.ABSENT, "no_"),
        (wordings.PLACES, "place_"),
        (wordings.ACTIONS, "action_"),
        (wordings.COVERS, "cover_"),
        (wordings.KNOWN, "species_"),
    ):
        for name, phrases in table.items():
            say(phrases, f"{prefix}{name}")
    for distance, phrases in wordings.DISTANCES.items():
        say(phrases, f"{distance}_distance")
    for colour, words in wordings.COLOURS.items():
        for form in wordings.COLOUR_WORDS:
            say([form.format(word) for word in words], colour)
    say(wordings.RIDER, "rider")
    say(wordings.HIDDEN, "partly_hidden")
    say(wordings.UNHIDDEN, "cover_nothing")
    return {phrase: frozenset(facts) for phrase, facts in found.items()}


def _noun_table() -> dict[str, Need]:
    found: dict[str, set[str]] = {}
    for name in CLASS_NAMES:
        for noun in (name, *NAMES.get(name, ()), *UNNAMED[name]):
            found.setdefault(noun, set()).add(f"species_{name}")
    return {noun: frozenset(facts) for noun, facts in found.items()}


# Every short phrase with the facts of which any one makes it true.
PHRASES: dict[str, Need] = _phrase_table()
NOUNS: dict[str, Need] = _noun_table()
CLASS_FORMS = ("{}", "a {}", "a photo of a {}.", "a picture of a {}", "the {}")


def _by_fact() -> dict[str, tuple[str, ...]]:
    found: dict[str, list[str]] = {}
    for phrase, facts in PHRASES.items():
        for fact in sorted(facts):
            found.setdefault(fact, []).append(phrase)
    return {fact: tuple(phrases) for fact, phrases in sorted(found.items())}


PHRASES_OF: dict[str, tuple[str, ...]] = _by_fact()
FACTS: tuple[str, ...] = tuple(
    sorted({fact for table in (PHRASES, NOUNS) for need in table.values() for fact in need})
)


def any_phrase(rng: random.Random) -> Text:
    """A phrase of a fact that any picture may have or not; each fact is equally likely."""
    phrase = rng.choice(PHRASES_OF[rng.choice(list(PHRASES_OF))])
    return Text(phrase, (PHRASES[phrase],))


def class_text(name: str, rng: random.Random) -> Text:
    """The name of a class, alone or in one of the usual prompts."""
    noun = rng.choice((name, name, *NAMES.get(name, (name,))))
    return Text(rng.choice(CLASS_FORMS).format(noun), (NOUNS[noun],))


def _true_phrase(facts: frozenset[str], rng: random.Random) -> Text:
    phrase = rng.choice(PHRASES_OF[rng.choice(sorted(facts & PHRASES_OF.keys()))])
    return Text(phrase, (PHRASES[phrase],))


def _one(prefix: str, facts: frozenset[str]) -> str:
    return next(fact.removeprefix(prefix) for fact in sorted(facts) if fact.startswith(prefix))


def _noun(facts: frozenset[str], rng: random.Random) -> Text:
    name = _one("species_", facts)
    noun = rng.choice((name, *NAMES.get(name, ()), *UNNAMED[name]))
    return Text(noun, (NOUNS[noun],))


def description(facts: frozenset[str], rng: random.Random) -> Text:
    """A true text of two or three things: "red car", "animal in the snow", "bird with a tail"."""
    noun = _noun(facts, rng)
    style = rng.random()
    if style < 0.2:
        colour = next(fact for fact in sorted(facts) if fact in wordings.COLOURS)
        word = rng.choice(wordings.COLOURS[colour])
        return Text(f"{word} {noun.words}", (frozenset({colour}), *noun.needs))
    if style < 0.3 and facts & {"striped", "spotted"}:
        pattern = "striped" if "striped" in facts else "spotted"
        return Text(f"{pattern} {noun.words}", (frozenset({pattern}), *noun.needs))
    if style < 0.45:
        place = _one("place_", facts)
        where = rng.choice(PLACES[place])
        return Text(f"{noun.words} {where}", (frozenset({f"place_{place}"}), *noun.needs))
    if style < 0.55:
        action = _one("action_", facts)
        going = VERBS[action][0]
        form = rng.choice(("{noun} {going}", "{going} {noun}"))
        text = form.format(noun=noun.words, going=going)
        return Text(text, (frozenset({f"action_{action}"}), *noun.needs))
    parts = sorted(facts & wordings.PARTS.keys())
    if style < 0.75 and parts:
        part = rng.choice(parts)
        phrase = rng.choice(wordings.PARTS[part])
        if "{accent}" in phrase:
            phrase = part
        return Text(f"{noun.words} with {phrase}", (frozenset({part}), *noun.needs))
    said = [_true_phrase(facts, rng) for _ in range(rng.choice((2, 2, 3)))]
    if rng.random() < 0.4:
        said[rng.randrange(len(said))] = noun
    return Text(", ".join(text.words for text in said), tuple(n for t in said for n in t.needs))
