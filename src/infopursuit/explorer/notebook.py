"""The page of a model at hand: images as a person gives them to `model.explore`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.renderers import FramedPage
from infopursuit.explorer.contents import (
    UNKNOWN,
    AnsweredImages,
    Chosen,
    Facts,
    contents,
    no_images,
)
from infopursuit.explorer.page import page, room
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule


def answered(
    names: Sequence[str],
    answers: Float[Tensor, "n k"],
    y: Any,
    classes: Sequence[Any],
    pictures: Sequence[Any] | None,
) -> AnsweredImages:
    """Images as a person hands them over."""
    for what, found in (("labels", y), ("pictures", pictures)):
        if found is not None and len(found) != len(names):
            raise InputError(f"{len(found)} {what} for {len(names)} images; expected one each")
    labels = np.full(len(names), UNKNOWN, dtype=np.int64)
    if y is not None:
        numbers = {label: number for number, label in enumerate(classes)}
        for row, label in enumerate(np.asarray(y).tolist()):
            if label not in numbers:
                raise InputError(f"y[{row}] is {label!r}; expected one of {list(classes)[:10]}")
            labels[row] = numbers[label]
    return AnsweredImages(list(names), labels, [answers.cpu()], pictures)


def explored(
    pursuit: Pursuit,
    stop: StoppingRule,
    provenance: Mapping[str, Any],
    test: AnsweredImages | None,
    train: AnsweredImages | None,
    title: str,
    height: int,
) -> FramedPage:
    """The page of one model; test and training images may be None."""
    content = contents(
        [(pursuit, Facts.of(title, stop, provenance))],
        no_images([pursuit]) if test is None else test,
        train,
        title,
        chosen=Chosen(limit=room(title)),
    )
    return FramedPage(page(content), title, height)
