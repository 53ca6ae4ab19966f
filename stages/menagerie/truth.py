"""Compare a run's answers with what is in the pictures, which the embedded world knows.

    python stages/menagerie/truth.py --dataset menagerie --init llm --method alternating --seed 0

Writes, beside the run's other measures, RUN.truth.json (figures), RUN.truth.csv (each query),
RUN.first_ten.csv (each question asked first) and the folder RUN.worst (the worst answers).
"""

from __future__ import annotations

from infopursuit.core.stage import Rows, run

from collections.abc import Sequence

import numpy as np
import torch
from jaxtyping import Bool
from menagerie.counterfactuals import load_pairs
from menagerie.embedded_pairs import load_pair_embeddings
from menagerie.first_questions import (
    ASKED_COLUMNS,
    FIRST,
    PICTURES,
    asked_rows,
    first_question_measures,
    first_questions,
    spread_sample,
)
from menagerie.truth_measures import claims_of, truth_measures, truth_metrics
from menagerie.truths import CLAIMS, claims_truth

from infopursuit.answers.rules import AnswerRule
from infopursuit.core.errors import InputError
from infopursuit.core.same_space import check_same_space
from infopursuit.core.settings import Section
from infopursuit.datasets.labelled_images import LabelledImages, load_images, load_training
from infopursuit.datasets.settings import Datasets
from infopursuit.dictionary.universe import load_universe
from infopursuit.estimators.saved import load
from infopursuit.evaluation.agreement import Agreement
from infopursuit.evaluation.files import write_csv, write_json
from infopursuit.explanation.settings import ExplainSettings
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.meaning.measures import hard_answers
from infopursuit.meaning.text_rule import rule_of_texts
from infopursuit.meaning.worst import worst_answers
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.queries.knowledge import read_knowledge
from infopursuit.report.chosen_images import load_pictures
from infopursuit.report.worst_answers import WorstAnswer, named_answers, write_worst

ATTRIBUTES = "artifacts/menagerie/attributes.parquet"
DRAWN_PAIRS = "artifacts/menagerie/counterfactuals.parquet"
UNIVERSE = "artifacts/universe/embeddings.parquet"
QUERY_COLUMNS = ("of", "query", "attribute", "holds", *Agreement._fields)


class Settings(Section):
    """What this stage reads of params.yaml."""

    datasets: Datasets
    explain: ExplainSettings


def main(settings: Settings, dataset: str, init: str, method: str, seed: int) -> Rows:
    name = f"{dataset}-{init}-{method}-{seed}"
    images_path = f"artifacts/images/{dataset}.parquet"
    pairs_path = f"artifacts/images/{dataset}.pairs.parquet"
    check_same_space(images_path, pairs_path)
    model, test = load(f"artifacts/models/{name}"), load_images(images_path, "test")
    held_out = model.provenance_["settings"]["validation_fraction"]
    train, _ = load_training(images_path, held_out, seed)
    pairs = load_pairs(DRAWN_PAIRS)
    pair_images = load_pair_embeddings(pairs_path, DRAWN_PAIRS)

    pursuit = model.pursuit_
    knows = model.provenance_["settings"].get("knowledge", False)
    table = f"artifacts/knowledge/{dataset}.parquet" if knows else None
    phrases, rule = rule_of_all_phrases(pursuit.rule, train, table)
    found, truths = {}, {}
    for of, claims in (
        ("dictionary", claims_of(pursuit.rule, pursuit.queries)),
        ("phrases", claims_of(rule, phrases)),
    ):
        truth = claims_truth(ATTRIBUTES, test.ids, [CLAIMS[query] for query in claims.queries])
        found[of] = claims, truth_measures(claims, test.embeddings, truth, pairs, pair_images)
        truths[of] = truth
    sample = spread_sample(test.labels.numpy(), PICTURES, seed)
    stop = StoppingRule(settings.explain.stop_at_probability, settings.explain.max_queries)
    shown = test.subset(torch.tensor(sample))
    asked = first_questions(pursuit, shown, stop)
    known, truth = found["dictionary"][0].queries, truths["dictionary"][sample]
    metrics = truth_metrics(**{of: measures for of, (_, measures) in found.items()})
    metrics["first_ten"] = first_question_measures(asked, known, truth)
    places = found["dictionary"][0].places
    worst = worst_of_pictures(pursuit, test, places, truths["dictionary"], stop)
    shown_ids = [answer.image for answer in worst]
    pictures = load_pictures(settings.datasets[dataset].images, test.class_names, shown_ids)

    rows = [
        (of, query, *CLAIMS[query], *shares)
        for of, (claims, measures) in found.items()
        for query, *shares in zip(claims.queries, *measures.by_query, strict=True)
    ]
    where = f"artifacts/evaluation/{name}"
    write_json(f"{where}.truth.json", metrics)
    write_csv(f"{where}.truth.csv", QUERY_COLUMNS, rows)
    told = asked_rows(asked, shown.ids, known, truth)
    write_csv(f"{where}.first_ten.csv", ASKED_COLUMNS, told)
    write_worst(f"{where}.worst", worst, pictures)
    return Rows(read=len(test.ids) + len(pair_images), written=len(rows) + len(told))


def rule_of_all_phrases(
    rule: AnswerRule, train: LabelledImages, knowledge: str | None
) -> tuple[list[str], AnswerRule]:
    """All phrases of the universe that name an attribute, as a dictionary with the run's rule.

    Args:
        rule: of the run.
        train: images to fit thresholds on.
        knowledge: the knowledge table that the run was fitted with; None where it was without.

    Raises:
        InputError: the universe has no such phrase.
    """
    universe = load_universe(UNIVERSE)
    texts = [text for text in universe.texts if text in CLAIMS]
    if not texts:
        raise InputError(
            f"{UNIVERSE}: no text names an attribute of a picture; expected some of "
            f"{', '.join(list(CLAIMS)[:3])}, ..., or run.truth: []"
        )
    table = None
    if knowledge is not None:
        known = read_knowledge(knowledge)
        table = known.for_classes_and_texts(train.class_names, universe.texts)
    return texts, rule_of_texts(rule, universe, texts, train, table)


def worst_of_pictures(
    pursuit: Pursuit,
    images: LabelledImages,
    places: Sequence[int],
    truth: Bool[np.ndarray, "n q"],
    stop: StoppingRule,
) -> list[WorstAnswer]:
    """The worst answers among the first ten, by what the pictures show.

    Args:
        pursuit: asks.
        images: n pictures.
        places: which of the k queries claim something.
        truth: whether these claims are true of each picture.
        stop: when an explanation ends.
    """
    queries, labels = pursuit.queries, images.labels.numpy()
    known = np.full((len(labels), len(queries)), np.nan)
    known[:, places] = truth
    asked = hard_answers(pursuit.roll_out(images.embeddings, min(FIRST, len(queries))))
    lengths = stop.steps(asked.posteriors)[0].numpy()
    found = worst_answers(asked, lengths, {"pictures": known}, labels)
    return named_answers(found, images.ids, labels.tolist(), images.class_names, queries)


if __name__ == "__main__":
    run(main)
