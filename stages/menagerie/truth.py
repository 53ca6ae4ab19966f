"""Compare a run's answers with what is in the pictures, which the embedded world knows.

python stages/menagerie/truth.py --dataset menagerie --init llm --method alternating --seed 0
"""

from __future__ import annotations

import torch
from torch.nn import functional

from infopursuit.dictionary.universe import load_universe
from infopursuit.errors import InputError
from infopursuit.evaluation.agreement import Agreement, agreement
from infopursuit.evaluation.run_metrics import write_csv, write_json
from infopursuit.menagerie.truths import CLAIMS, claims_truth
from infopursuit.params import Params
from infopursuit.pursuit.answers import AnswerRule, fit_threshold_rule
from infopursuit.pursuit.images import LabelledImages, hold_out, load_images
from infopursuit.pursuit.model import TrainedModel
from infopursuit.stage import Rows, run

ATTRIBUTES = "artifacts/menagerie/attributes.parquet"
UNIVERSE = "artifacts/universe/embeddings.parquet"
COLUMNS = ("of", "query", "attribute", "holds")


def main(params: Params, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    images_path = f"artifacts/images/{dataset}.parquet"
    model, test = TrainedModel.load(f"artifacts/models/{name}"), load_images(images_path, "test")
    held_out = model.settings["recipe"]["held_out"]
    train, _ = hold_out(load_images(images_path, "train"), held_out, seed)

    places = [place for place, query in enumerate(model.queries) if query in CLAIMS]
    asked = [model.queries[place] for place in places]
    phrases, rule = rule_of_all_phrases(model.rule.kind, train)
    found = {
        "dictionary": (asked, compare(model.answers(test.embeddings)[:, places], asked, test)),
        "phrases": (phrases, compare(rule.answers(rule.scores(test.embeddings)), phrases, test)),
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


def rule_of_all_phrases(kind: str, train: LabelledImages) -> tuple[list[str], AnswerRule]:
    """All phrases of the universe that name an attribute, as a dictionary with the run's rule.

    So that rules are compared on the same questions, whatever dictionaries they go with.

    Raises:
        InputError: the universe has no such phrase.
    """
    universe = load_universe(UNIVERSE)
    embeddings = torch.from_numpy(universe.embeddings)
    rows = [row for row, text in enumerate(universe.texts) if text in CLAIMS]
    if not rows:
        raise InputError(
            f"{UNIVERSE}: no text names an attribute of a picture; expected some of "
            f"{', '.join(list(CLAIMS)[:3])}, ..., or run.truths: []"
        )
    queries = functional.normalize(embeddings[rows].float(), dim=1)
    if kind == "threshold":
        rule = fit_threshold_rule(queries, embeddings, train.embeddings, train.labels)
    else:
        rule = AnswerRule("minmax", queries)
    return [universe.texts[row] for row in rows], rule


if __name__ == "__main__":
    run(main)
