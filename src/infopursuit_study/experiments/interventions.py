"""Accuracy after right answers: what it is worth that a person corrects the questions asked.

    python -m infopursuit_study.experiments.interventions RUN [RUN ...]

RUN is a trained run of the pipeline on the embedded world, such as menagerie-llm-gaussian-0. What
is true of each picture is known there, so the answer to a question that names an attribute becomes
*yes* or *no*, as a person gives it; other answers stay the picture's own. Nothing is fitted again.
Questions are asked by the model, and in an order drawn for each picture.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

import torch
from jaxtyping import Float, Int
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import table
from infopursuit.datasets.labelled_images import LabelledImages, load_images
from infopursuit.estimators.base import load_fitted
from infopursuit.pipeline import paths, run_paths
from infopursuit.pursuit.answers.rules import NOT_SURE, WORDS
from infopursuit.pursuit.pursuit import Pursuit
from menagerie.pictures import TABLE
from menagerie.truths import CLAIMS, claims_truth

COUNTS = (1, 2, 3, 5, 10)


def in_words(
    pursuit: Pursuit, test: LabelledImages
) -> tuple[Float[Tensor, "n k"], Float[Tensor, "n k"], int]:
    """Return the answers of pictures, with a yes or a no where the truth is known.

    Returns:
        The picture's own yes or no to these questions, the right one, and how many they are.
    """
    answers = pursuit.answers(test.embeddings)
    places = [place for place, query in enumerate(pursuit.queries) if query in CLAIMS]
    claims = [CLAIMS[pursuit.queries[place]] for place in places]
    truth = torch.from_numpy(claims_truth(TABLE, test.ids, claims))
    yes, no = (answers.new_tensor(WORDS[word]) for word in ("yes", "no"))
    own, right = answers.clone(), answers.clone()
    own[:, places] = torch.where(answers[:, places] > NOT_SURE, yes, no)
    right[:, places] = torch.where(truth, yes, no)
    return own, right, len(places)


def accuracies(
    pursuit: Pursuit, answers: Float[Tensor, "n k"], labels: Int[Tensor, " n"]
) -> list[float]:
    """Return the accuracy after each of COUNTS questions that the model asks."""
    posteriors = pursuit.rolled(answers, max(COUNTS)).posteriors[:, list(COUNTS)]
    return (posteriors.argmax(dim=2) == labels.unsqueeze(1)).double().mean(dim=0).tolist()


def at_random(
    pursuit: Pursuit, answers: Float[Tensor, "n k"], labels: Int[Tensor, " n"], seed: int = 0
) -> list[float]:
    """Return the same of questions in an order that is drawn for each image."""
    order = torch.rand(answers.shape, generator=torch.Generator().manual_seed(seed)).argsort(dim=1)
    shares = []
    for count in COUNTS:
        mask = torch.zeros_like(answers).scatter_(1, order[:, :count], 1.0)
        predicted = pursuit.classifier(answers, mask).argmax(dim=1)
        shares.append(float((predicted == labels).double().mean()))
    return shares


def main(runs: Sequence[str]) -> None:
    """Print a table of some runs."""
    if not runs:
        raise InputError("no run; expected some, such as menagerie-llm-gaussian-0")
    rows: list[list[object]] = []
    for run in runs:
        dataset = run.split("-")[0]
        pursuit = load_fitted(run_paths.model(run), device="cpu").pursuit_
        test = load_images(paths.images(dataset), "test")
        own, right, known = in_words(pursuit, test)
        answers, of = pursuit.answers(test.embeddings), f"of {known} questions"
        for title, shares in (
            ("its own", accuracies(pursuit, answers, test.labels)),
            (f"its own, those {of} as yes or no", accuracies(pursuit, own, test.labels)),
            (f"its own, those {of} right", accuracies(pursuit, right, test.labels)),
            ("the same, in random order", at_random(pursuit, right, test.labels)),
        ):
            rows.append([run, title, *(f"{100 * each:.1f}" for each in shares)])
    print(table(["run", "answers", *(f"after {count}" for count in COUNTS)], rows))


if __name__ == "__main__":
    try:
        main(sys.argv[1:])
    except InputError as error:
        sys.exit(f"interventions: {error}")
