"""Draw the menagerie: labelled images, the truth about them, captions, switched pairs.

python stages/menagerie/draw.py
"""

from __future__ import annotations

import json
import logging
import sys
import time

from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.tables import IMAGES, write_table
from infopursuit.pipeline import paths
from menagerie.captions import coco_captions
from menagerie.counterfactuals import COUNTERFACTUALS, counterfactual_columns, draw_pairs
from menagerie.pictures import (
    ATTRIBUTES,
    attribute_columns,
    draw_pictures,
    image_columns,
)
from menagerie.places import PLACES, draw_places
from menagerie.settings import load_settings
from menagerie.species import CLASS_NAMES

logger = logging.getLogger("infopursuit")

# Test pictures of each class whose parts are kept.
PLACED = 20


def main() -> int:
    settings = load_settings("stages/menagerie/params.yaml")
    draw, workers = settings.draw, settings.compute.workers
    paths.MENAGERIE.mkdir(parents=True, exist_ok=True)

    counts = {"train": draw.train_per_class, "test": draw.test_per_class}
    pictures = {
        split: draw_pictures(count * len(CLASS_NAMES), draw.seed, split, draw.size, workers)
        for split, count in counts.items()
    }
    write_table(paths.MENAGERIE / "images.parquet", IMAGES, image_columns(pictures))
    write_table(paths.MENAGERIE / "attributes.parquet", ATTRIBUTES, attribute_columns(pictures))
    write_text(paths.MENAGERIE / "classes.txt", "\n".join(CLASS_NAMES) + "\n")

    places = draw_places(PLACED * len(CLASS_NAMES), draw.seed, draw.size, workers)
    write_table(paths.MENAGERIE / "places.parquet", PLACES, places)

    captions = coco_captions(draw.seed, draw.captions, draw.size)
    text = json.dumps(captions, indent=1, sort_keys=True) + "\n"
    write_text(paths.MENAGERIE / "captions.json", text)

    switched = draw_pairs(draw.switched_pairs, draw.seed, draw.size, workers)
    columns = counterfactual_columns(switched)
    write_table(paths.MENAGERIE / "counterfactuals.parquet", COUNTERFACTUALS, columns)
    return sum(map(len, pictures.values())) + draw.captions + len(switched)


if __name__ == "__main__":
    logging.basicConfig(level=logging.INFO, format="%(message)s", stream=sys.stderr)
    started = time.perf_counter()
    try:
        rows = main()
    except InputError as error:
        sys.exit(f"draw_menagerie: {error}")
    seconds = time.perf_counter() - started
    logger.info("draw_menagerie: 0 rows in, %d rows out, %.1f s", rows, seconds)
