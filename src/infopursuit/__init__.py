"""Image classifiers that explain themselves by yes/no questions in plain words.

    from infopursuit import InformationPursuitClassifier
    model = InformationPursuitClassifier(texts, text_embeddings, n_queries=128).fit(X, y)
    model.explain(X[:1])[0]

    import infopursuit
    model = infopursuit.fit("photos")        # from pixels: CLASS/IMAGE, or train/CLASS/IMAGE
    model.explain(["photo.png"])[0]

What a name needs is imported when it is used: torch and scikit-learn take seconds. Not even
`typing` is imported here, because a stage hears Ctrl-C only from its first import on
(core/ctrl_c.py).
"""

from __future__ import annotations

from importlib import import_module

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from infopursuit import texts as texts
    from infopursuit.core.errors import InputError as InputError
    from infopursuit.estimators.loading import load as load
    from infopursuit.estimators.naive_bayes import (
        InformationPursuitClassifier as InformationPursuitClassifier,
    )
    from infopursuit.estimators.pictures import fit as fit
    from infopursuit.estimators.variational import (
        VariationalInformationPursuit as VariationalInformationPursuit,
    )
    from infopursuit.pursuit.explanation import Explanation as Explanation
    from infopursuit.pursuit.stopping import StoppingRule as StoppingRule
    from infopursuit.questions.columns import TableQuestions as TableQuestions

    __version__: str

_HOMES = {
    "Explanation": "infopursuit.pursuit.explanation",
    "InformationPursuitClassifier": "infopursuit.estimators.naive_bayes",
    "InputError": "infopursuit.core.errors",
    "StoppingRule": "infopursuit.pursuit.stopping",
    "TableQuestions": "infopursuit.questions.columns",
    "VariationalInformationPursuit": "infopursuit.estimators.variational",
    "fit": "infopursuit.estimators.pictures",
    "load": "infopursuit.estimators.loading",
}

__all__ = ["texts", *_HOMES]  # pyright: ignore[reportUnsupportedDunderAll]


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
