"""Compare a run's answers with what is in the pictures, which the embedded world knows.

python stages/menagerie/truth.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

import torch
from menagerie.truths import CLAIMS, claims_truth

from infopursuit.answers.rules import (
    AnswerRule,
    MinMaxAnswers,
    ThresholdAnswers,
    fit_threshold_rule,
)
from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section
from infopursuit.core.stage import Rows, run
from infopursuit.datasets.labelled_images import LabelledImages, hold_out, load_images
from infopursuit.datasets.rows import UnitRows
from infopursuit.dictionary.universe import load_universe
from infopursuit.estimators.saved import load
from infopursuit.evaluation.agreement import Agreement, agreement
from infopursuit.evaluation.files import write_csv, write_json

ATTRIBUTES = "artifacts/menagerie/attributes.parquet"
UNIVERSE = "artifacts/universe/embeddings.parquet"
COLUMNS = ("of", "query", "attribute", "holds")


class Settings(Section):
    """This stage reads nothing of params.yaml."""


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    images_path = f"artifacts/images/{dataset}.parquet"
    model, test = load(f"artifacts/models/{name}"), load_images(images_path, "test")
    held_out = model.provenance_["settings"]["validation_fraction"]
    train, _ = hold_out(load_images(images_path, "train"), held_out, seed)

    pursuit = model.pursuit_
    places = [place for place, query in enumerate(pursuit.queries) if query in CLAIMS]
    asked = [pursuit.queries[place] for place in places]
    phrases, rule = rule_of_all_phrases(isinstance(pursuit.rule, ThresholdAnswers), train)
    found = {
        "dictionary": (asked, compare(pursuit.answers(test.embeddings)[:, places], asked, test)),
        "phrases": (phrases, compare(rule.answers(test.embeddings), phrases, test)),
    }

    metrics = {
        key: value for of, (_, told) in found.items() for key, value in told.metrics(of).items()
    }
    rows = [
        (of, query, *CLAIMS[query], *shares)
        for of, (queries, told) in found.items()
        for query, *shares in zip(queries, *told, strict=True)
    ]
    write_json(f"artifacts/evaluation/{name}.truth.json", metrics)
    write_csv(f"artifacts/evaluation/{name}.truth.csv", (*COLUMNS, *Agreement._fields), rows)
    return Rows(read=len(test.ids), written=len(rows))


def compare(answers: torch.Tensor, queries: list[str], images: LabelledImages) -> Agreement:
    """Answers to queries that name an attribute; a soft answer says yes above 0.5."""
    truth = claims_truth(ATTRIBUTES, images.ids, [CLAIMS[query] for query in queries])
    return agreement((answers > 0.5).numpy(), truth)


def rule_of_all_phrases(thresholds: bool, train: LabelledImages) -> tuple[list[str], AnswerRule]:
    """All phrases of the universe that name an attribute, as a dictionary with the run's rule.

    So that rules are compared on the same questions, whatever dictionaries they go with.

    Args:
        thresholds: whether each query has a threshold of its own; False for the paper's rule.
        train: images to fit thresholds on.

    Raises:
        InputError: the universe has no such phrase.
    """
    universe = load_universe(UNIVERSE)
    embeddings = UnitRows(universe.embeddings, UNIVERSE)
    rows = [row for row, text in enumerate(universe.texts) if text in CLAIMS]
    if not rows:
        raise InputError(
            f"{UNIVERSE}: no text names an attribute of a picture; expected some of "
            f"{', '.join(list(CLAIMS)[:3])}, ..., or run.truth: []"
        )
    queries = embeddings.take(torch.tensor(rows))
    texts = [universe.texts[row] for row in rows]
    if not thresholds:
        return texts, MinMaxAnswers(queries)
    images = UnitRows(train.embeddings, "training images")
    return texts, fit_threshold_rule(queries, embeddings, images, train.labels)


if __name__ == "__main__":
    run(main)
