"""`infopursuit export`: a model and images to one page that works offline."""

from __future__ import annotations

import argparse
import logging

from infopursuit.cli.explain import write_out
from infopursuit.cli.explored_models import facts, load_models, tell_rejected
from infopursuit.cli.given_images import answered_images
from infopursuit.core.errors import InputError
from infopursuit.explorer.contents import Chosen, contents, no_images
from infopursuit.explorer.page import page, room

logger = logging.getLogger("infopursuit")


def export(chosen: argparse.Namespace) -> int:
    """Write the page.

    Returns:
        The exit status: 1 where images could not be read.

    Raises:
        InputError: the model or an input is malformed, the page would be too large, or it cannot
            be written.
    """
    if chosen.page.is_dir():
        raise InputError(f"{chosen.page}: a folder; expected the name of the page to write")
    models = load_models([chosen.model], chosen.clip, chosen.device)
    (name,) = models
    title = chosen.title or name
    pursuits = [(model.pursuit_, facts(name, model)) for name, model in models.items()]
    rejected: dict[str, str] = {}
    if chosen.images:
        test, train, rejected = answered_images(list(models.values()), chosen.images)
    else:
        test, train = no_images([pursuit for pursuit, _ in pursuits]), None
    content = contents(pursuits, test, train, title, chosen=Chosen(limit=room(title)))
    written = page(content).encode()
    write_out({chosen.page.name: written}, chosen.page.parent, "PAGE", chosen.page)
    logger.info(
        "%s: %d test images and %d training images with %d questions, %.1f MB",
        chosen.page,
        len(content.images.test),
        len(content.images.train),
        len(content.models[0].queries),
        len(written) / 1e6,
    )
    return tell_rejected(rejected)
