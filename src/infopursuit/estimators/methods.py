"""The methods of params.yaml, whose key `method` names their kind."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, get_type_hints

from pydantic import ValidationError, create_model

from infopursuit.core.errors import InputError
from infopursuit.core.settings import Section, first_mistake
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.questions.pursuits import PURSUITS, PursuitMethod

# The pursuit that counts answers, of rows of tables.
OF_TABLES = "naive_bayes"

Method = VariationalSettings | PursuitMethod


def methods() -> dict[str, Any]:
    """Return the settings of all methods that ask about images, by their kind."""
    pursuits = {kind: PURSUITS.of(kind) for kind in PURSUITS if kind != OF_TABLES}
    return {VariationalSettings.kind: VariationalSettings, **pursuits}


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
