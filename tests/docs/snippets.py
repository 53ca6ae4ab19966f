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
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from infopursuit import InformationPursuitClassifier

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


def check_names(tree: ast.Module, where: str) -> None:
    """Fail where code that may not run imports or uses a name that the library has not."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("infopursuit"):
            module = importlib.import_module(str(node.module))
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "infopursuit":
            module, names = importlib.import_module("infopursuit"), [node.attr]
        elif isinstance(node, ast.Attribute) and ast.unparse(node.value) == "model":
            module, names = InformationPursuitClassifier, [node.attr]
        else:
            continue
        for name in names:
            fitted = name.endswith("_")  # an attribute of what is fitted
            assert fitted or hasattr(module, name), f"{where}:{node.lineno}: no {name!r}"
