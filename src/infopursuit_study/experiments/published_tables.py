"""Accuracy by the number of questions on tables with published results of others.

    python -m infopursuit_study.experiments.published_tables FOLDER [--only spambase]

FOLDER has diagnosis/{dxy,mz4,sd90}-{train,test}.json and tables/{spambase,wbcatt_*}.parquet, which
are not part of the repository. What is not there is left out, and a line says so. Writes
artifacts/benchmarks/published_tables.md and .json, after each part.

What cannot be compared. **Dxy and MZ-4** (consultations): a patient is simulated as in papers: the
self-report is known, and a question is answered from what the patient said when asked, else
with "not sure". The splits are the published ones, but each paper has a simulator of its own, and
the tables of some could not be read here: none of these figures is the best published. Of 104 and
345 test cases, 95 % intervals are eight and five points wide on both sides. A model of four hundred
consultations is no doctor. **SD-90**: patients are made up, by rates of SymCat.
**Spambase**: the published figures are of another random split of the same shares. **White blood
cells** (WBCAtt, about 1,200 training photographs a class) have no published ones: all methods there
get yes or no for 24 values of attributes.

Nothing is chosen on test rows. `auto` is the default, which `fit` chooses on training rows by
histories that start with nothing; consultations start with a self-report, so there the way is
chosen by the same protocol in four folds of the training cases. `networks` are the paper's, with
the widths and numbers of updates that are the defaults of `VariationalInformationPursuit`, but for
NETWORKS on cells, whose learning rates are chosen on the validation split.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import torch
from sklearn.metrics import roc_auc_score
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import OneHotEncoder

from infopursuit.core.numbers import Proportion, table
from infopursuit.estimators.base import rows_of
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.variational import VariationalInformationPursuit
from infopursuit.pursuit.rollout import ask_until, roll_out
from infopursuit.pursuit.stopping import DEFAULT_STOP
from infopursuit.questions.columns import TableQuestions
from infopursuit_study.peers.greedy_selection import Features, GreedyTraining
from infopursuit_study.peers.heads import Standardisation

OUT = Path("artifacts/benchmarks")
SEEDS = 5
WAYS = ("counted", "subclasses", "networks")
SAID = {"1": True, "0": False, "2": None}
PUBLISHED = {  # accuracy / questions, by the README of OpenMedicalChatBox
    "dxy": "self-report .682, Flat-DQN .731 / 2.0, KR-DS .740 / 5.7, REFUEL .721 / 3.1, "
    "GAMP .731 / 2.8, HRL .779 / 8.6, all symptoms .846",
    "mz4": "self-report .671, Flat-DQN .681, KR-DS .678, REFUEL .716 / 5.0, GAMP .644, "
    "HRL .735 / 5.1, all symptoms .755",
    "sd90": "self-report .308, Flat-DQN .343 / 1.2, REFUEL .347 / 4.6, KR-DS .357 / 6.2, "
    "GAMP .267 / 1.4, HRL .504 / 6.5, all symptoms .781",
}
SHOWN = {"sd90": (0, 1, 3, 6, 10, 20)}  # after how many questions; of others (0, 2, 3, 5, 8, 10)
GDFS = {1: "82.74 / 78.48", 3: "92.62 / 85.76", 5: "95.76 / 90.87", 10: "96.92 / 92.17",
        15: "97.99 / 93.37", 25: "97.97 / 93.80"}  # fmt: skip
NETWORKS = {  # of cells: widths, and updates of both phases; and the rates to choose from
    f"networks {widths}": {"hidden": widths, "random_updates": random, "biased_updates": biased}
    for widths, random, biased in (((256, 128), 500, 400), ((2000, 500), 150, 100))
}
RATES = (1e-3, 1e-4)
NO_DOCTOR = "A model of some hundred consultations is no doctor."
Part = tuple[list[str], list[list[object]], dict[str, Any]]


def consultations(folder: Path, name: str, ways: Sequence[str] = WAYS) -> Part:
    """Measure the diagnosis of patients who say some symptoms unasked, and answer for others."""
    cases = {
        part: json.loads((folder / f"diagnosis/{name}-{part}.json").read_text(encoding="utf-8"))
        for part in ("train", "test")
    }
    symptoms = sorted({each for case in cases["train"] for each in said(case)})
    X = {
        part: pd.DataFrame(
            [[SAID.get(said(case).get(each, "")) for each in symptoms] for case in some],
            columns=symptoms,
            dtype=object,
        )
        for part, some in cases.items()
    }
    y = {part: np.array([case["label"] for case in some]) for part, some in cases.items()}
    rows, figures, shown = [], {}, SHOWN.get(name, (0, 2, 3, 5, 8, 10))
    rights = {
        rates: crossed(X["train"], y["train"], cases["train"], rates, max(shown)) for rates in ways
    }
    best = max(ways, key=lambda rates: rights[rates][[5, 8, 10]].mean())
    for rates in ways:
        model = classifier(rates, len(symptoms)).fit(X["train"], y["train"])
        known = said_of(model, cases["test"])
        tensor, pursuit = rows_of(model, X["test"]).tensor(), model.pursuit_
        parts, answers = (pursuit.querier, pursuit.classifier), pursuit.answers(tensor)
        course = roll_out(*parts, answers, min(20, answers.shape[1]), known=known)
        truth = torch.from_numpy(np.searchsorted(model.classes_, y["test"]))
        right = course.posteriors.argmax(dim=2) == truth.unsqueeze(1)
        ending = ask_until(*parts, answers, DEFAULT_STOP, known=known)
        at_stop = Proportion(int((ending.posterior.argmax(dim=1) == truth).sum()), len(truth))
        everything = float(model.accuracy_by_budget(X["test"], y["test"])[-1])
        curve = {t: Proportion(int(right[:, t].sum()), len(truth)) for t in range(right.shape[1])}
        rows.append(
            [
                f"{name}, {rates}" + ", chosen on training cases" * (rates == best),
                *(
                    str(curve[t]) if t in (0, 5, 8) else f"{100 * share(curve[t]):.1f}"
                    for t in shown
                ),
                f"{at_stop} after {ending.length.double().mean():.1f}",
                f"{100 * everything:.1f}",
                " ".join(f"{100 * rights[rates][t]:.1f}" for t in shown),
            ]
        )
        figures[rates] = {
            "accuracy": [share(each) for each in curve.values()],
            "accuracy_in_folds_of_training": rights[rates].tolist(),
            "at_stop": share(at_stop),
            "turns": ending.length.double().mean().item(),
            "all": everything,
            "chosen": {key: model.provenance_.get(key) for key in ("gaps", "rates", "log_losses")},
        }
    rows.append([f"{name}, published", PUBLISHED[name], *[""] * (len(shown) + 2)])
    header = ["", "self-report alone", *(f"after {t}" for t in shown[1:]), "at the stop",
              "all symptoms", "by four folds of training cases"]  # fmt: skip
    return header, rows, figures


def crossed(
    X: pd.DataFrame, y: np.ndarray, cases: list[Any], rates: str, longest: int
) -> np.ndarray:
    """Return the accuracy after 0..T questions of training cases, by fits on three quarters."""
    right = []
    for rest, others in StratifiedKFold(4, shuffle=True, random_state=0).split(X, y):
        model = classifier(rates, X.shape[1]).fit(X.iloc[rest], y[rest])
        known = said_of(model, [cases[row] for row in others])
        pursuit = model.pursuit_
        answers = pursuit.answers(rows_of(model, X.iloc[others]).tensor())
        parts = pursuit.querier, pursuit.classifier
        posteriors = roll_out(*parts, answers, longest, known=known).posteriors
        predicted = model.classes_[posteriors.argmax(dim=2).numpy()]
        right.append(predicted == y[others][:, None])
    return np.concatenate(right).mean(axis=0)


def classifier(way: str, k: int, seed: int = 0, gaps: str = "tells") -> Any:
    """Return a classifier of k questions that is not fitted."""
    if way != "networks":
        note = NO_DOCTOR if gaps == "tells" else None
        source = TableQuestions(note=note)
        return InformationPursuitClassifier(source, n_queries=k, rates=way, random_state=seed)
    return VariationalInformationPursuit(
        TableQuestions(gaps=gaps),
        n_queries=k,
        dictionary="fixed",
        budget=min(k, max(GDFS)),
        random_state=seed,
        device="cpu",
    )


def said_of(model: Any, cases: list[Any]) -> torch.Tensor:
    """Return which questions patients answer unasked: (n, k) bool."""
    symptoms = [query.removesuffix("?") for query in model.queries_]
    return torch.tensor([[each in case["exp_sxs"] for each in symptoms] for case in cases])


def said(case: dict[str, Any]) -> dict[str, str]:
    """Return all that a patient says, unasked and asked."""
    return {**case["imp_sxs"], **case["exp_sxs"]}


def share(of: Proportion) -> float:
    """Return the share of right answers."""
    return of.right / of.given


def mails(folder: Path) -> Part:
    """Measure Spambase: AUROC / accuracy by questions, means of SEEDS splits."""
    X = pd.read_parquet(folder / "tables/spambase.parquet")
    y = X.pop("Outcome").to_numpy()
    rows, figures = [], {}
    for way in ("auto", *WAYS, "GDFS"):
        runs = []
        for seed in range(SEEDS):
            order = np.random.default_rng(seed).permutation(len(y))
            parts = np.split(order, [int(0.6 * len(y)), int(0.8 * len(y))])
            posteriors, truth = posteriors_of(way, X, y, parts, seed), y[parts[2]]
            runs.append(
                [
                    (
                        100 * roc_auc_score(truth, posteriors[:, t, 1]),
                        100 * (posteriors[:, t].argmax(dim=1).numpy() == truth).mean(),
                    )
                    for t in GDFS
                ]
            )
        cells = [f"{a:.1f} / {b:.1f}" for a, b in np.mean(runs, axis=0)]
        rows.append([f"Spambase, {way}", *cells])
        figures[way] = {"runs": runs, "std": np.std(runs, axis=0).tolist()}
    rows.append(["Spambase, GDFS, published", *GDFS.values()])
    return ["AUROC / accuracy", *(f"after {t}" for t in GDFS)], rows, figures


def blood_cells(folder: Path) -> Part:
    """Measure white blood cells: accuracy by yes/no questions, means of three seeds."""
    names = [folder / f"tables/wbcatt_{part}.parquet" for part in ("train", "val", "test")]
    table = pd.concat([pd.read_parquet(name) for name in names], keys=range(len(names)))
    y = np.unique(table.pop("label"), return_inverse=True)[1]
    parts = [np.flatnonzero(table.index.get_level_values(0) == part) for part in range(3)]
    encoder = OneHotEncoder(drop="if_binary", sparse_output=False, dtype=np.bool_)
    X = encoder.set_output(transform="pandas").fit_transform(table.drop(columns="img_name"))
    shown, rows, figures = [1, 2, 3, 5, 10, X.shape[1]], [], {}

    def curve(way: str, of: int, seed: int, **settings: Any) -> list[float]:
        posteriors = posteriors_of(way, X, y, [*parts[:2], parts[of]], seed, **settings)
        right = posteriors.argmax(dim=2).numpy() == y[parts[of]][:, None]
        return (100 * right.mean(axis=0)[shown]).tolist()

    for way in ("auto", "GDFS", *NETWORKS):
        settings, tried = dict(NETWORKS.get(way, {})), {}
        if settings:
            settings |= {"budget": 10, "validate_every": 50}
            tried = {rate: curve(way, 1, 0, learning_rate=rate, **settings) for rate in RATES}
            settings["learning_rate"] = max(RATES, key=lambda rate: np.mean(tried[rate]))
        runs = [curve(way, 2, seed, **settings) for seed in range(3)]
        rows.append([f"cells, {way}", *(f"{each:.1f}" for each in np.mean(runs, axis=0))])
        figures[way] = {"runs": runs, "held_out": tried, "settings": settings}
    return ["accuracy", *(f"after {t}" for t in shown)], rows, figures


def posteriors_of(
    way: str, X: pd.DataFrame, y: np.ndarray, parts: Sequence[np.ndarray], seed: int, **more: Any
) -> torch.Tensor:
    """Return what is predicted of the last part after 0..T questions, learnt of the others."""
    train, validation, test = parts
    longest = min(max(GDFS), X.shape[1])
    if way != "GDFS":
        model = classifier(way.partition(" ")[0], X.shape[1], seed, "nothing")
        model.set_params(**more)
        model.fit(X.iloc[train], y[train], validation=(X.iloc[validation], y[validation]))
        return model.roll_out(X.iloc[test], longest).posteriors
    rows, labels = torch.from_numpy(X.to_numpy(np.float32)), torch.from_numpy(y.astype(np.int64))
    rows = Standardisation.from_data(rows[train])(rows)
    learnt, held_out, asked = (Features(rows[part], labels[part]) for part in parts)
    networks = GreedyTraining(longest, (128, 128))(learnt, held_out, int(y.max()) + 1, seed)
    return roll_out(*networks, asked.values, longest).posteriors


PARTS: dict[str, Callable[[Path], Part]] = {
    "dxy": lambda folder: consultations(folder, "dxy"),
    "mz4": lambda folder: consultations(folder, "mz4"),
    "sd90": lambda folder: consultations(folder, "sd90", ("counted",)),
    "spambase": mails,
    "cells": blood_cells,
}


def main() -> None:
    """Measure each part; print and write its table."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--only", nargs="+", default=list(PARTS), choices=list(PARTS))
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    OUT.mkdir(parents=True, exist_ok=True)
    path = OUT / "published_tables.json"
    done = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    for name in arguments.only:
        try:
            header, rows, figures = PARTS[name](arguments.folder)
        except (FileNotFoundError, ModuleNotFoundError) as error:
            missing = getattr(error, "filename", None) or getattr(error, "name", None)
            print(f"{name}: left out, {missing} is missing", flush=True)
            continue
        done[name] = {"table": table(header, rows), "figures": figures}
        print(f"\n{done[name]['table']}", flush=True)
        path.write_text(json.dumps(done, indent=1), encoding="utf-8")
        text = "\n\n".join([*(each["table"] for each in done.values()), NOT_COMPARABLE])
        (OUT / "published_tables.md").write_text(f"{text}\n", encoding="utf-8")
    print(f"\n{NOT_COMPARABLE}")


NOT_COMPARABLE = " ".join((__doc__ or "").partition("What cannot be compared. ")[2].split())

if __name__ == "__main__":
    main()
