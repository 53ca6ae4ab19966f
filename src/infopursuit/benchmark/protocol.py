"""One peer, one task, one seed: choose settings, fit, read the test split once.

- The seed draws the held-out tenth of the training images, the same images for every peer. Settings
  are chosen by accuracy on it, at TUNED texts where a peer has a number of texts.
- The model is fitted on the other nine tenths. Ours calibrates on the held-out tenth, and the
  paper's networks select their weights on it, as they do elsewhere; nobody else learns from it.
- The test split is predicted at every number of texts, and explained at TUNED.
- Words that say nothing, where they are embedded, take the place of the texts in another fit with
  the chosen settings.
"""

from __future__ import annotations

import resource
import sys
import time
from typing import Any, NamedTuple, cast

import numpy as np
from jaxtyping import Int
from sklearn.base import clone

from infopursuit.benchmark.claims import claims_of
from infopursuit.benchmark.entries import Entry
from infopursuit.benchmark.task import Task, named
from infopursuit.datasets.labelled_images import LabelledImages, hold_out
from infopursuit.meaning.questions import FITS
from infopursuit.peers.budgets import BUDGETS
from infopursuit.peers.memory import Memory
from infopursuit.peers.peer import Peer
from infopursuit.peers.pursuits import PursuitPeer

TUNED = 10
# ru_maxrss is in KiB, on macOS in bytes.
MEBIBYTE = 2**20 if sys.platform == "darwin" else 2**10


class Measured(NamedTuple):
    """What one seed found.

    Attributes:
        metrics: shares in [0, 1], counts, and the settings that were chosen.
        predicted: (n, b + 1) labels of the test images at each of BUDGETS, then with all texts;
            -1 where the peer has no such number of texts.
        timings: seconds and milliseconds of processor time, and MiB; no two runs have the same.
    """

    metrics: dict[str, Any]
    predicted: Int[np.ndarray, "n b"]
    timings: dict[str, float]


def measure_seed(entry: Entry, task: Task, seed: int, share: float) -> Measured | None:
    """Run the protocol; None where the task lacks what the peer needs.

    Args:
        entry: the peer.
        task: the data.
        seed: of held-out images, and of what is random in the peer.
        share: of the training images that are held out.
    """
    made = entry.make(task, task.texts, task.embeddings)
    if made is None:
        return None
    train, held_out = hold_out(task.train, share, seed)
    if "random_state" in made.get_params():
        made.set_params(random_state=seed)
    if "memory" in made.get_params():
        made.set_params(memory=Memory())
    started = time.process_time()
    best = _best_try(entry, made, train, held_out)
    tried = time.process_time()
    model = best.model or _fitted(_with(made, best.settings), train, held_out)
    fitted = time.process_time()
    X, y = named(task.test)
    decisions = model.decisions_by_budget(X)
    predicted = _predicted(model, decisions, task.train.class_names)
    ended = time.process_time()
    labels = task.test.labels.numpy()
    metrics = {
        "settings": best.settings,
        "tries": len(entry.tries),
        "held_out_accuracy": best.score,
        **model.facts_,
        **_accuracies(predicted, labels),
        **_claims(model, task),
    }
    if isinstance(model, PursuitPeer):
        metrics["auc"] = float(model.curve(X, y)[1:].mean())
    if entry.controlled and task.control is not None:
        metrics |= _controlled(entry, task, best.settings, train, held_out)
    timings = {
        "tries_seconds": tried - started - (best.seconds if best.model else 0),
        "fit_seconds": best.seconds if best.model else fitted - tried,
        "predict_milliseconds": 1000 * (ended - fitted) / len(X),
        "peak_mebibytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / MEBIBYTE,
    }
    return Measured(metrics, predicted, timings)


def _with(made: Peer, settings: dict[str, Any]) -> Peer:
    """A peer that is not fitted, with other settings."""
    return cast(Peer, clone(made)).set_params(**settings)


class _Try(NamedTuple):
    """Settings that were tried.

    Attributes:
        settings: of the peer.
        score: the held-out accuracy; None where there is nothing to choose.
        model: with these settings, where it was fitted as a whole; else None.
        seconds: what its fit took.
    """

    settings: dict[str, Any]
    score: float | None = None
    model: Peer | None = None
    seconds: float = 0.0


def _best_try(entry: Entry, made: Peer, train: LabelledImages, held_out: LabelledImages) -> _Try:
    """The settings with the best held-out accuracy, the first of equals."""
    if len(entry.tries) == 1:
        return _Try(entry.tries[0])
    found = []
    for settings in entry.tries:
        wanted = _with(made, settings)
        tried = wanted.for_a_try(TUNED)
        started = time.process_time()
        model = _fitted(tried, train, held_out)
        seconds = time.process_time() - started
        score = float((model.at(TUNED) if model.budgets_ else model).score(*named(held_out)))
        found.append(_Try(settings, score, model if tried is wanted else None, seconds))
    return max(found, key=lambda each: each.score)


def _fitted(model: Peer, train: LabelledImages, held_out: LabelledImages) -> Peer:
    return model.fit(
        *named(train), validation=named(held_out) if model.learns_from_validation else None
    )


def _predicted(
    model: Peer, decisions: dict[int | None, np.ndarray], names: tuple[str, ...]
) -> np.ndarray:
    """Labels at each of BUDGETS and with all texts; a peer has its classes in sorted order."""
    label = np.array([names.index(name) for name in model.classes_] + [-1])
    nowhere = np.full(len(decisions[None]), -1)
    columns = [decisions[t].argmax(axis=1) if t in decisions else nowhere for t in (*BUDGETS, None)]
    places = np.stack(columns, axis=1)
    return label[places]


def _accuracies(
    predicted: Int[np.ndarray, "n b"], labels: Int[np.ndarray, " n"]
) -> dict[str, float]:
    """`accuracy`, and `accuracy_at_t`; their mean over t is `accuracy_5_to_30`."""
    right = (predicted == labels[:, None]).mean(axis=0)
    found = {"accuracy": float(right[-1])}
    if (predicted[:, 0] >= 0).all():
        at = {f"accuracy_at_{t}": float(right[place]) for place, t in enumerate(BUDGETS)}
        found |= {**at, "accuracy_5_to_30": float(np.mean(list(at.values())))}
    return found


def _claims(model: Peer, task: Task) -> dict[str, Any]:
    small = model.at(TUNED) if TUNED in model.budgets_ else model
    X, y = named(task.test)
    fits, texts = None, model.texts_
    if task.judged is not None:
        judged = task.judged.for_classes_and_texts(model.classes_.tolist(), texts)
        # Names of classes, which zero-shot reads, are no texts of the universe: nobody judges them.
        fits = None if np.isnan(judged).all() else judged >= FITS
    found = claims_of(small, X, np.searchsorted(model.classes_, y), fits, texts)
    return {f"claims_{name}": value for name, value in found._asdict().items()}


def _controlled(
    entry: Entry,
    task: Task,
    chosen: dict[str, Any],
    train: LabelledImages,
    held_out: LabelledImages,
) -> dict[str, float]:
    """The accuracies with words that say nothing."""
    assert task.control is not None
    model = entry.make(task, *task.control)
    assert model is not None
    model = _fitted(model.set_params(**chosen), train, held_out)
    X = named(task.test)[0]
    decisions = model.decisions_by_budget(X)
    predicted = _predicted(model, decisions, task.train.class_names)
    found = _accuracies(predicted, task.test.labels.numpy())
    return {f"random_words_{name}": value for name, value in found.items()}
