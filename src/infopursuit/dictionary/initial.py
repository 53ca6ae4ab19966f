"""The k texts a dictionary starts from: K-LLM, K-Random, K-Medoids (sec. "Implementation")."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from infopursuit.dictionary.medoids import k_medoids
from infopursuit.dictionary.universe import Universe
from infopursuit.errors import InputError
from infopursuit.texts.normalization import normalize


def listed_texts(universe: Universe, queries: Sequence[str], k: int, where: str) -> list[str]:
    """The given queries, in the universe's spelling (`llm`).

    Raises:
        InputError: there are not exactly k, two of them are one text, or one is not in the
            universe; `where` names the list.
    """
    if len(queries) != k:
        raise InputError(f"{where}: {len(queries)} queries; expected k = {k}")
    spelling: dict[str, str] = {}
    for text in universe.texts:
        spelling.setdefault(normalize(text), text)
    known = set(universe.texts)
    texts = [text if text in known else spelling.get(normalize(text), text) for text in queries]
    universe.indices(texts, where)
    for first, text in enumerate(texts):
        if text in texts[:first]:
            raise InputError(f"{where}: {queries[first]!r} is there twice, as {text!r}")
    return texts


def random_texts(universe: Universe, k: int, seed: int) -> list[str]:
    """k distinct texts, uniformly at random (`random`)."""
    if k > len(universe.texts):
        raise InputError(
            f"k is {k}; expected at most {len(universe.texts)}, the size of the universe"
        )
    rows = np.random.default_rng(seed).choice(len(universe.texts), k, replace=False)
    return [universe.texts[row] for row in sorted(rows.tolist())]


def medoid_texts(universe: Universe, k: int, seed: int, sample: int, repeats: int) -> list[str]:
    """The k-medoids of the universe (`medoids`)."""
    rows = k_medoids(universe.embeddings, k, seed, sample, repeats)
    return [universe.texts[row] for row in rows.tolist()]
