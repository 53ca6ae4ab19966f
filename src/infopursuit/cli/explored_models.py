"""The models that the explorer shows, and what is known of them."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from pathlib import Path

import infopursuit
from infopursuit.clip.towers import OpenClip
from infopursuit.core.errors import InputError
from infopursuit.estimators.base import DEFAULT_STOP, PursuitClassifier
from infopursuit.estimators.pictures import clip_of
from infopursuit.explorer.described_model import Facts

logger = logging.getLogger("infopursuit")

TOLD = 20


def load_models(
    given: Sequence[str], clip: str | None, device: str
) -> dict[str, PursuitClassifier]:
    """Models by the names that the page calls them: the last parts of their paths.

    Raises:
        InputError: one cannot be read, or there are more than two.
    """
    if len(given) > 2:
        raise InputError(f"--model: {len(given)} models; expected one, or two to compare")
    found: dict[str, PursuitClassifier] = {}
    for path in given:
        name = Path(path).resolve().name if Path(path).exists() else path
        while name in found:
            name += " again"
        found[name] = infopursuit.load(path, clip=clip, device=device)
    return found


def facts(name: str, model: PursuitClassifier, sees: bool = False) -> Facts:
    """What is known of a model beside the model."""
    return Facts.of(name, model.stop or DEFAULT_STOP, model.provenance_, sees)


def blind(models: Mapping[str, PursuitClassifier]) -> str | None:
    """Why one of the models cannot take pictures; None where all can."""
    for model in models.values():
        try:
            clip = clip_of(model)
            if not isinstance(clip, OpenClip):
                clip.encode_images(None)  # says that there is no image tower
        except InputError as error:
            return str(error)
    return None


def tell_rejected(rejected: Mapping[str, str]) -> int:
    """List what could not be read; gives the exit status."""
    for name, reason in list(rejected.items())[:TOLD]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > TOLD:
        logger.error("left out: %d more", len(rejected) - TOLD)
    return 1 if rejected else 0
