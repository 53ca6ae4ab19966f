"""`infopursuit export`, `serve` and `annotate`: a page to explore a model, and images for it.

Images, or rows of a table, come in the forms of `infopursuit.datasets.samples`.
Without a split, all of them are test images, but those that the model was trained on are training
images: it knows them by their checksums.
"""

from __future__ import annotations

import argparse
import logging
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from infopursuit.cli.explain import write_out
from infopursuit.clip.towers import image_tower
from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import check_writable, suffix_of
from infopursuit.core.numbers import counted
from infopursuit.datasets.image_source import SPLITS, spelled
from infopursuit.datasets.reading import image_files, read_samples
from infopursuit.datasets.samples import Samples, of_list
from infopursuit.datasets.trained_on import KEY, seen
from infopursuit.estimators.base import PursuitClassifier, load_fitted, rows_of
from infopursuit.estimators.places import mapper
from infopursuit.estimators.readable import clip_of, readable, wanted_by
from infopursuit.explorer.annotating import Annotating, worth_answering
from infopursuit.explorer.contents import (
    SCORED,
    TEST,
    TRAIN,
    UNKNOWN,
    AnsweredImages,
    Chosen,
    Facts,
    contents,
    no_images,
    origins,
    spread,
)
from infopursuit.explorer.page import page, room
from infopursuit.pursuit.answers.annotated import FEWEST
from infopursuit.pursuit.explanation import IMAGE
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import DEFAULT_STOP

logger = logging.getLogger("infopursuit")

SERVER_PACKAGES = ("fastapi", "uvicorn", "python_multipart")
LISTED = 20
TRAINING, TESTED = SPLITS
# Pictures that are in memory at once while they are embedded.
BLOCK = 512


def export(chosen: argparse.Namespace) -> int:
    """Write the page.

    Returns:
        The exit status: 1 if images could not be read.
    """
    check_writable(chosen.page, "PAGE")
    name, model = load_named(chosen.model, chosen.clip, chosen.device)
    title, pursuit = chosen.title or name, model.pursuit_
    if chosen.key and pursuit.querier.criterion == "querier probability":
        raise InputError("--key: networks have no table of answers; expected a naive Bayes model")
    test, train, rejected = _images(model, chosen.images)
    if chosen.key:
        test, train = surest(pursuit, test if train is None else train), None
    limit = Chosen(limit=room(title))
    shown = pursuit, facts(name, model)
    content = contents(shown, test, train, title, chosen=limit, key=chosen.key)
    written = page(content).encode()
    write_out({chosen.page.name: written}, chosen.page.parent, "PAGE", chosen.page)
    noun = pursuit.noun
    logger.info(
        "%s: %s and %s with %s, %.1f MB",
        chosen.page,
        counted(len(content.images.test), f"test {noun}"),
        counted(len(content.images.train), f"training {noun}"),
        counted(len(content.model.queries), "question"),
        len(written) / 1e6,
    )
    return 1 if rejected else 0


def surest(pursuit: Pursuit, images: AnsweredImages) -> AnsweredImages:
    """Return of each class the image that the model is surest of, after all its answers."""
    answers = images.answers.to(pursuit.device)
    with torch.no_grad():
        logits = pursuit.classifier(answers, torch.ones_like(answers))
    posterior = logits.double().softmax(dim=1).cpu().numpy()
    rows = []
    for label in np.unique(images.labels[images.labels != UNKNOWN]):
        of_class = np.flatnonzero(images.labels == label)
        rows.append(int(of_class[posterior[of_class, label].argmax()]))
    return images.rows(rows)


def annotate(chosen: argparse.Namespace) -> int:
    """Ask a person about pictures until Ctrl-C; the exit status is 1 if some cannot be read."""
    _check_server_packages("annotate")
    from infopursuit.explorer.server import Served, bound, run, server

    check_writable(chosen.out, "--out")
    suffix_of(chosen.out, "annotations", {".csv": "a table of a spreadsheet"})
    with bound(chosen.host, chosen.port) as listening:
        name, model = load_named(chosen.model, chosen.clip, chosen.device)
        if model.pursuit_.noun != IMAGE:
            raise InputError(f"{name}: asks about a table; expected a model of images")
        listed = image_files([str(chosen.images)])
        paths = list(map(str, listed))
        read = readable(model, Samples(paths[0], paths, pictures=of_list(listed)))
        files, rejected = read.samples.some_pictures(), read.rejected
        if not files or not chosen.images.is_dir():
            raise InputError(f"{chosen.images}: expected a folder with a picture that can be read")
        images = rows_of(model, read.samples.rows).tensor().to(model.pursuit_.device)
        how = (chosen.unsure, chosen.random_state)
        cells = worth_answering(model.pursuit_, images, model.stop or DEFAULT_STOP, *how)
        short = [writable(Path(each).relative_to(chosen.images).as_posix()) for each in files]
        asking = Annotating(chosen.out, short, files, model.pursuit_, cells, chosen.by)
        empty = no_images(model.pursuit_)
        content = contents((model.pursuit_, facts(name, model)), empty, title=name, served=True)
        content = content.model_copy(update={"annotate": True})
        for each, reason in rejected.items():
            logger.error("left out: %s: %s", each, reason)
        answered = sum(each is not None for each in asking.answers())
        about = counted(len(cells), "question"), counted(len(files), "picture")
        logger.info(
            "%s about %s, %d answered; answers are saved in %s", *about, answered, chosen.out
        )
        lacking = asking.lacking().values()
        teach = sum(not any(each) for each in lacking), counted(len(lacking), "text")
        logger.info("%d of %s can teach: each needs %d yes and no", *teach, FEWEST)
        served = Served(model.pursuit_, None)
        run(server(served, content, [chosen.host], asking), listening)
    return 1 if rejected else 0


def _check_server_packages(command: str) -> None:
    missing = [name for name in SERVER_PACKAGES if find_spec(name) is None]
    if missing:
        raise InputError(
            f"{command} needs pip install 'infopursuit[app]' ({', '.join(missing)} not found); "
            "`infopursuit export` writes a page without them"
        )


def serve(chosen: argparse.Namespace) -> int:
    """Serve until Ctrl-C."""
    _check_server_packages("serve")
    from infopursuit.explorer.server import Served, bound, run, server

    if len(chosen.models) > 1:
        raise InputError(
            f"--model: {len(chosen.models)} models; expected one, and another server, with another "
            "--port, for each of the others"
        )
    with bound(chosen.host, chosen.port) as listening:  # fails before minutes of work
        name, model = load_named(chosen.models[0], chosen.clip, chosen.device)
        reason = blind(model)
        test, train, _ = _images(model, chosen.images)
        shown = model.pursuit_, facts(name, model, reason is None)
        content = contents(shown, test, train, chosen.title or name, served=True)
        if reason is not None:
            logger.info("pictures of your own are refused: %s", reason)
        answerer, stop = None if reason else partial(_answers, model), model.stop or DEFAULT_STOP
        served = Served(model.pursuit_, answerer, mapper(model), stop)
        names = [chosen.host, *chosen.allow]
        run(server(served, content, names), listening)
    return 0


# -- the model ------------------------------------------------------------------------------------


def load_named(given: str, clip: str | None, device: str) -> tuple[str, PursuitClassifier]:
    """Return what the page calls a model, the last part of its path, and the model."""
    name = Path(given).resolve().name if Path(given).exists() else given
    return name, load_fitted(given, clip, device)


def facts(name: str, model: PursuitClassifier, sees: bool = False) -> Facts:
    """Return what the page says of a model."""
    where, stop = origins(model.provenance_.get("sources", {})), model.stop or DEFAULT_STOP
    known = model.knowledge_
    return Facts(name, stop, where, sees=sees, maps=mapper(model), knowledge=known)


def blind(model: PursuitClassifier) -> str | None:
    """Return why a model cannot take pictures; None if it can."""
    try:
        image_tower(clip_of(model))
    except InputError as error:
        return str(error)
    return None


# -- images ---------------------------------------------------------------------------------------


Answered = tuple[AnsweredImages, AnsweredImages | None, dict[str, str]]


def _images(model: PursuitClassifier, given: Sequence[str]) -> Answered:
    """Return test and training images (None without any), and why others cannot be read.

    Of many test images they are an even sample over the classes.
    """
    if not given:
        return no_images(model.pursuit_), None, {}
    parts: dict[str, list[AnsweredImages]] = {split: [] for split in SPLITS}
    rejected: dict[str, str] = {}
    for path in given:
        source = read_samples(path, wanted_by(model))
        source = replace(source, classes=_labels(source, model))
        splits = _splits(source, model)
        for split, most in ((TESTED, TEST + SCORED), (TRAINING, TRAIN)):
            rows = [row for row, of_row in enumerate(splits) if of_row == split]
            if rows:
                rows = sorted(rows[place] for place in spread(source.labels[rows])[:most])
                parts[split].append(_answered(source, rows, model, rejected))
    test = _joined(parts[TESTED]) if parts[TESTED] else None
    training = _joined(parts[TRAINING]) if parts[TRAINING] else None
    if (test is None or not test.ids) and training is not None and training.ids:
        logger.warning("no test %s: the page has no accuracy", model.pursuit_.noun)
        test = no_images(model.pursuit_)
    if test is None or (not test.ids and not training):
        why = next((f": {name}: {reason}" for name, reason in rejected.items()), "")
        noun = model.pursuit_.noun
        raise InputError(f"{', '.join(given)}: no test {noun} that can be read{why}")
    for name, reason in list(rejected.items())[:LISTED]:
        logger.error("left out: %s: %s", name, reason)
    if len(rejected) > LISTED:
        logger.error("left out: %d more", len(rejected) - LISTED)
    return test, training, rejected


def _splits(source: Samples, model: PursuitClassifier) -> list[str]:
    """Return the splits of the images; whatever the model was trained on is a training image."""
    splits = list(source.splits or [TESTED] * len(source.ids))
    rows = [row for row, split in enumerate(splits) if split == TESTED]
    trained = 0
    for start in range(0, len(rows), BLOCK) if KEY in model.provenance_ else ():
        here = rows[start : start + BLOCK]
        marks = source.marks
        images = source.some(here) if marks is None else [marks[row] for row in here]
        for row, each in zip(here, seen(model.provenance_, images), strict=True):
            if each:
                splits[row], trained = TRAINING, trained + 1
    if trained:
        logger.info(
            "%s: the model was trained on %d of %d %ss; accuracy is that of the others",
            source.where,
            trained,
            len(rows),
            model.pursuit_.noun,
        )
    return splits


def _labels(source: Samples, model: PursuitClassifier) -> np.ndarray:
    names = model.pursuit_.class_names
    numbers = {spelled(name): number for number, name in enumerate(names)}
    labels = np.full(len(source.ids), UNKNOWN, dtype=np.int64)
    for row, given in enumerate([] if source.classes is None else source.labels.tolist()):
        if given is None:
            continue
        label = numbers.get(spelled(str(given)))
        if label is None and isinstance(given, int) and given in range(len(names)):
            label = given
        if label is None:
            raise InputError(
                f"{source.where}: the model has no class {given!r}; expected one of "
                f"{', '.join(names[:10])}"
            )
        labels[row] = label
    return labels


def _answered(
    source: Samples, rows: list[int], model: PursuitClassifier, rejected: dict[str, str]
) -> AnsweredImages:
    """Return those of the rows that can be read; add why the others cannot to `rejected`."""
    parts = []
    for start in range(0, len(rows), BLOCK):
        here = source.subset(rows[start : start + BLOCK])
        read = readable(model, here)
        rejected.update(read.rejected)
        images, answers = read.samples, _answers(model, read.samples.rows)
        labels = images.labels.astype(np.int64)
        parts.append(AnsweredImages(images.ids, labels, answers, images.pictures))
    return _joined(parts)


def _answers(model: PursuitClassifier, rows: Any) -> Tensor:
    pursuit = model.pursuit_
    return pursuit.answers(rows_of(model, rows).tensor().to(pursuit.device)).cpu()


def _joined(parts: Sequence[AnsweredImages]) -> AnsweredImages:
    owners = [(part, place) for part in parts for place in range(len(part.ids))]

    def pictures(rows: Sequence[int]) -> list[Any]:
        images: dict[int, Any] = {}
        for part in parts:
            here = [row for row in rows if owners[row][0] is part]
            images |= zip(here, part.pictures_of([owners[row][1] for row in here]), strict=True)
        return [images[row] for row in rows]

    return AnsweredImages(
        [each for part in parts for each in part.ids],
        np.concatenate([part.labels for part in parts]),
        torch.cat([part.answers for part in parts]),
        pictures,
    )
