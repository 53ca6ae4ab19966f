"""What a YAML file says of a data set: where it is, at which version, how its parts are called.

The file is the dependency that DVC sees, so all that decides which images are read is written in
it: an exact commit of a hub repository, a data set of torchvision, a folder and its layout.
"""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from infopursuit.core.settings import Section


class Splits(Section):
    """What a data set calls the two splits."""

    train: str = "train"
    test: str = "test"


class Counts(Section):
    """How many images the splits of the complete data set have; null where that is not checked."""

    train: Annotated[int, Field(ge=1)] | None = None
    test: Annotated[int, Field(ge=1)] | None = None


class PinnedDataset(Section):
    """What the file may say of any data set.

    Attributes:
        counts: checked when the data set is opened.
        renamed: class names of the data set that the class list has otherwise, with the name there.
    """

    counts: Counts = Counts()
    renamed: dict[str, str] = Field(default_factory=dict)


class HubDataset(PinnedDataset):
    """A data set on the Hugging Face hub at an exact commit, with the names of its columns."""

    hub: str
    revision: Annotated[str, Field(pattern=r"^[0-9a-f]{40}$")]
    config: str | None = None
    splits: Splits = Splits()
    image: str = "image"
    label: str = "label"


class DiskDataset(PinnedDataset):
    """A folder that `save_to_disk` of the library `datasets` wrote.

    Attributes:
        disk: the folder.
        splits: what it calls the two splits.
        image: its column of images, null for the only one.
        label: its column of labels, null for the only one with class names, or `label`.
    """

    disk: str
    splits: Splits = Splits()
    image: str | None = None
    label: str | None = None


class TorchvisionDataset(PinnedDataset):
    """A class of torchvision.datasets; torchvision checks the files it knows by their MD5."""

    torchvision: str
    root: str
    splits: Splits = Splits()
    download: bool = True


class LayoutDataset(PinnedDataset):
    """A data set downloaded by hand, in the folder its archive unpacks to.

    DVC sees the YAML file but not the folder, so a stage does not run again when files in it
    change.

    Attributes:
        layout: how that folder is arranged, see `infopursuit.datasets.published_layouts`.
        root: the folder.
        wnids: of `imagenet` alone: the WordNet ids to use, each with the name of its class, in the
            order of the labels.
    """

    layout: Literal["cub200", "rival10", "imagenet", "stanford_cars"]
    root: str
    wnids: dict[Annotated[str, Field(pattern=r"^n[0-9]{8}$")], str] | None = None


# The key that only one kind has decides which it is.
KINDS: dict[str, type[PinnedDataset]] = {
    "hub": HubDataset,
    "disk": DiskDataset,
    "torchvision": TorchvisionDataset,
    "layout": LayoutDataset,
}
