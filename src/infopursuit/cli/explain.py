"""`infopursuit explain`: pictures to explanations."""

from __future__ import annotations

import argparse
import logging
import re
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
from PIL import Image

import infopursuit
from infopursuit.cli.embedded_files import read_rows
from infopursuit.cli.interactive import converse
from infopursuit.cli.output_formats import FORMATS
from infopursuit.clip.pictures import embed_readable_pictures
from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import write_whole
from infopursuit.datasets.decoding import to_rgb
from infopursuit.estimators.base import DEFAULT_STOP, PursuitClassifier
from infopursuit.estimators.deciding import DecidingClassifier
from infopursuit.estimators.pictures import clip_of
from infopursuit.explanation.explanation import Explanation
from infopursuit.explanation.stopping import StoppingRule

logger = logging.getLogger("infopursuit")


def explain(chosen: argparse.Namespace) -> int:
    """Explain each image; list those that cannot be read.

    Returns:
        The exit status: 1 where an image could not be read.

    Raises:
        InputError: the model or its CLIP cannot be read, there is no image, or the output cannot
            be written.
    """
    model = infopursuit.load(chosen.model, clip=chosen.clip, device=chosen.device)
    stop = stopping_rule(model, chosen)
    if chosen.decisive and (chosen.interactive or not isinstance(model, DecidingClassifier)):
        reason = "networks have no evidence of single answers; expected a naive Bayes model"
        if chosen.interactive:
            reason = "a dialogue asks one question after another; expected one of both"
        raise InputError(f"--decisive: {reason}")
    if chosen.interactive:
        return _interactive(model, stop, chosen)
    files, rows, names, rejected = _read(model, chosen.images)
    explained = []
    if len(names) and chosen.decisive and isinstance(model, DecidingClassifier):
        limits = {"probability": chosen.stop, "most": chosen.max_queries}
        given = {name: value for name, value in limits.items() if value is not None}
        explained = model.decisive_answers(rows, names=names, **given)
    elif len(names):
        explained = model.explain(rows, stop, names=names)
    content = FORMATS[chosen.format](explained, rejected)
    if chosen.out is None:
        sys.stdout.write(content)
    else:
        write_out({chosen.out.name: content.encode()}, chosen.out.parent, "--out", chosen.out)
    if chosen.figures is not None:
        _draw(explained, files, chosen)
    for name, reason in rejected.items():
        logger.error("not explained: %s: %s", name, reason)
    return 1 if rejected else 0


def stopping_rule(model: PursuitClassifier, chosen: argparse.Namespace) -> StoppingRule:
    """The model's own rule, with what the options say otherwise."""
    rule = model.stop or DEFAULT_STOP
    if chosen.stop is not None:
        rule = rule._replace(probability=chosen.stop)
    if chosen.max_queries is not None:
        rule = rule._replace(max_queries=chosen.max_queries)
    return rule


def image_files(given: Sequence[str]) -> list[Path]:
    """Files of files, folders (searched for images) and patterns, in their order, each once.

    Raises:
        InputError: a folder or a pattern has no image, or nothing is given.
    """
    if not given:
        raise InputError("no image is given; expected files, folders or patterns")
    found: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            files = sorted(file for file in path.rglob("*") if _is_image(file, path))
        elif not path.exists() and set(each) & set("*?["):
            files = sorted(file for file in _matching(each) if file.is_file())
        else:
            found.append(path)
            continue
        if not files:
            raise InputError(f"{each}: no image there; expected at least one")
        found += files
    return list(dict.fromkeys(found))


def _matching(pattern: str) -> Iterator[Path]:
    """Where the shell did not expand it: quoted, or on Windows."""
    path = Path(pattern).expanduser()
    return Path(path.anchor).glob(str(path.relative_to(path.anchor)))


def _is_image(file: Path, folder: Path) -> bool:
    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    return not hidden and file.suffix.lower() in Image.registered_extensions() and file.is_file()


def _read(
    model: PursuitClassifier, given: Sequence[str]
) -> tuple[list[Path], np.ndarray, list[str], dict[str, str]]:
    """Files, embeddings and names of what can be read, and why the rest cannot."""
    if len(given) == 1 and Path(given[0]).suffix == ".npy":
        rows = read_rows(Path(given[0]))
        return [], rows, [f"{given[0]}[{row}]" for row in range(len(rows))], {}
    files = image_files(given)
    found = embed_readable_pictures(clip_of(model), files)
    rejected = {str(files[row]): reason for row, reason in sorted(found.rejected.items())}
    kept = [files[row] for row in found.rows]
    return kept, found.embeddings, [str(file) for file in kept], rejected


def write_out(files: dict[str, bytes], folder: Path, option: str, given: Path) -> None:
    """Write all files or none.

    Raises:
        InputError: one cannot be written.
    """
    try:
        write_whole(files, folder)
    except OSError as error:
        raise InputError(f"{option} {given}: cannot be written ({error})") from error


def _draw(
    explained: Sequence[Explanation], files: Sequence[Path], chosen: argparse.Namespace
) -> None:
    from infopursuit.explanation.figure import explanation_png

    folder = chosen.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--figures {folder}: no folder can be made there ({error})") from error
    pictures = [to_rgb(file) for file in files] or [None] * len(explained)
    for name, picture, explanation in zip(
        file_names([each.image for each in explained]), pictures, explained, strict=True
    ):
        drawn = explanation_png(explanation, chosen.classes_shown, picture)
        write_out({name: drawn}, folder, "--figures", folder)
        logger.info("%s", folder / name)


def file_names(images: Sequence[str]) -> list[str]:
    """A name for the figure of each image: that of its file with odd characters replaced."""
    names: list[str] = []
    for image in images:
        stem = re.sub(r"[^A-Za-z0-9._-]+", "_", Path(image).stem).strip("._") or "image"
        name, number = f"{stem}.png", 2
        while name in names:
            name, number = f"{stem}-{number}.png", number + 1
        names.append(name)
    return names


def _show(text: str) -> None:
    sys.stdout.write(text)
    sys.stdout.flush()


def _interactive(model: PursuitClassifier, stop: StoppingRule, chosen: argparse.Namespace) -> int:
    if len(chosen.images) > 1:
        raise InputError(f"--interactive is about one image; found {len(chosen.images)}")
    dialogue = model.dialogue([Path(chosen.images[0])]) if chosen.images else model.dialogue()
    explanation = converse(dialogue, stop, iter(sys.stdin), _show)
    content = FORMATS[chosen.format]([explanation], {})
    if chosen.out is None:
        sys.stdout.write(content)
    else:
        write_out({chosen.out.name: content.encode()}, chosen.out.parent, "--out", chosen.out)
    return 0
