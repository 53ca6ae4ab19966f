"""The universe: all texts that may become queries, filtered, de-duplicated, with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl
import pyarrow as pa

from infopursuit.queries.normalization import normalize

# Line ends that a list with one text a line could not hold, and characters that nobody sees.
UNPRINTABLE = r"[\p{C}\p{Zl}\p{Zp}]"
SLICE = 2**16  # texts
BANNED = "banned"


@dataclass(frozen=True)
class UniverseFilters:
    """What a text must be like; `class_names` is empty where class names may enter.

    `banned` texts and words are in no text, whoever gave it.
    """

    max_words: int
    min_characters: int
    max_characters: int
    drop_or: bool
    drop_parentheses: bool
    class_names: tuple[str, ...] = ()
    banned: tuple[str, ...] = ()


class Universe(NamedTuple):
    """Columns of `tables.UNIVERSE` and `tables.REJECTED_TEXTS`, and how many texts went where."""

    texts: dict[str, pa.Array]
    rejected: dict[str, pa.Array]
    counts: dict[str, Any]


def build_universe(
    dictionaries: Mapping[str, Sequence[str]],
    corpora: Mapping[str, pa.Table],
    filters: UniverseFilters,
    lists: Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
) -> Universe:
    """Join the given texts, then those of all corpora, in the order of their first row.

    Texts keep their spelling. Of texts with one normalised spelling the first stays, and has the
    sources and captions of all of them. No filter but `banned` drops a given text (of a dictionary,
    a list, or kept): training starts from these and has to find them.

    Time is linear in rows, but for sorting them once. Beside the tables given, memory is about 40
    bytes a row and 200 bytes a distinct spelling.

    Args:
        dictionaries: the queries of each data set, by its name.
        corpora: a table with the columns text and caption_id (null where there is none) of each
            corpus, by its name.
        filters: what a text must be like.
        lists: the questions of a person's own for a data set, by its name.
        keep: the texts that are in every dictionary.

    Returns:
        `texts` with sources in order (dictionary/NAME, list/NAME, kept, corpus/NAME) and caption
        ids sorted;
        `rejected` with one row for each spelling that a filter dropped, the first source that has
        it and the first filter it breaks; `counts`, where distinct_spellings is the sum of
        dropped, merged_spellings and texts.
    """
    given = {f"dictionary/{name}": texts for name, texts in dictionaries.items()}
    given |= {f"list/{name}": texts for name, texts in (lists or {}).items()}
    given |= {"kept": keep} if keep else {}
    names = [*given, *(f"corpus/{name}" for name in corpora)]
    columns = [pa.chunked_array([texts], pa.string()) for texts in given.values()]
    columns += [table.column("text") for table in corpora.values()]
    rows, texts = _spellings(columns)
    spellings = _judged(texts, _first_sources(rows), len(given), filters)
    kept = spellings.filter(pl.col("owner").is_not_null())
    dropped = spellings.filter(pl.col("owner").is_null())
    spared = kept.filter(pl.col("reason").is_not_null())

    owners = kept["owner"].unique().sort().to_numpy()
    # Where each spelling's text is in the universe, -1 for those that are not.
    place = np.full(len(texts), -1, np.int32)
    place[owners] = np.arange(len(owners), dtype=np.int32)
    place[kept["spelling"].to_numpy()] = place[kept["owner"].to_numpy()]
    places = [place[spelling] for spelling in rows]
    labels = pa.array(names, pa.string())
    sources = _lists(*_source_pairs(places, len(owners)), len(owners))
    ids = [table.column("caption_id") for table in corpora.values()]
    caption_ids = _lists(*_caption_pairs(places[len(given) :], ids), len(owners))
    return Universe(
        {
            "text": texts.take(pa.array(owners)),
            "sources": pa.ListArray.from_arrays(sources.offsets, labels.take(sources.values)),
            "caption_ids": caption_ids,
        },
        {
            "text": texts.take(dropped["spelling"].to_arrow()),
            "source": labels.take(dropped["source"].to_arrow()),
            "reason": dropped["reason"].to_arrow().cast(pa.string()),
        },
        {
            "rows": {name: len(row) for name, row in zip(names, rows, strict=True)},
            "distinct_spellings": len(texts),
            "dropped": _tally(dropped, filters),
            "dictionary_texts_kept_against": _tally(spared, filters),
            "merged_spellings": len(kept) - len(owners),
            "texts": len(owners),
        },
    )


def _spellings(columns: Sequence[pa.ChunkedArray]) -> tuple[list[np.ndarray], pa.Array]:
    """The number of each row's text, by column, and the distinct texts in that order.

    Texts are bare of outer blanks and are numbered as they first come.
    """
    chunks = [chunk for column in columns for chunk in column.chunks]
    written = pa.chunked_array(chunks, pa.string()).dictionary_encode().combine_chunks()
    stripped = pl.Series(written.dictionary).str.strip_chars().to_arrow().cast(pa.string())
    bare = stripped.dictionary_encode()
    numbers = bare.indices.to_numpy()[written.indices.to_numpy()]
    ends = np.cumsum([len(column) for column in columns])
    return np.split(numbers, ends[:-1]), bare.dictionary


def _first_sources(rows: Sequence[np.ndarray]) -> np.ndarray:
    """The first source of each spelling (uint32)."""
    # Spellings are numbered as they come, so those new in a source are the next stretch of numbers.
    ends = np.maximum.accumulate([row.max(initial=-1) + 1 for row in rows])
    return np.repeat(np.arange(len(rows), dtype=np.uint32), np.diff(ends, prepend=0))


def _judged(
    texts: pa.Array, sources: np.ndarray, given: int, filters: UniverseFilters
) -> pl.DataFrame:
    """What becomes of each spelling.

    Returns:
        spelling (its number), source, reason (the first filter that it breaks, or null) and owner
        (the spelling whose text stays in its place, or null where it is dropped).
    """
    text = pl.Series("text", texts, dtype=pl.String)
    spellings = (
        pl.DataFrame([text, _keys(text), pl.Series("source", sources)])
        .with_columns(given=pl.col("source") < given, reason=_first_broken(filters))
        .with_row_index("spelling")
    )
    kept = spellings.filter(
        pl.col("reason").is_null() | (pl.col("given") & pl.col("reason").ne_missing(pl.lit(BANNED)))
    ).select("spelling", owner=pl.col("spelling").first().over("key"))
    return spellings.select("spelling", "source", "reason").join(
        kept, on="spelling", how="left", maintain_order="left"
    )


def _keys(texts: pl.Series) -> pl.Series:
    """The normalised spellings of texts."""
    # In slices: as Python objects, all texts at once would take most of the memory.
    starts = range(0, max(len(texts), 1), SLICE)
    parts = ([normalize(text) for text in texts[start : start + SLICE]] for start in starts)
    return pl.concat([pl.Series("key", part, dtype=pl.String) for part in parts])


def _source_pairs(places: Sequence[np.ndarray], count: int) -> tuple[np.ndarray, np.ndarray]:
    """The distinct pairs of a place in the universe and a source that has its text."""
    found = []
    for row in places:
        has = np.zeros(count, dtype=bool)
        has[row[row >= 0]] = True
        found.append(np.flatnonzero(has))
    numbers = np.repeat(np.arange(len(found)), [len(places) for places in found])
    return np.concatenate(found), numbers


def _caption_pairs(
    places: Sequence[np.ndarray], ids: Sequence[pa.ChunkedArray]
) -> tuple[np.ndarray, np.ndarray]:
    """The pairs of a place in the universe and the id of a caption, of all rows that have both."""
    place_parts, id_parts = [np.empty(0, np.int32)], [np.empty(0, np.int64)]
    for row, column in zip(places, ids, strict=True):
        has = (row >= 0) & column.is_valid().to_numpy()
        place_parts.append(row[has])
        id_parts.append(column.cast(pa.int64()).fill_null(0).to_numpy()[has])
    return np.concatenate(place_parts), np.concatenate(id_parts)


def _lists(places: np.ndarray, values: np.ndarray, count: int) -> pa.ListArray:
    """For each of `count` places the distinct values paired with it, sorted."""
    order = np.lexsort((values, places))
    places, values = places[order], values[order]
    new = np.ones(len(places), dtype=bool)
    new[1:] = (places[1:] != places[:-1]) | (values[1:] != values[:-1])
    offsets = np.zeros(count + 1, dtype=np.int64)
    np.cumsum(np.bincount(places[new], minlength=count), out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets, pa.int32()), pa.array(values[new]))


def _filters(filters: UniverseFilters) -> dict[str, pl.Expr]:
    """The texts that break a filter, by its name, in the order in which they are tried."""
    text = pl.col("text")
    broken: dict[str, pl.Expr] = {}
    if filters.banned:  # the first, for it is the one that given texts have to meet
        broken[BANNED] = text.str.contains(words_pattern(filters.banned))
    broken |= {
        "empty": pl.col("key") == "",
        "unprintable": text.str.contains(UNPRINTABLE),
        "min_characters": text.str.len_chars() < filters.min_characters,
        "max_characters": text.str.len_chars() > filters.max_characters,
        "max_words": text.str.count_matches(r"\S+") > filters.max_words,
    }
    if filters.drop_or:
        broken["or"] = text.str.contains(r"(?i)\bor\b")
    if filters.drop_parentheses:
        broken["parentheses"] = text.str.contains(r"[()（）]")
    if filters.class_names:
        broken["class_names"] = pl.col("key").str.contains(_names_pattern(filters.class_names))
    return broken


def _first_broken(filters: UniverseFilters) -> pl.Expr:
    return pl.coalesce(
        pl.when(broken).then(pl.lit(name)) for name, broken in _filters(filters).items()
    )


def words_pattern(words: Sequence[str]) -> str:
    """A pattern of all texts and words, whatever their case, where no letter goes on."""
    escaped = "|".join(pl.escape_regex(word.strip()) for word in words)
    return rf"(?i)(?:^|\W)(?:{escaped})(?:$|\W)"


def _names_pattern(names: Sequence[str]) -> str:
    """A pattern of all names as whole words, with their simple plurals (-s, -es, -y to -ies)."""
    forms = set()
    for name in names:
        singular = normalize(name.replace("_", " "))
        if singular:
            forms |= {singular, f"{singular}s", f"{singular}es"}
            if singular.endswith("y"):
                forms.add(f"{singular[:-1]}ies")
    escaped = "|".join(pl.escape_regex(form) for form in sorted(forms))
    return rf"(?:^|\W)(?:{escaped})(?:$|\W)"


def _tally(texts: pl.DataFrame, filters: UniverseFilters) -> dict[str, int]:
    return {name: int((texts["reason"] == name).sum()) for name in _filters(filters)}
