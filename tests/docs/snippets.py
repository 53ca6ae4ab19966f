"""The code blocks of a Markdown page, and how they are run.

A block of Python runs after those before it on its page, in one namespace. A block of text that
follows it is what it printed. A comment before a block, which readers do not see, may say more:

    <!-- not run: needs CLIP's weights -->      it is compiled, and its names are looked up
    <!-- run with "ViT-B-32" as "tiny-clip" -->  the one text is replaced by the other

Pages whose outputs have changed are written again by `python -m tests.docs.refresh`.
"""

from __future__ import annotations

import ast
import contextlib
import importlib
import inspect
import io
import re
import typing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- ((?:(?!-->).)*) -->\s*\Z", re.DOTALL)
RUN_WITH = re.compile(r'run with (".*?") as (".*?")')


@dataclass(frozen=True)
class Block:
    """One block of code: its first line, counted from 1, and the span of the output after it.

    The comment before the block is for the tests; "" if there is none.
    """

    language: str
    code: str
    line: int
    comment: str
    output: tuple[int, int] | None

    @property
    def is_run(self) -> bool:
        """Return whether a block of Python is run, and not only compiled."""
        return not self.comment.startswith("not run")


def blocks(page: str) -> list[Block]:
    """Return all blocks of a page, in their order."""
    fences = list(FENCE.finditer(page))
    listed = []
    for block, after in zip(fences, [*fences, None][1:], strict=True):
        comment = COMMENT.search(page[: block.start()])
        follows = after is not None and not page[block.end() : after.start()].strip()
        output = after.span(2) if after is not None and follows and after[1] == "text" else None
        listed.append(
            Block(
                block[1],
                block[2],
                page.count("\n", 0, block.start(2)) + 1,
                comment[1] if comment else "",
                output if block[1] == "python" else None,
            )
        )
    return listed


def run_page(page: str, where: str | Path) -> str:
    """Run the blocks of Python of a page in this folder; return the page with their outputs.

    An AssertionError names page and line of a block that failed.
    """
    namespace: dict[str, Any] = {"__name__": "__main__"}
    outputs: list[tuple[tuple[int, int], str]] = []
    for block in blocks(page):
        if block.language != "python" or not block.is_run:
            continue
        code = block.code
        for old, new in RUN_WITH.findall(block.comment):
            assert old in code, f"{where}:{block.line}: no {old} in the block"
            code = code.replace(old, new)
        printed = run(code, namespace, f"{where}:{block.line}", block.line)
        if block.output:
            outputs.append((block.output, printed))
    for (start, end), printed in reversed(outputs):
        page = page[:start] + printed + page[end:]
    return page


def run(code: str, namespace: dict[str, Any], where: str, line: int = 1) -> str:
    """Run code and return what it printed, without spaces at the ends of lines."""
    stream = io.StringIO()
    try:
        compiled = compile("\n" * (line - 1) + code, where, "exec")
        with contextlib.redirect_stdout(stream):
            exec(compiled, namespace)
    except Exception as error:
        raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
    return "".join(f"{line.rstrip()}\n" for line in stream.getvalue().rstrip().splitlines())


def parsed(block: Block, where: str | Path) -> ast.Module:
    """Return the syntax tree of a block of Python, with the lines of its page."""
    try:
        return ast.parse("\n" * (block.line - 1) + block.code)
    except SyntaxError as error:
        raise AssertionError(f"{where}:{error.lineno}: {error.msg}") from error


# Names in code that is not run. Types are followed through assignments: `model = infopursuit.fit()`
# is what `fit` says it returns, so that `model.explain` is looked up too.


class Unknown:
    """Stands for a value that is not known."""


def check_names(tree: ast.Module, where: str, known: dict[str, Any]) -> None:
    """Check every name and every call of the library in some code.

    `known` holds what earlier blocks of the page defined, instances by their class; it is added to.
    An AssertionError names the page `where` and the line.
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
                    value = _attribute(module, alias.name, f"{where}:{statement.lineno}")
                    known[alias.asname or alias.name] = value
        else:
            for node in ast.walk(statement):
                if isinstance(node, ast.Call | ast.Attribute):
                    _value(node, where, known)
            if isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Name):
                known[statement.targets[0].id] = _value(statement.value, where, known)


def _value(node: ast.AST, where: str, known: dict[str, Any]) -> Any:
    """Return the object of a name, or the class of the instance that a call returns."""
    if isinstance(node, ast.Name):
        return known.get(node.id, Unknown)
    if isinstance(node, ast.Attribute):
        owner = _value(node.value, where, known)
        return Unknown if owner is Unknown else _attribute(owner, node.attr, _at(where, node))
    if isinstance(node, ast.Call):
        called = _value(node.func, where, known)
        if called is Unknown or not callable(called):
            return Unknown
        arguments = [Unknown for value in node.args if not isinstance(value, ast.Starred)]
        keywords = {keyword.arg: Unknown for keyword in node.keywords if keyword.arg}
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
        kind = typing.get_type_hints(function).get("return", Unknown)
    except NameError:
        return Unknown
    return kind if inspect.isclass(kind) else Unknown


def _at(where: str, node: ast.expr) -> str:
    return f"{where}:{node.lineno}"
