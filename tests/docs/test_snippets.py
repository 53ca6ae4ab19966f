"""The checks of pages find what they are there for."""

from __future__ import annotations

import pytest

from tests.docs.names import check_names
from tests.docs.snippets import blocks, parsed, run_page

PAGE = """# A page

```python
total = 1 + 1
print(total)
```

```text
3
```

<!-- run with "one" as "two" -->
```python
print("one", total)
```

```text
one 2
```

<!-- not run: needs what is not there -->
```python
import nothing_of_this_name
```
"""


def test_outputs_are_written_where_they_stand() -> None:
    ran = run_page(PAGE, "page.md")
    assert ran == PAGE.replace("\n3\n", "\n2\n").replace("one 2", "two 2")


def test_blocks_know_their_lines_and_outputs() -> None:
    found = blocks(PAGE)
    assert [block.language for block in found] == ["python", "text", "python", "text", "python"]
    assert [block.line for block in found] == [4, 9, 14, 18, 23]
    assert [block.output is not None for block in found] == [True, False, True, False, False]
    assert [block.is_run for block in found] == [True, True, True, True, False]


def test_an_error_names_page_and_line() -> None:
    with pytest.raises(AssertionError, match=r"page\.md:2: ZeroDivisionError"):
        run_page("```python\n1 / 0\n```\n", "page.md")
    with pytest.raises(AssertionError, match=r'page\.md:3: no "one"'):
        run_page('<!-- run with "one" as "two" -->\n```python\n1\n```\n', "page.md")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import infopursuit\ninfopursuit.fitt('photos')", "has no 'fitt'"),
        ("from infopursuit import Explainer", "has no 'Explainer'"),
        ("import infopursuit\nmodel = infopursuit.load('m')\nmodel.explian()", "has no 'explian'"),
        ("import infopursuit\ninfopursuit.load('m').explain(x, until=3)", "until"),
        ("from infopursuit import StoppingRule\nStoppingRule(probabilty=0.9)", "probabilty"),
    ],
)
def test_names_that_the_library_has_not_are_found(code: str, message: str) -> None:
    block = blocks(f"```python\n{code}\n```\n")[0]
    with pytest.raises(AssertionError, match=message):
        check_names(parsed(block, "page.md"), "page.md", {})


def test_names_that_the_library_has_are_right() -> None:
    code = (
        "import infopursuit\nmodel = infopursuit.fit(tmp, n_queries=3)\n"
        "model.explain(x, overrides={'a': 'yes'})\nmodel.classes_\nunknown.whatever(1)\n"
    )
    check_names(parsed(blocks(f"```python\n{code}```\n")[0], "page.md"), "page.md", {})
