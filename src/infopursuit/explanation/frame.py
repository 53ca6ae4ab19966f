"""A whole page inside a notebook, in a frame of its own."""

from __future__ import annotations

from dataclasses import dataclass
from html import escape
from pathlib import Path

from infopursuit.core.whole_files import write_text

# The page runs its script and may save a file; it sees nothing of the notebook.
SANDBOX = "allow-scripts allow-downloads"


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
