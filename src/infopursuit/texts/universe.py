"""The universe: all texts that may become queries, filtered, de-duplicated, with their sources."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import polars as pl

from infopursuit.texts.normalization import normalize

# Line ends that a list with one text a line could not hold, and characters that nobody sees.
UNPRINTABLE = r"[\p{C}\p{Zl}\p{Zp}]"


@dataclass(frozen=True)
class UniverseFilters:
    """What a text must be like; `class_names` is empty where class names may enter."""

    max_words: int
    min_characters: int
    max_characters: int
    drop_or: bool
    drop_parentheses: bool
    class_names: tuple[str, ...] = ()


class Universe(NamedTuple):
    """Columns of `tables.UNIVERSE` and `tables.REJECTED_TEXTS`, and how many texts went where."""

    texts: dict[str, list[Any]]
    rejected: dict[str, list[Any]]
    counts: dict[str, Any]


def build_universe(
    dictionaries: Mapping[str, Sequence[str]],
    corpora: Mapping[str, pl.DataFrame],
    filters: UniverseFilters,
) -> Universe:
    """Join the texts of all dictionaries, then of all corpora, in the order of their first row.

    Texts keep their spelling. Of texts with one normalised spelling the first stays, except that a
    dictionary's text always stays as it is, and no filter drops it: training starts from these
    texts and has to find them. The text that stays has the sources and captions of all of them.

    Args:
        dictionaries: the queries of each data set, by its name.
        corpora: a frame with the columns text and caption_id (null where there is none) of each
            corpus, by its name.
        filters: what a text must be like.

    Returns:
        `texts` with sources in order (dictionary/NAME, corpus/NAME) and caption ids sorted;
        `rejected` with one row for each spelling that a filter dropped, the first source that has
        it and the first filter it breaks; `counts`, where distinct_spellings is the sum of
        dropped, merged_spellings and texts.
    """
    rows = _rows(dictionaries, corpora)
    first = rows.group_by("text", maintain_order=True).agg(pl.col("source").first())
    keys = pl.Series("key", [normalize(text) for text in first["text"]], dtype=pl.String)
    spellings = (
        first.with_columns(keys, given=pl.col("source") < len(dictionaries))
        .with_columns(reason=_first_broken(filters))
        .with_row_index("spelling")
    )
    names = [f"dictionary/{name}" for name in dictionaries] + [f"corpus/{name}" for name in corpora]
    broken = pl.col("reason").is_not_null()
    dropped = spellings.filter(broken & ~pl.col("given"))
    spared = spellings.filter(broken & pl.col("given"))
    kept = spellings.filter(~broken | pl.col("given")).with_columns(
        owner=pl.when("given").then("spelling").otherwise(pl.col("spelling").first().over("key"))
    )
    owned = rows.join(kept.select("text", "owner"), on="text", maintain_order="left").drop("text")
    joined = owned.group_by("owner", maintain_order=True).agg(
        sources=pl.col("source").unique().sort(),
        caption_ids=pl.col("caption_id").drop_nulls().unique().sort(),
    )
    texts = spellings["text"].gather(joined["owner"])
    order = joined["owner"].arg_sort()
    return Universe(
        {
            "text": texts.gather(order).to_list(),
            "sources": [
                [names[number] for number in numbers]
                for numbers in joined["sources"].gather(order).to_list()
            ],
            "caption_ids": joined["caption_ids"].gather(order).to_list(),
        },
        {
            "text": dropped["text"].to_list(),
            "source": [names[number] for number in dropped["source"]],
            "reason": dropped["reason"].to_list(),
        },
        {
            "rows": {name: int((rows["source"] == i).sum()) for i, name in enumerate(names)},
            "distinct_spellings": len(spellings),
            "dropped": _tally(dropped, filters),
            "dictionary_texts_kept_against": _tally(spared, filters),
            "merged_spellings": len(kept) - len(joined),
            "texts": len(joined),
        },
    )


def _rows(
    dictionaries: Mapping[str, Sequence[str]], corpora: Mapping[str, pl.DataFrame]
) -> pl.DataFrame:
    frames = [
        pl.DataFrame({"text": pl.Series(texts, dtype=pl.String)}).with_columns(
            caption_id=pl.lit(None, pl.Int64)
        )
        for texts in dictionaries.values()
    ]
    frames += [
        frame.select("text", pl.col("caption_id").cast(pl.Int64)) for frame in corpora.values()
    ]
    numbered = [
        frame.with_columns(source=pl.lit(number, pl.UInt32)) for number, frame in enumerate(frames)
    ]
    return pl.concat(numbered).with_columns(pl.col("text").str.strip_chars())


def _filters(filters: UniverseFilters) -> dict[str, pl.Expr]:
    """The texts that break a filter, by its name, in the order in which they are tried."""
    text = pl.col("text")
    broken = {
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
