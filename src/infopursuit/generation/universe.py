"""The universe: all texts that may become queries, filtered, de-duplicated, with their sources.

Next to it the control texts: words that say nothing about an image, kept apart from the universe.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import polars as pl
import pyarrow as pa

from infopursuit.generation.settings import UniverseSettings
from infopursuit.texts.normalization import normalize, words_pattern

# Line ends that a list with one text a line could not hold, and invisible characters.
UNPRINTABLE = r"[\p{C}\p{Zl}\p{Zp}]"
SLICE = 2**16  # texts
BANNED = "banned"
CONTROL = "control"


class UniverseTables(NamedTuple):
    """Columns of `tables.UNIVERSE` and `tables.REJECTED_TEXTS`, and how many texts went where."""

    texts: dict[str, pa.Array]
    rejected: dict[str, pa.Array]
    counts: dict[str, Any]


def build_universe(
    dictionaries: Mapping[str, Sequence[str]],
    corpora: Mapping[str, pa.Table],
    settings: UniverseSettings,
    lists: Mapping[str, Sequence[str]] | None = None,
    keep: Sequence[str] = (),
    banned: Sequence[str] = (),
    class_names: Sequence[str] = (),
) -> UniverseTables:
    """Join the given texts, then those of all corpora, in the order of their first row.

    Texts keep their spelling. Of texts with one normalised spelling the first stays, and has the
    sources and captions of all of them. No filter but `banned` drops a given text (of a dictionary,
    a list, or kept): training starts from these and has to find them.

    Args:
        corpora: a table with the columns text and caption_id (null if there is none) of each
            corpus, by its name.

    Returns:
        `texts` with sources in order (dictionary/NAME, list/NAME, kept, corpus/NAME) and caption
        ids sorted;
        `rejected` with one row for each spelling that a filter dropped, the first source that has
        it and the first filter it breaks; `counts`, where distinct_spellings is the sum of
        dropped, merged_spellings and texts.
    """
    filters = _filters(settings, banned, class_names)
    texts_of = {f"dictionary/{name}": texts for name, texts in dictionaries.items()}
    texts_of |= {f"list/{name}": texts for name, texts in (lists or {}).items()}
    texts_of |= {"kept": keep} if keep else {}
    tables = [pa.table({"text": pa.array(texts, pa.string())}) for texts in texts_of.values()]
    tables += corpora.values()
    names = [*texts_of, *(f"corpus/{name}" for name in corpora)]

    reasons = [pl.when(broken).then(pl.lit(name)) for name, broken in filters.items()]
    numbers, texts = _spellings([table.column("text") for table in tables])
    rows = pl.concat(
        pl.DataFrame({"spelling": spelling, "caption_id": _caption_ids(table)}).with_columns(
            source=pl.lit(source, pl.UInt32)
        )
        for source, (spelling, table) in enumerate(zip(numbers, tables, strict=True))
    )
    spellings = (
        rows.group_by("spelling")
        .agg(pl.col("source").min())
        .sort("spelling")
        .with_columns(texts, _keys(texts), given=pl.col("source") < len(texts_of))
        .with_columns(reason=pl.coalesce(reasons))
    )
    fits = pl.col("reason").is_null() | (pl.col("given") & (pl.col("reason") != BANNED))
    fitting = spellings.filter(fits).with_columns(owner=pl.col("spelling").first().over("key"))
    dropped = spellings.filter(~fits)
    owners = fitting.filter(pl.col("owner") == pl.col("spelling")).select("owner", "text")
    rows = rows.join(fitting.select("spelling", "owner"), on="spelling")
    labels = pl.Series(names, dtype=pl.String)
    sources = _lists(rows, "source").with_columns(
        pl.col("source").list.eval(pl.element().replace_strict(range(len(names)), labels))
    )
    columns = (
        owners.join(sources, on="owner", how="left", maintain_order="left")
        .join(_lists(rows, "caption_id"), on="owner", how="left", maintain_order="left")
        .with_columns(pl.col("caption_id").fill_null([]))
    )
    return UniverseTables(
        {
            "text": columns["text"].to_arrow().cast(pa.string()),
            "sources": columns["source"].to_arrow().cast(pa.list_(pa.string())),
            "caption_ids": columns["caption_id"]
            .fill_null([])
            .to_arrow()
            .cast(pa.list_(pa.int64())),
        },
        {
            "text": dropped["text"].to_arrow().cast(pa.string()),
            "source": pa.array(names, pa.string()).take(dropped["source"].to_arrow()),
            "reason": dropped["reason"].to_arrow().cast(pa.string()),
        },
        {
            "rows": {name: len(table) for name, table in zip(names, tables, strict=True)},
            "distinct_spellings": len(texts),
            "dropped": _tally(dropped, filters),
            "dictionary_texts_kept_against": _tally(fitting, filters),
            "merged_spellings": len(fitting) - len(owners),
            "texts": len(owners),
        },
    )


def _spellings(columns: Sequence[pa.ChunkedArray]) -> tuple[list[pl.Series], pl.Series]:
    """Return the number of each row's text, by column, and the distinct texts in that order.

    Texts are bare of outer blanks and are numbered as they first come.
    """
    # Encoded twice: blanks are stripped from distinct texts, not from all rows.
    chunks = [chunk for column in columns for chunk in column.chunks]
    written = pa.chunked_array(chunks, pa.string()).dictionary_encode().combine_chunks()
    stripped = pl.Series(written.dictionary).str.strip_chars().to_arrow().cast(pa.string())
    bare = stripped.dictionary_encode()
    numbers = pl.Series(bare.indices.to_numpy()[written.indices.to_numpy()], dtype=pl.Int32)
    starts = [0, *itertools.accumulate(map(len, columns))]
    parts = [numbers[start:end] for start, end in itertools.pairwise(starts)]
    return parts, pl.Series("text", bare.dictionary, dtype=pl.String)


def _caption_ids(table: pa.Table) -> pl.Series:
    if "caption_id" not in table.column_names:
        return pl.repeat(None, len(table), dtype=pl.Int64, eager=True)
    return pl.Series(table.column("caption_id"), dtype=pl.Int64)


def _keys(texts: pl.Series) -> pl.Series:
    # In slices: as Python objects, all texts at once would take most of the memory.
    starts = range(0, max(len(texts), 1), SLICE)
    parts = ([normalize(text) for text in texts[start : start + SLICE]] for start in starts)
    return pl.concat([pl.Series("key", part, dtype=pl.String) for part in parts])


def _lists(rows: pl.DataFrame, column: str) -> pl.DataFrame:
    pairs = rows.select("owner", column).drop_nulls().sort("owner", column)
    new = pl.any_horizontal(pl.all() != pl.all().shift()).fill_null(value=True)
    return pairs.filter(new).group_by("owner", maintain_order=True).agg(column)


def _filters(
    settings: UniverseSettings, banned: Sequence[str], class_names: Sequence[str]
) -> dict[str, pl.Expr]:
    text = pl.col("text")
    broken: dict[str, pl.Expr] = {}
    if banned:  # the first, for it is the one that given texts have to meet
        broken[BANNED] = text.str.contains(words_pattern(banned))
    broken |= {
        "empty": pl.col("key") == "",
        "unprintable": text.str.contains(UNPRINTABLE),
        "min_characters": text.str.len_chars() < settings.min_characters,
        "max_characters": text.str.len_chars() > settings.max_characters,
        "max_words": text.str.count_matches(r"\S+") > settings.max_words,
    }
    if settings.drop_or:
        broken["or"] = text.str.contains(r"(?i)\bor\b")
    if settings.drop_parentheses:
        broken["parentheses"] = text.str.contains(r"[()（）]")
    if class_names:
        broken["class_names"] = pl.col("key").str.contains(_names_pattern(class_names))
    return broken


def _names_pattern(names: Sequence[str]) -> str:
    spelled = [normalize(name.replace("_", " ")) for name in names]
    return words_pattern([name for name in spelled if name])


def _tally(texts: pl.DataFrame, filters: Iterable[str]) -> dict[str, int]:
    return {name: int((texts["reason"] == name).sum()) for name in filters}


class Control(NamedTuple):
    """Columns of `tables.UNIVERSE`, and how many of the given texts went where."""

    texts: dict[str, list[Any]]
    counts: dict[str, int]


def control_texts(words: Sequence[str], universe: Iterable[str]) -> Control:
    """Return the control texts that the universe does not have, in their order and spelling.

    A text that is in the universe is left out: if the two shared a query, the control would not be
    one. Spellings count as one if they normalise to one; of the given texts the first stays.

    Returns:
        `texts`, all of the source `control`; `counts`, where words is the sum of in_universe,
        merged_spellings (texts that normalise to nothing among them) and texts.
    """
    keys = [normalize(word) for word in words]
    distinct = set(keys)
    taken = {key for text in universe if (key := normalize(text)) in distinct}
    texts: dict[str, str] = {}
    for word, key in zip(words, keys, strict=True):
        if key and key not in taken:
            texts.setdefault(key, word)
    in_universe = sum(key in taken for key in keys)
    return Control(
        {
            "text": list(texts.values()),
            "sources": [[CONTROL] for _ in texts],
            "caption_ids": [[] for _ in texts],
        },
        {
            "words": len(words),
            "in_universe": in_universe,
            "merged_spellings": len(words) - in_universe - len(texts),
            "texts": len(texts),
        },
    )
