"""The checks of pages find what they are there for."""

from __future__ import annotations

import pytest

from tests.docs.snippets import blocks, check_names, parsed, run_page

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


def test_outputs_are_written_after_their_blocks() -> None:
    ran = run_page(PAGE, "page.md")
    assert ran == PAGE.replace("\n3\n", "\n2\n").replace("one 2", "two 2")
    found = [(block.line, block.output is not None, block.is_run) for block in blocks(PAGE)]
    assert found[::2] == [(4, True, True), (14, True, True), (23, False, False)]


def test_an_error_names_page_and_line() -> None:
    with pytest.raises(AssertionError, match=r"page\.md:2: ZeroDivisionError"):
        run_page("```python\n1 / 0\n```\n", "page.md")
    with pytest.raises(AssertionError, match=r'page\.md:3: no "one"'):
        run_page('<!-- run with "one" as "two" -->\n```python\n1\n```\n', "page.md")


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import infopursuit\ninfopursuit.fitt('photos')", "has no 'fitt'"),
        ("import infopursuit\nmodel = infopursuit.load('m')\nmodel.explian()", "has no 'explian'"),
        ("import infopursuit\ninfopursuit.load('m').explain(x, until=3)", "until"),
        ("from infopursuit import StoppingRule\nStoppingRule(probabilty=0.9)", "probabilty"),
    ],
)
def test_names_that_the_library_has_not_are_found(code: str, message: str) -> None:
    block = blocks(f"```python\n{code}\n```\n")[0]
    with pytest.raises(AssertionError, match=message):
        check_names(parsed(block, "page.md"), "page.md", {})
