"""`infopursuit explain`: pictures to explanations."""

from __future__ import annotations

import argparse
import logging
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import check_writable, made_folder, write_files
from infopursuit.core.terminal import show
from infopursuit.datasets.reading import read_each
from infopursuit.datasets.samples import Readable
from infopursuit.estimators.base import PursuitClassifier, load_fitted
from infopursuit.estimators.readable import readable, wanted_by
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule
from infopursuit.report.explanations import written

logger = logging.getLogger("infopursuit")

# Where --where puts figures if nothing else is said.
FIGURES = Path("figures")


def explain(chosen: argparse.Namespace) -> int:
    """Explain each image; list those that cannot be read.

    Returns:
        The exit status: 1 if an image could not be read.
    """
    if chosen.out is not None:
        check_writable(chosen.out, "--out")
    if chosen.figures is not None:
        check_writable(chosen.figures, "--figures", folder=True)
    model = load_fitted(chosen.model, chosen.clip, chosen.device)
    stop = stopping_rule(model, chosen)
    model = given(model, chosen)
    if chosen.where and chosen.figures is None and chosen.format != "html":
        chosen.figures = FIGURES
    from infopursuit.estimators.provenance import words_run_out

    if (said := words_run_out(model.provenance_)) is not None:
        logger.info("%s", said)
    explained: list[Explanation] = []
    pictures: list[Any] = []
    rejected: dict[str, str] = {}
    for images in read_each(chosen.images, wanted_by(model)):
        read = readable(model, images, chosen.where)
        explained += _explained(model, read, stop)
        shown = read.samples.some_pictures() if chosen.figures or chosen.format == "html" else []
        pictures += shown or [None] * len(read.samples.ids)
        rejected |= read.rejected
    write_explanations(explained, rejected, chosen, pictures)
    if chosen.figures is not None:
        _draw(explained, pictures, chosen)
    for name, reason in rejected.items():
        logger.error("not explained: %s: %s", name, reason)
    return 1 if rejected else 0


def _explained(model: PursuitClassifier, read: Readable, stop: StoppingRule) -> list[Explanation]:
    rows, names = read.samples.rows, read.samples.ids
    if not names:
        return []
    explained = model.explain(rows, stop, names=names)
    if read.maps is None:
        return explained
    from infopursuit.estimators.places import located

    return located(model, explained, read.maps, read.samples.some_pictures())


def stopping_rule(model: PursuitClassifier, chosen: argparse.Namespace) -> StoppingRule:
    """Return the model's own rule, with the changes that the options make."""
    rule = model.stop or DEFAULT_STOP
    if chosen.stop is not None:
        rule = rule._replace(probability=chosen.stop)
    if chosen.max_queries is not None:
        rule = rule._replace(max_queries=chosen.max_queries)
    return rule


def given(model: PursuitClassifier, chosen: argparse.Namespace) -> PursuitClassifier:
    """Return the model given what the options say is known, and the classes that are possible."""
    from infopursuit.pursuit.known import classes_in_words, known_in_words

    try:
        if chosen.known:
            model = model.given(known_in_words(model.pursuit_, chosen.known))
    except InputError as error:
        raise InputError(f"--known: {error}") from error
    try:
        classes = classes_in_words(model.pursuit_, chosen.classes)
        return model if classes is None else model.given(classes=classes)
    except InputError as error:
        raise InputError(f"--classes: {error}") from error


def write_explanations(
    explained: Sequence[Explanation],
    rejected: Mapping[str, str],
    chosen: argparse.Namespace,
    pictures: Sequence[Any] = (),
) -> None:
    """Write explanations as the options say, to a file or to the terminal."""
    content = written(explained, rejected, chosen.format, pictures, chosen.everything)
    write_output(content, chosen.out, chosen.format == "csv")


def write_output(content: str, out: Path | None, table: bool) -> None:
    """Write to a file, or to the terminal; `table` as for `show`."""
    if out is None:
        show(content, table)
    else:
        write_out({out.name: writable(content).encode()}, out.parent, "--out", out)


def write_out(files: dict[str, bytes], folder: Path, option: str, given: Path) -> None:
    """Write all files or none."""
    try:
        with made_folder(folder):
            write_files(files, folder)
    except OSError as error:
        raise InputError(f"{option} {given}: cannot be written ({error})") from error


def _draw(
    explained: Sequence[Explanation], pictures: Sequence[Any], chosen: argparse.Namespace
) -> None:
    from infopursuit.report.figures import (
        explanation_png,
        figure_names,
    )  # matplotlib takes a second

    folder = chosen.figures
    for name, picture, explanation in zip(
        figure_names([Path(each.image).stem for each in explained]),
        pictures,
        explained,
        strict=True,
    ):
        count, everything = chosen.classes_shown, chosen.everything
        drawn = explanation_png(explanation, count, picture, everything=everything)
        write_out({name: drawn}, folder, "--figures", folder)
        logger.info("%s", folder / name)
