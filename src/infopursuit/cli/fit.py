"""`infopursuit fit`: images or embeddings to a saved model."""

from __future__ import annotations

import argparse
import logging
import warnings
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.files import check_writable
from infopursuit.core.numbers import percent
from infopursuit.datasets.embedded_files import read_embedded_texts, read_embeddings
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier, check_before_work
from infopursuit.estimators.trained_on import remember
from infopursuit.texts.text_table import read_texts

logger = logging.getLogger("infopursuit")

# Suffixes of files that hold embeddings rather than images.
EMBEDDED = (".npz", ".npy", ".parquet")
LISTED = 20


def fit(chosen: argparse.Namespace) -> int:
    """Fit, save, and report how good the model is.

    Returns:
        The exit status: 1 if images could not be read.
    """
    check_writable(chosen.out, "--out", folder=True)
    settings: dict[str, Any] = {
        "n_queries": chosen.n_queries,
        "ban": chosen.ban,
        "keep": chosen.keep,
        "first_query": chosen.first,
        "random_state": chosen.random_state,
    }
    if chosen.knowledge is not None:
        settings["knowledge"] = chosen.knowledge
    if chosen.images.suffix in EMBEDDED:
        model = _fit_embedded(chosen, settings)
    else:
        if chosen.labels is not None:
            raise InputError("--labels: expected it with an .npy file; a folder names its classes")
        from infopursuit.estimators.pictures import fit as fit_pictures

        with warnings.catch_warnings():  # what was left out is listed at the end
            warnings.filterwarnings("ignore", ".* pictures cannot be read and are left out")
            model = fit_pictures(
                chosen.images,
                chosen.classes,
                None if chosen.texts is None else read_texts(chosen.texts)[0],
                chosen.clip or "ViT-B-32",
                chosen.pretrained,
                device=chosen.device,
                test_fraction=chosen.test_fraction,
                **settings,
            )
    model.save(chosen.out)
    for line in summary(model):
        logger.info("%s", line)
    rejected = model.provenance_.get("rejected", {})
    logger.info("saved: %s", chosen.out)
    for name, reason in list(rejected.items())[:LISTED]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > LISTED:
        logger.error("left out: %d more, listed in %s", len(rejected) - LISTED, chosen.out)
    return 1 if rejected else 0


def summary(model: InformationPursuitClassifier) -> list[str]:
    """Return how large a model is, and how good."""
    facts = model.provenance_
    lines = [
        f"{facts['images']} images, {len(model.classes_)} classes, {len(model.queries_)} questions"
    ]
    for split, images in (("test", "test images"), ("held_out", "images held out")):
        if f"{split}_accuracy" in facts:
            share = percent(facts[f"{split}_accuracy"])
            lines.append(f"accuracy on {facts[f'{split}_images']} {images}: {share}")
            break
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
    from infopursuit.clip.weights import clip_source

    source = None if chosen.clip is None else clip_source(chosen.clip, chosen.pretrained)
    train, test = read_embeddings(chosen.images, chosen.labels)
    if chosen.texts.suffix in (".parquet", ".npz"):
        texts, embeddings, name = read_embedded_texts(chosen.texts)
    else:
        from infopursuit.clip.embed import embed_texts
        from infopursuit.clip.towers import load_clip

        texts, _ = read_texts(chosen.texts)
        if source is None:
            raise InputError(
                f"{chosen.texts}: texts without embeddings; expected --clip, which embeds them"
            )
        model = InformationPursuitClassifier(texts).set_params(**settings)
        check_before_work(model, texts, train.labels)
        clip = load_clip(source, chosen.device)
        embeddings, name = embed_texts(clip, texts), clip.name
    model = InformationPursuitClassifier(texts, embeddings).set_params(**settings)
    model.fit(train.rows, train.labels)
    model.clip_, model.clip_source_ = name, source
    remember(model.provenance_, train.rows)
    if test is not None:
        right = model.predict(test.rows) == test.labels
        model.provenance_["test_images"] = len(test.labels)
        model.provenance_["test_accuracy"] = float(np.mean(right))
    return model
