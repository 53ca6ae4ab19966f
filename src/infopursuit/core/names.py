"""Names of files, classes and pictures: which are one name, and which a system left there."""

from __future__ import annotations

import unicodedata
from collections import defaultdict
from collections.abc import Iterable

from infopursuit.core.errors import writable

# What systems and programs put into folders without a word; hidden names begin with a point.
SYSTEMS = frozenset(
    (
        *(
            "thumbs.db",
            "ehthumbs.db",
            "ehthumbs_vista.db",
            "desktop.ini",
            "$recycle.bin",
        ),  # Windows
        *("recycler", "recycled", "system volume information", "found.000", "autorun.inf"),
        *("__macosx", "icon\r", "network trash folder", "temporary items"),  # macOS
        *("@eadir", "@tmp", "@sharebin", "#recycle", "#snapshot", "~snapshot"),  # NAS
        *("@recycle", "@recently-snapshot", "lost+found", "lost.dir", "picasa.ini"),
        *("__pycache__", "cvs"),
    )
)


def is_systems(name: str) -> bool:
    """Return whether a file or folder of this name is of a system: nobody's class or picture."""
    return name.startswith((".", "~$")) or name.lower() in SYSTEMS


def composed(name: object) -> str:
    """Return a name as names are compared: composed (NFC), U+FFFD for what UTF-8 cannot write.

    macOS and its archives write an accent as a character of its own (NFD), keyboards do not.
    """
    text = str(name)
    return text if text.isascii() else unicodedata.normalize("NFC", writable(text))


def near_names(names: Iterable[str]) -> list[tuple[str, ...]]:
    """Return the names that differ in case or blanks alone, those of each group together."""
    groups: defaultdict[str, dict[str, None]] = defaultdict(dict)
    for name in names:
        groups[" ".join(composed(name).casefold().split())][name] = None
    return [tuple(group) for group in groups.values() if len(group) > 1]
