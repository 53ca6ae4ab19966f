"""Run the long form of every campaign, or of those that are named, and update the page.

    python -m campaigns [NAME ...]

A campaign that finds a broken promise still writes its table; the exit status is then 1.
"""

from __future__ import annotations

import subprocess
import sys

from campaigns import CAMPAIGNS, tables_of
from infopursuit_study.experiments.page import main as put_tables

PAGE = "docs/reliability.md"


def main(names: list[str]) -> int:
    """Run the campaigns one after another; 1 where one of them found a broken promise."""
    unknown = sorted(set(names) - set(CAMPAIGNS))
    if unknown:
        print(f"no campaign {', '.join(unknown)}; expected some of {', '.join(CAMPAIGNS)}")
        return 2
    broken = []
    for name in names or CAMPAIGNS:
        print(f"campaign {name}", flush=True)
        tables = tables_of(name)
        tables.unlink(missing_ok=True)
        if subprocess.run([sys.executable, "-m", f"campaigns.{name}"], check=False).returncode:
            broken.append(name)
        if tables.exists():
            put_tables(PAGE, name, str(tables))
    if broken:
        print(f"broken promises, or no end: {', '.join(broken)}")
    return int(bool(broken))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
