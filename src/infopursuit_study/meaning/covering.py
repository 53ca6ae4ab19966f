"""Whether the place of a yes matters: cover it, and ask again.

Of each yes the fifth of the picture that its map marks is covered with the mean colour of the rest,
and, to compare, a fifth of the same shape somewhere else.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple, cast

import numpy as np
import torch
from jaxtyping import Bool, Float32, UInt8
from PIL import Image

from infopursuit.clip.towers import OpenClip, model_clip
from infopursuit.datasets.decoding import to_rgb
from infopursuit.estimators.base import DEFAULT_STOP, PursuitClassifier
from infopursuit.estimators.places import mapped
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.agreement import NOT_SURE

SHARE = 0.2
BATCH = 256


class Covering(NamedTuple):
    """What happened to the answers yes of some pictures.

    Attributes:
        pictures: how many.
        yes: how many answers yes were given to the questions asked.
        marked, random: the shares of these that are no longer yes once the marked fifth, or a
            random one, is covered; None without a yes.
    """

    pictures: int
    yes: int
    marked: float | None
    random: float | None


def covering(
    model: PursuitClassifier,
    pictures: Sequence[Any],
    stop: StoppingRule | None = None,
    seed: int = 0,
) -> Covering:
    """Cover the place of each yes to a question that is asked, or another place, and ask again.

    Args:
        model: with a CLIP that has embeddings of patches.
        pictures: of any kind that `infopursuit.datasets.decoding.to_rgb` takes.
        stop: when to ask no more; None for the model's own rule.
        seed: of the random places.

    Raises:
        InputError: as in `estimators.places.mapped`.
    """
    pursuit, draw = model.pursuit_, np.random.default_rng(seed)
    rows, maps = mapped(model, list(pictures))
    clip = cast(OpenClip, model_clip(model.clip_source_, model.clip_, model.clip_device_))
    answers = pursuit.answers(torch.from_numpy(rows).to(pursuit.device))
    names = [str(row) for row in range(len(rows))]
    explained = pursuit.explain(answers, stop or model.stop or DEFAULT_STOP, names)
    asked: list[int] = []
    covered: list[UInt8[np.ndarray, "3 y x"]] = []
    for row, explanation in enumerate(explained):
        seen = clip.pixels(to_rgb(pictures[row]))
        for query in (pursuit.number(step.query) for step in explanation.steps if step.yes):
            marked = marked_part(maps[row, query], seen.shape[1:])
            places = tuple(int(draw.integers(side)) for side in marked.shape)
            asked.append(query)
            covered += [_covered(seen, marked), _covered(seen, np.roll(marked, places, (0, 1)))]
    if not asked:
        return Covering(len(rows), 0, None, None)
    blocks = [
        torch.from_numpy(np.stack(covered[at : at + BATCH])) for at in range(0, len(covered), BATCH)
    ]
    again = torch.from_numpy(np.concatenate([clip.encode_images(block) for block in blocks]))
    still = pursuit.answers(again.to(pursuit.device)).cpu().numpy()
    taken_back = still[np.arange(len(covered)), np.repeat(asked, 2)] <= NOT_SURE
    marked, other = taken_back.reshape(-1, 2).mean(axis=0).tolist()
    return Covering(len(rows), len(asked), marked, other)


def marked_part(
    of_image: Float32[np.ndarray, "h w"], size: tuple[int, ...], share: float = SHARE
) -> Bool[np.ndarray, "y x"]:
    """Return the share of the pixels for which a map, between patches bilinear, is largest."""
    grid = Image.fromarray(of_image.astype(np.float32))
    values = np.asarray(grid.resize((size[1], size[0]), Image.Resampling.BILINEAR))
    largest = np.argsort(-values, axis=None, kind="stable")[: round(share * values.size)]
    marked = np.zeros(values.size, dtype=bool)
    marked[largest] = True
    return marked.reshape(values.shape)


def _covered(
    seen: UInt8[np.ndarray, "3 y x"], marked: Bool[np.ndarray, "y x"]
) -> UInt8[np.ndarray, "3 y x"]:
    rest = seen[:, ~marked].mean(axis=1).round().astype(np.uint8)
    return np.where(marked, rest[:, None, None], seen)
