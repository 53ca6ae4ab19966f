"""Train the menagerie's CLIP on its pairs of pictures and texts; a folder open_clip can read.

python stages/menagerie/train_clip.py
"""

from __future__ import annotations

import logging
import sys
import time
from pathlib import Path

import torch

from infopursuit.core.errors import InputError
from infopursuit.core.files import file_sha256, settings_sha256
from infopursuit.pipeline import paths
from menagerie.clip_folder import write_config, write_weights
from menagerie.contrastive import train
from menagerie.settings import load_settings
from menagerie.training_set import load_training_set

logger = logging.getLogger("infopursuit")

SOURCE = paths.MENAGERIE / "pairs.parquet"
OUT = Path("stages/menagerie/clip")
# Partial work, named after inputs and settings; removed where the result is in place.
SCRATCH = Path(".scratch/menagerie-clip")


def main() -> int:
    settings = load_settings("stages/menagerie/params.yaml")
    torch.set_num_threads(settings.compute.threads)
    data = load_training_set(SOURCE)
    origin = {"pairs": file_sha256(SOURCE), **settings.training.model_dump()}
    checkpoint = SCRATCH / f"{settings_sha256(origin)[:16]}.pt"
    checkpoint.parent.mkdir(parents=True, exist_ok=True)
    write_config(OUT, settings.training, data.pixels.shape[-1])
    model = train(OUT, data, settings.training, checkpoint)
    write_weights(OUT, model)
    checkpoint.unlink(missing_ok=True)
    return len(data.pixels)


if __name__ == "__main__":
    logging.basicConfig(level=logging.WARNING, format="%(message)s", stream=sys.stderr)
    logging.getLogger("infopursuit").setLevel(logging.INFO)
    logging.getLogger("menagerie").setLevel(logging.INFO)
    started = time.perf_counter()
    try:
        rows = main()
    except InputError as error:
        sys.exit(f"train_menagerie_clip: {error}")
    seconds = time.perf_counter() - started
    logger.info("train_menagerie_clip: %d rows in, 1 model out, %.1f s", rows, seconds)
