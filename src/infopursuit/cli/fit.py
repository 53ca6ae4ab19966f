"""`infopursuit fit`: images or embeddings to a saved model."""

from __future__ import annotations

import argparse
import logging
import warnings
from pathlib import Path

import numpy as np

from infopursuit.cli.embedded_files import is_embedded, read_images, read_lines, read_texts
from infopursuit.core.errors import InputError
from infopursuit.core.numbers import percent
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.estimators.pictures import clip_source
from infopursuit.estimators.pictures import fit as fit_pictures

logger = logging.getLogger("infopursuit")

TOLD = 20


def fit(chosen: argparse.Namespace) -> int:
    """Fit, save, and tell how good the model is.

    Returns:
        The exit status: 1 where images could not be read.

    Raises:
        InputError: an input is malformed, or the model cannot be written.
    """
    _refuse_file(chosen.out)
    settings = {
        "n_queries": chosen.n_queries,
        "ban": chosen.ban,
        "keep": chosen.keep,
        "first_query": chosen.first,
        "random_state": chosen.random_state,
    }
    if is_embedded(chosen.images):
        model = _fit_embedded(chosen, settings)
    else:
        if chosen.labels is not None:
            raise InputError("--labels: expected it with an .npy file; a folder names its classes")
        with warnings.catch_warnings():  # what was left out is listed at the end
            warnings.filterwarnings("ignore", ".* pictures cannot be read and are left out")
            model = fit_pictures(
                chosen.images,
                chosen.classes,
                None if chosen.texts is None else read_lines(chosen.texts),
                chosen.clip or "ViT-B-32",
                chosen.pretrained,
                device=chosen.device,
                **settings,
            )
    model.save(chosen.out)
    for line in told(model):
        logger.info("%s", line)
    rejected = model.provenance_.get("rejected", {})
    logger.info("saved: %s", chosen.out)
    for name, reason in list(rejected.items())[:TOLD]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > TOLD:
        logger.error("left out: %d more, listed in %s", len(rejected) - TOLD, chosen.out)
    return 1 if rejected else 0


def told(model: InformationPursuitClassifier) -> list[str]:
    """How large a model is, and how good."""
    found = model.provenance_
    lines = [
        f"{found['images']} images, {len(model.classes_)} classes, {len(model.queries_)} questions"
    ]
    if "test_accuracy" in found:
        share = percent(found["test_accuracy"])
        lines.append(f"accuracy on {found['test_images']} test images: {share}")
    elif "held_out_accuracy" in found:
        share = percent(found["held_out_accuracy"])
        lines.append(f"accuracy on {found['held_out_images']} images held out: {share}")
    return lines


def _fit_embedded(
    chosen: argparse.Namespace, settings: dict[str, object]
) -> InformationPursuitClassifier:
    if chosen.texts is None:
        raise InputError(
            "--texts is missing; expected the texts with their embeddings (.parquet, .npz), or a "
            "file of texts and --clip"
        )
    if chosen.classes is not None:
        raise InputError("--classes: expected it with a folder of images")
    source = None if chosen.clip is None else clip_source(chosen.clip, chosen.pretrained)
    train, test = read_images(chosen.images, chosen.labels)
    texts, embeddings, name = read_texts(chosen.texts, source, chosen.device)
    model = InformationPursuitClassifier(texts, embeddings).set_params(**settings)
    model.fit(train.embeddings, train.labels)
    model.clip_, model.clip_source_ = name, source
    if test is not None:
        right = model.predict(test.embeddings) == test.labels
        model.provenance_["test_images"] = len(test.labels)
        model.provenance_["test_accuracy"] = float(np.mean(right))
    return model


def _refuse_file(out: Path) -> None:
    """Said before hours of work, not after."""
    if out.exists() and not out.is_dir():
        raise InputError(f"--out {out}: a file; expected a folder, or nothing")
