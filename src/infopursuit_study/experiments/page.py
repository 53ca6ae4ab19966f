"""Write the tables of data sets into a page, between marks that name them, and its pictures.

    python -m infopursuit_study.experiments.page lab/benchmark.md NAME FOLDER/caltech101.md

The page has `<!-- tables caltech101-vitb32 -->` and `<!-- end -->`; the file replaces what is
between them. Pictures next to the file, FOLDER/caltech101.KIND.svg, go to `images/` next to the
page, as caltech101-vitb32-KIND.svg.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text


def with_tables(page: str, name: str, tables: str) -> str:
    """Return the page with other tables of that name."""
    begin, end = f"<!-- tables {name} -->", "<!-- end -->"
    # Up to its own end: without that, all up to the end of the next tables would go.
    between = r"(?:(?!<!-- tables ).)*?"
    pattern = re.compile(rf"({re.escape(begin)}\n){between}({end})", flags=re.DOTALL)
    if not pattern.search(page):
        raise InputError(
            f"the page has no marks '{begin}' and, before other tables, '{end}'; expected both"
        )
    return pattern.sub(lambda match: f"{match[1]}\n{tables.strip()}\n\n{match[2]}", page)


def main(page: str, name: str, tables: str) -> None:
    """Replace the tables of one name in a page by those of a file, and its pictures."""
    text, file = Path(page).read_text(encoding="utf-8"), Path(tables)
    write_text(page, with_tables(text, name, file.read_text(encoding="utf-8")))
    for picture in sorted(file.parent.glob(f"{file.stem}.*.svg")):
        kind = picture.name.removeprefix(f"{file.stem}.")
        write_text(
            Path(page).parent / "images" / f"{name}-{kind}", picture.read_text(encoding="utf-8")
        )


if __name__ == "__main__":
    try:
        main(*sys.argv[1:])
    except (InputError, TypeError, FileNotFoundError) as error:
        sys.exit(f"page: {error}")
