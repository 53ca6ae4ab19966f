"""Tables with gaps, models of knowledge alone, and the page of a large key.

python -m infopursuit_study.experiments.keys cells ../shared/data/tables
python -m infopursuit_study.experiments.keys columns
python -m infopursuit_study.experiments.keys knowledge ../shared/data/clip_vitb32
python -m infopursuit_study.experiments.keys knowledge artifacts
python -m infopursuit_study.experiments.keys page

They measure white blood cells of WBCAtt, two tables of scikit-learn, photographs against zero-shot
CLIP, the embedded world in the same way, and a page of 2,500 classes and 800 characters.
"""

from __future__ import annotations

import argparse
import csv
import shutil
import statistics
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from playwright.sync_api import sync_playwright
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler
from sklearn.tree import DecisionTreeClassifier

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.keys.command import open_key, write_page
from infopursuit.keys.models import key_model
from infopursuit.pursuit.stopping import StoppingRule

ALL = StoppingRule(None, stability=None)


def cells(folder: Path) -> None:
    """Measure answers of pathologists: as they are, a fifth at random, three of ten missing."""
    tables = {
        part: pd.read_parquet(folder / f"wbcatt_{part}.parquet")
        for part in ("train", "val", "test")
    }
    X = {part: table.drop(columns=["img_name", "label"]) for part, table in tables.items()}
    y = {part: table["label"].to_numpy() for part, table in tables.items()}
    rng = np.random.default_rng(0)
    wrong, missing = X["test"].copy(), X["test"].astype(object)
    for name in X["test"]:
        hit = rng.random(len(wrong)) < 0.2
        wrong.loc[hit, name] = rng.choice(X["train"][name].unique(), hit.sum())
        missing.loc[rng.random(len(missing)) < 0.3, name] = None
    one_hot = OneHotEncoder(sparse_output=False).fit(X["train"])
    encoder = OrdinalEncoder().fit(X["train"])
    source = np.repeat(np.arange(X["train"].shape[1]), [len(each) for each in one_hot.categories_])
    gaps = missing.isna().to_numpy()
    shown = (1, 2, 3, 4, 5, 6, 10)
    print("questions", *shown, "all", sep="\t")
    model = InformationPursuitClassifier()
    model.fit(X["train"], y["train"], validation=(X["val"], y["val"]))
    for name, table in (
        ("as they are", X["test"]),
        ("20 % at random", wrong),
        ("30 % missing", missing),
    ):
        course = model.accuracy_by_budget(table, y["test"])
        print(f"ours, {name}", *(f"{100 * course[t]:.1f}" for t in (*shown, -1)), sep="\t")
    # Trees are fitted on the table as it is, or on copies of it with gaps.
    copies = np.tile(encoder.transform(X["train"]), (5, 1))
    lost = rng.random(copies.shape) < 0.3
    with_gaps = np.where(lost[:, source], np.nan, np.tile(one_hot.transform(X["train"]), (5, 1)))
    plain = one_hot.transform(X["test"])
    for name, table, fitted, labels in (
        ("as they are", plain, one_hot.transform(X["train"]), y["train"]),
        ("20 % at random", one_hot.transform(wrong), one_hot.transform(X["train"]), y["train"]),
        (
            "30 % missing",
            np.where(gaps[:, source], np.nan, plain),
            with_gaps,
            np.tile(y["train"], 5),
        ),
    ):
        scores = []
        for depth in (*shown, None):
            tree = DecisionTreeClassifier(max_depth=depth, random_state=0).fit(fitted, labels)
            scores.append(f"{100 * tree.score(table, y['test']):.1f}")
        print(f"tree, {name}", *scores, sep="\t")
    boosting = HistGradientBoostingClassifier(random_state=0)
    boosting.fit(np.where(lost, np.nan, copies), np.tile(y["train"], 5))
    found = boosting.score(np.where(gaps, np.nan, encoder.transform(X["test"])), y["test"])
    print(f"boosted trees fitted with gaps, 30 % missing\t{100 * found:.1f}")


def columns() -> None:
    """Measure what explanations cost on two tables of numbers, in ten folds; ours at its stop."""
    for name, load in (("breast cancer", load_breast_cancer), ("wine", load_wine)):
        X, y = load(return_X_y=True, as_frame=True)
        folds = StratifiedKFold(10, shuffle=True, random_state=0)
        peers = {
            "ours": InformationPursuitClassifier(),
            "ours, all columns": InformationPursuitClassifier(stop=ALL),
            "ours, fitted rates": InformationPursuitClassifier(rates="fitted"),
            "decision tree": DecisionTreeClassifier(random_state=0),
            "logistic regression": make_pipeline(
                StandardScaler(), LogisticRegression(max_iter=1000)
            ),
            "boosted stumps (additive)": HistGradientBoostingClassifier(
                interaction_cst="no_interactions", random_state=0
            ),
        }
        for peer, model in peers.items():
            found = cross_val_predict(model, X, y, cv=folds, method="predict_proba")
            right, stated = (found.argmax(axis=1) == y).mean(), found.max(axis=1).mean()
            print(f"{name}\t{peer}\tright {100 * right:.1f}\tstated {100 * stated:.1f}")


def knowledge(folder: Path) -> None:
    """Measure zero-shot classification that explains itself, and labels that come later."""
    world = (folder / "universe").is_dir()
    table = pq.read_table(folder / ("universe/texts.parquet" if world else "texts.parquet"))
    texts = table["text"].to_pylist()
    embedded = _unit(pq.read_table(folder / "universe/embeddings.parquet") if world else table)
    for name in ("menagerie",) if world else ("food10", "caltech101", "oxford_pets"):
        images = pq.read_table(folder / "images" / f"{name}.parquet" if world else
                               folder / f"{name}.parquet")  # fmt: skip
        split = np.array(images["split"].to_pylist())
        train, test = split == "train", split == "test" if world else split != "train"
        X, y = _unit(images), np.array(images["class_name"].to_pylist())
        known = folder / "knowledge" / f"{name}.parquet"
        if not world:
            known = Path(f"params/precomputed/knowledge/{name}.jsonl")
        settings = {"texts": texts, "text_embeddings": embedded, "unlabelled": X[train]}
        made = partial(InformationPursuitClassifier.from_knowledge, known, **settings)
        model = made()
        k = len(model.queries_)
        course = model.accuracy_by_budget(X[test], y[test])
        shown = (1, 5, 10, 20, 50, k)
        print(name, f"{k} questions", *(f"{t}: {100 * course[t]:.1f}" for t in shown), sep="\t")
        named = {text.lower(): row for text, row in zip(texts, embedded, strict=True)}
        if world:
            classes = pq.read_table(folder / "images" / f"{name}.classes.parquet")
            named |= zip(classes["class_name"].to_pylist(), _unit(classes), strict=True)
        there = [each for each in model.classes_ if each.lower() in named]
        if there:
            rows = np.isin(y, there) & test
            scores = X[rows] @ np.stack([named[each.lower()] for each in there]).T
            zero_shot = (np.array(there)[scores.argmax(1)] == y[rows]).mean()
            kept = np.isin(model.classes_, there)
            posterior = model.predict_proba(X[rows], ALL)[:, kept]
            ours = (model.classes_[kept][posterior.argmax(1)] == y[rows]).mean()
            print(f"{len(there)} classes whose names are embedded: zero-shot CLIP "
                  f"{100 * zero_shot:.1f}, ours among the same {100 * ours:.1f}")  # fmt: skip
        for count in (1, 5, 20):
            first = [np.flatnonzero(train & (y == each))[:count] for each in model.classes_]
            rows = np.concatenate(first)
            later = made().partial_fit(X[rows], y[rows])
            print(f"{count} labels a class\t{100 * later.score(X[test], y[test]):.1f}")


def _unit(table: pq.pa.Table) -> np.ndarray:
    rows = np.stack(table["embedding"].to_numpy(zero_copy_only=False)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


STEP = """async (answer) => {
  const asked = () => document.querySelector(".stage h2").textContent;
  const [before, start] = [asked(), performance.now()];
  document.querySelector(`[data-answer="${answer}"]`).click();
  while (asked() === before) await new Promise((done) => setTimeout(done, 0));
  document.body.getBoundingClientRect();
  return performance.now() - start;
}"""


def page(classes: int = 2500, characters: int = 800, steps: int = 20) -> None:
    """Measure the page of a large key, a fifth of whose cells are empty, in chromium."""
    rng = np.random.default_rng(0)
    cells = rng.choice(["", "no", "yes"], (classes, characters), p=[0.2, 0.4, 0.4])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "large.csv"
        with path.open("w", newline="", encoding="utf-8") as file:
            rows = csv.writer(file)
            rows.writerow(["species", *(f"character {i}" for i in range(characters))])
            rows.writerows([f"species {row}", *each] for row, each in enumerate(cells))
        key, _ = open_key(path)
        out = path.with_suffix(".html")
        write_page(key_model(key), key, out)
        print(f"{out.stat().st_size / 1e6:.1f} MB")
        with sync_playwright() as playwright:
            browser = playwright.chromium.launch(executable_path=shutil.which("chromium"))
            shown = browser.new_page()
            start = time.perf_counter()
            shown.goto(out.as_uri())
            shown.wait_for_selector(".stage h2")
            print(f"loaded in {time.perf_counter() - start:.2f} s")
            took = [shown.evaluate(STEP, ["yes", "no"][step % 2]) for step in range(steps)]
            print(f"a step: median {statistics.median(took):.0f} ms, slowest {max(took):.0f} ms")
            browser.close()


def main() -> None:
    """Run one of the measurements."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=("cells", "columns", "knowledge", "page"))
    parser.add_argument("folder", nargs="?", type=Path)
    chosen = parser.parse_args()
    of_folder: dict[str, Callable[[Path], None]] = {"cells": cells, "knowledge": knowledge}
    if chosen.what in of_folder:
        if chosen.folder is None:
            parser.error(f"{chosen.what}: expected the folder of the data")
        of_folder[chosen.what](chosen.folder)
    else:
        {"columns": columns, "page": page}[chosen.what]()


if __name__ == "__main__":
    main()
