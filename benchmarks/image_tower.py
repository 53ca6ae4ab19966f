"""Embedding a folder of image files against its tower alone, with random weights.

python -m benchmarks.image_tower --photos FOLDER                  2 minutes on 2 cores
python -m benchmarks.image_tower --photos FOLDER --model ViT-L-14 --count 64 --batch-size 16
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from collections import deque
from collections.abc import Callable
from itertools import islice
from pathlib import Path
from statistics import median
from typing import Any

import torch

from infopursuit.clip.embed import decoders
from infopursuit.clip.embed_tables import encode_image_rows
from infopursuit.clip.towers import OpenClip, Preprocessing
from infopursuit.clip.weights import ClipFiles
from infopursuit.datasets.decoding import prepared_ahead, to_rgb
from infopursuit.datasets.image_source import ImageSource
from infopursuit.datasets.open_images import open_image_source

CLASS = "photo"


def random_clip(model: str, device: torch.device) -> OpenClip:
    """An architecture of open_clip with random weights, without a file of them."""
    import open_clip

    torch.manual_seed(0)
    create: Callable[..., tuple[Any, Any, Any]] = open_clip.create_model_and_transforms
    built, _, whole = create(model, pretrained=None)
    built = built.to(device).eval().requires_grad_(False)
    clip = OpenClip(ClipFiles(model, model, Path(), "", "random"), device)
    clip.__dict__["_loaded"] = (built, Preprocessing(whole), open_clip.get_tokenizer(model))
    return clip


def repeated(photos: Path, count: int, folder: Path) -> ImageSource:
    """`count` files, half of them to train on, that repeat the photos."""
    files = sorted(photos.iterdir())
    for row in range(count):
        place = folder / ("train" if row % 2 else "test") / CLASS / f"{row:06d}.jpg"
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(files[row % len(files)], place)
    return open_image_source(folder, [CLASS])


def seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--photos", type=Path, required=True, help="folder of image files")
    parser.add_argument("--model", default="ViT-B-32")
    parser.add_argument("--count", type=int, default=128, help="images a round")
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--device", default="cpu")
    given = parser.parse_args()
    clip = random_clip(given.model, torch.device(given.device))
    with tempfile.TemporaryDirectory() as folder:
        source = repeated(given.photos, given.count, Path(folder))
        first = [to_rgb(image) for image in islice(source.images(0), given.batch_size)]
        batch = torch.stack([clip.preprocess(image) for image in first]).to(clip.device)
        clip.encode_images(batch)

        def tower() -> None:
            for _ in range(given.count // given.batch_size):
                clip.encode_images(batch)

        def decoding() -> None:
            ahead = given.batch_size
            deque(prepared_ahead(source.images(0), clip.pixels, decoders(), ahead), maxlen=0)

        def whole() -> None:
            encode_image_rows(clip, source.images(0), given.count, given.batch_size)

        took = [[seconds(work) for work in (tower, decoding, whole)] for _ in range(given.rounds)]
    alone, decoded, both = (median(times) / given.count * 1000 for times in zip(*took, strict=True))
    ratios = ", ".join(f"{round_[0] / round_[2]:.3f}" for round_ in took)
    print(f"{given.model}, batches of {given.batch_size}, {torch.get_num_threads()} threads")
    print(f"tower alone       {alone:8.2f} ms an image {1000 / alone:8.1f} images/s")
    print(f"decoding alone    {decoded:8.2f} ms an image {1000 / decoded:8.1f} images/s")
    print(f"encode_image_rows {both:8.2f} ms an image {1000 / both:8.1f} images/s")
    print(f"of the tower's throughput: {alone / both:.3f} (rounds: {ratios})")


if __name__ == "__main__":
    main()
