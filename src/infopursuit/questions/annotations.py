"""The texts of a universe that people answered for training images, fitted to their answers."""

from __future__ import annotations

import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pursuit.answers.annotated import FEWEST, Annotated, fit_annotated
from infopursuit.pursuit.answers.directions import fit_score_map
from infopursuit.texts.normalization import normalize
from infopursuit.texts.text_table import TextTable

LISTED = 3


def fit_annotations(
    annotations: Mapping[str, Any],
    texts: TextTable,
    reference: UnitMatrix,
    rows: UnitMatrix,
    labels: np.ndarray,
    within: Float[Tensor, "d d"],
    seed: int,
) -> tuple[TextTable, dict[int, Annotated]]:
    """Fit each annotated text; return the universe with those that it lacks, and all by their rows.

    Args:
        annotations: of texts, (n,) what people say of each image: 1 yes, 0 no, NaN nothing.
        texts: the universe.
        reference: the texts that scores are relative to.
        rows: (n, d) the images.
        labels: (n,) their classes.
        within: scatter of the images around the means of their classes.
        seed: of the folds.

    Raises:
        InputError: answers are not as many as images, or not 1, 0 or NaN, or a text is there twice.
    """
    spelled: dict[str, str] = {}
    for text in annotations:
        if spelled.setdefault(normalize(text), text) != text:
            one = spelled[normalize(text)]
            raise InputError(f"annotations: {one!r} and {text!r} are one text; expected it once")
    answers = {text: _checked(text, values, len(rows)) for text, values in annotations.items()}
    answered = ~np.isnan(np.stack(list(answers.values()))).all(axis=0)
    places = np.flatnonzero(answered)
    images = rows.take(torch.from_numpy(places)).float().numpy()
    groups = np.unique(labels[places], return_inverse=True)[1]
    score_map = fit_score_map(reference, within, len(np.unique(labels)))
    row_of = {normalize(text): row for row, text in enumerate(texts.texts)}
    fitted: dict[int, Annotated] = {}
    names, embeddings, few = list(texts.texts), [np.asarray(texts.embeddings)], []
    for text, values in answers.items():
        row, own = row_of.get(normalize(text)), None
        if row is not None:
            embedding = texts.unit_matrix.take(torch.tensor([row]))
            own = score_map.directions(embedding)[0].numpy().astype(np.float64)
        concept = fit_annotated(images, values[places], groups, own, seed)
        if concept is None:
            few.append(text)
            continue
        if row is None:
            row = len(names)
            names.append(text)
            unit = concept.direction / np.linalg.norm(concept.direction)
            embeddings.append(unit[None].astype(embeddings[0].dtype))
        fitted[row] = concept
    if few:
        warnings.warn(
            f"annotations: {len(few)} of {len(answers)} texts have fewer than {FEWEST} yes or no "
            f"and teach nothing ({', '.join(few[:LISTED])})",
            UserWarning,
            stacklevel=5,
        )
    if len(names) > len(texts.texts):
        texts = TextTable(tuple(names), np.concatenate(embeddings), texts.clip)
    return texts, fitted


def _checked(text: str, values: Any, count: int) -> Float[np.ndarray, " n"]:
    answers = np.asarray(values, dtype=np.float32)
    if answers.shape != (count,):
        raise InputError(
            f"annotations: {text!r} has the shape {answers.shape}; expected ({count},), an answer "
            "for each image"
        )
    wrong = ~(np.isin(answers, (0, 1)) | np.isnan(answers))
    if wrong.any():
        raise InputError(
            f"annotations: {answers[wrong][0]} for {text!r}; expected 1 for yes, 0 for no, or NaN"
        )
    return answers
