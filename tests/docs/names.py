"""Names in code that is not run: does the library have them, and do they take these arguments?

Types are followed through assignments: `model = infopursuit.fit(...)` is what `fit` says it
returns, so that `model.explain(...)` is looked up too.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import typing
from typing import Any


class Unknown:
    """A value of which nothing is known."""


def check_names(tree: ast.Module, where: str, known: dict[str, Any]) -> None:
    """Check every name and every call of the library in some code.

    Args:
        tree: the code, with the lines of its page.
        where: the page, for messages.
        known: what earlier blocks of the page defined: instances by their class; added to.

    Raises:
        AssertionError: a name or an argument does not exist; the message names page and line.
    """
    for statement in tree.body:
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                if alias.name.split(".")[0] == "infopursuit":
                    known[alias.asname or "infopursuit"] = importlib.import_module(alias.name)
        elif isinstance(statement, ast.ImportFrom):
            if (statement.module or "").split(".")[0] == "infopursuit":
                module = importlib.import_module(statement.module or "")
                for alias in statement.names:
                    found = _attribute(module, alias.name, f"{where}:{statement.lineno}")
                    known[alias.asname or alias.name] = found
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Call | ast.Attribute):
                    _value(node, where, known)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known[statement.targets[0].id] = _value(statement.value, where, known)


def _value(node: ast.AST, where: str, known: dict[str, Any]) -> Any:
    """The object that a name stands for, or the class of the instance that a call gives."""
    if isinstance(node, ast.Name):
        return known.get(node.id, Unknown)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, where, known)
        return Unknown if owner is Unknown else _attribute(owner, node.attr, _at(where, node))
    if isinstance(node, ast.Call):
        called = _value(node.func, where, known)
        if called is Unknown or not callable(called):
            return Unknown
        arguments = [Unknown for each in node.args if not isinstance(each, ast.Starred)]
        keywords = {each.arg: Unknown for each in node.keywords if each.arg}
        signature = inspect.signature(called)
        if inspect.isfunction(called) and "self" in signature.parameters:
            arguments.insert(0, Unknown)
        try:
            signature.bind_partial(*arguments, **keywords)
        except TypeError as error:
            raise AssertionError(f"{_at(where, node)}: {ast.unparse(node)}: {error}") from error
        return called if inspect.isclass(called) else _returned(called)
    return Unknown


def _attribute(owner: Any, name: str, where: str) -> Any:
    if inspect.isclass(owner) and name in _annotations(owner):
        return Unknown  # an attribute of instances
    assert hasattr(owner, name), f"{where}: {owner.__name__} has no {name!r}"
    return getattr(owner, name)


def _annotations(owner: type) -> set[str]:
    return {name for base in owner.__mro__ for name in vars(base).get("__annotations__", {})}


def _returned(function: Any) -> Any:
    try:
        found = typing.get_type_hints(function).get("return", Unknown)
    except NameError:
        return Unknown
    return found if inspect.isclass(found) else Unknown


def _at(where: str, node: ast.expr) -> str:
    return f"{where}:{node.lineno}"
