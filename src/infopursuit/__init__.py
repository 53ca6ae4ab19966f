"""Image classifiers that explain themselves by yes/no questions in plain words.

    from infopursuit import InformationPursuitClassifier
    model = InformationPursuitClassifier(texts, text_embeddings, n_queries=128).fit(X, y)
    model.explain(X[:1])[0]

    import infopursuit
    model = infopursuit.fit("photos")        # from pixels: CLASS/IMAGE, or train/CLASS/IMAGE
    model.explain(["photo.png"])[0]

What a name needs is imported when it is used: torch and scikit-learn take seconds. Not even
`typing` is imported here, for a stage hears Ctrl-C only from its first import on (core/ctrl_c.py).
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from infopursuit import texts
    from infopursuit.core.errors import InputError
    from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
    from infopursuit.estimators.loading import load
    from infopursuit.estimators.pictures import fit
    from infopursuit.estimators.variational import VariationalInformationPursuit
    from infopursuit.explanation.explanation import Explanation
    from infopursuit.explanation.stopping import StoppingRule

    __version__: str

_HOMES = {
    "Explanation": "infopursuit.explanation.explanation",
    "InformationPursuitClassifier": "infopursuit.estimators.information_pursuit",
    "InputError": "infopursuit.core.errors",
    "StoppingRule": "infopursuit.explanation.stopping",
    "VariationalInformationPursuit": "infopursuit.estimators.variational",
    "fit": "infopursuit.estimators.pictures",
    "load": "infopursuit.estimators.loading",
}

__all__ = [
    "Explanation",
    "InformationPursuitClassifier",
    "InputError",
    "StoppingRule",
    "VariationalInformationPursuit",
    "fit",
    "load",
    "texts",
]


def __getattr__(name: str) -> Any:
    if name == "__version__":
        from importlib.metadata import version

        return version("infopursuit")
    if name == "texts":
        return import_module("infopursuit.texts")
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
