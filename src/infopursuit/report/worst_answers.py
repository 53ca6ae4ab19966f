"""The worst answers of a run as the report shows them: a folder of a JSON file and pictures."""

from __future__ import annotations

import json
import shutil
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import whole_file, write_text
from infopursuit.explanation.explanation import rounded
from infopursuit.meaning.worst import FalseAnswer

FILE = "answers.json"
# Pictures are at most so many pixels wide and high.
PIXELS = 192


@dataclass(frozen=True)
class WorstAnswer:
    """A false answer to one question about one image.

    Attributes:
        image: its id.
        picture: the file of its picture in the folder; None where there are no pixels.
        true_class: what the image shows.
        number: 1 for the first question to it.
        query: the text.
        yes: whether the answer was yes.
        by: who says that it is false: `pictures`, `strict` or `knowledge`.
        toward: the wrong class that the answer raised most.
        before, after: the probability of that class before and after the answer.
        true_before, true_after: the probability of the true class.
    """

    image: str
    picture: str | None
    true_class: str
    number: int
    query: str
    yes: bool
    by: str
    toward: str
    before: float
    after: float
    true_before: float
    true_after: float


def named_answers(
    found: Sequence[FalseAnswer],
    ids: Sequence[str],
    labels: Sequence[int],
    class_names: Sequence[str],
    queries: Sequence[str],
) -> list[WorstAnswer]:
    """False answers by the names of images, classes and queries; without pictures."""
    return [
        WorstAnswer(
            image=ids[each.row],
            picture=None,
            true_class=class_names[int(labels[each.row])],
            number=each.number,
            query=queries[each.query],
            yes=each.yes,
            by=each.by,
            toward=class_names[each.toward],
            **dict(
                zip(
                    ("before", "after", "true_before", "true_after"),
                    rounded((each.before, each.after, each.true_before, each.true_after)),
                    strict=True,
                )
            ),
        )
        for each in found
    ]


def write_worst(
    folder: str | Path, answers: Sequence[WorstAnswer], pictures: dict[str, Image.Image]
) -> None:
    """Write a folder anew: the answers, and the pictures of their images as PNG.

    Args:
        folder: the folder.
        answers: without pictures.
        pictures: by the id of the image; empty where there are none.
    """
    folder = Path(folder)
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    told: list[dict[str, Any]] = []
    for number, answer in enumerate(answers, start=1):
        picture = pictures.get(answer.image)
        name = None if picture is None else f"{number:02d}.png"
        if picture is not None and name is not None:
            shown = picture.convert("RGB")
            shown.thumbnail((PIXELS, PIXELS), Image.Resampling.LANCZOS)
            with whole_file(folder / name) as partial:
                shown.save(partial, "PNG")
        told.append({**asdict(answer), "picture": name})
    write_text(folder / FILE, json.dumps(told, indent=2, sort_keys=True) + "\n")


def read_worst(folder: str | Path) -> list[WorstAnswer]:
    """Read what `write_worst` wrote.

    Raises:
        InputError: the file is missing or holds something else.
    """
    path = Path(folder) / FILE
    try:
        return [WorstAnswer(**each) for each in json.loads(path.read_text(encoding="utf-8"))]
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; `dvc repro` makes it") from error
    except (json.JSONDecodeError, UnicodeDecodeError, TypeError) as error:
        raise InputError(f"{path}: not the answers that a stage writes ({error})") from error
