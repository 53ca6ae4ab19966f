"""Image classifiers that explain themselves by yes/no questions in plain words.

    import infopursuit
    model = infopursuit.load("artifacts/models/menagerie-llm-alternating-0")
    model.explain(["photo.png"])

The training engine needs no more than torch, so what `load` needs is imported when it is used.
"""

from importlib import import_module
from importlib.metadata import version
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from infopursuit.errors import InputError
    from infopursuit.explained_classifier import ExplainedClassifier, load

__all__ = ["ExplainedClassifier", "InputError", "load"]

_HOMES = {
    "ExplainedClassifier": "infopursuit.explained_classifier",
    "InputError": "infopursuit.errors",
    "load": "infopursuit.explained_classifier",
}


def __getattr__(name: str) -> Any:
    if name == "__version__":
        return version("infopursuit")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
