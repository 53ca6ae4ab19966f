"""Files of made-up runs, as the stages before the report write them: no training, real formats."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

from infopursuit.core.csv_tables import write_csv
from infopursuit.core.run_name import RunName
from infopursuit.estimators.persistence import DESCRIPTION, FORMAT
from infopursuit.pursuit.explanation import Explanation, Step, rounded
from infopursuit.pursuit.rollout import RollOut
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.explained_images import ExplainedImage, write_explanations
from infopursuit_study.evaluation.files import METRICS, TRUTH, write_json, write_predictions
from infopursuit_study.evaluation.measurement import summarize
from infopursuit_study.evaluation.run_metrics import (
    BudgetCurve,
    StoppingPoint,
    budget_curve,
    run_metrics,
    sweep,
)
from infopursuit_study.run_report.methods import stands_alone
from infopursuit_study.run_report.runs import TRAINING, DatasetResults, read_dataset
from tests.planted import png

CLASSES = tuple(f"class {number}" for number in range(14))
TEXTS = ("black and white stripes", "$5 & <ticket>", *(f"text {number}" for number in range(18)))
SKILL = {
    "fixed": 0.34, "alternating": 0.42, "joint": 0.39, "soft_answers": 0.46, "free_queries": 0.48,
    "gaussian": 0.5, "threshold_fixed": 0.4,
}  # fmt: skip
START = {"llm": 1.0, "random": 0.75, "medoids": 0.9, "informative": 1.1, "random_words": 0.4}
FIRST_TEN = {"pictures": 10, "questions": 97, "no_claim": 12, "claims": 85, "false": 4,
             "not_sure": 5, "right": 0.95}  # fmt: skip
ANSWERS = {
    "phrases": {"precision_of_yes": 0.82, "recall_of_yes": 0.9, "right": 0.96, "answered": 0.7}
}
MEANING = {
    "truth": {
        "by": "answer_reference", "precision_of_yes": 0.412, "recall_of_yes": 0.9, "right": 0.954,
        "answered": 0.68, "shuffled_precision_of_yes": 0.03,
    },
    "question_quality": {
        "by": "question_reference", "plausible": 0.96, "supported_yes": 0.851, "reader": 0.52,
        "shuffled_supported_yes": 0.02, "shuffled_reader": 0.011, "accuracy": 0.79,
    },
    "people": {
        "pairs": 4, "same": 3,
        "questions": {
            "stripes": {
                "images": 20, "yes": [8, 10], "no": [9, 10], "auroc": 0.91, "auroc_within": 0.625,
            },
            "wheels": {
                "images": 12, "yes": [0, 0], "no": [12, 12], "auroc": None, "auroc_within": None,
            },
        },
    },
}  # fmt: skip
NO_MEANING = {"truth": None, "question_quality": None}
KNOWN = {"answers": ANSWERS, "first_ten": FIRST_TEN}
COLORS = ("black", "white")  # of figures
VARIATIONAL = {
    "method": "variational", "validation_fraction": 0.1, "hidden": [8, 4], "answers": "minmax",
    "dictionary": "fixed", "learning_rate": 1e-3, "quantize_queries": True, "random_updates": 250,
}  # fmt: skip
METHODS = {
    "fixed": VARIATIONAL,
    "alternating": {**VARIATIONAL, "dictionary": "alternating"},
    "joint": {**VARIATIONAL, "dictionary": "joint"},
    "soft_answers": {**VARIATIONAL, "dictionary": "alternating", "answers": "soft"},
    "free_queries": {**VARIATIONAL, "dictionary": "alternating", "quantize_queries": False},
    "gaussian": {"method": "gaussian", "validation_fraction": 0.1},
    "threshold_fixed": {**VARIATIONAL, "answers": "threshold"},
}
STOP = StoppingRule(0.85, 8)


def made_up_roll_out(labels: np.ndarray, k: int, budget: int, skill: float, seed: int) -> RollOut:
    """Posteriors that drift towards the labels, with questions in random order."""
    draw = np.random.default_rng(seed)
    n, c = len(labels), len(CLASSES)
    order = np.stack([draw.permutation(k)[:budget] for _ in range(n)])
    answers = draw.integers(0, 2, (n, budget)).astype(np.float32)
    steps = draw.normal(0, 0.5, (n, budget, c))
    steps[np.arange(n), :, labels] += skill
    logits = np.concatenate([np.zeros((n, 1, c)), np.cumsum(steps, axis=1)], axis=1)
    posteriors = torch.softmax(torch.tensor(logits, dtype=torch.float32), dim=2)
    nothing = torch.zeros(n, budget, 0)
    return RollOut(torch.tensor(order), torch.tensor(answers), posteriors, nothing.long(), nothing)


def made_up_explanation(found: RollOut, row: int, queries: list[str], name: str, true_class: str):
    """The explanation of an image of a roll-out, up to where STOP ends it."""
    posteriors = found.posteriors[row]
    counts, held = STOP.steps(posteriors.unsqueeze(0))
    steps = tuple(
        Step(
            query=queries[int(found.order[row, t])],
            answer=float(found.answers[row, t]),
            posterior=rounded(posteriors[t + 1].tolist()),
            entropy=0.5,
        )
        for t in range(int(counts[0]))
    )
    prior = rounded(posteriors[0].tolist())
    ended = STOP.ended(int(held[0]), len(steps), len(queries))
    return Explanation(name, CLASSES, prior, steps, ended, true_class)


def make_run(
    artifacts: Path, key: RunName, *, images: int = 60, k: int = 16, budget: int = 12,
    select_on: str = "held_out", truth: bool = False,
    known: Mapping[str, Any] | None = None, meaning: Mapping[str, Any] = NO_MEANING,
) -> None:  # fmt: skip
    """Write every file of one run that the report reads."""
    labels = np.arange(images) % len(CLASSES)
    ids = [f"{row:04d}" for row in range(images)]
    seed = sum(map(ord, str(key)))
    found = made_up_roll_out(labels, k, budget, SKILL[key.method] * START[key.init], seed)
    summary = summarize(found.posteriors, torch.tensor(labels))
    curve, auc = budget_curve(summary, 10, 100)
    points = sweep(
        summary,
        {
            "max_probability": [0.5, 0.7, 0.85, 0.95],
            "entropy": [1.0, 0.5, 0.1],
            "stability": [2, 4],
        },
    )
    texts = [TEXTS[row % len(TEXTS)] + " again" * (row // len(TEXTS)) for row in range(k)]
    midway, final = list(texts), list(texts)
    settings = METHODS[key.method] | {"select_on": select_on}
    if settings.get("dictionary", "fixed") != "fixed":
        midway[1::2] = [f"half {text}" for text in texts[1::2]]
        final = [f"learned {row // 6}" if row % 3 else text for row, text in enumerate(texts)]
        final[-1] += f" of seed {key.seed}"
    evolution = {"initial": texts, "midway": midway, "final": final}

    folder = artifacts / "evaluation" / str(key)
    write_csv(folder / "curve.csv", ("t", *BudgetCurve._fields), curve.rows())
    write_csv(folder / "stopping.csv", StoppingPoint._fields, points)
    write_predictions(folder / "predictions.parquet", ids, summary.labels, summary.predicted)
    usage = np.zeros((budget, k), dtype=np.int64)
    for step in range(budget):
        usage[step] = np.bincount(found.order[:, step].numpy(), minlength=k)
    depends = not stands_alone(settings)
    metrics = run_metrics(summary, usage, curve, auc, evolution["final"], STOP) | {
        "asked_answers_changed_by_unasked": 0.0413 * depends,
        "predictions_changed_by_unasked": 0.0871 * depends,
        "answers_flipped_by_deletion": 0.00271 * depends,
    }
    write_json(folder / METRICS, metrics)
    if truth:
        told = {"phrases_share_true": 0.61, **(known or {})}
        write_json(folder / TRUTH, told)
    write_json(folder / "meaning.json", meaning)

    if settings["method"] == "variational":
        updates = list(range(50, 1001, 50))
        areas = [auc.value * (1 - 0.6 * np.exp(-update / 200)) for update in updates]
        phases = ["random" if update <= 500 else "biased" for update in updates]
        rows = zip(phases, updates, areas, strict=True)
        write_csv(
            artifacts / "models" / str(key) / TRAINING,
            ("phase", "updates", "loss", "validation_auc", "distinct_queries"),
            [(phase, update, 2 - area, area, k) for phase, update, area in rows],
        )
        selected = {"phase": phases[-1], "updates": updates[-1], "validation_auc": areas[-1]}
    else:
        selected = {"phase": "gaussian", "updates": 0, "validation_auc": auc.value}
    write_model(
        artifacts / "models" / str(key),
        {
            **{name: getattr(key, name) for name in key._fields},
            "settings": settings,
            "budget": budget,
            "images": {"train": 540, "held_out": 60},
            "inputs": {"universe": "ab" * 32, "images": "cd" * 32, "initial": "ef" * 32},
            "selected": selected,
            "evolution": evolution,
        },
    )

    told = [
        made_up_explanation(found, row, evolution["final"], ids[row], CLASSES[labels[row]])
        for row in range(2)
    ]
    folder = artifacts / "explanations" / key.dataset / str(key)
    folder.mkdir(parents=True)
    for number, explanation in enumerate(told):
        # The report takes a figure as it is, so that a small picture stands in for it.
        (folder / f"{explanation.image}.png").write_bytes(png(COLORS[number]))
    explained_images = [ExplainedImage(each, f"{each.image}.png") for each in told]
    write_explanations(folder / "explanations.json", STOP, explained_images)


def write_model(folder: Path, provenance: dict) -> None:
    """The description of a saved model; the report reads no weights."""
    description = {
        "format": FORMAT,
        "clip": {"name": "a small clip", "source": None},
        "classes": {"values": list(CLASSES), "type": "<U16"},
        "provenance": provenance,
    }
    folder.mkdir(parents=True, exist_ok=True)
    (folder / DESCRIPTION).write_text(json.dumps(description), encoding="utf-8")


def make_baselines(artifacts: Path, dataset: str) -> None:
    metrics = {}
    for name, accuracy in (("linear_probe", 0.939), ("zero_shot", 0.62)):
        metrics[f"{name}_accuracy"] = accuracy
        metrics[f"{name}_accuracy_low"] = accuracy - 0.012
        metrics[f"{name}_accuracy_high"] = accuracy + 0.011
    write_json(artifacts / "baselines" / f"{dataset}.json", metrics)


def make_dataset(
    artifacts: Path, dataset: str = "menagerie", *, inits: Sequence[str] = ("llm",),
    methods: Sequence[str] = ("fixed", "alternating"), seeds: Sequence[int] = (0,),
    truth: bool = False, **run: Any,
) -> DatasetResults:  # fmt: skip
    """Write all runs of a data set and its baselines, and read them as the report does."""
    names = [RunName(dataset, *key) for key in product(inits, methods, seeds)]
    for name in names:
        make_run(artifacts, name, truth=truth, **run)
    make_baselines(artifacts, dataset)
    return read_dataset(artifacts, dataset, names, truth=truth)
