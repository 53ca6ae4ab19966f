"""How results show themselves and are shared: each way by name, and a page inside a notebook.

Explanations and fitted models have methods that draw them. What draws comes after the method in
the order of packages, and a stage that trains must not depend on the colour of a figure. So results
look their renderers up here, by name. This table is the one place where an arrow points up. Its
names are those inside the package: a full name would make a stage depend on the module.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from html import escape
from importlib import import_module
from pathlib import Path
from typing import Any

from infopursuit.core.files import write_text

RENDERERS = {
    "answered": "explorer.page",
    "explored": "explorer.page",
    "explanation_figure": "report.figures",
    "explanation_html": "report.notebook",
    "explanation_text": "report.words",
    "fetched": "estimators.hub",
    "model_html": "report.notebook",
    "push": "estimators.hub",
    "question": "pursuit.sentences",
    "questions": "pursuit.sentences",
    "say": "pursuit.sentences",
}
# A page in a notebook runs its script and may save a file; it sees nothing of the notebook.
SANDBOX = "allow-scripts allow-downloads"


def renderer(name: str) -> Callable[..., Any]:
    """Return the function of this name, from the module that defines it."""
    return getattr(import_module(f"infopursuit.{RENDERERS[name]}"), name)


@dataclass(frozen=True)
class FramedPage:
    """A page that shows itself in a notebook.

    Attributes:
        html: the whole page.
        title: of the page.
        height: of its frame, in pixels.
    """

    html: str
    title: str
    height: int = 900

    def _repr_html_(self) -> str:
        return (
            f'<iframe title="{escape(self.title)}" sandbox="{SANDBOX}" '
            f'style="width:100%;height:{self.height}px;border:0" '
            f'srcdoc="{escape(self.html)}"></iframe>'
        )

    def __repr__(self) -> str:
        return f"FramedPage({self.title!r}, {len(self.html) / 1e6:.1f} MB)"

    def save(self, path: str | Path) -> None:
        """Write the page as a file that works offline."""
        write_text(path, self.html)
