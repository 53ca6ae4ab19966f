"""`infopursuit serve`: the page of models with a server of its own."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Callable
from importlib.util import find_spec

from PIL import Image
from torch import Tensor

from infopursuit.cli.explored_models import blind, facts, load_models, tell_rejected
from infopursuit.cli.given_images import answered_images
from infopursuit.core.errors import InputError
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.inputs import rows_of
from infopursuit.explorer.contents import contents, no_images

logger = logging.getLogger("infopursuit")

PACKAGES = ("fastapi", "uvicorn")


def serve(chosen: argparse.Namespace) -> int:
    """Serve until Ctrl-C.

    Raises:
        InputError: packages are missing, a model or an input is malformed, or the server cannot
            listen where it should.
    """
    missing = [name for name in PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(
            f"serve needs pip install 'infopursuit[app]' ({', '.join(missing)} not found); "
            "`infopursuit export` writes a page without them"
        )
    from infopursuit.explorer.server import Served, server
    from infopursuit.explorer.serving import bound, run

    listening = bound(chosen.host, chosen.port)  # what is in use is said before minutes of work
    with listening:
        models = load_models(chosen.models, chosen.clip, chosen.device)
        reason = blind(models)
        pursuits = [
            (model.pursuit_, facts(name, model, reason is None)) for name, model in models.items()
        ]
        if chosen.images:
            test, train, rejected = answered_images(list(models.values()), chosen.images)
            tell_rejected(rejected)
        else:
            test, train = no_images([pursuit for pursuit, _ in pursuits]), None
        title = chosen.title or " and ".join(models)
        content = contents(pursuits, test, train, title, served=True)
        if reason is not None:
            logger.info("pictures of your own are refused: %s", reason)
        served = [
            Served(model.pursuit_, None if reason else _answer(model)) for model in models.values()
        ]
        names = [chosen.host, *chosen.allow]
        run(server(served, content, names, reason), listening)
    return 0


def _answer(model: PursuitClassifier) -> Callable[[Image.Image], Tensor]:
    """Answers pictures by the CLIP of a model."""

    def answer(picture: Image.Image) -> Tensor:
        rows = rows_of(model, [picture]).tensor().to(model.pursuit_.device)
        return model.pursuit_.answers(rows)

    return answer
