"""What may be set in stages/menagerie/params.yaml, which explains every key."""

from pathlib import Path
from typing import Annotated

from pydantic import Field

from infopursuit.core.settings import Section, read_settings

Count = Annotated[int, Field(ge=1)]


class DrawSettings(Section):
    seed: int
    size: Annotated[int, Field(ge=16)]
    train_per_class: Count
    test_per_class: Count
    captions: Count
    switched_pairs: Count


class PairsSettings(Section):
    seed: int
    scenes: Count
    captions: Count


class VisionSettings(Section):
    layers: Annotated[list[Count], Field(min_length=4, max_length=4)]
    width: Count
    head_width: Count


class TextSettings(Section):
    layers: Count
    width: Count
    heads: Count
    context_length: Annotated[int, Field(ge=4)]


class EarlySettings(Section):
    steps: Annotated[int, Field(ge=0)]
    phrases: Count
    class_weight: Annotated[float, Field(ge=0)]


class ClipSettings(Section):
    seed: int
    embed_dim: Count
    vision: VisionSettings
    text: TextSettings
    steps: Count
    batch_size: Annotated[int, Field(ge=2, multiple_of=2)]
    phrases: Count
    descriptions: Count
    captions: Count
    class_weight: Annotated[float, Field(ge=0)]
    anchor_weight: Annotated[float, Field(ge=0)]
    early: EarlySettings
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_steps: Annotated[int, Field(ge=0)]
    cooling_steps: Count
    weight_decay: Annotated[float, Field(ge=0)]
    shift: Annotated[int, Field(ge=0)]


class ComputeSettings(Section):
    workers: Count
    threads: Count


class MenagerieSettings(Section):
    """All of stages/menagerie/params.yaml."""

    draw: DrawSettings
    pairs: PairsSettings
    training: ClipSettings
    compute: ComputeSettings


def load_settings(path: str | Path) -> MenagerieSettings:
    """Read and check the settings of the menagerie.

    Raises:
        InputError: as `read_settings` says.
    """
    return read_settings(path, MenagerieSettings)
