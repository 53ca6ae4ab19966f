"""Unpack the pictures of the embedded world, as they were drawn.

python stages/unpack.py --world menagerie
"""

from __future__ import annotations

from infopursuit.core.stage import RowCounts, run

from infopursuit.core.settings import Section
from infopursuit.core.tables import IMAGES, write_table
from infopursuit.pipeline.paths import ARTIFACTS
from menagerie.pictures import unpacked


class Settings(Section):
    """Nothing: the world is frozen."""


def main(settings: Settings, world: str) -> RowCounts:
    columns = unpacked()
    write_table(ARTIFACTS / world / "images.parquet", IMAGES, columns)
    return RowCounts(read=len(columns["id"]), written=len(columns["id"]))


if __name__ == "__main__":
    run(main)
