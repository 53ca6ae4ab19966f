"""Pictures of any kind to embeddings in memory: for the library, which writes no tables."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32
from tqdm import tqdm

from infopursuit.clip.image_tower import encoded_batches
from infopursuit.clip.towers import Clip, OpenClip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import picture_list

TOLD = 3


class EmbeddedPictures(NamedTuple):
    """The readable ones of n pictures.

    Attributes:
        rows: their places among the n, ascending.
        embeddings: one row for each of them, float32, unit norm.
        rejected: the places of all others, with the reason.
    """

    rows: list[int]
    embeddings: Float32[np.ndarray, "m d"]
    rejected: dict[int, str]


def embed_pictures(
    clip: Clip, pictures: Any, batch_size: int = 64, progress: bool = True
) -> Float32[np.ndarray, "n d"]:
    """Embed pictures of any kinds, in their order.

    Args:
        clip: what embeds.
        pictures: a list of pictures, see `infopursuit.datasets.decoding.to_rgb`; one PIL image,
            array or tensor alone; a batch of them.
        batch_size: pictures per batch of the tower.
        progress: whether to show a progress bar, where there is a terminal.

    Returns:
        Rows of unit norm.

    Raises:
        InputError: pictures cannot be read (the message names the first), `pictures` is a path
            instead of a list, or `clip` has no image tower.
    """
    items = picture_list(pictures)
    _, embeddings, rejected = embed_readable_pictures(clip, items, batch_size, progress)
    if rejected:
        told = "; ".join(
            f"{_name(items[row], row)}: {rejected[row]}" for row in sorted(rejected)[:TOLD]
        )
        raise InputError(f"{len(rejected)} of {len(items)} pictures cannot be read ({told})")
    return embeddings


def embed_readable_pictures(
    clip: Clip, pictures: Any, batch_size: int = 64, progress: bool = True
) -> EmbeddedPictures:
    """Embed the pictures that can be read, and say why the others cannot.

    Args and errors are those of `embed_pictures`, but for unreadable pictures.
    """
    if not isinstance(clip, OpenClip):
        clip.encode_images(None)  # says that there is no image tower
    items = picture_list(pictures)
    rows: list[int] = []
    parts = [np.zeros((0, clip.width), dtype=np.float32)]
    rejected: dict[int, str] = {}
    quiet = not (progress and sys.stderr.isatty())
    with tqdm(total=len(items), desc="pictures", disable=quiet) as bar:
        for batch in encoded_batches(clip, iter(items), len(items), batch_size):
            rows += batch.rows
            parts.append(batch.embeddings)
            rejected |= batch.reasons
            bar.update(len(batch.rows) + len(batch.reasons))
    return EmbeddedPictures(rows, np.concatenate(parts), rejected)


def _name(picture: Any, row: int) -> str:
    return str(picture) if isinstance(picture, str | Path) else f"picture {row}"
