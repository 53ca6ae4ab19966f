"""Compositions of a class with a coat or a place that are kept for the test pictures.

Neither the menagerie's CLIP nor a classifier is trained on any of them, though their parts are
everywhere: white coats, tigers and snow, but no white tiger. So an explanation of such a picture is
an explanation of something new. A composition is fixed by this list alone, not by a seed.
"""

# A class with a colour or a pattern of its coat.
NEW_COATS = frozenset(
    {
        ("tiger", "white"),
        ("horse", "spotted"),
        ("elephant", "brown"),
        ("swan", "black"),
        ("bus", "green"),
        ("helicopter", "black"),
    }
)
# A class with a place.
NEW_SCENES = frozenset(
    {
        ("zebra", "snow"),
        ("cow", "water"),
        ("giraffe", "road"),
        ("car", "sand"),
        ("bicycle", "forest"),
        ("sailboat", "sand"),
    }
)


def is_new_composition(species: str, colour: str, pattern: str, place: str) -> bool:
    """Whether training pictures never show this class with this coat, or at this place."""
    return (
        (species, colour) in NEW_COATS
        or (species, pattern) in NEW_COATS
        or (species, place) in NEW_SCENES
    )
