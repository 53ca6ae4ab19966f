"""Draw the pictures that the menagerie's CLIP is trained on, with facts and captions.

python stages/menagerie/draw_pairs.py
"""

from __future__ import annotations

import logging
import sys
import time

from infopursuit.core.errors import InputError
from infopursuit.core.tables import write_table
from infopursuit.pipeline import paths
from menagerie.pairs import PAIRS
from menagerie.settings import load_settings
from menagerie.training_pictures import draw_training_pictures

logger = logging.getLogger("infopursuit")

OUT = paths.MENAGERIE / "pairs.parquet"


def main() -> int:
    settings = load_settings("stages/menagerie/params.yaml")
    pairs, size, workers = settings.pairs, settings.draw.size, settings.compute.workers
    pictures = draw_training_pictures(pairs.scenes, pairs.seed, size, pairs.captions, workers)
    columns = {
        "image": [picture.png for picture in pictures],
        "facts": [list(picture.facts) for picture in pictures],
        "captions": [list(picture.captions) for picture in pictures],
    }
    OUT.parent.mkdir(parents=True, exist_ok=True)
    write_table(OUT, PAIRS, columns)
    return len(pictures)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    started = time.perf_counter()
    try:
        rows = main()
    except InputError as error:
        sys.exit(f"draw_menagerie_pairs: {error}")
    seconds = time.perf_counter() - started
    logger.info("draw_menagerie_pairs: 0 rows in, %d rows out, %.1f s", rows, seconds)
