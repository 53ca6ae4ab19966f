"""Explanations that nobody asked for: plain data."""

from infopursuit.explanation.explanation import Candidate, Explanation, Step

NAMES = ("giraffe", "school <bus>", "a & b")


def explained(**changes: object) -> Explanation:
    """Two questions about a giraffe; fields may be replaced."""
    steps = (
        Step("wings", 0.0, (0.4, 0.5, 0.1), 0.943, 0.21, (Candidate("sails", 0.2),)),
        Step("a <very> long neck", 1.0, (0.97, 0.02, 0.01), 0.154, None, (), True),
    )
    fields = {
        "image": "photo <1>.jpg",
        "class_names": NAMES,
        "prior": (0.5, 0.3, 0.2),
        "steps": steps,
        "confident": True,
        "true_class": "giraffe",
    }
    return Explanation(**{**fields, **changes})
