"""Train the menagerie's CLIP on its pairs of pictures and texts; a folder open_clip can read.

python stages/menagerie/train_clip.py
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import torch

from infopursuit.errors import InputError
from infopursuit.menagerie.contrastive import (
    decode,
    retrieval_accuracy,
    tokenize,
    train,
    write_config,
    write_weights,
)
from infopursuit.menagerie.pairs import PAIRS
from infopursuit.menagerie.settings import load_settings
from infopursuit.tables import read_table

logger = logging.getLogger("infopursuit")

SOURCE = Path("artifacts/menagerie/pairs.parquet")
OUT = Path("artifacts/menagerie/clip")
RETRIEVED = 256


def main() -> int:
    settings = load_settings("stages/menagerie/params.yaml")
    torch.set_num_threads(settings.compute.threads)
    table = read_table(SOURCE, PAIRS)
    pixels = decode(table.column("image").to_pylist(), str(SOURCE))
    tokens = tokenize(table.column("texts").to_pylist(), settings.clip.text.context_length)

    write_config(OUT, settings.clip, pixels.shape[-1])
    model = train(OUT, pixels, tokens, settings.clip)
    write_weights(OUT, model)

    found = retrieval_accuracy(model, pixels[:RETRIEVED], tokens[:RETRIEVED, 0])
    logger.info("text of a training picture found among %d: %.1f %%", RETRIEVED, 100 * found)
    return len(pixels)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("infopursuit").setLevel(logging.INFO)
    started = time.perf_counter()
    try:
        rows = main()
    except InputError as error:
        sys.exit(f"train_menagerie_clip: {error}")
    seconds = time.perf_counter() - started
    logger.info("train_menagerie_clip: %d rows in, 1 model out, %.1f s", rows, seconds)
