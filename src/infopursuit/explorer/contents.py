"""What goes into a page: models, samples of their images, and all within the limit of its size."""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.described_model import Facts, described
from infopursuit.explorer.shown_images import UNKNOWN, AnsweredImages, scored, shown, spread
from infopursuit.pursuit.pursuit import Pursuit

logger = logging.getLogger("infopursuit")

# Samples with pictures, where there is room for them.
TEST, TRAIN = 200, 100
# Of the samples so many may be there for being wrong: they are what one wants to see.
WRONG_SHARE = 1 / 3
# Of the room for pictures so much is for test images.
TEST_SHARE = 0.7


@dataclass(frozen=True)
class Chosen:
    """How many images of each split the page shows, and how many bytes the payload may have."""

    test: int = TEST
    train: int = TRAIN
    limit: int | None = None


def contents(
    models: Sequence[tuple[Pursuit, Facts]],
    test: AnsweredImages,
    train: AnsweredImages | None = None,
    title: str = "Explorer",
    served: bool = False,
    chosen: Chosen = Chosen(),
) -> payload.Payload:
    """The payload of a page.

    Samples are spread over the classes; the last of them are wrong predictions. Where pictures do
    not all fit into the limit, the last ones are left out, which is logged; test images that are
    not shown count in accuracies.

    Args:
        models: one or two, of the same classes, with what is known of them.
        test: images to explain; without classes where these are unknown.
        train: images of the training split, None where there are none.
        title: of the page.
        served: whether there is a server.
        chosen: how many images.

    Raises:
        InputError: the models have other classes, a picture cannot be read, or the models alone
            are beyond the limit.
    """
    pursuits = [pursuit for pursuit, _ in models]
    for pursuit, facts in models:
        if pursuit.class_names != pursuits[0].class_names:
            raise InputError(
                f"{facts.name}: {len(pursuit.class_names)} classes from "
                f"{pursuit.class_names[:3]} on; expected those of {models[0][1].name}: "
                f"{len(pursuits[0].class_names)} from {pursuits[0].class_names[:3]} on"
            )
    order = _samples_first(models[0], test, chosen.test)
    wanted = order[: chosen.test]
    rest = scored(pursuits, test.rows(sorted(order[len(wanted) :])))
    empty = payload.Payload(
        format=payload.FORMAT,
        title=payload.inert(title),
        served=served,
        models=[described(pursuit, facts) for pursuit, facts in models],
        images=payload.Images(test=[], train=[], scored=rest),
    )
    room = _room(empty, chosen)
    first = shown(pursuits, test.rows(wanted), None if room is None else int(TEST_SHARE * room))
    if len(first) < len(wanted):  # what has no picture is counted all the same
        rest = scored(pursuits, test.rows(sorted(order[len(first) :])))
        empty = empty.model_copy(update={"images": payload.Images(test=[], train=[], scored=rest)})
        room = _room(empty, chosen)
    if room is not None:
        room -= sum(len(each.model_dump_json()) + 1 for each in first)
    second: list[payload.Image] = []
    if train is not None:
        others = spread(train.labels)[: chosen.train]
        second = shown(pursuits, train.rows(others), room)
        _tell("training", len(second), len(others))
    _tell("test", len(first), len(wanted))
    images = payload.Images(test=first, train=second, scored=rest)
    return empty.model_copy(update={"images": images})


def _samples_first(model: tuple[Pursuit, Facts], test: AnsweredImages, count: int) -> list[int]:
    """All rows: the samples, of which some are wrong predictions, then the others."""
    order = spread(test.labels)
    pursuit, facts = model
    if len(order) <= count:
        return order
    ending = pursuit.ask_until(test.answers[0].to(pursuit.device), facts.stop)
    predicted = ending.posterior.argmax(dim=1).cpu().numpy()
    labels = test.labels
    wrong = {row for row in order if labels[row] not in (UNKNOWN, predicted[row])}
    plain = count - min(len(wrong), int(WRONG_SHARE * count))
    found = order[:plain]
    rest = order[plain:]
    # The sort is stable: the wrong ones keep the order of the spread.
    return found + sorted(rest, key=lambda row: row not in wrong)


def no_images(pursuits: Sequence[Pursuit]) -> AnsweredImages:
    """None at all: the page of a model that nobody gave images for."""
    import torch

    answers = [torch.zeros(0, len(pursuit.queries)) for pursuit in pursuits]
    return AnsweredImages([], np.zeros(0, dtype=np.int64), answers)


def _room(empty: payload.Payload, chosen: Chosen) -> int | None:
    """Bytes left for images."""
    if chosen.limit is None:
        return None
    taken = len(payload.written(empty))
    if taken > chosen.limit:
        sizes = ", ".join(
            f"{each.name} has {len(each.queries)} questions and {len(each.classes)} classes"
            for each in empty.models
        )
        raise InputError(
            f"without any picture the page is {taken / 1e6:.1f} MB too large for "
            f"{chosen.limit / 1e6:.1f} MB: {sizes}; expected fewer, or `infopursuit serve`"
        )
    return chosen.limit - taken


def _tell(split: str, found: int, wanted: int) -> None:
    if found < wanted:
        logger.warning(
            "%d of %d %s images fit into the page; the others are not shown", found, wanted, split
        )
