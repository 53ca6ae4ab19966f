"""What a second opinion wins in the embedded world, with a stand-in (benchmarks/stand_in.py).

    python -m infopursuit_study.experiments.second_opinion

A real HTTP server process answers from the world's truth with 5 % errors: what is drawn in the
picture, or what the judge's table says of its class. Prints, of test images:
how many of the yes that an explanation shows are true, accuracy where the questions stop, and calls
an image; with CLIP alone, with a second opinion (rates from 30 images a class, or from a
knowledge table), and with the model alone.
"""

from __future__ import annotations

import hashlib
import logging
import sys
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infopursuit import InformationPursuitClassifier
from infopursuit.answerers.second_opinion import SecondOpinion
from infopursuit.clip.embed import embed_texts
from infopursuit.clip.towers import load_clip
from infopursuit.pursuit.explanation import Explanation, question
from infopursuit.queries.language_models import encoded
from infopursuit.texts.knowledge_lists import read_judge
from infopursuit_study.experiments.annotations import drawn_world
from infopursuit_study.experiments.stand_in import standing_in
from infopursuit_study.meaning.second_opinion import use_of_pictures

logger = logging.getLogger("benchmarks")

TEST_IMAGES, ERRORS, QUERIES = 960, 0.05, 48


def report(name: str, explained: Sequence[Explanation], y: np.ndarray, truth: dict) -> None:
    """Print the figures of one way to answer."""
    read, everything, calls = [], [], []
    for row, each in enumerate(explained):
        alone = {run[0] for run in each.folded() if len(run) == 1}
        for place, step in enumerate(each.steps):
            if step.yes and not np.isnan(truth[step.query][row]):
                everything.append(truth[step.query][row])
                if place in alone:
                    read.append(everything[-1])
        calls.append((each.second_opinion or {"questions": 0})["questions"])
    right = np.mean(
        [each.predicted_class == label for each, label in zip(explained, y, strict=True)]
    )
    logger.info(
        "%s: yes read right %.1f %% of %d, all yes %.1f %% of %d; accuracy %.1f %% after %.1f "
        "questions; asked %.2f times an image, at most %d",
        name, 100 * np.mean(read), len(read), 100 * np.mean(everything), len(everything),
        100 * right, np.mean([len(each.steps) for each in explained]), np.mean(calls), max(calls),
    )  # fmt: skip


def main() -> None:
    """Measure."""
    claims, pictures, X, y, truth, _ = drawn_world()
    judge = Path("stages/menagerie/judge.jsonl")
    known = read_judge(judge, sorted(set(y["train"])))
    texts = list(dict.fromkeys([*claims, *known.texts]))
    rows = embed_texts(load_clip("stages/menagerie/clip", "cpu"), texts, cache=False)
    model = InformationPursuitClassifier(texts, rows, QUERIES).fit(X["train"], y["train"])
    of_class = known.for_classes_and_texts(list(model.classes_), model.queries_)
    number = {name: place for place, name in enumerate(model.classes_)}
    known_of = {
        hashlib.sha256(encoded(png)).hexdigest(): {
            question(text): bool(truth[split][text][row] if text in claims else value)
            for text, value in zip(
                model.queries_, of_class[number[y[split][row]]].tolist(), strict=True
            )
            if text in claims or value in (0, 1)
        }
        for split, each in pictures.items()
        for row, png in enumerate(each)
    }
    shown = np.random.default_rng(0).permutation(len(y["test"]))[:TEST_IMAGES]
    seen, X_test, y_test = [pictures["test"][i] for i in shown], X["test"][shown], y["test"][shown]
    # What is true of each test image: what is drawn, or what the judge says of its class.
    said = [known_of[hashlib.sha256(encoded(png)).hexdigest()] for png in seen]
    true = {
        text: np.array([each.get(question(text), np.nan) for each in said], float)
        for text in model.queries_
    }
    report("CLIP alone", model.explain(X_test), y_test, true)
    folder = Path(tempfile.mkdtemp())
    with standing_in(known_of, folder, ERRORS) as address:
        ways: tuple[tuple[str, dict[str, Any]], ...] = (
            ("rates from a table", {"knowledge": known}),
            ("rates from 30 images a class", {"images": (pictures["train"], y["train"])}),
            ("the model alone", {"images": (pictures["train"], y["train"]), "alone": True}),
        )
        opinion = SecondOpinion((address, "stand-in"), kept_in=folder)
        for name, given in ways:
            model.knowledge_ = given.pop("knowledge", None)
            opinion = SecondOpinion((address, "stand-in"), kept_in=folder, **given)
            explained = model.explain(X_test, second_opinion=opinion, pictures=seen)
            report(name, explained, y_test, true)
        logger.info("%s", use_of_pictures(opinion, model, seen[:24]))


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    for name in ("infopursuit", "httpx"):
        logging.getLogger(name).setLevel(logging.WARNING)
    warnings.simplefilter("ignore")
    torch.set_num_threads(1)
    main()
