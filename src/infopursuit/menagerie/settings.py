"""What may be set in stages/menagerie/params.yaml, which explains every key."""

from pathlib import Path
from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from infopursuit.errors import InputError

Count = Annotated[int, Field(ge=1)]


class Section(BaseModel):
    """A mapping of the file: strict types, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class DrawSettings(Section):
    seed: int
    size: Annotated[int, Field(ge=16)]
    train_per_class: Count
    test_per_class: Count
    captions: Count
    pairs: Count
    texts_per_pair: Count


class VisionSettings(Section):
    layers: Annotated[list[Count], Field(min_length=4, max_length=4)]
    width: Count
    head_width: Count


class TextSettings(Section):
    layers: Count
    width: Count
    heads: Count
    context_length: Annotated[int, Field(ge=4)]


class ClipSettings(Section):
    seed: int
    embed_dim: Count
    vision: VisionSettings
    text: TextSettings
    steps: Count
    batch_size: Annotated[int, Field(ge=2)]
    texts_per_step: Count
    learning_rate: Annotated[float, Field(gt=0)]
    warmup_steps: Annotated[int, Field(ge=0)]
    weight_decay: Annotated[float, Field(ge=0)]
    shift: Annotated[int, Field(ge=0)]


class ComputeSettings(Section):
    workers: Count
    threads: Count


class MenagerieSettings(Section):
    """All of stages/menagerie/params.yaml."""

    draw: DrawSettings
    clip: ClipSettings
    compute: ComputeSettings


def load_settings(path: str | Path) -> MenagerieSettings:
    """Read and check the settings of the menagerie.

    Raises:
        InputError: the file is missing or no YAML, a key is unknown or missing, or a value has the
            wrong type or range; the message gives the path of the key.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            raw = YAML(typ="safe").load(file)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; run this from the folder that has it") from error
    except YAMLError as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    try:
        return MenagerieSettings.model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {where}: {first['msg']}, found {first['input']!r}") from error
