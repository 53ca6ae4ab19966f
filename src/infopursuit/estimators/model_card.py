"""The model card: what a model asks, how good it is, what it came from, how to use it."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING

from infopursuit.answers.rules import ColumnAnswers
from infopursuit.core.numbers import percent

if TYPE_CHECKING:
    from infopursuit.estimators.base import PursuitClassifier

HEADER = """---
library_name: infopursuit
pipeline_tag: {task}
tags:
- infopursuit
- information-pursuit
- interpretability
---
"""
# What Markdown, or HTML in it, could take for its own.
MARKUP = re.compile(r"([\\`*_\[\]<>|&])")
ACCURACIES = {
    "test_accuracy": ("test_images", "test images"),
    "held_out_accuracy": ("held_out_images", "images held out of the training images"),
}
LIMITS = """
- It knows these classes alone and gives one of them for any input, whatever it shows.
- An answer is what the model computes from an image, not what a person would say; a question may
  be answered wrongly, and a prediction that rests on wrong answers can still be right.
- Probabilities are calibrated on held-out images of the same source; on others they may be off.
"""


def model_card(model: PursuitClassifier, repository: str | None = None) -> str:
    """The card of a fitted model in Markdown, with the hub's header; equal for equal models.

    Args:
        model: fitted.
        repository: `user/name`, for the lines that say how to load it.
    """
    table = isinstance(model.pursuit_.rule, ColumnAnswers)
    name = repository or "user/name"
    task = "tabular-classification" if table else "image-classification"
    parts = [
        HEADER.format(task=task),
        f"# {name.rpartition('/')[2]}\n\nA classifier that asks yes/no questions, one after "
        f"another, and says which: {type(model).__name__} of the Python library infopursuit, with "
        f"{len(model.queries_)} questions and {len(model.classes_)} classes.\n",
        "## How to use it\n\n```python\nimport infopursuit\n\n"
        f'model = infopursuit.load("{name}")\n{_use(model, table)}\n```\n',
        f"{_inputs(model, table)}\n",
        f"## How good it is\n\n{_accuracy(model)}\n",
        "## Classes\n\n" + _listed([str(each) for each in model.classes_]),
        "## Questions\n\n" + _listed(list(model.queries_)),
        f"## Limits\n{LIMITS}",
        "## Where it comes from\n\n```json\n"
        + json.dumps(model.provenance_, indent=2, sort_keys=True, ensure_ascii=False, default=str)
        + "\n```\n",
    ]
    return "\n".join(parts)


def _use(model: PursuitClassifier, table: bool) -> str:
    if table:
        return "print(model.explain(X[:1])[0])  # X: a table with these columns"
    if model.clip_source_ is not None:
        return 'print(model.explain(["photo.png"])[0])'
    return "print(model.explain(X[:1])[0])  # X: (n, d) image embeddings"


def _inputs(model: PursuitClassifier, table: bool) -> str:
    if table:
        columns = list(getattr(model, "feature_names_in_", []))
        listed = f": {', '.join(_plain(str(each)) for each in columns)}" if columns else ""
        return f"It takes rows of {model.n_features_in_} columns{listed}."
    named = f" of the CLIP `{model.clip_}`" if model.clip_ else ""
    return f"It takes image embeddings of width {model.n_features_in_}{named}."


def _accuracy(model: PursuitClassifier) -> str:
    known = [
        f"- Accuracy {percent(model.provenance_[key])} on {model.provenance_.get(count, '?')} "
        f"{what}, with the model's own stopping rule."
        for key, (count, what) in ACCURACIES.items()
        if key in model.provenance_
    ]
    return "\n".join(known) or "Not measured."


def _listed(lines: list[str]) -> str:
    return "".join(f"- {_plain(line)}\n" for line in lines)


def _plain(text: str) -> str:
    """A text of anybody's as one line that Markdown shows as it is."""
    return MARKUP.sub(r"\\\1", " ".join(text.split()))
