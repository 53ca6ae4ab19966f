"""Formulas become MathML when the site is built: pages need no script and no font for them."""

from __future__ import annotations

import html
import re
from typing import Any

from latex2mathml.converter import convert

FORMULA = re.compile(
    r'<(?P<tag>span|div) class="arithmatex">'
    r"(?P<open>\\\(|\\\[)(?P<tex>.*?)(?:\\\)|\\\])</(?P=tag)>",
    re.DOTALL,
)


def on_page_content(content: str, **_: Any) -> str:
    """Replace the formulas of a page."""
    return FORMULA.sub(_mathml, content)


def _mathml(found: re.Match[str]) -> str:
    display = "block" if found["open"] == r"\[" else "inline"
    formula = convert(html.unescape(found["tex"]).strip(), display=display)
    return f'<{found["tag"]} class="formula">{formula}</{found["tag"]}>'
