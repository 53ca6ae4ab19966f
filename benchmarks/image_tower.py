"""Embedding a folder of image files against its tower alone, with random weights.

python -m benchmarks.image_tower --photos FOLDER                  2 minutes on 2 cores
python -m benchmarks.image_tower --photos FOLDER --model ViT-L-14 --count 64 --batch-size 16
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from benchmarks.harness import seconds
from infopursuit.clip.embed import decoders
from infopursuit.clip.embed_tables import encode_image_rows
from infopursuit.clip.towers import OpenClip, Preprocessing
from infopursuit.clip.weights import ClipFiles
from infopursuit.datasets.decoding import prepared_ahead, to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source

CLASS = "photo"


def random_clip(model: str, device: torch.device) -> OpenClip:
    """Make an architecture of open_clip with random weights, without a file of them."""
    import open_clip

    torch.manual_seed(0)
    create: Callable[..., tuple[Any, Any, Any]] = open_clip.create_model_and_transforms
    built, _, preprocess = create(model, pretrained=None)
    built = built.to(device).eval().requires_grad_(False)
    clip = OpenClip(ClipFiles(model, model, Path(), "", "random"), device)
    parts = built, Preprocessing(preprocess), open_clip.get_tokenizer(model)
    clip.__dict__["_loaded"] = parts
    return clip


def repeated(photos: Path, count: int, folder: Path) -> ImageSource:
    """Write `count` files that repeat the photos, half of them for training."""
    files = sorted(photos.iterdir())
    for row in range(count):
        place = folder / ("train" if row % 2 else "test") / CLASS / f"{row:06d}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[row % len(files)], place)
    return open_image_source(folder, [CLASS])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True, help="folder of image files")
    parser.add_argument("--model", default="ViT-B-32")
    parser.add_argument("--count", type=int, default=128, help="images a round")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    size, count = given.batch_size, given.count
    clip = random_clip(given.model, torch.device(given.device))
    with tempfile.TemporaryDirectory() as folder:
        source = repeated(given.photos, count, Path(folder))
        first = [to_rgb(image) for image in islice(source.images(0), size)]
        batch = torch.stack([clip.preprocess(image) for image in first]).to(clip.device)
        clip.encode_images(batch)

        def tower() -> None:
            for _ in range(count // size):
                clip.encode_images(batch)

        def decoding() -> None:
            deque(prepared_ahead(source.images(0), clip.pixels, decoders(), size), maxlen=0)

        def both() -> None:
            encode_image_rows(clip, source.images(0), count, size)

        works = {"tower alone": tower, "decoding alone": decoding, "encode_image_rows": both}
        rounds = [[seconds(work) for work in works.values()] for _ in range(given.rounds)]
    print(f"{given.model}, batches of {size}, {torch.get_num_threads()} threads")
    medians = [median(column) / count * 1000 for column in zip(*rounds, strict=True)]
    for name, taken in zip(works, medians, strict=True):
        print(f"{name:17} {taken:8.2f} ms an image {1000 / taken:8.1f} images/s")
    ratios = ", ".join(f"{taken[0] / taken[2]:.3f}" for taken in rounds)
    print(f"of the tower's throughput: {medians[0] / medians[2]:.3f} (rounds: {ratios})")


if __name__ == "__main__":
    main()
