"""How true the answers of a run are about the pictures of the embedded world, which it knows."""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import torch

from infopursuit.core.csv_tables import write_csv
from infopursuit.datasets.labelled_images import LabelledImages
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.files import TRUTH, TRUTH_OF_QUERIES, write_json
from menagerie.first_questions import (
    ASKED_COLUMNS,
    PICTURES,
    asked_rows,
    first_question_measures,
    first_questions,
    spread_sample,
)
from menagerie.pictures import TABLE
from menagerie.truth_measures import (
    QUERY_COLUMNS,
    claims_of,
    count_claims,
    query_rows,
    rule_of_all_phrases,
    truth_metrics,
)
from menagerie.truths import CLAIMS, claims_truth

FIRST_TEN = "first_ten.csv"


class PictureTruth(NamedTuple):
    """Figures of a run, a row for each query (QUERY_COLUMNS), one for each first question."""

    figures: dict[str, Any]
    queries: list[tuple[Any, ...]]
    first_ten: list[tuple[Any, ...]]

    def write(self, folder: Path) -> None:
        """Write the files of a run's evaluation that this is about."""
        write_json(folder / TRUTH, self.figures)
        write_csv(folder / TRUTH_OF_QUERIES, QUERY_COLUMNS, self.queries)
        write_csv(folder / FIRST_TEN, ASKED_COLUMNS, self.first_ten)


def measure_picture_truth(
    pursuit: Pursuit,
    train: LabelledImages,
    test: LabelledImages,
    files: tuple[Path, Path | None],
    stop: StoppingRule,
    seed: int,
    known: Path = TABLE,
) -> PictureTruth:
    """Compare answers to the queries, and to all phrases of the universe, with what is in pictures.

    Args:
        pursuit: of the run.
        train: images to fit thresholds on.
        test: images whose truth is asked for.
        files: the universe, and the knowledge table that the run was fitted with, if any.
        stop: ends the first questions.
        seed: draws the pictures that are asked first questions.
        known: what is in each picture.
    """
    phrases, rule = rule_of_all_phrases(pursuit.rule, train, *files)
    named = {
        "dictionary": claims_of(pursuit.rule, pursuit.queries),
        "phrases": claims_of(rule, phrases),
    }
    truths = {
        of: claims_truth(known, test.ids, [CLAIMS[query] for query in claims.queries])
        for of, claims in named.items()
    }
    counted = {
        of: count_claims(claims, test.embeddings, truths[of]) for of, claims in named.items()
    }
    sample = spread_sample(test.labels.numpy(), PICTURES, seed)
    shown = test.subset(torch.tensor(sample))
    asked = first_questions(pursuit, shown, stop)
    queries, truth = named["dictionary"].queries, truths["dictionary"][sample]
    first_ten = first_question_measures(asked, queries, truth)
    return PictureTruth(
        {**truth_metrics(counted), "first_ten": first_ten},
        query_rows(named, counted),
        asked_rows(asked, shown.ids, queries, truth),
    )
