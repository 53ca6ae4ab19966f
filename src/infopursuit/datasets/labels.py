"""Classes of images and rows as files have them: one rule, whatever file they come from.

A label is a text, a whole number or a truth value; an object names its class. Nothing, a blank, and
-1 beside numbers from 0 on are no label: such rows are left out, and counted.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.datasets.samples import Samples

logger = logging.getLogger(__name__)

# Keys of an object that says of what class a picture is, the first first.
KEYS = ("class_name", "label_name", "class", "cls", "label")


def class_labels(where: object, values: Iterable[Any], names: Sequence[str] = ()) -> list[Any]:
    """Return the label of each row, None if it has none.

    Args:
        where: names the file, for messages.
        values: what the file has.
        names: of the classes, which labels 0 to c - 1 number; none if labels are what they are.

    Raises:
        InputError: a label is a list, an object without a name, a number that no class has, ...
    """
    labels = [_label(where, row, value) for row, value in enumerate(values)]
    if names or {"-1", "0"} <= set(map(str, labels)):
        labels = [None if str(each) == "-1" else each for each in labels]
    if not names:
        return labels
    for row, label in enumerate(labels):
        if isinstance(label, int) and label not in range(len(names)):
            raise InputError(
                f"{where}: row {row} has the label {label}; expected 0 to {len(names) - 1}, for "
                f"{len(names)} names"
            )
    return [names[each] if isinstance(each, int) else each for each in labels]


def _label(where: object, row: int, value: Any) -> Any:
    if isinstance(value, dict):
        value = next((value[key] for key in ("name", *KEYS) if key in value), value)
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, str):
        return composed(value.strip()) or None
    if value is None or value != value:
        return None
    if isinstance(value, float) and value.is_integer():  # beside gaps numbers become floats
        return int(value)
    if not isinstance(value, int):
        raise InputError(
            f"{where}: the label of row {row} is {str(value)[:60]}, a {type(value).__name__}; "
            "expected one class"
        )
    return value


def with_labels(samples: Samples) -> Samples:
    """Return the samples that have a label; say how many have none.

    Raises:
        InputError: none has one.
    """
    labels = () if samples.classes is None else samples.classes
    rows = [row for row, each in enumerate(labels) if each is not None]
    if not rows:
        raise InputError(
            f"{samples.where}: no classes; expected a column label or class_name, or the one that "
            "--label names; in a tar KEY.cls, KEY.json or KEY.txt beside KEY.jpg (a tar of folders "
            "has to be unpacked)"
        )
    if len(rows) < len(samples):
        without = len(samples) - len(rows)
        logger.warning("%s: %d of %d have no class, left out", samples.where, without, len(samples))
    return samples if len(rows) == len(samples) else samples.subset(rows)
