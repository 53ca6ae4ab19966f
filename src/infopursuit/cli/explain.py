"""`infopursuit explain`: pictures to explanations, or a conversation about one."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from infopursuit.core.errors import InputError, writable
from infopursuit.core.files import check_writable, write_files
from infopursuit.core.terminal import show
from infopursuit.datasets.reading import read_each
from infopursuit.datasets.samples import Readable
from infopursuit.estimators.base import (
    PursuitClassifier,
    load_fitted,
)
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
    if chosen.where and chosen.interactive:
        raise InputError("--where: a dialogue shows no pictures; expected one of both")
    if chosen.ask_below is not None and not (chosen.interactive and chosen.images):
        raise InputError("--ask-below: expected it with --interactive and an image")
    answerer = language_model_of(chosen)
    if answerer is not None and not (chosen.interactive and chosen.images):
        raise InputError("--llm: expected it with --interactive and an image")
    if chosen.interactive:
        _write([_conversation(model, stop, answerer, chosen)], {}, chosen)
        return 0
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
    _write(explained, rejected, chosen, pictures)
    if chosen.figures is not None:
        _draw(explained, pictures, chosen)
    for name, reason in rejected.items():
        logger.error("not explained: %s: %s", name, reason)
    return 1 if rejected else 0


def _conversation(
    model: PursuitClassifier, stop: StoppingRule, answerer: Any, chosen: argparse.Namespace
) -> Explanation:
    from infopursuit.pursuit.conversation import converse
    from infopursuit.pursuit.person import Person

    person = Person(iter(sys.stdin), show)
    if not chosen.images:
        return converse(model.dialogue(), stop, person, show)
    if len(chosen.images) > 1:
        raise InputError(f"--interactive is about one image; found {len(chosen.images)}")
    (images,) = read_each(chosen.images, wanted_by(model))
    cost = () if chosen.ask_below is None else (1.0, chosen.ask_below)
    dialogue = model.dialogue(images.some(), *cost)
    dialogue.name = images.ids[0]
    if answerer is None:
        return converse(dialogue, stop, person, show)
    from infopursuit.pursuit.vision_model import VisionModel

    return converse(dialogue, stop, VisionModel(answerer, images.some_pictures()[0]), show)


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


def language_model_of(chosen: argparse.Namespace) -> Any:
    """Return the language model that --llm names; None without it.

    If the command has --vllm, and vLLM is not installed here, this does not return: the command
    starts again where that says.
    """
    vllm_python = getattr(chosen, "vllm_python", None)
    needed = {
        "--llm-model": chosen.llm_model,
        "--llm-option": chosen.llm_option,
        "--vllm": vllm_python,
    }
    if chosen.llm is None:
        for other, value in needed.items():
            if value is not None:
                raise InputError(f"{other}: expected it with --llm")
        return None
    from infopursuit.generation.language_models import VLLM, language_model_at
    from infopursuit.generation.language_models.vllm_engine import run_where_vllm_is

    if chosen.llm.startswith(VLLM) and "vllm_python" in chosen:
        run_where_vllm_is(vllm_python)
    extra = None if chosen.llm_option is None else dict(chosen.llm_option)
    return language_model_at(chosen.llm, chosen.llm_model, extra)


def _write(
    explained: Sequence[Explanation],
    rejected: Mapping[str, str],
    chosen: argparse.Namespace,
    pictures: Sequence[Any] = (),
) -> None:
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
        write_files(files, folder)
    except OSError as error:
        raise InputError(f"{option} {given}: cannot be written ({error})") from error


def _draw(
    explained: Sequence[Explanation], pictures: Sequence[Any], chosen: argparse.Namespace
) -> None:
    from infopursuit.datasets.decoding import to_rgb
    from infopursuit.report.figures import explanation_png, figure_names

    folder = chosen.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--figures {folder}: no folder can be made there ({error})") from error
    for name, picture, explanation in zip(
        figure_names([Path(each.image).stem for each in explained]),
        [None if picture is None else to_rgb(picture) for picture in pictures],
        explained,
        strict=True,
    ):
        count, everything = chosen.classes_shown, chosen.everything
        drawn = explanation_png(explanation, count, picture, everything=everything)
        write_out({name: drawn}, folder, "--figures", folder)
        logger.info("%s", folder / name)
