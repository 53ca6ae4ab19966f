"""The code blocks of a Markdown page, and how they are run.

A block of Python runs after those before it on its page, in one namespace. A block of text that
follows it is what it printed. A comment before a block, which readers do not see, may say more:

    <!-- not run: needs CLIP's weights -->      it is compiled, and its names are looked up
    <!-- run with "ViT-B-32" as "tiny-clip" -->  the one text is replaced by the other

Pages whose outputs have changed are written anew by `python -m tests.docs.refresh`.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FENCE = re.compile(r"^```(\w*)[^\n]*\n(.*?)^```[ ]*$", re.DOTALL | re.MULTILINE)
COMMENT = re.compile(r"<!-- ((?:(?!-->).)*) -->\s*\Z", re.DOTALL)
RUN_WITH = re.compile(r'run with (".*?") as (".*?")')


@dataclass(frozen=True)
class Block:
    """One block of code.

    Attributes:
        language: of its first line.
        code: its text.
        line: of its first line of code, from 1.
        comment: what stands before it for the tests; "" for nothing.
        output: start and end of the block of text that follows at once; None where none does.
    """

    language: str
    code: str
    line: int
    comment: str
    output: tuple[int, int] | None

    @property
    def is_run(self) -> bool:
        """Whether a block of Python is run, and not only looked at."""
        return not self.comment.startswith("not run")


def blocks(page: str) -> list[Block]:
    """All blocks of a page, in their order."""
    found = list(FENCE.finditer(page))
    listed = []
    for block, after in zip(found, [*found, None][1:], strict=True):
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
    """Run the blocks of Python of a page, in the folder it is called in.

    Returns:
        The page with the outputs that its code printed, where it shows outputs.

    Raises:
        AssertionError: a block raised an error; the message names page and line.
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
    """Run code and give what it printed, without spaces at the ends of lines."""
    stream = io.StringIO()
    try:
        compiled = compile("\n" * (line - 1) + code, where, "exec")
        with contextlib.redirect_stdout(stream):
            exec(compiled, namespace)
    except Exception as error:
        raise AssertionError(f"{where}: {type(error).__name__}: {error}") from error
    lines = [each.rstrip() for each in stream.getvalue().rstrip().splitlines()]
    return "".join(f"{each}\n" for each in lines)


def parsed(block: Block, where: str | Path) -> ast.Module:
    """The syntax tree of a block of Python, with the lines of its page.

    Raises:
        AssertionError: it is no Python; the message names page and line.
    """
    try:
        return ast.parse("\n" * (block.line - 1) + block.code)
    except SyntaxError as error:
        raise AssertionError(f"{where}:{error.lineno}: {error.msg}") from error
