"""Test images that are explained for a report: which, how, and the file that holds them."""

from __future__ import annotations

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
from PIL import Image

from infopursuit.core.files import write_text
from infopursuit.datasets.labelled_images import LabelledImages, load_images
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.places import located, mapped
from infopursuit.pipeline.run_settings import ExplainSettings
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.report.figures import figure_names
from infopursuit_study.evaluation.chosen_images import rows_of, spread_rows


class ExplainedImage(NamedTuple):
    """One image of a report.

    Attributes:
        explanation: the questions in the order asked.
        figure: the file that shows it: its name in a file of explanations, its path in a report.
    """

    explanation: Explanation
    figure: str


def write_explanations(
    path: str | Path, stop: StoppingRule, explained: Sequence[ExplainedImage]
) -> None:
    """Write explanations as JSON with sorted keys."""
    images = [
        {
            "figure": image.figure,
            "explanation": image.explanation.to_dict(),
        }
        for image in explained
    ]
    content = {"stop": stop._asdict(), "images": images}
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_explanations(path: str | Path) -> tuple[StoppingRule, list[ExplainedImage]]:
    """Read what `write_explanations` wrote."""
    content = json.loads(Path(path).read_text(encoding="utf-8"))
    return StoppingRule(**content["stop"]), [
        ExplainedImage(Explanation.from_dict(image["explanation"]), image["figure"])
        for image in content["images"]
    ]


def predicted_at_stop(path: Path) -> np.ndarray:
    """Return the class (n,) predicted of each test image when its questions stopped."""
    with path.open(encoding="utf-8", newline="") as file:
        return np.array([int(row["predicted"]) for row in csv.DictReader(file)])


def explanations(
    model: PursuitClassifier,
    test: LabelledImages,
    predicted: np.ndarray,
    explain: ExplainSettings,
    named: Sequence[str],
    path: Path,
) -> list[ExplainedImage]:
    """Explain images that are spread over the classes, and those that params.yaml names.

    The file of images has those that a sample in `test` lacks.
    """
    spread = spread_rows(test.labels.numpy(), predicted, explain.images)
    ids = [test.ids[row] for row in spread]
    ids = list(dict.fromkeys([*ids, *named]))
    # Of a large split `test` is a sample, which may lack an image that is named.
    images = test if set(named) <= set(test.ids) else load_images(path, "test", 1, always=ids)
    rows = rows_of(images, ids)
    pursuit = model.pursuit_
    answers = pursuit.answers(images.embeddings[rows].to(pursuit.device))
    labels = [images.class_names[int(images.labels[row])] for row in rows]
    explained = pursuit.explain(answers, explain.stop, ids, labels)
    return list(map(ExplainedImage, explained, figure_names(ids)))


def with_places(
    model: PursuitClassifier, explained: list[ExplainedImage], pictures: dict[str, Image.Image]
) -> list[ExplainedImage]:
    """Put the place of each yes into explanations."""
    shown = [pictures[each.explanation.image] for each in explained]
    _, maps = mapped(model, shown)
    explained_there = located(model, [each.explanation for each in explained], maps, shown)
    return list(map(ExplainedImage, explained_there, [each.figure for each in explained]))
