"""The methods of params.yaml, whose key `method` names their kind."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any, ClassVar, get_type_hints

from pydantic import ValidationError, create_model

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section, first_mistake
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.questions.constraints import Rates
from infopursuit.questions.pursuits import PURSUITS, PursuitMethod


@dataclass(frozen=True)
class NaiveBayesSettings:
    """Information Pursuit with naive Bayes and information gain, and what it is told of texts.

    Attributes:
        rates: `counted`, of `subclasses`, or `auto` for the better ones.
        knowledge: whether the knowledge table of the data set is used.
        unexplained_weight: of information that the words of a query do not explain, 0 to 1.
    """

    kind: ClassVar[str] = "naive_bayes"
    rates: Rates = "counted"
    knowledge: bool = True
    unexplained_weight: float = 1.0

    def __post_init__(self) -> None:
        if not 0 <= self.unexplained_weight <= 1:
            raise ValueError(f"unexplained_weight is {self.unexplained_weight}; expected 0 to 1")

    @property
    def estimator_settings(self) -> dict[str, Any]:
        """What `InformationPursuitClassifier` is told, to fit so."""
        return {"rates": self.rates}


Method = NaiveBayesSettings | VariationalSettings | PursuitMethod
OWN = (NaiveBayesSettings, VariationalSettings)


def methods() -> dict[str, Any]:
    """Return the settings of all methods there are, by their kind."""
    others = {kind: PURSUITS.of(kind) for kind in PURSUITS if kind != NaiveBayesSettings.kind}
    return {each.kind: each for each in OWN} | others


def _section(kind: type) -> type[Section]:
    """Return a dataclass as a strict section; the training engine itself needs no pydantic."""
    types = get_type_hints(kind)
    members: dict[str, Any] = {each.name: (types[each.name], each.default) for each in fields(kind)}
    return create_model(kind.__name__, __base__=Section, **members)


def build_method(settings: dict[str, Any], overrides: dict[str, Any], where: str) -> Method:
    """Return the settings of a method from YAML values, strictly typed."""
    kind, known = settings.get("method"), methods()
    if kind not in known:
        raise InputError(f"{where}.method is {kind!r}; expected one of {', '.join(known)}")
    own = {name: value for name, value in settings.items() if name != "method"}
    merged = {**own, **(overrides if kind == "variational" else {})}
    values = {
        name: tuple(value) if isinstance(value, list) else value for name, value in merged.items()
    }
    try:
        return known[kind](**_section(known[kind]).model_validate(values).model_dump())
    except ValidationError as error:
        raise InputError(f"{where}.{first_mistake(error)}") from error
    except ValueError as error:
        raise InputError(f"{where}.{error}") from error
