"""What dermatologists say of the photographs of which a model says yes.

    python -m infopursuit_study.experiments.skin FOLDER

FOLDER has images.parquet, texts.parquet and labels.parquet of derm7pt, embedded by MONET, which are
not part of the repository. A model of all its texts is fitted on the split `train`. Of each test
photograph the labels say whether there is a blue-whitish veil, regression, or a network, streaks or
dots that are regular or not. A yes (above the level) is confirmed if the label is true. Within a
class a yes is worth something if it is confirmed more often than the label is true: *gain*, with
its 95 % interval over photographs. Answers to all questions count, asked or not.
"""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from jaxtyping import Bool

from infopursuit.core.numbers import NOTHING, table
from infopursuit.datasets.labelled_images import load_images
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit_study.comparison.entries import named
from infopursuit_study.evaluation.bootstrap import percentiles, resampled_means

# What texts of a source say, in labels: one of these columns has one of these values.
PATTERNS = ("pigment network", "streaks", "dots and globules")
SAYS = {
    "blue": (("blue-whitish veil",), (True,)),
    "white": (("regression structures",), (True,)),
    "irregular": (PATTERNS, ("irregular", "atypical")),
    "regular": (PATTERNS, ("regular", "typical")),
}
# Fewer yes have no interval.
FEW = 5
RESAMPLES = 2000


def confirmed(
    yes: Bool[np.ndarray, "n q"], true: Bool[np.ndarray, " n"]
) -> tuple[int, float, float, tuple[float, float]]:
    """Return how often there is a yes, the share that is true, that of the label, the gain's ends.

    Shares are in percent; NaN of no yes.
    """
    said = yes.sum(axis=1)
    drawn = resampled_means(np.stack([said * true, said, true], axis=1), RESAMPLES)
    with np.errstate(invalid="ignore", divide="ignore"):
        low, high = percentiles(100 * (drawn[:, 0] / drawn[:, 1] - drawn[:, 2]))
        share = np.divide((said * true).sum(), said.sum())
    return int(said.sum()), 100 * float(share), 100 * true.mean(), (float(low), float(high))


def main(folder: Path) -> None:
    """Print accuracy, and a row for each class and text, and for all texts of a source."""
    texts, labels = (pq.read_table(folder / f"{name}.parquet") for name in ("texts", "labels"))
    embeddings = np.array(texts.column("embedding").to_pylist(), np.float32)
    train, test = (load_images(folder / "images.parquet", split) for split in ("train", "test"))
    model = InformationPursuitClassifier(texts.column("text").to_pylist(), embeddings)
    model.fit(*named(train))
    X, y = named(test)
    curve = 100 * model.accuracy_by_budget(X, y)
    stopped, most = (
        100 * model.score(X, y),
        100 * np.unique(y, return_counts=True)[1].max() / len(y),
    )
    print(
        f"accuracy after 3, 5, 10, all: {curve[[3, 5, 10, -1]].round(1)}, at the stop {stopped:.1f}"
    )
    print(f"photographs of the most frequent class: {most:.1f} %")
    yes = (model.pursuit_.answers(test.embeddings) > NOT_SURE).numpy()
    source = dict(
        zip(*(texts.column(name).to_pylist() for name in ("text", "source")), strict=True)
    )
    frame = labels.to_pandas().set_index("id").loc[list(test.ids)]
    rows: list[list[object]] = []
    for concept, (columns, values) in SAYS.items():
        places = [at for at, query in enumerate(model.queries_) if source[query] == concept]
        for group in (*([at] for at in places), places):
            title = "all" if len(group) > 1 else model.queries_[group[0]]
            for name in np.unique(y):
                of = y == name
                true = frame[list(columns)].isin(values).any(axis=1).to_numpy()[of]
                count, share, base, ends = confirmed(yes[of][:, group], true)
                gain = f"{share - base:+.1f} [{ends[0]:+.1f}, {ends[1]:+.1f}]"
                gain = NOTHING if count < FEW else gain
                rows.append([concept, title, name, count, f"{share:.1f}", f"{base:.1f}", gain])
    print(table(["label", "text", "class", "yes", "confirmed, %", "label, %", "gain"], rows))


if __name__ == "__main__":
    main(Path(sys.argv[1]))
