"""One peer, one task, one seed: choose settings, fit, read the test split once.

- The seed draws the held-out tenth of the training images, the same images for every peer. Settings
  are chosen by accuracy on it, at TUNED texts if a peer has a number of texts.
- The model is fitted on the other nine tenths. Ours calibrates on the held-out tenth, and the
  paper's networks select their weights on it, as they do elsewhere; no other peer learns from it.
- The test split is predicted at every number of texts, and explained at TUNED.
- Words that say nothing, if they are embedded, take the place of the texts in another fit with the
  chosen settings.
- An explanation claims the texts that the image is taken to show: answers of yes, scores above the
  mean, positive coefficients. The FIRST claims of each image that matter most to the predicted
  class, by the size of their contribution, are compared with reference labels.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Bool, Float, Int
from sklearn.base import clone

from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit_study.comparison.entries import Entry, Task, named
from infopursuit_study.comparison.results import SeedResult
from infopursuit_study.evaluation.files import Predictions
from infopursuit_study.meaning.question_quality import FITS
from infopursuit_study.peers.peer import BUDGETS, Contributions, Peer
from infopursuit_study.peers.pursuits import PursuitPeer

TUNED = 10
# Explanations have a number for every class and text: BLOCK images are explained at once.
FIRST, BLOCK = 10, 64
# Numbers of claims at which methods are compared, means over images.
CLAIMS_AN_IMAGE = (0.5, 1.0, 1.5, 2.0, 3.0)
# ru_maxrss is in KiB, on macOS in bytes.
MEBIBYTE = 2**20 if sys.platform == "darwin" else 2**10


def measure_seed(entry: Entry, task: Task, seed: int, share: float) -> SeedResult | None:
    """Run the protocol; None if the task lacks what the peer needs."""
    made = entry.make(task, task.texts, task.embeddings)
    if made is None:
        return None
    train, held_out = hold_out(task.train, share, seed)
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    started = time.process_time()
    best = _best_try(entry, made, train, held_out)
    tried = time.process_time()
    peer = cast(Peer, clone(made)).set_params(**best.settings)
    model = best.model or _fitted(peer, train, held_out)
    fitted = time.process_time()
    X, y = named(task.test)
    predicted = _predicted(model, X, task.train.class_names)
    ended = time.process_time()
    labels = task.test.labels.numpy()
    metrics = {
        "settings": best.settings,
        "tries": len(entry.tries),
        "held_out_accuracy": best.score,
        **model.facts_,
        **_accuracies(predicted, labels),
        **_claim_metrics(model, task),
    }
    if isinstance(model, PursuitPeer):
        metrics["auc"] = float(model.curve(X, y)[1:].mean())
    if entry.controlled and task.control is not None:
        control = entry.make(task, *task.control)
        assert control is not None
        control = _fitted(control.set_params(**best.settings), train, held_out)
        accuracies = _accuracies(_predicted(control, X, task.train.class_names), labels)
        metrics |= {f"random_words_{name}": value for name, value in accuracies.items()}
    timings = {
        "tries_seconds": tried - started - (best.seconds if best.model else 0),
        "fit_seconds": best.seconds if best.model else fitted - tried,
        "predict_milliseconds": 1000 * (ended - fitted) / len(X),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBIBYTE,
    }
    return SeedResult(metrics, timings, Predictions(list(task.test.ids), labels, predicted))


class _Try(NamedTuple):
    settings: dict[str, Any]
    score: float | None = None
    model: Peer | None = None  # if it was fitted as a whole
    seconds: float = 0.0  # of that fit


def _best_try(entry: Entry, made: Peer, train: LabelledImages, held_out: LabelledImages) -> _Try:
    if len(entry.tries) == 1:
        return _Try(entry.tries[0])
    tries = []
    for settings in entry.tries:
        peer = cast(Peer, clone(made)).set_params(**settings)
        tuned = peer.for_tuning(TUNED)
        started = time.process_time()
        model = _fitted(tuned, train, held_out)
        seconds = time.process_time() - started
        score = float((model.at(TUNED) if model.budgets_ else model).score(*named(held_out)))
        tries.append(_Try(settings, score, model if tuned is peer else None, seconds))
    return max(tries, key=lambda each: each.score)


def _fitted(model: Peer, train: LabelledImages, held_out: LabelledImages) -> Peer:
    return model.fit(
        *named(train), validation=named(held_out) if model.learns_from_validation else None
    )


def _predicted(
    model: Peer, X: Float[np.ndarray, "n d"], names: tuple[str, ...]
) -> Int[np.ndarray, "n b"]:
    """Return labels at each of BUDGETS and with all texts; a peer sorts its classes by name."""
    decisions = model.decisions_by_budget(X)
    label = np.array([names.index(name) for name in model.classes_] + [-1])
    absent = np.full(len(X), -1)
    columns = [decisions[t].argmax(axis=1) if t in decisions else absent for t in (*BUDGETS, None)]
    return label[np.stack(columns, axis=1)]


def _accuracies(
    predicted: Int[np.ndarray, "n b"], labels: Int[np.ndarray, " n"]
) -> dict[str, float]:
    right = (predicted == labels[:, None]).mean(axis=0)
    accuracies = {"accuracy": float(right[-1])}
    if (predicted[:, 0] >= 0).all():
        at = {f"accuracy_at_{t}": float(right[place]) for place, t in enumerate(BUDGETS)}
        accuracies |= {**at, "accuracy_5_to_30": float(np.mean(list(at.values())))}
    return accuracies


def _claim_metrics(model: Peer, task: Task) -> dict[str, Any]:
    small = model.at(TUNED) if TUNED in model.budgets_ else model
    X, y = named(task.test)
    fits, texts = None, model.texts_
    if task.reference is not None:
        reference = task.reference.for_classes_and_texts(model.classes_.tolist(), texts)
        # Names of classes, which zero-shot reads, are not texts of the universe: no label has them.
        fits = None if np.isnan(reference).all() else reference >= FITS
    claims = count_claims(small, X, np.searchsorted(model.classes_, y), fits, texts)
    figures = {f"claims_{name}": value for name, value in claims._asdict().items()}
    at = figures.pop("claims_true_at").items()
    return figures | {f"claims_true_at_{count:g}".replace(".", "_"): value for count, value in at}


class Claims(NamedTuple):
    """Shares in [0, 1], over all claims of all images; None if there are none.

    Attributes:
        true: of the claims, those whose text fits the class of the image.
        supported: of the claims that speak for the predicted class, those whose text fits it.
        plausible: of the texts that matter most, claimed or not, those that fit some class.
        true_at: of so many claims an image, on average, those that fit: one level for all texts, of
            the method's own scores, leaves so many. None of more than there are.
        by_image: the claims of each image at one an image, and those of them that fit; or None.
        texts: the number of texts that a decision rests on, on average over images.
        in_model: the number of texts that any of the decisions rests on.
    """

    true: float | None
    supported: float | None
    plausible: float | None
    true_at: dict[float, float | None]
    by_image: list[list[int]] | None
    texts: float
    in_model: int


def count_claims(
    model: Peer,
    X: Float[np.ndarray, "n d"],
    labels: Int[np.ndarray, " n"],
    fits: Bool[np.ndarray, "c u"] | None,
    universe: tuple[str, ...],
) -> Claims:
    """Count the claims of explanations of all images."""
    columns = {text: column for column, text in enumerate(universe)}
    counts = np.zeros((3, 2))
    used, in_model, claims = 0, set(), [np.zeros((3, 0))]
    for start in range(0, len(X), BLOCK):
        explained = model.explain(X[start : start + BLOCK])
        used += explained.used.sum()
        in_model |= {explained.texts[text] for text in np.flatnonzero(explained.used.any(axis=0))}
        if fits is not None and explained.texts:
            places = [columns[text] for text in explained.texts]
            fitting, of_images = fits[:, places], labels[start : start + BLOCK]
            counts += _counted(explained, of_images, fitting)
            first = _largest(np.abs(explained.for_predicted()), explained.shows)
            rows = start + np.nonzero(first)[0].astype(float)
            claims.append(np.stack([explained.margin[first], fitting[of_images][first], rows]))
    shares = [right / total if total else None for right, total in counts]
    margins, right, rows = np.concatenate(claims, axis=1)
    order = np.argsort(-margins, kind="stable")
    so_far, most = right[order].cumsum(), order[: len(X)]
    at = {each: round(each * len(X)) for each in CLAIMS_AN_IMAGE}
    true_at = {
        each: float(so_far[count - 1] / count) if count <= len(right) else None
        for each, count in at.items()
    }
    weights, images = (np.ones(len(most)), right[most]), rows[most].astype(int)
    of_each = [np.bincount(images, of, len(X)).astype(int).tolist() for of in weights]
    by_image = of_each if len(most) == len(X) else None
    return Claims(
        *shares, true_at=true_at, by_image=by_image, texts=used / len(X), in_model=len(in_model)
    )


def _counted(
    explained: Contributions, labels: Int[np.ndarray, " b"], fits: Bool[np.ndarray, "c m"]
) -> Float[np.ndarray, "3 2"]:
    """Return for true, supported and plausible the number that fits, and the number there is."""
    added = explained.for_predicted()
    predicted = explained.scores.argmax(axis=1)
    claims = _largest(np.abs(added), explained.shows)
    speaking = _largest(added, explained.shows & (added > 0))
    first = _largest(np.abs(added), explained.used)
    return np.array(
        [
            [(claims & fits[labels]).sum(), claims.sum()],
            [(speaking & fits[predicted]).sum(), speaking.sum()],
            [(first & fits.any(axis=0)).sum(), first.sum()],
        ],
        dtype=float,
    )


def _largest(
    values: Float[np.ndarray, "b m"], allowed: Bool[np.ndarray, "b m"]
) -> Bool[np.ndarray, "b m"]:
    """Mark the FIRST of the allowed values of each row, the largest first."""
    ranked = np.where(allowed, values, -np.inf)
    order = np.argsort(-ranked, axis=1, kind="stable")[:, :FIRST]
    chosen = np.zeros_like(allowed)
    np.put_along_axis(chosen, order, True, axis=1)
    return chosen & allowed
