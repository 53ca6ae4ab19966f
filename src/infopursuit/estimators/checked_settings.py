"""The settings of InformationPursuitClassifier, looked at before anything is fitted."""

from __future__ import annotations

from typing import Any

import numpy as np

from infopursuit.core.errors import InputError


def check_settings(model: Any) -> None:
    """Raise InputError for a malformed setting of the classifier, or one that others exclude.

    Its stopping rule is looked at where it is used.
    """
    if isinstance(model.n_queries, bool) or not isinstance(model.n_queries, (int, np.integer)):
        raise InputError(f"n_queries is {model.n_queries!r}; expected a whole number")
    if model.n_queries < 1:
        raise InputError(f"n_queries is {model.n_queries}; expected 1 or more")
    if model.answers not in ("three_valued", "threshold", "minmax"):
        raise InputError(
            f"answers is {model.answers!r}; expected 'three_valued', 'threshold' or 'minmax'"
        )
    if model.rates not in ("counted", "fitted"):
        raise InputError(f"rates is {model.rates!r}; expected 'counted' or 'fitted'")
    if not 0 <= model.validation_fraction < 1:
        raise InputError(
            f"validation_fraction is {model.validation_fraction!r}; expected 0 or more and less "
            "than 1"
        )
    if not _is_share(model.leakage):
        raise InputError(f"leakage is {model.leakage!r}; expected a number from 0 to 1")
    if isinstance(model.keep, str):
        raise InputError(f"keep is the string {model.keep!r}; expected a list of questions")
    if isinstance(model.queries, str) or (model.queries is not None and not len(model.queries)):
        raise InputError(f"queries is {model.queries!r}; expected a list of queries, or None")
    if model.texts is None and model.text_embeddings is not None:
        raise InputError("text_embeddings come without texts; expected both or neither")
    if model.texts is None and model.knowledge is not None:
        raise InputError("knowledge is about texts; expected None where there are none")


def _is_share(value: Any) -> bool:
    return isinstance(value, (int, float, np.floating)) and 0 <= float(value) <= 1
