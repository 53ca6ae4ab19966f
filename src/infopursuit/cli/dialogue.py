"""`infopursuit dialogue`: a model asks; a person, an image or a vision model answers."""

from __future__ import annotations

import argparse
import sys

from infopursuit.cli.explain import given, stopping_rule, write_explanations
from infopursuit.cli.language_model import language_model_of
from infopursuit.core.errors import InputError
from infopursuit.core.files import check_writable
from infopursuit.core.terminal import show
from infopursuit.datasets.reading import read_each
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.readable import wanted_by
from infopursuit.pursuit.conversation import Answerer, converse
from infopursuit.pursuit.person import Person


def dialogue(chosen: argparse.Namespace) -> None:
    """Ask until the class is clear, and write the explanation."""
    if chosen.out is not None:
        check_writable(chosen.out, "--out")
    model = load_fitted(chosen.model, chosen.clip, chosen.device)
    stop, model = stopping_rule(model, chosen), given(model, chosen)
    seeing = language_model_of(chosen)
    answerer: Answerer = Person(iter(sys.stdin), show)
    if chosen.image is not None:
        (images,) = read_each([chosen.image], wanted_by(model))
        cost = () if chosen.ask_below is None else (1.0, chosen.ask_below)
        asking = model.dialogue(images.some(), *cost)
        asking.name = images.ids[0]
        if seeing is not None:
            from infopursuit.pursuit.vision_model import VisionModel

            answerer = VisionModel(seeing, images.some_pictures()[0])
    elif seeing is None and chosen.ask_below is None:
        asking = model.dialogue()
    else:
        raise InputError("--llm and --ask-below are about an image; found none")
    write_explanations([converse(asking, stop, answerer, show)], {}, chosen)
