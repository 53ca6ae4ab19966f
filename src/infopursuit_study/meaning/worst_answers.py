"""The false answers that did most harm: those that moved belief most to a wrong class."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
from jaxtyping import Float, Int
from PIL import Image

from infopursuit.core.files import atomic_folder, write_text
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.explanation import rounded
from infopursuit.pursuit.rollout import RollOut

MOST = 10
FILE = "answers.json"
# Pictures are at most this many pixels wide and high.
PIXELS = 192


@dataclass(frozen=True)
class FalseAnswer:
    """A false answer to one question about one image, and what it did.

    Attributes:
        image: its id.
        picture: the file of its picture in the folder; None without pixels.
        true_class: what the image shows.
        number: 1 for the first question to it.
        query: the text.
        yes: whether the answer was yes.
        by: who says that it is false: `pictures`, `strict` or `knowledge`.
        toward: the wrong class whose probability rose most.
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


def worst_answers(
    asked: RollOut,
    lengths: Int[np.ndarray, " n"],
    truths: Mapping[str, Float[np.ndarray, "n k"]],
    labels: Int[np.ndarray, " n"],
    ids: Sequence[str],
    class_names: Sequence[str],
    queries: Sequence[str],
    most: int = MOST,
) -> list[FalseAnswer]:
    """Return the false answers of n images that moved belief most to a wrong class, worst first.

    Harm is by how much more than the true class a wrong class rose; an answer that helped the true
    class more is not in the list. Of an image, and of a query and the class that it raised, only
    the worst answer is listed, so that one mistake does not fill the list.

    Args:
        truths: by who says so, whether each of the k queries is true of each image: 1, 0, or
            anything else if that is not known. The first source that knows decides.
    """
    order, answers = asked.order.cpu().numpy(), asked.answers.cpu().numpy()
    posteriors = asked.posteriors.cpu().numpy().astype(np.float64)
    images, steps = order.shape
    rows = np.arange(images)
    rise = np.diff(posteriors, axis=1)  # n, T, c
    of_true = rise[rows, :, labels]  # n, T
    rise[rows, :, labels] = -np.inf
    toward = rise.argmax(axis=2)  # n, T
    harm = rise.max(axis=2) - of_true
    source = np.full((images, steps), -1)
    true = np.full((images, steps), np.nan)
    for place, truth in enumerate(truths.values()):
        of_asked = truth[rows[:, None], order]
        tells = np.isin(of_asked, (0.0, 1.0)) & (source < 0)
        source[tells], true[tells] = place, of_asked[tells]
    given = np.arange(steps) < np.asarray(lengths)[:, None]
    false = ((answers > NOT_SURE) & (true == 0)) | ((answers < NOT_SURE) & (true == 1))
    worst: list[FalseAnswer] = []
    seen: set[tuple[str, int, int]] = set()
    places = np.argwhere(false & given & (harm > 0))
    worst_first = places[np.argsort(-harm[tuple(places.T)], kind="stable")]
    for row, step in worst_first.tolist():
        query, label, wrong = int(order[row, step]), int(labels[row]), int(toward[row, step])
        keys = {("image", row, 0), ("query and class", query, wrong)}
        if len(worst) == most or keys & seen:
            continue
        seen |= keys
        moved = posteriors[row, step : step + 2][:, [wrong, label]]
        before, true_before, after, true_after = rounded(moved.ravel().tolist())
        worst.append(
            FalseAnswer(
                image=ids[int(row)],
                picture=None,
                true_class=class_names[label],
                number=step + 1,
                query=queries[query],
                yes=bool(answers[row, step] > NOT_SURE),
                by=list(truths)[source[row, step]],
                toward=class_names[wrong],
                before=before,
                after=after,
                true_before=true_before,
                true_after=true_after,
            )
        )
    return worst


def denied(known: Float[np.ndarray, "c k"]) -> Float[np.ndarray, "c k"]:
    """Return what a knowledge table denies: 0 if a query is not true of a class, else NaN.

    What the table calls true may be out of view, so it makes no answer "no" false.
    """
    return np.where(known == 0, 0.0, np.nan)


def write_worst(
    folder: str | Path, answers: Sequence[FalseAnswer], pictures: Mapping[str, Image.Image]
) -> None:
    """Replace a folder by the answers as JSON, with the pictures (by image id) as PNG."""
    with atomic_folder(folder) as partial:
        listed = []
        for number, answer in enumerate(answers, start=1):
            picture = pictures.get(answer.image)
            if picture is not None:
                answer = replace(answer, picture=f"{number:02d}.png")
                small = picture.convert("RGB")
                small.thumbnail((PIXELS, PIXELS), Image.Resampling.LANCZOS)
                small.save(partial / f"{number:02d}.png", "PNG")
            listed.append(asdict(answer))
        write_text(partial / FILE, json.dumps(listed, indent=2, sort_keys=True) + "\n")


def read_worst(folder: str | Path) -> list[FalseAnswer]:
    """Read what `write_worst` wrote."""
    text = (Path(folder) / FILE).read_text(encoding="utf-8")
    return [FalseAnswer(**each) for each in json.loads(text)]
