"""The settings of a method: a union of the kinds there are, told apart by the key `method`."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import ValidationError, create_model

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section, first_mistake
from infopursuit.naive_bayes.settings import NaiveBayesSettings
from infopursuit.vip.settings import VariationalSettings

Method = NaiveBayesSettings | VariationalSettings


def _strict(kind: type) -> type[Section]:
    """The dataclass as a strict section; the training engine itself needs no pydantic."""
    types = get_type_hints(kind)
    members: dict[str, Any] = {each.name: (types[each.name], each.default) for each in fields(kind)}
    return create_model(kind.__name__, __base__=Section, **members)


KINDS: dict[str, type] = {"naive_bayes": NaiveBayesSettings, "variational": VariationalSettings}
SECTIONS = {name: _strict(kind) for name, kind in KINDS.items()}


def build_method(settings: dict[str, Any], overrides: dict[str, Any], where: str) -> Method:
    """The settings of a method from YAML values, strictly typed.

    Args:
        settings: an entry of `methods`.
        overrides: what differs for a data set; of variational methods only.
        where: the path that messages name.

    Raises:
        InputError: the kind or a setting is unknown, or a value has the wrong type.
    """
    kind = settings.get("method")
    if kind not in KINDS:
        raise InputError(f"{where}.method is {kind!r}; expected one of {', '.join(KINDS)}")
    own = {name: value for name, value in settings.items() if name != "method"}
    values = {**own, **(overrides if kind == "variational" else {})}
    pairs = {
        name: tuple(value) if isinstance(value, list) else value for name, value in values.items()
    }
    try:
        return KINDS[kind](**SECTIONS[kind].model_validate(pairs).model_dump())
    except ValidationError as error:
        raise InputError(f"{where}.{first_mistake(error)}") from error
    except ValueError as error:
        raise InputError(f"{where}.{error}") from error
