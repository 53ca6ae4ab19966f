"""The k texts a dictionary starts from: K-LLM, K-Random, K-Medoids (sec. "Implementation")."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from pathlib import Path

import numpy as np
from jaxtyping import Int64

from infopursuit.core.errors import InputError
from infopursuit.dictionary.medoids import MedoidSearch, k_medoids
from infopursuit.dictionary.universe import Universe
from infopursuit.queries.normalization import normalize


def listed_texts(universe: Universe, queries: Sequence[str], k: int, where: str) -> list[str]:
    """The given queries, in the universe's spelling (`llm`).

    Raises:
        InputError: there are not exactly k, two of them are one text, or one is not in the
            universe; `where` names the list.
    """
    if len(queries) != k:
        raise InputError(f"{where}: {len(queries)} queries; expected k = {k}")
    known = set(queries).intersection(universe.texts)
    spelling = _spellings(universe, {query for query in queries if query not in known})
    texts = [
        query if query in known else spelling.get(normalize(query), query) for query in queries
    ]
    universe.indices(texts, where)
    for first, text in enumerate(texts):
        if text in texts[:first]:
            raise InputError(f"{where}: {queries[first]!r} is there twice, as {text!r}")
    return texts


def _spellings(universe: Universe, queries: Collection[str]) -> dict[str, str]:
    """For the normalised form of each query the first text of the universe with that form.

    A universe has millions of texts and none is kept but those asked for.
    """
    wanted = {normalize(query) for query in queries}
    spelling: dict[str, str] = {}
    for text in universe.texts if wanted else ():
        key = normalize(text)
        if key in wanted:
            spelling.setdefault(key, text)
    return spelling


def random_texts(universe: Universe, k: int, seed: int) -> list[str]:
    """k distinct texts, uniformly at random (`random`)."""
    return [universe.texts[row] for row in random_rows(len(universe.texts), k, seed).tolist()]


def random_rows(u: int, k: int, seed: int) -> Int64[np.ndarray, " k"]:
    """k distinct rows of a universe of u texts, uniformly at random, ascending.

    Raises:
        InputError: k is larger than the universe.
    """
    if k > u:
        raise InputError(f"k is {k}; expected at most {u}, the size of the universe")
    return np.sort(np.random.default_rng(seed).choice(u, k, replace=False))


def medoid_texts(
    universe: Universe,
    k: int,
    seed: int,
    search: MedoidSearch | None = None,
    device: str = "cpu",
    scratch: str | Path | None = None,
) -> list[str]:
    """The k-medoids of the universe (`medoids`); the arguments are those of `k_medoids`."""
    rows = k_medoids(universe.embeddings, k, seed, search, device, scratch)
    return [universe.texts[row] for row in rows.tolist()]
