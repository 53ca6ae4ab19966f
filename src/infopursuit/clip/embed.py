"""Embed texts and pictures into arrays: for the library, which writes no tables.

    texts = embed_texts(clip, ["a red bird", "four legs"])    # (2, d), each embedded once ever
    rows = embed_pictures(clip, ["a.png", image, array])      # (3, d), "a.png" once ever

Threads decode and resize images ahead of the tower.

Embeddings of texts, and of pictures that are files or encoded bytes, are kept in the user's cache
folder. Pictures are known by the SHA-256 of their bytes; pixels of arrays and images are not kept.

    <cache>/texts/<name of the CLIP>/<hash of the texts>.parquet      text, embedding (float32)
    <cache>/images/<name of the CLIP>/<hash of the digests>.parquet   text is the digest

The name of a CLIP has the hash of its weights, so other weights are other folders. A file is never
changed, so processes need no locks; what two of them embed at once is there twice until files are
joined.
"""

from __future__ import annotations

import logging
import os
import re
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import torch
from jaxtyping import Float, Float32
from tqdm import tqdm

from infopursuit.clip.towers import Clip, OpenClip, Tower, image_tower
from infopursuit.core.errors import InputError
from infopursuit.core.files import content_sha256
from infopursuit.core.results import ResultFolder, job_digest
from infopursuit.datasets.decoding import (
    Encoded,
    Picture,
    UnreadableError,
    picture_list,
    prepared_ahead,
)
from infopursuit.datasets.samples import Readable, Samples

logger = logging.getLogger(__name__)

VARIABLE = "INFOPURSUIT_CACHE"
# Texts, and pictures, after which their embeddings are kept: what an interrupted call loses.
BLOCK, PICTURE_BLOCK = 8192, 1024
# From this many files on they are joined.
FILES = 16
# Unreadable pictures that a message names.
NAMED = 3


class EmbeddedPictures(NamedTuple):
    """The embeddings of the readable ones of n pictures."""

    rows: list[int]  # their places among the n, ascending
    embeddings: Float32[np.ndarray, "m d"]  # one row for each of them, float32, unit norm
    rejected: dict[int, str]  # the places of all others, with the reason
    digests: Sequence[str | None] = ()  # the SHA-256 of each of the n, None for pixels
    # How much each patch speaks along each of q directions, if directions were given.
    maps: Float32[np.ndarray, "m q h w"] | None = None


def embed_pictures(
    clip: Clip, pictures: Any, batch_size: int = 64, progress: bool = True
) -> Float32[np.ndarray, "n d"]:
    """Embed pictures of any kinds, in their order; files embedded before come from the cache.

    Args:
        clip: what embeds.
        pictures: a list of pictures, see `infopursuit.datasets.decoding.to_rgb`; one PIL image,
            array or tensor alone; a batch of them.
        batch_size: pictures per batch of the tower.
        progress: whether to show a progress bar on a terminal.

    Returns:
        Rows of unit norm.

    Raises:
        InputError: pictures cannot be read (the message names the first), `pictures` is a path
            instead of a list, or `clip` has no image tower.
    """
    items = picture_list(pictures)
    _, embeddings, rejected, *_ = embed_readable_pictures(clip, items, batch_size, progress)
    check_all_readable(items, rejected)
    return embeddings


def check_all_readable(items: Sequence[Any], rejected: Mapping[int, str]) -> None:
    """Raise InputError if some of the pictures were rejected; it names the first."""
    if rejected:
        reasons = []
        for row in sorted(rejected)[:NAMED]:
            item = items[row]
            name = str(item) if isinstance(item, str | Path) else f"picture {row}"
            reasons.append(f"{name}: {rejected[row]}")
        raise InputError(
            f"{len(rejected)} of {len(items)} pictures cannot be read ({'; '.join(reasons)})"
        )


def embed_readable_pictures(
    clip: Clip,
    pictures: Any,
    batch_size: int = 64,
    progress: bool = True,
    directions: Float[torch.Tensor, "q d"] | None = None,
) -> EmbeddedPictures:
    """Embed the pictures that can be read, and say why the others cannot.

    Args and errors are those of `embed_pictures`, except for unreadable pictures. With `directions`
    it also maps how much each patch speaks along each (`OpenClip.encode_maps`, whose errors it
    has), and no picture comes from the cache.
    """
    tower = image_tower(clip)
    items = picture_list(pictures)
    digests = [content_sha256(item) if directions is None else None for item in items]
    keys = [digest or f"{row}" for row, digest in enumerate(digests)]
    cache = EmbeddingCache(tower, "images")
    known = {digest for digest in digests if digest}
    embedding_of = cache.read(known) if known else {}
    missing = {key: item for key, item in zip(keys, items, strict=True) if key not in embedding_of}
    waiting, reasons = list(missing), {}
    maps: list[np.ndarray] = []
    with _progress_bar(len(missing), "pictures", progress) as bar:
        for start in range(0, len(missing), PICTURE_BLOCK):
            block = waiting[start : start + PICTURE_BLOCK]
            items_of_block = iter([missing[key] for key in block])
            for batch in encoded_batches(tower, items_of_block, len(block), batch_size, directions):
                names = [block[row] for row in batch.rows]
                embedding_of.update(zip(names, batch.embeddings, strict=True))
                maps += [] if batch.maps is None else [batch.maps]
                reasons |= {block[row]: reason for row, reason in batch.rejected.items()}
                bar.update(len(batch.rows) + len(batch.rejected))
            cache.add(
                {key: embedding_of[key] for key in block if key in known and key in embedding_of}
            )
    if missing and known:
        cache.join()
    rows = [row for row, key in enumerate(keys) if key in embedding_of]
    matrix = _matrix([embedding_of[keys[row]] for row in rows], tower.width)
    rejected = {row: reasons[key] for row, key in enumerate(keys) if key in reasons}
    mapped = None
    if directions is not None:
        nothing = np.zeros((0, len(directions), 0, 0), dtype=np.float32)
        mapped = np.concatenate(maps) if maps else nothing
    return EmbeddedPictures(rows, matrix, rejected, digests, mapped)


def embed_samples(clip: Clip, samples: Samples, *args: Any, **options: Any) -> Readable:
    """Embed the given pictures that can be read; the options are those above."""
    read = embed_readable_pictures(clip, samples.some_pictures(), *args, **options)
    subset = replace(samples.subset(read.rows), rows=read.embeddings, clip=clip.name)
    rejected = {samples.ids[row]: reason for row, reason in sorted(read.rejected.items())}
    return Readable(subset, rejected, [read.digests[row] for row in read.rows], read.maps)


def encoded_batches(
    clip: OpenClip,
    images: Iterator[Picture | Encoded],
    count: int,
    batch_size: int,
    directions: Float[torch.Tensor, "q d"] | None = None,
) -> Iterator[EmbeddedPictures]:
    """Embed the next `count` images, batch by batch.

    A batch is a range of `batch_size` rows without the unreadable ones, whatever came before.
    """
    items = islice(images, count)
    with closing(prepared_ahead(items, clip.pixels, decoders(), ahead=batch_size)) as prepared:
        for start in range(0, count, batch_size):
            readable: dict[int, np.ndarray] = {}
            rejected: dict[int, str] = {}
            for row in range(start, min(start + batch_size, count)):
                item = next(prepared, None)
                if item is None:
                    raise ValueError(f"expected {count} images, found {row}")
                if isinstance(item, UnreadableError):
                    rejected[row] = str(item)
                else:
                    readable[row] = item
            embeddings, maps = np.zeros((0, clip.width), dtype=np.float32), None
            if readable:
                pixels = torch.from_numpy(np.stack(list(readable.values())))
                if directions is None:
                    embeddings = clip.encode_images(pixels)
                else:
                    embeddings, maps = clip.encode_maps(pixels, directions)
            yield EmbeddedPictures(list(readable), embeddings, rejected, maps=maps)


def decoders() -> int:
    """Return how many threads decode: one for each core of this process."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


def cache_folder() -> Path:
    """Return where infopursuit keeps what can be made again.

    $INFOPURSUIT_CACHE, or infopursuit in $XDG_CACHE_HOME or in ~/.cache.
    """
    if chosen := os.environ.get(VARIABLE):
        return Path(chosen).expanduser()
    home = os.environ.get("XDG_CACHE_HOME")
    return (Path(home) if home else Path.home() / ".cache") / "infopursuit"


def embed_texts(
    clip: Clip,
    texts: Iterable[Any],
    batch_size: int = 64,
    progress: bool = True,
) -> Float32[np.ndarray, "n d"]:
    """Embed texts, in their order; those that this CLIP embedded before come from the cache.

    If the cache cannot be written, a warning says so and nothing else changes.

    Args:
        clip: what embeds. A table of precomputed texts needs no cache and uses none.
        texts: strings, in a list, an array or a column of a table.
        batch_size: texts of full length per batch of the tower.
        progress: whether to show a progress bar on a terminal.

    Returns:
        Rows of unit norm.

    Raises:
        InputError: `texts` is one string, or not all of them are strings.
    """
    if isinstance(texts, str | bytes):
        raise InputError(f"texts: expected a list of texts, found {texts!r}; write [text]")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            raise InputError(f"texts: row {row} is {type(text).__name__}; expected a text")
    if not isinstance(clip, OpenClip):
        return clip.encode_texts(texts)
    cache = EmbeddingCache(clip, "texts")
    embedding_of = cache.read(set(texts))
    missing = [text for text in dict.fromkeys(texts) if text not in embedding_of]
    with _progress_bar(len(missing), "texts", progress) as bar:
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            rows = clip.encode_texts(block, batch_size)
            embedded = dict(zip(block, rows, strict=True))
            embedding_of.update(embedded)
            cache.add(embedded)
            bar.update(len(block))
    if missing:
        cache.join()
    return _matrix([embedding_of[text] for text in texts], clip.width)


def _matrix(rows: list[np.ndarray], width: int) -> Float32[np.ndarray, "n d"]:
    return np.array(rows, dtype=np.float32).reshape(len(rows), width)


def _progress_bar(total: int, what: str, progress: bool) -> tqdm:
    quiet = not progress or logger.getEffectiveLevel() >= logging.ERROR
    return tqdm(total=total, desc=what, disable=quiet or not sys.stderr.isatty())


class EmbeddingCache:
    """The embeddings of texts or images by one CLIP in the cache folder."""

    def __init__(self, clip: OpenClip, what: Tower) -> None:
        name = clip.name + (":float16" if clip.half_precision else "")
        self._width, self._what = clip.width, what
        self._results = ResultFolder(cache_folder() / what, re.sub(r"[^A-Za-z0-9._-]", "_", name))

    def read(self, wanted: set[str] | None = None) -> dict[str, Float32[np.ndarray, " d"]]:
        """Return the embeddings kept of the wanted texts, or digests; without any, all."""
        embedding_of: dict[str, np.ndarray] = {}
        seen: set[str] = set()
        # Another process may be joining files; then a new file has what an old one had.
        while new := self._results.keys() - seen:
            for key in sorted(new):
                embedding_of.update(self._rows(key, wanted))
            seen |= new
        return embedding_of

    def add(self, embedding_of: Mapping[str, Float32[np.ndarray, " d"]]) -> str | None:
        """Keep embeddings in a new file, and return its key; warn if that is impossible."""
        if not embedding_of:
            return None
        key = f"{job_digest(embedding_of, 24)}.parquet"
        values = pa.array(np.concatenate(list(embedding_of.values())))
        embeddings = pa.FixedSizeListArray.from_arrays(values, self._width)
        table = pa.table(
            {"text": pa.array(list(embedding_of), pa.string()), "embedding": embeddings}
        )
        try:
            with self._results.write(key) as partial:
                pq.write_table(table, partial, compression="none", use_dictionary=False)
        except (OSError, InputError) as error:
            logger.warning(
                "%s: embeddings of %s cannot be kept (%s); set %s to a folder that can be written",
                self._results.folder,
                self._what,
                error,
                VARIABLE,
            )
            return None
        return key

    def join(self) -> None:
        """Join the files if there are many."""
        keys = self._results.keys()
        if len(keys) < FILES:
            return
        embedding_of = self.read()
        if not embedding_of:  # another process has just joined them all
            return
        joined = self.add(embedding_of)
        if joined is not None:
            for key in keys - {joined}:
                self._results.remove(key)

    def _rows(self, key: str, wanted: set[str] | None) -> dict[str, np.ndarray]:
        path = self._results.path(key)
        try:
            texts = pq.read_table(path, columns=["text"]).column("text").to_pylist()
            rows = [row for row, text in enumerate(texts) if wanted is None or text in wanted]
            if not rows:
                return {}
            column = pq.read_table(path, columns=["embedding"]).column("embedding")
            flat = column.take(rows).combine_chunks().flatten().to_numpy(zero_copy_only=False)
        except FileNotFoundError:  # joined by another process
            return {}
        except (pa.ArrowInvalid, pa.ArrowKeyError, KeyError, OSError) as error:
            logger.warning("%s: skipped, not readable as kept embeddings (%s)", path, error)
            return {}
        if len(flat) != len(rows) * self._width:
            logger.warning("%s: skipped, its width is not %d", path, self._width)
            return {}
        matrix = flat.reshape(len(rows), self._width).astype(np.float32, copy=False)
        return {texts[row]: matrix[place] for place, row in enumerate(rows)}
