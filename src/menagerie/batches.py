"""What one update of the menagerie's CLIP sees: pictures, texts, and which is true of which.

A batch holds pictures, twins side by side, and several kinds of texts: one name of every class,
phrases of random facts, descriptions and captions of pictures of the batch.
"""

import random
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import torch
from jaxtyping import Bool, Float, UInt8
from torch import Tensor
from torch.nn import functional

from menagerie.clip_folder import MEAN, STD
from menagerie.facts import Text
from menagerie.phrases import FACTS, any_phrase, class_text, description
from menagerie.settings import ClipSettings
from menagerie.species import CLASS_NAMES
from menagerie.training_set import TrainingSet

_COLUMN = {fact: column for column, fact in enumerate(FACTS)}


class Batch(NamedTuple):
    """Pictures by number, texts, and for each text of which pictures it is true, or unknown.

    `phrases` are the texts that say one fact: the number of the text, and that of the fact.
    """

    rows: list[int]
    texts: list[str]
    phrases: list[tuple[int, int]]
    true: Bool[Tensor, "b t"]
    known: Bool[Tensor, "b t"]


def holds(texts: list[Text], facts: Bool[np.ndarray, "b f"]) -> Bool[np.ndarray, "b t"]:
    """Whether each text is true of each picture."""
    true = np.ones((len(facts), len(texts)), dtype=bool)
    for column, text in enumerate(texts):
        for need in text.needs:
            true[:, column] &= facts[:, [_COLUMN[fact] for fact in need]].any(axis=1)
    return true


def batch_for(step: int, data: TrainingSet, settings: ClipSettings) -> Batch:
    """The batch of one step; it depends on the step and the seed alone."""
    rng = random.Random(f"clip/{settings.seed}/{step}")
    scenes, wanted = len(data.pixels) // 2, settings.batch_size // 2
    passes, place = divmod(step * wanted, scenes)
    order = [*_order(settings.seed, passes, scenes), *_order(settings.seed, passes + 1, scenes)]
    rows = [2 * scene + twin for scene in order[place : place + wanted] for twin in (0, 1)]

    texts = [class_text(name, rng) for name in CLASS_NAMES]
    early = settings.early if step < settings.early.steps else settings
    texts += [any_phrase(rng) for _ in range(early.phrases)]
    described = [rng.choice(rows) for _ in range(settings.descriptions)]
    texts += [description(data.facts[row], rng) for row in described]
    true = holds(texts, data.holds[rows])

    # A caption is true of its own picture; of the twin it may be, of others it hardly ever is.
    places = [2 * pair + rng.randrange(2) for pair in rng.sample(range(wanted), settings.captions)]
    captions = [rng.choice(data.captions[rows[at]]) for at in places]
    own = np.zeros((len(rows), len(captions)), dtype=bool)
    twin = np.zeros_like(own)
    for column, at in enumerate(places):
        own[at, column] = twin[at ^ 1, column] = True
    return Batch(
        rows,
        [text.words for text in texts] + captions,
        [
            (column, _COLUMN[next(iter(text.needs[0]))])
            for column, text in enumerate(texts)
            if len(text.needs) == 1 and len(text.needs[0]) == 1
        ],
        torch.from_numpy(np.concatenate([true, own], axis=1)),
        torch.from_numpy(np.concatenate([np.ones_like(true), ~twin], axis=1)),
    )


@lru_cache(maxsize=2)
def _order(seed: int, number: int, count: int) -> list[int]:
    """The scenes in the order of one pass over them."""
    return np.random.default_rng((seed, number)).permutation(count).tolist()


def augment(
    pixels: UInt8[Tensor, "b 3 h w"], shift: int, rng: random.Random
) -> Float[Tensor, "b 3 h w"]:
    """Normalised pictures, mirrored or not and moved by a few pixels, twins alike."""
    mirrored = torch.tensor([rng.random() < 0.5 for _ in range(len(pixels) // 2)])
    mirrored = mirrored.repeat_interleave(2)[:, None, None, None]
    floats = (torch.where(mirrored, pixels.flip(-1), pixels).float() / 255.0 - MEAN) / STD
    down, right = rng.randint(0, 2 * shift), rng.randint(0, 2 * shift)
    padded = functional.pad(floats, (shift, shift, shift, shift), mode="replicate")
    height, width = pixels.shape[-2:]
    return padded[:, :, down : down + height, right : right + width]
