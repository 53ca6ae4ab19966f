"""`infopursuit explain`: pictures to explanations, or a conversation about one."""

from __future__ import annotations

import argparse
import csv
import io
import json
import logging
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from html import escape
from pathlib import Path
from typing import TYPE_CHECKING, Any

from infopursuit.core.errors import InputError, one_line, writable
from infopursuit.core.files import check_writable, write_files
from infopursuit.core.numbers import percent
from infopursuit.core.terminal import show
from infopursuit.estimators.base import (
    DecidingClassifier,
    PursuitClassifier,
    load_fitted,
)
from infopursuit.pursuit.answers.rules import WORDS, in_words
from infopursuit.pursuit.explanation import (
    Explanation,
    leaders,
    most_probable,
)
from infopursuit.pursuit.stopping import DEFAULT_STOP, StoppingRule

if TYPE_CHECKING:
    import numpy as np

    from infopursuit.clip.towers import Clip
    from infopursuit.estimators.second_opinion import SecondOpinion
    from infopursuit.pursuit.dialogue import Dialogue

logger = logging.getLogger("infopursuit")

COLUMNS = ("image", "number", "question", "answer", "most_probable", "probability", "entropy")
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
WITH_IMAGE = f"Enter takes the answer of the image; {HELP}"


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
    opinion = second_opinion(chosen)
    if opinion is not None and (chosen.interactive or chosen.decisive):
        raise InputError("--second-opinion: not with --interactive or --decisive")
    if chosen.interactive:
        if len(chosen.images) > 1:
            raise InputError(f"--interactive is about one image; found {len(chosen.images)}")
        if not chosen.images:
            dialogue = model.dialogue()
        elif chosen.ask_below is None:
            dialogue = model.dialogue([Path(chosen.images[0])])
        else:
            dialogue = model.dialogue([Path(chosen.images[0])], 1.0, chosen.ask_below)
        _write([converse(dialogue, stop, iter(sys.stdin), show)], {}, chosen)
        return 0
    if chosen.where and chosen.figures is None and chosen.format != "html":
        chosen.figures = FIGURES
    files, rows, names, rejected, maps = read_images(model, chosen.images, chosen.where)
    explained = []
    if len(names) and chosen.decisive and isinstance(model, DecidingClassifier):
        limits = {"probability": chosen.stop, "most": chosen.max_queries}
        given = {name: value for name, value in limits.items() if value is not None}
        explained = model.decisive_answers(rows, names=names, **given)
    elif len(names):
        explained = model.explain(rows, stop, names=names, second_opinion=opinion, pictures=files)
    if maps is not None:
        from infopursuit.estimators.places import located

        explained = located(model, explained, maps, files)
    _write(explained, rejected, chosen, files)
    if chosen.figures is not None:
        _draw(explained, files, chosen)
    for name, reason in rejected.items():
        logger.error("not explained: %s: %s", name, reason)
    return 1 if rejected else 0


def cover(chosen: argparse.Namespace) -> int:
    """Say how many answers yes are taken back if their places are covered."""
    from infopursuit.meaning.covering import covering

    model = load_fitted(chosen.model, chosen.clip, chosen.device)
    files = image_files(chosen.images)
    pictures, yes, marked, other = covering(model, files, seed=chosen.random_state)
    if marked is None or other is None:
        raise InputError(f"no yes among the answers of {pictures} images; expected at least one")
    show(
        f"{yes} times yes in {pictures} images. Taken back: {percent(marked)} with the marked "
        f"fifth covered, {percent(other)} with another fifth.\n"
    )
    return 0


def stopping_rule(model: PursuitClassifier, chosen: argparse.Namespace) -> StoppingRule:
    """Return the model's own rule, with the changes that the options make."""
    rule = model.stop or DEFAULT_STOP
    if chosen.stop is not None:
        rule = rule._replace(probability=chosen.stop)
    if chosen.max_queries is not None:
        rule = rule._replace(max_queries=chosen.max_queries)
    return rule


def second_opinion(chosen: argparse.Namespace) -> SecondOpinion | None:
    """Return who looks at pictures, by --second-opinion and the options about it."""
    needed = {
        "--second-opinion-model": chosen.second_opinion_model,
        "--vllm": chosen.vllm_python,
        "--second-opinion-calls": chosen.second_opinion_calls,
        "--second-opinion-images": chosen.second_opinion_images,
        "--second-opinion-alone": chosen.second_opinion_alone or None,
    }
    model = language_model_of("--second-opinion", chosen.second_opinion, needed)
    if model is None:
        return None
    from infopursuit.datasets.image_folders import read_image_folder
    from infopursuit.estimators.second_opinion import MOST, SecondOpinion

    images = None
    if chosen.second_opinion_images is not None:
        folder = read_image_folder(chosen.second_opinion_images)
        images = (folder.pictures, folder.labels)
    calls = chosen.second_opinion_calls or MOST
    return SecondOpinion(model, calls, chosen.second_opinion_alone, images)


def language_model_of(option: str, where: str | None, needed: Mapping[str, Any]) -> Any:
    """Return the language model that an option names; None without it.

    The first two options that need it are the model's name and the Python of vLLM. If that is not
    installed here, this does not return: the command starts again there.
    """
    if where is None:
        for other, value in needed.items():
            if value is not None:
                raise InputError(f"{other}: expected it with {option}")
        return None
    from infopursuit.queries.language_models import VLLM, language_model_at
    from infopursuit.queries.language_models.vllm_engine import run_where_vllm_is

    name, vllm_python, *_ = needed.values()
    if where.startswith(VLLM):
        run_where_vllm_is(vllm_python)
    return language_model_at(where, name)


def clip_of(model: PursuitClassifier) -> Clip:
    """Return the CLIP that embeds the pictures of a model."""
    from infopursuit.clip.towers import model_clip

    return model_clip(model.clip_source_, model.clip_, model.clip_device_)


def image_files(given: Sequence[str]) -> list[Path]:
    """List the files of files, folders (searched for images) and patterns, each once, in order."""
    if not given:
        raise InputError("no image is given; expected files, folders or patterns")
    files: list[Path] = []
    for each in given:
        path = Path(each)
        if path.is_dir():
            more = sorted(file for file in path.rglob("*") if _is_image(file, path))
        elif not path.exists() and set(each) & set("*?["):  # quoted, or on Windows
            pattern = path.expanduser()
            matching = Path(pattern.anchor).glob(str(pattern.relative_to(pattern.anchor)))
            more = sorted(file for file in matching if file.is_file())
        else:
            files.append(path)
            continue
        if not more:
            raise InputError(f"{each}: no image there; expected at least one")
        files += more
    return list(dict.fromkeys(files))


def _is_image(file: Path, folder: Path) -> bool:
    from PIL import Image

    hidden = any(part.startswith(".") for part in file.relative_to(folder).parts)
    known = {".heic", ".heif", *Image.registered_extensions()}  # the first two to say what to do
    return not hidden and file.suffix.lower() in known and file.is_file()


def read_images(
    model: PursuitClassifier, given: Sequence[str], where: bool = False
) -> tuple[list[Path], np.ndarray, list[str], dict[str, str], np.ndarray | None]:
    """Return files, embeddings and names of what can be read, why the rest cannot, and maps."""
    if where and any(Path(each).suffix == ".npy" for each in given):
        raise InputError("--where: embeddings do not say where anything is; expected pictures")
    if len(given) == 1 and Path(given[0]).suffix == ".npy":
        from infopursuit.datasets.embedded_files import read_rows

        rows = read_rows(Path(given[0]))
        return [], rows, [f"{given[0]}[{row}]" for row in range(len(rows))], {}, None
    from infopursuit.clip.embed import embed_readable_pictures
    from infopursuit.estimators.places import directions

    files = image_files(given)
    along = directions(model) if where else None
    readable = embed_readable_pictures(clip_of(model), files, directions=along)
    rejected = {str(files[row]): reason for row, reason in sorted(readable.rejected.items())}
    kept = [files[row] for row in readable.rows]
    return kept, readable.embeddings, [str(file) for file in kept], rejected, readable.maps


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
    explained: Sequence[Explanation], files: Sequence[Path], chosen: argparse.Namespace
) -> None:
    from infopursuit.datasets.decoding import to_rgb
    from infopursuit.evaluation.chosen_images import figure_names
    from infopursuit.report.figures import explanation_png

    folder = chosen.figures
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"--figures {folder}: no folder can be made there ({error})") from error
    pictures = [to_rgb(file) for file in files] or [None] * len(explained)
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
    write(f"{HELP if dialogue.image_answers is None else WITH_IMAGE}\n")
    while True:
        now = dialogue.explanation(stop)
        asked, longest = len(now.steps), stop.budget(len(dialogue.pursuit.queries))
        wanted = dialogue.next_question()
        if now.confident or wanted is None or asked >= longest:
            return now
        belief = one_line(" ".join(leaders(now.class_names, now.posterior)))
        write(f"[{belief}] {asked + 1}. {one_line(dialogue.pursuit.question(wanted))} ")
        if hands_over and dialogue.answers_itself(wanted):
            write(f"{in_words(dialogue.step()[1])} (the image)\n")
            continue
        if dialogue.image_answers is not None:
            own = float(dialogue.image_answers[dialogue.pursuit.number(wanted)])
            write(f"({in_words(own)}) ")
        line = next(lines, "")
        said = line.strip().lower()
        if not line or said in ("q", "quit"):
            write("\n" if not line else "")
            return now
        _obey(dialogue, said, write)


def _obey(dialogue: Dialogue, said: str, write: Callable[[str], object]) -> None:
    if not said and dialogue.image_answers is not None:
        dialogue.step()
    elif said in SAID:
        dialogue.answer(SAID[said])
    elif said in ("u", "undo"):
        if dialogue.explanation().steps:
            dialogue.undo()
        else:
            write("nothing has been asked yet\n")
    elif said in ("w", "why"):
        for each in dialogue.candidates():
            asked = one_line(dialogue.pursuit.question(each.query))
            write(f"   {each.value:.3f}  {asked}\n")
    else:
        write(f"{said!r}: {HELP}\n")


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
    """Return a row per question after one without; the last of an image is its prediction."""
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(COLUMNS)
    for each in explained:
        writer.writerow([each.image, 0, "", "", *most_probable(each.class_names, each.prior), ""])
        for number, step in enumerate(each.steps, start=1):
            leading = most_probable(each.class_names, step.posterior)
            row = (step.question, step.said, *leading, step.entropy)
            writer.writerow([each.image, number, *row])
    return text.getvalue()


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
