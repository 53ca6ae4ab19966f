"""What the training of the menagerie's CLIP reads: pictures as one tensor, facts, captions."""

import io
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from jaxtyping import Bool, UInt8
from PIL import Image
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.tables import read_table
from menagerie.pairs import PAIRS
from menagerie.phrases import FACTS


@dataclass(frozen=True)
class TrainingSet:
    """Pictures with their facts and captions; 2i and 2i + 1 are twins that differ in something.

    Attributes:
        pixels: (n, 3, h, w), uint8.
        facts: of each picture, all of them.
        holds: (n, f), whether each of the facts that texts need (FACTS) holds.
        captions: of each picture, at least one.
    """

    pixels: UInt8[Tensor, "n 3 h w"]
    facts: list[frozenset[str]]
    holds: Bool[np.ndarray, "n f"]
    captions: list[list[str]]


def training_set(
    pngs: Sequence[bytes],
    facts: Sequence[Sequence[str]],
    captions: Sequence[Sequence[str]],
    where: str,
) -> TrainingSet:
    """Decode pictures and put their facts in a table.

    Raises:
        InputError: a picture is damaged, or their number is odd.
    """
    if len(pngs) % 2:
        raise InputError(f"{where}: {len(pngs)} pictures; expected two of each scene")
    sets = [frozenset(row) for row in facts]
    holds = np.array([[fact in row for fact in FACTS] for row in sets], dtype=bool)
    return TrainingSet(decode(pngs, where), sets, holds, [list(row) for row in captions])


def load_training_set(path: str | Path) -> TrainingSet:
    """Read the pairs that `draw_pairs` drew.

    Raises:
        InputError: the file breaks its schema, or as `training_set` says.
    """
    columns = read_table(path, PAIRS).to_pydict()
    return training_set(columns["image"], columns["facts"], columns["captions"], str(path))


def decode(pngs: Sequence[bytes], where: str) -> UInt8[Tensor, "n 3 h w"]:
    """Pictures as one tensor (n, 3, h, w), uint8.

    Raises:
        InputError: a picture is damaged or not as large as the first one.
    """
    arrays: list[np.ndarray] = []
    for row, png in enumerate(pngs):
        try:
            with Image.open(io.BytesIO(png)) as picture:
                array = np.asarray(picture.convert("RGB"))
        except OSError as error:
            raise InputError(f"{where}: row {row}: expected a PNG picture: {error}") from error
        if arrays and array.shape != arrays[0].shape:
            raise InputError(
                f"{where}: row {row}: expected a picture of shape {arrays[0].shape}, "
                f"found {array.shape}"
            )
        arrays.append(array)
    return torch.from_numpy(np.stack(arrays)).permute(0, 3, 1, 2).contiguous()
