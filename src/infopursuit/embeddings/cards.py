"""Cards: small YAML files that pin something far away, CLIP weights or an image data set.

A card is the dependency that DVC sees, so everything that decides what is fetched is written in it:
an exact commit of a hub repository, or an address with the SHA-256 of its content.
"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError
from ruamel.yaml import YAML
from ruamel.yaml.error import YAMLError

from infopursuit.errors import InputError

Commit = Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
Sha256 = Annotated[str, Field(pattern=r"^[0-9a-f]{64}$")]


class Card(BaseModel):
    """A strict, frozen YAML mapping without unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid")


class HubClipCard(Card):
    """A CLIP on the Hugging Face hub, in open_clip's layout, at an exact commit."""

    hub: str
    revision: Commit
    weights: str = "open_clip_model.safetensors"


class ClipWeightsCard(Card):
    """Weights at an address, for an architecture that open_clip knows by name."""

    architecture: str
    url: str
    sha256: Sha256


class Splits(Card):
    """What a data set calls the two splits."""

    train: str = "train"
    test: str = "test"


class Counts(Card):
    """How many images the splits of the complete data set have; null where that is not checked."""

    train: Annotated[int, Field(ge=1)] | None = None
    test: Annotated[int, Field(ge=1)] | None = None


class ImagesCard(Card):
    """What every card of an image data set may say.

    Attributes:
        counts: checked when the data set is opened.
        renamed: class names of the data set that the class list has otherwise, with the name there.
    """

    counts: Counts = Counts()
    renamed: dict[str, str] = {}


class HubImagesCard(ImagesCard):
    """A data set on the Hugging Face hub at an exact commit, with the names of its columns."""

    hub: str
    revision: Commit
    config: str | None = None
    splits: Splits = Splits()
    image: str = "image"
    label: str = "label"


class TorchvisionImagesCard(ImagesCard):
    """A class of torchvision.datasets; torchvision checks the files it knows by their MD5."""

    torchvision: str
    root: str
    splits: Splits = Splits()
    download: bool = True


class LayoutImagesCard(ImagesCard):
    """A data set downloaded by hand, in the folder its archive unpacks to.

    DVC sees the card but not the folder, so a stage does not run again when files in it change.

    Attributes:
        layout: how that folder is arranged, see `infopursuit.embeddings.image_layouts`.
        root: the folder.
        wnids: of `imagenet` alone: the WordNet ids to use, each with the name of its class, in the
            order of the labels.
    """

    layout: Literal["cub200", "rival10", "imagenet", "stanford_cars"]
    root: str
    wnids: dict[Annotated[str, Field(pattern=r"^n[0-9]{8}$")], str] | None = None


CardType = TypeVar("CardType", bound=Card)


def read_card(path: str | Path, kinds: dict[str, type[CardType]]) -> CardType:
    """Read a card; the key that only one kind of card has decides which kind it is.

    Args:
        path: a YAML file.
        kinds: the deciding key of each kind, with its type.

    Raises:
        InputError: the file is missing or no YAML mapping, has none of the deciding keys, or a key
            is unknown, missing or of the wrong type.
    """
    try:
        with Path(path).open(encoding="utf-8") as file:
            raw = YAML(typ="safe").load(file)
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; expected a card") from error
    except (YAMLError, UnicodeDecodeError, OSError) as error:
        raise InputError(f"{path}: not valid YAML: {' '.join(str(error).split())}") from error
    found = [key for key in kinds if isinstance(raw, dict) and key in raw]
    if len(found) != 1:
        raise InputError(f"{path}: expected a card with one of the keys {', '.join(kinds)}")
    try:
        return kinds[found[0]].model_validate(raw)
    except ValidationError as error:
        first = error.errors()[0]
        key = ".".join(str(part) for part in first["loc"])
        raise InputError(f"{path}: {key}: {first['msg']}, found {first['input']!r}") from error
