"""Writes the nouns of WordNet that ship with the library.

    python -m tests.texts.wordnet_file DICT

DICT is WordNet 3.1's dict folder, with index.noun and data.noun. Lemmas, hypernyms and instance
hypernyms are kept, glosses and all other relations are not. `infopursuit.texts.wordnet` says what
the lines hold. Sets of synonyms come after one that they are a kind of, which makes the file small.
"""

from __future__ import annotations

import lzma
import sys
from collections.abc import Iterator
from pathlib import Path

from infopursuit.texts.wordnet import FILE

HOME = Path(__file__).parents[2] / "src/infopursuit/texts"
# How a pointer is marked in the file.
HYPERNYMS = {"@": "", "@i": "="}


def lines_of(path: Path) -> Iterator[list[str]]:
    """Yield the fields of each line, without the licence at the head and the glosses."""
    with path.open(encoding="ascii") as lines:
        for line in lines:
            if not line.startswith(" "):
                yield line.partition(" | ")[0].split()


def noun_lines(folder: Path) -> list[str]:
    """Return the lines of the file."""
    senses = {}
    for lemma, _, _, pointers, *fields in lines_of(folder / "index.noun"):
        senses[lemma] = fields[int(pointers) + 2 :]
    lemmas, above = {}, {}
    for name, _, _, count, *fields in lines_of(folder / "data.noun"):
        end = 2 * int(count, 16)
        lemmas[name] = [lemma.lower() for lemma in fields[:end:2]]
        pointers = list(zip(fields[end + 1 :: 4], fields[end + 2 :: 4], strict=False))
        above[name] = {other: HYPERNYMS[kind] for kind, other in pointers if kind in HYPERNYMS}
    kinds: dict[str, list[str]] = {name: [] for name in lemmas}
    for name, others in above.items():
        for other in others:
            kinds[other].append(name)
    order: dict[str, int] = {}
    waiting = sorted((name for name in lemmas if not above[name]), reverse=True)
    while waiting:
        name = waiting.pop()
        if name not in order:
            order[name] = len(order)
            waiting += sorted(kinds[name], reverse=True)

    def numbered(lemma: str, name: str) -> str:
        number = senses[lemma].index(name) + 1
        return lemma if number == 1 else f"{lemma}:{number}"

    def from_here(name: str, others: dict[str, str]) -> str:
        return " ".join(f"{order[other] - order[name]}{mark}" for other, mark in others.items())

    return [
        "\t".join([
            " ".join(numbered(lemma, name) for lemma in lemmas[name]),
            from_here(name, above[name]),
        ])
        for name in order
    ]  # fmt: skip


def packed(lines: list[str]) -> bytes:
    """Return the bytes of the file."""
    content = "".join(f"{line}\n" for line in lines)
    return lzma.compress(content.encode("ascii"), preset=9 | lzma.PRESET_EXTREME)


if __name__ == "__main__":
    (HOME / FILE).write_bytes(packed(noun_lines(Path(sys.argv[1]))))
