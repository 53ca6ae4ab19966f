"""`infopursuit explain`: pictures to explanations, or a conversation about one."""

from __future__ import annotations

import argparse
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from infopursuit.core.csv_tables import csv_text
from infopursuit.core.errors import InputError, one_line, writable
from infopursuit.core.files import check_writable, write_files
from infopursuit.core.terminal import show
from infopursuit.datasets.given import image_files, is_rows, read_given
from infopursuit.datasets.table_files import NUMBER
from infopursuit.estimators.base import (
    DecidingClassifier,
    PursuitClassifier,
    load_fitted,
    wanted_by,
)
from infopursuit.pursuit.answers.rules import WORDS, in_words
from infopursuit.pursuit.explanation import (
    IMAGE,
    Explanation,
    ending,
    leaders,
    most_probable,
)
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule

if TYPE_CHECKING:
    from infopursuit.clip.towers import Clip
    from infopursuit.pursuit.dialogue import Dialogue
    from infopursuit.pursuit.pursuit import Pursuit

logger = logging.getLogger("infopursuit")

COLUMNS = (
    "number",
    "question",
    "answer",
    "most_probable",
    "probability",
    "entropy",
    "ending",
)
STYLE = (
    "body{font:15px system-ui,sans-serif;margin:2rem;color:#1c2330}"
    "article{display:flex;flex-wrap:wrap;gap:1rem;align-items:flex-start;margin-bottom:2rem}"
)
# Pixels of the longer side of a photo in a page.
PHOTO = 224
# Where --where puts figures if nothing else is said.
FIGURES = Path("figures")
# What a person may type, and what it means.
SAID = {
    "y": "yes", "p": "probably", "?": "not sure", "pn": "probably not", "n": "no",
    **{word: word for word in WORDS},
}  # fmt: skip
HELP = "y yes, p probably, ? not sure, pn probably not, n no, u undo, w why this question, q quit"
# Of a table with values: what may be typed is one of them.
VALUES = "type a value, such as {}; ? not sure, u undo, w why this question, q quit"


class Readable(NamedTuple):
    """What could be read of what was given.

    Attributes:
        files: pictures; none of rows that have none.
        rows: n embeddings, or rows of a table.
        names: of the rows.
        rejected: why other files cannot be read.
        maps: of the pictures, if they are to show where answers come from.
    """

    files: list[Path]
    rows: Any
    names: list[str]
    rejected: dict[str, str]
    maps: Any


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
    if chosen.decisive and (chosen.interactive or not isinstance(model, DecidingClassifier)):
        reason = "networks have no evidence of single answers; expected a naive Bayes model"
        if chosen.interactive:
            reason = "a dialogue asks one question after another; expected one of both"
        raise InputError(f"--decisive: {reason}")
    if chosen.where and chosen.interactive:
        raise InputError("--where: a dialogue shows no pictures; expected one of both")
    if chosen.ask_below is not None and not (chosen.interactive and chosen.images):
        raise InputError("--ask-below: expected it with --interactive and an image")
    opinion = chosen.second_opinion_of(chosen)
    if opinion is not None and (chosen.interactive or chosen.decisive):
        raise InputError("--second-opinion: not with --interactive or --decisive")
    if chosen.interactive:
        if len(chosen.images) > 1:
            raise InputError(f"--interactive is about one image; found {len(chosen.images)}")
        cost = () if chosen.ask_below is None else (1.0, chosen.ask_below)
        dialogue = model.dialogue(_one(model, chosen.images), *cost)
        _write([converse(dialogue, stop, iter(sys.stdin), show)], {}, chosen)
        return 0
    if chosen.where and chosen.figures is None and chosen.format != "html":
        chosen.figures = FIGURES
    explained: list[Explanation] = []
    files: list[Path | None] = []
    rejected: dict[str, str] = {}
    for read in read_images(model, chosen.images, chosen.where):
        explained += _explained(model, read, stop, opinion, chosen)
        files += read.files or [None] * len(read.names)
        rejected |= read.rejected
    _write(explained, rejected, chosen, files)
    if chosen.figures is not None:
        _draw(explained, files, chosen)
    for name, reason in rejected.items():
        logger.error("not explained: %s: %s", name, reason)
    return 1 if rejected else 0


def _one(model: PursuitClassifier, images: Sequence[str]) -> Any:
    """Return the picture, or the file with one row, that a dialogue is about; None for none."""
    if not images:
        return None
    wanted = wanted_by(model)
    if not is_rows(images[0], wanted):
        return [Path(images[0])]
    found = read_given(images[0], wanted)
    return found.some(range(len(found.ids)))


def _explained(
    model: PursuitClassifier,
    read: Readable,
    stop: StoppingRule,
    opinion: Any,
    chosen: argparse.Namespace,
) -> list[Explanation]:
    if not read.names:
        return []
    if chosen.decisive and isinstance(model, DecidingClassifier):
        limits = {"probability": chosen.stop, "most": chosen.max_queries}
        given = {name: value for name, value in limits.items() if value is not None}
        explained = model.decisive_answers(read.rows, names=read.names, stop=stop, **given)
    else:
        seen = {"second_opinion": opinion, "pictures": read.files}
        explained = model.explain(read.rows, stop, names=read.names, **seen)
    if read.maps is None:
        return explained
    from infopursuit.estimators.places import located

    return located(model, explained, read.maps, read.files)


def stopping_rule(model: PursuitClassifier, chosen: argparse.Namespace) -> StoppingRule:
    """Return the model's own rule, with the changes that the options make."""
    rule = model.stop or DEFAULT_STOP
    if chosen.stop is not None:
        rule = rule._replace(probability=chosen.stop)
    if chosen.max_queries is not None:
        rule = rule._replace(max_queries=chosen.max_queries)
    return rule


def language_model_of(option: str, where: str | None, needed: Mapping[str, Any]) -> Any:
    """Return the language model that an option names; None without it.

    The first two options that need it are the model's name and more fields of requests. If vLLM is
    not installed here, this does not return: the command starts again where --vllm says.
    """
    if where is None:
        for other, value in needed.items():
            if value is not None:
                raise InputError(f"{other}: expected it with {option}")
        return None
    from infopursuit.queries.language_models import VLLM, language_model_at
    from infopursuit.queries.language_models.vllm_engine import run_where_vllm_is

    name, extra, *_ = needed.values()
    if where.startswith(VLLM) and "--vllm" in needed:
        run_where_vllm_is(needed["--vllm"])
    return language_model_at(where, name, None if extra is None else dict(extra))


def clip_of(model: PursuitClassifier) -> Clip:
    """Return the CLIP that embeds the pictures of a model."""
    from infopursuit.clip.towers import model_clip

    return model_clip(model.clip_source_, model.clip_, model.clip_device_)


def read_images(
    model: PursuitClassifier, given: Sequence[str], where: bool = False
) -> Iterator[Readable]:
    """Yield what can be read: of each file of rows in turn, then of all pictures."""
    wanted = wanted_by(model)
    files = [each for each in given if is_rows(each, wanted)]
    if files and where:
        raise InputError("--where: rows do not say where anything is; expected pictures")
    for each in files:
        found = read_given(each, wanted)
        yield Readable([], found.some(range(len(found.ids))), found.ids, {}, None)
    pictures = [each for each in given if each not in files]
    if pictures or not files:
        yield _pictures(model, pictures, where)


def _pictures(model: PursuitClassifier, given: Sequence[str], where: bool) -> Readable:
    """Embed what can be read of files, folders and patterns."""
    from infopursuit.clip.embed import embed_readable_pictures
    from infopursuit.estimators.places import directions

    files = image_files(given)
    along = directions(model) if where else None
    readable = embed_readable_pictures(clip_of(model), files, directions=along)
    rejected = {str(files[row]): reason for row, reason in sorted(readable.rejected.items())}
    kept = [files[row] for row in readable.rows]
    names = [str(file) for file in kept]
    return Readable(kept, readable.embeddings, names, rejected, readable.maps)


def _write(
    explained: Sequence[Explanation],
    rejected: Mapping[str, str],
    chosen: argparse.Namespace,
    files: Sequence[Path | None] = (),
) -> None:
    write = FORMATS[chosen.format]
    if write is as_html:
        write = partial(as_html, files=files)
    if chosen.everything and write is as_text:
        write = as_whole_text
    write_output(write(explained, rejected), chosen.out, chosen.format == "csv")


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
    explained: Sequence[Explanation], files: Sequence[Path | None], chosen: argparse.Namespace
) -> None:
    from infopursuit.datasets.decoding import to_rgb
    from infopursuit.report.figures import explanation_png, figure_names

    folder = chosen.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--figures {folder}: no folder can be made there ({error})") from error
    pictures = [None if file is None else to_rgb(file) for file in files]
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


# -- a conversation -------------------------------------------------------------------------------


def converse(
    dialogue: Dialogue, stop: StoppingRule, lines: Iterator[str], write: Callable[[str], object]
) -> Explanation:
    """Ask until the stopping rule holds, all has been asked, or the person quits.

    An image that hands over to a person answers the questions that it is sure of itself.
    """
    hands_over = dialogue.hands_over
    noun, pursuit = dialogue.pursuit.noun, dialogue.pursuit
    enter = "" if dialogue.image_answers is None else f"Enter takes the answer of the {noun}; "
    write(f"{enter}{_help(pursuit)}\n")
    while True:
        now = dialogue.explanation(stop)
        wanted = dialogue.next_question()
        if now.ended != "unfinished" or wanted is None:
            return now
        belief = one_line(" ".join(leaders(now.class_names, now.posterior)))
        write(f"[{belief}] {len(now.steps) + 1}. {one_line(dialogue.pursuit.question(wanted))} ")
        if hands_over and dialogue.answers_itself(wanted):
            query, own = dialogue.step()
            write(f"{pursuit.word(pursuit.number(query), own) or in_words(own)} (the {noun})\n")
            continue
        if dialogue.image_answers is not None:
            query = pursuit.number(wanted)
            own = float(dialogue.image_answers[query])
            write(f"({pursuit.word(query, own) or in_words(own)}) ")
        line = next(lines, "")
        if not line or line.strip().lower() in ("q", "quit"):
            write("\n" if not line else "")
            return now
        _obey(dialogue, line.strip(), write)


def _help(pursuit: Pursuit) -> str:
    """Say what may be typed."""
    if not pursuit.words:
        return HELP
    words = [word for word in pursuit.words[0] if word and word != "not sure"]
    return VALUES.format(" or ".join(words[:2]))


def _obey(dialogue: Dialogue, line: str, write: Callable[[str], object]) -> None:
    said = line.lower()
    if not said and dialogue.image_answers is not None:
        dialogue.step()
    elif said in ("u", "undo"):
        if dialogue.explanation().steps:
            dialogue.undo()
        else:
            write("nothing has been asked yet\n")
    elif said in ("w", "why"):
        for each in dialogue.candidates():
            asked = one_line(dialogue.pursuit.question(each.query))
            write(f"   {each.value:.3f}  {asked}\n")
    elif dialogue.pursuit.words and said != "?":
        try:  # one of the values as it is written, or a number
            dialogue.answer(float(line) if NUMBER.fullmatch(line) else line)
        except InputError as error:
            write(f"{error}\n")
    elif said in SAID:
        dialogue.answer(SAID[said])
    else:
        write(f"{said!r}: {_help(dialogue.pursuit)}\n")


# -- formats --------------------------------------------------------------------------------------


def as_text(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """Return one block of lines an image."""
    return "\n".join(str(explanation) for explanation in explained)


def as_whole_text(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """Return the same with a line for each question."""
    return "\n".join(explanation.to_text(everything=True) for explanation in explained)


def as_json(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """Return all that is known of each explanation, and the files that could not be read."""
    images = [
        {**each.to_dict(), "predicted_class": each.predicted_class, "probability": each.probability}
        for each in explained
    ]
    content = {"images": images, "rejected": dict(rejected)}
    return json.dumps(content, indent=1, ensure_ascii=False, allow_nan=False) + "\n"


def as_csv(explained: Sequence[Explanation], rejected: Mapping[str, str]) -> str:
    """Return a row per question after one without; the last of an image is its prediction.

    That one says why the questions ended (`ending`).
    """
    noun = explained[0].noun if explained else IMAGE
    table: list[Sequence[Any]] = [[noun, *COLUMNS]]
    for each in explained:
        rows = [["", "", *most_probable(each.class_names, each.prior), ""]]
        for step in each.steps:
            leading = most_probable(each.class_names, step.posterior)
            rows.append([step.question, step.said, *leading, step.entropy])
        for number, row in enumerate(rows):
            last = ending(each) if number == len(each.steps) else ""
            table.append([each.image, number, *row, last])
    return csv_text(table)


def as_html(
    explained: Sequence[Explanation],
    rejected: Mapping[str, str],
    files: Sequence[Path | None] = (),
) -> str:
    """Return a page: the photo of each image, if it is a file, and its table; files not read."""
    from infopursuit.datasets.decoding import thumbnail

    photos = [
        "" if file is None else f'<img src="{thumbnail(file, PHOTO)}" alt="">'
        for file in files or [None] * len(explained)
    ]
    tables = "\n".join(
        f"<article>{photo}{' '.join(each._repr_html_().splitlines())}</article>"
        for photo, each in zip(photos, explained, strict=True)
    )
    listed = "".join(
        f"<li>{escape(one_line(name))}: {escape(why)}</li>" for name, why in rejected.items()
    )
    bad = f"<h2>Not explained</h2><ul>{listed}</ul>" if rejected else ""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8"><title>Explanations</title>'
        f"<style>{STYLE}</style></head><body>\n{tables}\n{bad}</body></html>\n"
    )


FORMATS: dict[str, Callable[[Sequence[Explanation], Mapping[str, str]], str]] = {
    "text": as_text,
    "json": as_json,
    "csv": as_csv,
    "html": as_html,
}
