"""Texts per second of the text tower, cut to its tokens, against plain `encode_text`.

    python -m benchmarks.text_tower --captions CAPTIONS.json

Builds the text towers of ViT-B/32 and ViT-L/14 with random weights (speed does not depend on them;
each has a tiny image tower), and embeds phrases of 1 to 5 words from COCO's captions. Plain
batches, padded to 77 tokens, and ours take turns. Prints the rates of each turn, the ratio of their
medians by wall clock and by processor time (which other work on the machine disturbs less), the
largest 1 - cosine between both, and how fast texts become tokens.
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
    """Draw distinct phrases, the same number of each length."""
    draw = random.Random(0)
    annotations = json.loads(captions.read_text(encoding="utf-8"))["annotations"]
    texts = []
    for length in range(1, 6):
        runs = set()
        for annotation in annotations:
            words = annotation["caption"].lower().replace(".", " ").split()
            runs |= {" ".join(words[at : at + length]) for at in range(len(words) - length + 1)}
        texts += draw.sample(sorted(runs), min(count // 5, len(runs)))
    draw.shuffle(texts)
    return texts


def model_of(architecture: str) -> Any:
    """Make the text tower of an architecture with random weights, and a tiny image tower."""
    import open_clip

    config = copy.deepcopy(open_clip.get_model_config(architecture))
    assert config is not None
    torch.manual_seed(0)
    model = open_clip.CLIP(**{**config, "vision_cfg": IMAGE_TOWER})
    return model.eval().requires_grad_(False)


@torch.inference_mode()
def plain(model: Any, tokenize: Any, texts: list[str], batch: int, device: torch.device) -> Any:
    """Embed texts by open_clip's own call."""
    parts = [texts[start : start + batch] for start in range(0, len(texts), batch)]
    return torch.cat([model.encode_text(tokenize(part).to(device)).float().cpu() for part in parts])


def compare(architecture: str, texts: list[str], given: argparse.Namespace) -> None:
    """Print the rates of both ways and their difference."""
    import open_clip

    device = torch.device(given.device)
    model = model_of(architecture).to(device, getattr(torch, given.dtype))
    tokenize: Any = open_clip.get_tokenizer(architecture)
    tower = TextTower(model, tokenize, device)
    assert tower.obstacle is None, tower.obstacle
    few = texts[: given.plain]
    expected = plain(model, tokenize, few, given.batch, device)
    cosines = torch.cosine_similarity(tower.encode(few, given.batch).double(), expected)
    ways: dict[str, tuple[int, Callable[[], object]]] = {
        "plain": (len(few), lambda: plain(model, tokenize, few, given.batch, device)),
        "cut": (len(texts), lambda: tower.encode(texts, given.batch)),
    }
    clocks = {"wall": time.perf_counter, "processor": time.process_time}
    taken = {(clock, way): [] for clock in clocks for way in ways}
    for turn in range(given.turns):
        for way, (count, encode) in ways.items():
            started = {clock: read() for clock, read in clocks.items()}
            encode()
            for clock, read in clocks.items():
                taken[clock, way].append((read() - started[clock]) / count)
        last = ", ".join(f"{way} {1 / taken['wall', way][-1]:.1f} texts/s" for way in ways)
        print(f"{architecture} turn {turn + 1}: {last}", flush=True)
    apart = float((1 - cosines).max())
    print(f"{architecture} {given.dtype} on {device}: 1 - cosine at most {apart:.1e}")
    for clock in clocks:
        slow, fast = (statistics.median(taken[clock, way]) for way in ways)
        rates = f"plain {1 / slow:.1f}, cut {1 / fast:.1f} texts, ratio {slow / fast:.1f}"
        print(f"  per second of {clock}: {rates}")


def main() -> None:
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
    given = parser.parse_args()
    import open_clip

    texts = phrases(given.captions, max(given.texts, given.tokens))
    tokenize: Any = open_clip.get_tokenizer("ViT-B-32")
    tokens, rates = tokenize(texts[:1]), []
    for name, make in (("open_clip's", tokenize), ("ours", lambda part: tokens_of(part, tokenize))):
        started = time.perf_counter()
        tokens = make(texts)
        rates.append(f"{name} {len(texts) / (time.perf_counter() - started):.0f}")
    length = (tokens.argmax(dim=1) + 1).double().mean()
    print(f"{len(texts)} texts of {length:.2f} tokens; made a second: {', '.join(rates)}")
    for architecture in given.architectures:
        compare(architecture, texts[: given.texts], given)


if __name__ == "__main__":
    main()
