"""Where in a picture: maps of how much each patch speaks for an answer, put into explanations.

rows, maps = mapped(model, ["new.jpg"])                     # (1, d), (1, k, h, w)
located(model, model.explain(["new.jpg"]), maps, ["new.jpg"])[0].steps[0].where
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import numpy as np
from jaxtyping import Float, Float32, UInt8
from PIL import Image
from torch import Tensor

from infopursuit.clip.embed import check_all_readable, embed_readable_pictures
from infopursuit.clip.towers import OpenClip, model_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import picture_list, thumbnail, to_rgb
from infopursuit.datasets.samples import is_pictures
from infopursuit.pursuit.explanation import Explanation

if TYPE_CHECKING:
    from infopursuit.estimators.base import PursuitClassifier


def directions(
    model: PursuitClassifier, questions: Sequence[str] | None = None
) -> Float[Tensor, "q d"]:
    """Return the directions that give the scores of questions; None for all k.

    Raises:
        InputError: the model has no such question, or asks about columns.
    """
    vectors = model.pursuit_.rule.directions_of_scores
    if vectors is None:
        raise InputError("the model asks about the columns of a table; expected one for pictures")
    if questions is None:
        return vectors
    return vectors[[model.pursuit_.number(each) for each in questions]]


def mapped(
    model: PursuitClassifier, X: Any, questions: Sequence[str] | None = None
) -> tuple[Float32[np.ndarray, "n d"], Float32[np.ndarray, "n q h w"]]:
    """Embed pictures and map questions, None for all k, in one pass of the model's CLIP.

    Raises:
        InputError: X are embeddings, a picture cannot be read, the model does not know its CLIP,
            or the tower of that has no embeddings of patches.
    """
    along = directions(model, questions)
    if not is_pictures(X):
        raise InputError(
            "X are embeddings, which do not say where in a picture anything is; expected pictures"
        )
    items = _items(X)
    clip = model_clip(model.clip_source_, model.clip_, model.clip_device_)
    readable = embed_readable_pictures(clip, items, directions=along)
    check_all_readable(items, readable.rejected)
    assert readable.maps is not None
    return readable.embeddings, readable.maps


def why_none(model: PursuitClassifier) -> str | None:
    """Return why there are no maps for a model, in a sentence; None if there are."""
    try:
        mapped(model, [Image.new("RGB", (8, 8))])
    except InputError as error:
        return str(error)
    return None


def mapper(
    model: PursuitClassifier,
) -> Callable[[Sequence[Any]], tuple[np.ndarray, list[tuple[float, float, float, float]]]] | None:
    """Return what maps n pictures for all k questions; None if there are no maps.

    It gives uint8 (n, k, h, w) as maps are shown, and which part of each picture they are of.
    """
    if why_none(model) is not None:
        return None

    def maps(pictures: Sequence[Any]) -> Any:
        clip = cast(OpenClip, model_clip(model.clip_source_, model.clip_, model.clip_device_))
        _, strengths = mapped(model, pictures)
        return eight_bits(strengths), [clip.seen(*to_rgb(each).size) for each in pictures]

    return maps


def located(
    model: PursuitClassifier,
    explained: Sequence[Explanation],
    maps: Float32[np.ndarray, "n k h w"],
    X: Any,
) -> list[Explanation]:
    """Return explanations in which each answer yes of an image has its place.

    Args:
        model: that explained.
        explained: an explanation of each of n pictures.
        maps: of all k questions.
        X: the pictures.
    """
    clip = model_clip(model.clip_source_, model.clip_, model.clip_device_)
    number = {query: place for place, query in enumerate(model.pursuit_.queries)}
    with_places = []
    for explanation, of_image, picture in zip(explained, maps, _items(X), strict=True):
        steps = tuple(
            replace(step, where=_place(of_image[number[step.query]]))
            if step.yes and not step.overridden
            else step
            for step in explanation.steps
        )
        pixels = cast(OpenClip, clip).pixels(to_rgb(picture))
        seen = thumbnail(Image.fromarray(pixels.transpose(1, 2, 0)))
        with_places.append(replace(explanation, steps=steps, picture=seen))
    return with_places


def _place(of_image: Float32[np.ndarray, "h w"]) -> tuple[tuple[int, ...], ...]:
    return tuple(map(tuple, eight_bits(of_image).tolist()))


def _items(X: Any) -> list[Any]:
    return picture_list([X] if isinstance(X, (Path, bytes)) else X)


def eight_bits(maps: Float32[np.ndarray, "*b h w"]) -> UInt8[np.ndarray, "*b h w"]:
    """Return maps as they are shown: 0 up to the median of a map, 255 at its largest value."""
    middle = np.median(maps, axis=(-2, -1), keepdims=True)
    span = maps.max(axis=(-2, -1), keepdims=True) - middle
    shares = (maps - middle) / np.where(span > 0, span, 1)
    return np.rint(255 * shares.clip(0, 1)).astype(np.uint8)
