"""Write into the pages what their code gives today, and the figures of docs/records.

python -m tests.docs.refresh          # then look at `git diff`
"""

from __future__ import annotations

import os
import tempfile
from pathlib import Path

from docs.hooks.figures import filled
from tests.docs.snippets import run_page
from tests.docs.test_pages import PAGES, ROOT
from tests.docs.test_tutorial import NOTEBOOK, executed, write
from tests.docs.world import make_world


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        make_world(Path(folder))
        os.environ["INFOPURSUIT_CACHE"] = str(Path(folder) / "cache")
        os.chdir(folder)
        for page in PAGES:
            shown = page.read_text(encoding="utf-8")
            given = run_page(filled(shown), page.relative_to(ROOT))
            page.write_text(given, encoding="utf-8")
        os.chdir(ROOT)
    write(executed(), NOTEBOOK)


if __name__ == "__main__":
    main()
