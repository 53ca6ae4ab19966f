"""Compare a run's answers with what is in the pictures, which the embedded world knows.

    python stages/menagerie/truth.py --dataset menagerie --init llm --method alternating --seed 0

Writes, next to the run's other measures, RUN.truth.json (figures), RUN.truth.csv (each query),
and RUN.first_ten.csv (each question asked first).
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

import torch

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.run_name import RunName
from infopursuit.core.settings import ComputeSettings, Section
from infopursuit.datasets.labelled_images import load_images, load_training
from infopursuit.estimators.base import load_fitted
from infopursuit.estimators.provenance import RunProvenance
from infopursuit.pipeline import paths
from infopursuit.pipeline.run_settings import ExplainSettings
from infopursuit_study.evaluation.files import write_json
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


class Settings(Section):
    """What this stage reads of params.yaml."""

    explain: ExplainSettings
    compute: ComputeSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> RowCounts:
    name = RunName(dataset, init, method, seed)
    images_path = paths.images(dataset)
    model = load_fitted(paths.model(name), device=settings.compute.torch_device())
    test = load_images(images_path, "test")
    trained_with = RunProvenance.of(model.provenance_)
    train, _ = load_training(images_path, trained_with.validation_fraction, seed)
    pursuit, stop = model.pursuit_, settings.explain.stop

    table = paths.knowledge(dataset) if trained_with.knows else None
    phrases, rule = rule_of_all_phrases(pursuit.rule, train, paths.UNIVERSE, table)
    named = {
        "dictionary": claims_of(pursuit.rule, pursuit.queries),
        "phrases": claims_of(rule, phrases),
    }
    truths = {
        of: claims_truth(TABLE, test.ids, [CLAIMS[query] for query in claims.queries])
        for of, claims in named.items()
    }
    counted = {
        of: count_claims(claims, test.embeddings, truths[of]) for of, claims in named.items()
    }

    sample = spread_sample(test.labels.numpy(), PICTURES, seed)
    shown = test.subset(torch.tensor(sample))
    asked = first_questions(pursuit, shown, stop)
    dictionary, truth = named["dictionary"], truths["dictionary"]
    queries = dictionary.queries
    first_ten = first_question_measures(asked, queries, truth[sample])
    first_rows = asked_rows(asked, shown.ids, queries, truth[sample])

    rows = query_rows(named, counted)
    write_json(
        paths.evaluation(name, ".truth.json"), {**truth_metrics(counted), "first_ten": first_ten}
    )
    write_csv(paths.evaluation(name, ".truth.csv"), QUERY_COLUMNS, rows)
    write_csv(paths.evaluation(name, ".first_ten.csv"), ASKED_COLUMNS, first_rows)
    return RowCounts(read=len(test.ids), written=len(rows) + len(first_rows))


if __name__ == "__main__":
    run(main)
