"""From pixels to a classifier, and from new pictures to its predictions.

import infopursuit

model = infopursuit.fit("photos")                       # CLASS/IMAGE, or train/ and test/ of these
model = infopursuit.fit(["a.png", "b.png"], ["cat", "dog"], texts, clip="ViT-L-14")
model.explain(["new.png"])[0]
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any

import numpy as np
from jaxtyping import Float32

from infopursuit.clip.pictures import embed_pictures, embed_readable_pictures
from infopursuit.clip.pretrained import open_clip_model
from infopursuit.clip.text_cache import embed_texts
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import picture_list
from infopursuit.datasets.image_folders import ImageFolder, read_image_folder
from infopursuit.estimators.base import PursuitClassifier
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.estimators.inputs import names_of
from infopursuit.queries.visual_vocabulary import visual_vocabulary

TOLD = 3


@dataclass(frozen=True)
class Labelled:
    """n pictures with their labels and names."""

    pictures: list[Any]
    labels: np.ndarray
    names: list[str]

    def rows(self, places: Sequence[int]) -> Labelled:
        """Some of them."""
        return Labelled(
            [self.pictures[place] for place in places],
            self.labels[list(places)],
            [self.names[place] for place in places],
        )


def fit(
    images: Any,
    classes: Any = None,
    texts: Sequence[str] | None = None,
    clip: str | Path = "ViT-B-32",
    pretrained: str = "openai",
    n_queries: int = 128,
    *,
    device: str = "auto",
    batch_size: int = 64,
    progress: bool = True,
    **settings: Any,
) -> InformationPursuitClassifier:
    """Fit a classifier on pictures, all the way from pixels.

    Pictures that cannot be read are left out, with a warning; `provenance_["rejected"]` lists them.
    Where a folder has test images, `provenance_["test_accuracy"]` is measured on them.

    Args:
        images: a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE; or a list of
            pictures: files, encoded bytes, PIL images, arrays or tensors of pixels.
        classes: the label of each picture of a list; of a folder the names of the classes to use,
            None for all.
        texts: what may become a question; None for `infopursuit.texts.visual_vocabulary()`.
        clip: a model of open_clip by name, such as `ViT-L-14`; or a folder in its layout, or a YAML
            file that pins weights.
        pretrained: the tag of the weights, where `clip` is a name.
        n_queries: k, the size of the dictionary.
        device: where the CLIP computes: `auto`, `cpu` or `cuda`.
        batch_size: pictures and texts per batch of the CLIP.
        progress: whether to show a progress bar, where there is a terminal.
        settings: others of InformationPursuitClassifier, such as `ban` or `stop`.

    Raises:
        InputError: the folder is malformed, labels and pictures are not equally many, a class has
            no readable picture, or the CLIP is not there and cannot be fetched.
    """
    train, test = labelled_pictures(images, classes)
    given = visual_vocabulary() if texts is None else texts
    source = clip_source(clip, pretrained)
    tower = load_clip(source, device)
    wanted = set(train.labels.tolist())
    rows, train, rejected = _embedded(tower, train, batch_size, progress)
    missing = sorted(wanted - set(train.labels.tolist()))
    if missing:
        raise InputError(f"the class {missing[0]!r} has no readable picture; expected at least one")
    text_rows = embed_texts(tower, given, batch_size, progress)
    model = InformationPursuitClassifier(list(given), text_rows, n_queries, **settings)
    model.fit(rows, train.labels)
    model.clip_, model.clip_source_, model.clip_device_ = tower.name, source, device
    if test is not None:
        rows, test, unreadable = _embedded(tower, test, batch_size, progress)
        rejected |= unreadable
        model.provenance_["test_images"] = len(test.labels)
        model.provenance_["test_accuracy"] = float(model.score(rows, test.labels))
    model.provenance_["rejected"] = rejected
    if texts is None:
        model.provenance_["sources"] = dict.fromkeys(model.queries_, "visual vocabulary")
    return model


def labelled_pictures(images: Any, classes: Any = None) -> tuple[Labelled, Labelled | None]:
    """The pictures to fit on, and those to test on where a folder has some.

    Args and errors are those of `fit`.
    """
    if isinstance(images, str | Path):
        folder = read_image_folder(images)
        unknown = sorted(set(classes or ()) - set(folder.class_names))
        if unknown:
            raise InputError(
                f"{images}: no class {unknown[0]!r}; expected some of "
                f"{', '.join(folder.class_names[:10])}"
            )
        if folder.splits is None:
            return _of_folder(folder, classes), None
        return (
            _of_folder(folder.split("train"), classes),
            _of_folder(folder.split("test"), classes),
        )
    pictures = picture_list(images)
    labels = [] if classes is None else list(classes)
    if len(labels) != len(pictures) or not pictures:
        raise InputError(
            f"{len(labels)} labels for {len(pictures)} pictures; expected one for each (a folder "
            "CLASS/IMAGE brings its own)"
        )
    return Labelled(pictures, np.array(labels), names_of(pictures, len(pictures))), None


def _of_folder(folder: ImageFolder, classes: Sequence[str] | None) -> Labelled:
    kept = [
        row for row, label in enumerate(folder.labels) if classes is None or label in set(classes)
    ]
    files: list[Any] = [folder.files[row] for row in kept]
    labels = np.array([folder.labels[row] for row in kept])
    return Labelled(files, labels, [str(file) for file in files])


def _embedded(
    clip: Clip, given: Labelled, batch_size: int, progress: bool
) -> tuple[Float32[np.ndarray, "m d"], Labelled, dict[str, str]]:
    """Embeddings of the readable pictures, these, and why the others are not."""
    found = embed_readable_pictures(clip, given.pictures, batch_size, progress)
    rejected = {given.names[row]: reason for row, reason in sorted(found.rejected.items())}
    if rejected:
        first = "; ".join(f"{name}: {why}" for name, why in list(rejected.items())[:TOLD])
        warnings.warn(
            f"{len(rejected)} of {len(given.pictures)} pictures cannot be read and are left out "
            f"({first})",
            UserWarning,
            stacklevel=3,
        )
    return found.embeddings, given.rows(found.rows), rejected


def clip_source(clip: str | Path, pretrained: str = "openai") -> str:
    """Where a CLIP is, as `load_clip` takes it from any folder: ARCHITECTURE:TAG or a whole path.

    Raises:
        InputError: it is neither a path nor a name that open_clip knows.
    """
    if Path(clip).exists() or Path(clip).suffix in (".yaml", ".yml", ".parquet"):
        return str(Path(clip).resolve())
    name, _, tag = str(clip).partition(":")
    return str(open_clip_model(name, tag or pretrained))


def embed_for(model: PursuitClassifier, pictures: Any) -> Float32[np.ndarray, "n d"]:
    """Unit-norm embeddings of pictures by the CLIP of a model.

    Raises:
        InputError: the model does not know its CLIP, it is not where it was or another one, or a
            picture cannot be read.
    """
    single = isinstance(pictures, (Path, bytes))
    return embed_pictures(clip_of(model), [pictures] if single else pictures)


def clip_of(model: PursuitClassifier) -> Clip:
    """The CLIP of a model, loaded once for all models that have it.

    Raises:
        InputError: as `embed_for` says of the CLIP.
    """
    source = model.clip_source_
    if source is None:
        named = f" ({model.clip_})" if model.clip_ else ""
        raise InputError(
            f"the model does not know where its CLIP{named} is; expected embeddings, or a model "
            "that infopursuit.load(..., clip=...) was told of it"
        )
    if Path(source).is_absolute() and not Path(source).exists():
        raise InputError(
            f"{source}: the CLIP of the model is not there; pass its path to "
            f"infopursuit.load(..., clip=...): {model.clip_ or 'the one it was fitted with'}"
        )
    clip = _loaded(source, model.clip_device_)
    if None not in (clip.name, model.clip_) and clip.name != model.clip_:
        raise InputError(f"{source} is {clip.name}; the model was fitted with {model.clip_}")
    return clip


@lru_cache(maxsize=2)
def _loaded(source: str, device: str) -> Clip:
    return load_clip(source, device)
