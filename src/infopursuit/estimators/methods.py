"""The methods of params.yaml: two kinds, which the key `method` tells apart."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, get_type_hints

from pydantic import ValidationError, create_model

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section, first_mistake
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.questions.constraints import Rates


@dataclass(frozen=True)
class NaiveBayesSettings:
    """Information Pursuit with naive Bayes and information gain.

    Attributes:
        rates: `counted`, of `subclasses`, or `auto` for the better ones.
        knowledge: whether the knowledge table of the data set is used.
        leakage: weight, from 0 to 1, of information that the words of a query do not explain.
    """

    rates: Rates = "counted"
    knowledge: bool = True
    leakage: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.leakage <= 1:
            raise ValueError(f"leakage is {self.leakage}; expected 0 to 1")


Method = NaiveBayesSettings | VariationalSettings
METHODS: dict[str, type] = {"naive_bayes": NaiveBayesSettings, "variational": VariationalSettings}


def _section(kind: type) -> type[Section]:
    """Return a dataclass as a strict section; the training engine itself needs no pydantic."""
    types = get_type_hints(kind)
    members: dict[str, Any] = {each.name: (types[each.name], each.default) for each in fields(kind)}
    return create_model(kind.__name__, __base__=Section, **members)


SECTIONS = {name: _section(kind) for name, kind in METHODS.items()}


def build_method(settings: dict[str, Any], overrides: dict[str, Any], where: str) -> Method:
    """Return the settings of a method from YAML values, strictly typed."""
    kind = settings.get("method")
    if kind not in METHODS:
        raise InputError(f"{where}.method is {kind!r}; expected one of {', '.join(METHODS)}")
    own = {name: value for name, value in settings.items() if name != "method"}
    merged = {**own, **(overrides if kind == "variational" else {})}
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
    }
    try:
        return METHODS[kind](**SECTIONS[kind].model_validate(values).model_dump())
    except ValidationError as error:
        raise InputError(f"{where}.{first_mistake(error)}") from error
    except ValueError as error:
        raise InputError(f"{where}.{error}") from error
