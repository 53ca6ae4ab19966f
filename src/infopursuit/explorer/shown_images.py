"""The images of the page: samples with thumbnails, and answers of all others."""

from __future__ import annotations

import base64
import io
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from jaxtyping import Float, Integer
from PIL import Image
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import UnreadableError, to_rgb
from infopursuit.explorer import payload
from infopursuit.explorer.described_model import joined_answers, written_answers
from infopursuit.pursuit.pursuit import Pursuit

# Pixels of the longer side of a thumbnail, and WebP's quality.
SIDE, QUALITY = 128, 70
# Test images beside the samples whose answers the page counts.
SCORED = 10_000
UNKNOWN = -1

# Gives the pictures of some rows.
Pictures = Callable[[Sequence[int]], Sequence[Any]]


@dataclass(frozen=True)
class AnsweredImages:
    """n images of one split, with their answers.

    Attributes:
        ids: what the page calls them.
        labels: (n,) numbers of their classes, -1 where a class is not known.
        answers: for each model (n, k), in [0, 1].
        pictures: of any kind that `to_rgb` takes, None for an image without; or what gives those of
            some rows, so that the others are never read. None for no pictures at all.
    """

    ids: Sequence[str]
    labels: Integer[np.ndarray, " n"]
    answers: Sequence[Float[Tensor, "n k"]]
    pictures: Sequence[Any] | Pictures | None = None

    def rows(self, places: Sequence[int]) -> AnsweredImages:
        """Some of them."""
        chosen = torch.tensor(list(places), dtype=torch.long)
        return AnsweredImages(
            [self.ids[place] for place in places],
            self.labels[chosen.numpy()],
            [each[chosen.to(each.device)] for each in self.answers],
            None if self.pictures is None else lambda rows: self.given([places[r] for r in rows]),
        )

    def given(self, places: Sequence[int]) -> Sequence[Any]:
        """The pictures of some rows."""
        if self.pictures is None:
            return [None] * len(places)
        if callable(self.pictures):
            return self.pictures(places)
        return [self.pictures[place] for place in places]


def shown(
    pursuits: Sequence[Pursuit], images: AnsweredImages, room: int | None = None
) -> list[payload.Image]:
    """The images, each with its thumbnail; as many from the first on as fit into `room` bytes.

    Raises:
        InputError: a picture cannot be read; the message names it.
    """
    found: list[payload.Image] = []
    taken = 0
    for image in _shown(pursuits, images):
        taken += len(image.model_dump_json()) + 1
        if room is not None and taken > room:
            break
        found.append(image)
    return found


def scored(pursuits: Sequence[Pursuit], images: AnsweredImages) -> payload.Scored:
    """Labels and answers of images that have a class; of many an even sample of `SCORED`."""
    places = np.flatnonzero(images.labels != UNKNOWN)
    if len(places) > SCORED:
        places = places[np.linspace(0, len(places) - 1, SCORED).round().astype(np.int64)]
    chosen = images.rows(places.tolist())
    return payload.Scored(
        labels=payload.labels(chosen.labels),
        answers=[
            joined_answers(pursuit, answers)
            for pursuit, answers in zip(pursuits, chosen.answers, strict=True)
        ],
    )


def thumbnail(picture: Any, side: int = SIDE) -> str:
    """A picture as a small WebP in a data address: nothing of its metadata stays.

    Raises:
        UnreadableError: it cannot be decoded.
    """
    image = to_rgb(picture)
    image.thumbnail((side, side), Image.Resampling.LANCZOS)
    bare = Image.new("RGB", image.size)
    bare.paste(image)
    content = io.BytesIO()
    bare.save(content, "WEBP", quality=QUALITY, method=4)
    return f"data:image/webp;base64,{base64.b64encode(content.getvalue()).decode('ascii')}"


def _shown(pursuits: Sequence[Pursuit], images: AnsweredImages) -> Iterator[payload.Image]:
    answers = [
        written_answers(pursuit, given)
        for pursuit, given in zip(pursuits, images.answers, strict=True)
    ]
    pictures = images.given(range(len(images.ids)))
    for row, name in enumerate(images.ids):
        label = int(images.labels[row])
        yield payload.Image(
            id=payload.inert(name),
            label=None if label == UNKNOWN else label,
            thumbnail=_thumbnail(name, pictures[row]),
            answers=[of_model[row] for of_model in answers],
        )


def _thumbnail(name: str, picture: Any) -> str | None:
    if picture is None:
        return None
    try:
        return thumbnail(picture)
    except UnreadableError as reason:
        raise InputError(f"the image {name!r} is {reason}") from reason


def spread(labels: Integer[np.ndarray, " n"]) -> list[int]:
    """All rows, class by class: the first image of each class, then the second of each, ..."""
    rank = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        rank[rows] = np.arange(len(rows))
    return np.lexsort((np.arange(len(labels)), labels, rank)).tolist()
