"""Texts to embeddings in memory, each embedded once: they are kept in the user's cache folder.

    <cache>/texts/<name of the CLIP>/<hash of the texts>.parquet      text, embedding (float32)

The name of a CLIP has the hash of its weights, so other weights are other folders. A file is never
changed: it appears under its name when it is complete, and holds what it says, whoever wrote it.
So processes need no locks; what two of them embed at once is there twice until files are joined.
"""

from __future__ import annotations

import hashlib
import logging
import os
import re
import sys
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from jaxtyping import Float32
from tqdm import tqdm

from infopursuit.clip.towers import Clip, OpenClip
from infopursuit.core.errors import InputError

logger = logging.getLogger(__name__)

VARIABLE = "INFOPURSUIT_CACHE"
# Texts after which their embeddings are kept: what an interrupted call loses.
BLOCK = 8192
# From so many files on they are joined.
FILES = 16


def cache_folder() -> Path:
    """Where infopursuit keeps what can be made again.

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
    cache: bool = True,
) -> Float32[np.ndarray, "n d"]:
    """Embed texts, in their order; those that this CLIP embedded before come from the cache.

    Where the cache cannot be written, a warning says so and nothing else changes.

    Args:
        clip: what embeds. A table of precomputed texts needs no cache and uses none.
        texts: strings, in a list, an array or a column of a table.
        batch_size: texts of full length per batch of the tower.
        progress: whether to show a progress bar, where there is a terminal.
        cache: whether to use the cache.

    Returns:
        Rows of unit norm.

    Raises:
        InputError: `texts` is one string, or holds something else than strings.
    """
    if isinstance(texts, str | bytes):
        raise InputError(f"texts: expected a list of texts, found {texts!r}; write [text]")
    texts = list(texts)
    for row, text in enumerate(texts):
        if not isinstance(text, str):
            found = type(text).__name__
            raise InputError(f"texts: row {row} is {found}; expected a text")
    if not isinstance(clip, OpenClip):
        return clip.encode_texts(texts)
    kept = _Kept(clip) if cache else None
    known = kept.read(set(texts)) if kept else {}
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(missing), desc="texts", disable=quiet) as bar:
        for start in range(0, len(missing), BLOCK):
            block = missing[start : start + BLOCK]
            rows = clip.encode_texts(block, batch_size)
            known.update(zip(block, rows, strict=True))
            if kept:
                kept.add(block, rows)
            bar.update(len(block))
    if kept and missing:
        kept.join()
    matrix = np.empty((len(texts), clip.width), dtype=np.float32)
    for row, text in enumerate(texts):
        matrix[row] = known[text]
    return matrix


class _Kept:
    """The embeddings of texts by one CLIP in the cache folder."""

    def __init__(self, clip: OpenClip) -> None:
        name = clip.name + (":float16" if clip.half_precision else "")
        self._width = clip.width
        self._folder = cache_folder() / "texts" / re.sub(r"[^A-Za-z0-9._-]", "_", name)

    def read(self, wanted: set[str]) -> dict[str, Float32[np.ndarray, " d"]]:
        """The embeddings of those of the wanted texts that are there."""
        found: dict[str, np.ndarray] = {}
        read: set[Path] = set()
        # Another process may be joining files: what is gone is in a new one by then.
        while new := [file for file in self._files() if file not in read]:
            for file in new:
                read.add(file)
                found.update(self._rows(file, wanted - found.keys()))
        return found

    def add(self, texts: Sequence[str], rows: Float32[np.ndarray, "m d"]) -> Path | None:
        """Keep embeddings in a file of their own; a warning says where that is impossible."""
        digest = hashlib.sha256("\0".join(texts).encode()).hexdigest()
        file = self._folder / f"{digest[:24]}.parquet"
        partial = file.with_name(f"{file.name}.{uuid4().hex[:8]}.partial")
        values = pa.array(np.ascontiguousarray(rows).reshape(-1))
        columns = {
            "text": pa.array(texts, pa.string()),
            "embedding": pa.FixedSizeListArray.from_arrays(values, self._width),
        }
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            try:
                pq.write_table(pa.table(columns), partial, compression="none", use_dictionary=False)
                partial.replace(file)
            finally:
                partial.unlink(missing_ok=True)
        except OSError as error:
            logger.warning(
                "%s: embeddings of texts cannot be kept (%s); set %s to a folder that can be "
                "written",
                self._folder,
                error,
                VARIABLE,
            )
            return None
        return file

    def join(self) -> None:
        """Join the files where they are many."""
        files = self._files()
        if len(files) < FILES:
            return
        everything: dict[str, np.ndarray] = {}
        for file in files:
            everything.update(self._rows(file, None))
        if not everything:  # another process joined them all meanwhile
            return
        joined = self.add(list(everything), np.stack(list(everything.values())))
        if joined is not None:
            for file in files:
                if file != joined:
                    file.unlink(missing_ok=True)

    def _files(self) -> list[Path]:
        return sorted(self._folder.glob("*.parquet"))

    def _rows(self, file: Path, wanted: Iterable[str] | None) -> dict[str, np.ndarray]:
        """The embeddings of the wanted texts of a file, None for all of them."""
        try:
            texts = pq.read_table(file, columns=["text"]).column("text").to_pylist()
            among = set(texts if wanted is None else wanted)
            rows = [row for row, text in enumerate(texts) if text in among]
            if not rows:
                return {}
            column = pq.read_table(file, columns=["embedding"]).column("embedding")
            flat = column.take(rows).combine_chunks().flatten().to_numpy(zero_copy_only=False)
        except FileNotFoundError:  # joined by another process, see `read`
            return {}
        except (pa.ArrowInvalid, pa.ArrowKeyError, KeyError, OSError) as error:
            logger.warning("%s: passed over, not readable as kept embeddings (%s)", file, error)
            return {}
        if len(flat) != len(rows) * self._width:
            logger.warning("%s: passed over, it has not the width %d", file, self._width)
            return {}
        matrix = flat.reshape(len(rows), self._width).astype(np.float32, copy=False)
        return {texts[row]: matrix[place] for place, row in enumerate(rows)}
