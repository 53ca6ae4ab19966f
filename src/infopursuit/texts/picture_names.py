"""Which pictures a table means: by path, end of a path, or what a labelling tool makes of it."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from urllib.parse import unquote

from infopursuit.core.names import composed

SEVERAL = -1
# What labelling tools put before the name of a file that a person uploads.
_UPLOADED = re.compile(r"([0-9a-f]{7,8}|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})-(?=.)")
_SEPARATOR = re.compile(r"[/\\]+|\?d=")


def pictures_named(
    given: Iterable[str], names: Sequence[str], foreign: bool = False
) -> dict[str, int | None]:
    """Return the place of the picture that each text names; None for none, SEVERAL for many.

    Args:
        given: texts of a table: each a name, or the end of one.
        names: of the pictures, paths or not.
        foreign: whether a text may also be a path of another machine or program that ends as a name
            does, perhaps percent-encoded. It is no other picture's if it goes through a folder of
            the pictures that does not have the file; so `names` must be those of all pictures.
    """
    exact = {name: place for place, name in enumerate(names)}
    paths = [_SEPARATOR.split(composed(name)) for name in names]
    shared = zip(min(paths, default=()), max(paths, default=()), strict=False)
    above = next((depth for depth, (one, other) in enumerate(shared) if one != other), 0)
    folders = {part for path in paths for part in path[above:-1]}
    ends: dict[str, int] = {}
    loose: dict[str, int] = {}
    for place, path in enumerate(paths):
        for start in range(1, len(path)):
            _add(ends, "/".join(path[start:]), place)
        _add(loose, _loose(path[-1]), place)
    ends |= {"/".join(path): place for place, path in enumerate(paths)}

    def place_of(text: str) -> int | None:
        if not foreign:
            return ends.get("/".join(_SEPARATOR.split(composed(text))))
        for form in dict.fromkeys((text, unquote(text), unquote(re.sub(r"\?(?!d=).*", "", text)))):
            parts = _SEPARATOR.split(composed(form))
            for start, part in enumerate(parts):
                if (end := "/".join(parts[start:])) in ends:
                    return ends[end]
                if part in folders:
                    break
            else:
                uploaded = _UPLOADED.match(parts[-1])
                mixed = uploaded and not (uploaded[1].isdigit() or uploaded[1].isalpha())
                if uploaded and (mixed or "upload" in parts):
                    return loose.get(_loose(parts[-1][uploaded.end() :]))
        return None

    return {text: exact.get(text, place_of(text)) for text in given}


def _add(places: dict[str, int], name: str, place: int) -> None:
    places[name] = SEVERAL if places.get(name, place) != place else place


def is_end(text: str, name: str) -> bool:
    """Return whether a picture's name ends as a text says, but for the form of its accents."""
    end, whole = ("/".join(_SEPARATOR.split(composed(each))) for each in (text, name))
    return f"/{whole}".endswith(f"/{end}")


def _loose(name: str) -> str:
    """Return the name of a file as tools keep it: without blanks."""
    return name.replace(" ", "_")
