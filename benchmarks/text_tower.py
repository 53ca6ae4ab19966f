"""Texts per second of the text tower, cut to its tokens, against plain `encode_text`.

    python -m benchmarks.text_tower --captions CAPTIONS.json

Builds the text towers of ViT-B/32 and ViT-L/14 with random weights (speed does not depend on them;
each has a tiny image tower), and embeds phrases of 1 to 5 words, runs of words of COCO's captions.
Plain batches, padded to 77 tokens, and ours take turns. Prints the rates of each turn, the ratio of
their medians, by wall and by the processor's time (which other work on the machine disturbs less),
the largest 1 - cosine between both, and how fast texts become tokens.
"""

from __future__ import annotations

import argparse
import copy
import json
import random
import statistics
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

from infopursuit.clip.text_tower import TextTower, tokens_of

IMAGE_TOWER = {"image_size": 32, "layers": 1, "width": 32, "head_width": 16, "patch_size": 16}


def phrases(captions: Path, count: int) -> list[str]:
    """Distinct phrases, as many of each number of words."""
    rng = random.Random(0)
    annotations = json.loads(captions.read_text(encoding="utf-8"))["annotations"]
    runs: list[set[str]] = [set() for _ in range(5)]
    for annotation in annotations:
        words = annotation["caption"].lower().replace(".", " ").split()
        for length, found in enumerate(runs, start=1):
            found.update(" ".join(words[at : at + length]) for at in range(len(words) - length + 1))
    chosen = [rng.sample(sorted(found), min(count // 5, len(found))) for found in runs]
    texts = [text for several in chosen for text in several]
    rng.shuffle(texts)
    return texts


def model_of(architecture: str) -> Any:
    """The text tower of an architecture with random weights, beside a tiny image tower."""
    import open_clip

    config = copy.deepcopy(open_clip.get_model_config(architecture))
    assert config is not None
    torch.manual_seed(0)
    model = open_clip.CLIP(**{**config, "vision_cfg": IMAGE_TOWER})
    return model.eval().requires_grad_(False)


@torch.inference_mode()
def plain(model: Any, tokenize: Any, texts: list[str], batch: int, device: torch.device) -> Any:
    parts = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    return torch.cat([model.encode_text(tokenize(part).to(device)).float().cpu() for part in parts])


def compare(architecture: str, texts: list[str], given: argparse.Namespace) -> None:
    import open_clip

    device = torch.device(given.device)
    model = model_of(architecture).to(device, getattr(torch, given.dtype))
    tokenize: Any = open_clip.get_tokenizer(architecture)
    tower = TextTower(model, tokenize, device)
    assert tower.obstacle is None, tower.obstacle
    few = texts[: given.plain]
    wanted = plain(model, tokenize, few, given.batch, device)
    apart = (1 - torch.cosine_similarity(tower.encode(few, given.batch).double(), wanted)).max()
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "plain": (len(few), lambda: plain(model, tokenize, few, given.batch, device)),
        "cut": (len(texts), lambda: tower.encode(texts, given.batch)),
    }
    walls: dict[str, list[float]] = {name: [] for name in ways}
    processors: dict[str, list[float]] = {name: [] for name in ways}
    for turn in range(given.turns):
        for name, (count, encode) in ways.items():
            wall, processor = time.perf_counter(), time.process_time()
            encode()
            walls[name].append((time.perf_counter() - wall) / count)
            processors[name].append((time.process_time() - processor) / count)
        last = ", ".join(f"{name} {1 / wall[-1]:.1f} texts/s" for name, wall in walls.items())
        print(f"{architecture} turn {turn + 1}: {last}", flush=True)
    print(f"{architecture} {given.dtype} on {device}: 1 - cosine at most {float(apart):.1e}")
    for clock, taken in (("wall", walls), ("processor", processors)):
        each = {name: statistics.median(seconds) for name, seconds in taken.items()}
        print(
            f"  per second of {clock}: plain {1 / each['plain']:.1f}, cut {1 / each['cut']:.1f} "
            f"texts, ratio {each['plain'] / each['cut']:.1f}"
        )


def measure(given: argparse.Namespace) -> None:
    import open_clip

    texts = phrases(given.captions, max(given.texts, given.tokens))
    tokenize: Any = open_clip.get_tokenizer("ViT-B-32")
    seconds = {}
    for name, make in (("open_clip's", tokenize), ("ours", lambda t: tokens_of(t, tokenize))):
        started = time.perf_counter()
        tokens = make(texts)
        seconds[name] = time.perf_counter() - started
    rates = ", ".join(f"{name} {len(texts) / taken:.0f}" for name, taken in seconds.items())
    lengths = tokens.argmax(dim=1) + 1
    print(f"{len(texts)} texts of {lengths.double().mean():.2f} tokens; made a second: {rates}")
    for architecture in given.architectures:
        compare(architecture, texts[: given.texts], given)


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--captions", type=Path, required=True, help="COCO's, a JSON file")
    parser.add_argument("--architectures", nargs="+", default=["ViT-B-32", "ViT-L-14"])
    parser.add_argument("--texts", type=int, default=2048, help="texts per turn of ours")
    parser.add_argument("--plain", type=int, default=128, help="texts per turn of plain")
    parser.add_argument("--tokens", type=int, default=20000, help="texts to make tokens of")
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--turns", type=int, default=3)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--dtype", default="float32")
    measure(parser.parse_args())
