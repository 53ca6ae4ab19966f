"""From pixels to a classifier, and from new pictures to its predictions.

import infopursuit

model = infopursuit.fit("photos")                       # CLASS/IMAGE, or train/ and test/ of these
model = infopursuit.fit(["a.png", "b.png"], ["cat", "dog"], texts, clip="ViT-L-14")
model.explain(["new.png"])[0]
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Float32

from infopursuit.clip.embed import cache_folder, embed_readable_pictures, embed_texts
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.clip.weights import clip_source
from infopursuit.core.errors import InputError, writable
from infopursuit.core.names import composed
from infopursuit.core.numbers import counted
from infopursuit.datasets.decoding import picture_list
from infopursuit.datasets.image_folders import (
    TEST_FRACTION,
    LabelledPictures,
    read_image_folder,
    with_splits,
)
from infopursuit.datasets.trained_on import remember
from infopursuit.estimators.base import names_of
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.questions.knowledge import BY_CLIP
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge import CSV_SUFFIX, read_knowledge_csv
from infopursuit.texts.normalization import distinct
from infopursuit.texts.vocabulary import phrase_kinds, visual_vocabulary

logger = logging.getLogger("infopursuit")

LISTED = 3


def fit(
    images: Any,
    classes: Any = None,
    texts: Sequence[str] | Mapping[str, str] | None = None,
    clip: str | Path = "ViT-B-32",
    pretrained: str = "openai",
    n_queries: int = 128,
    *,
    device: str = "auto",
    batch_size: int = 64,
    progress: bool = True,
    test_fraction: float = TEST_FRACTION,
    language_model: Any = None,
    answers_in: str | Path | None = None,
    **settings: Any,
) -> InformationPursuitClassifier:
    """Fit a classifier on pictures, all the way from pixels.

    Pictures that cannot be read are left out, with a warning; `provenance_["rejected"]` lists them.
    `provenance_["test_accuracy"]` is measured on the test images of a folder, which nothing is
    fitted on. The model knows its training images again, by their checksums.

    Args:
        images: a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE; or a list of
            pictures: files, encoded bytes, PIL images, arrays or tensors of pixels.
        classes: the label of each picture of a list; of a folder the names of the classes to use,
            None for all.
        texts: what may become a question; None for `infopursuit.texts.visual_vocabulary()`. A
            mapping gives questions in your own words, and the text that the CLIP embeds for each.
        clip: a model of open_clip by name, such as `ViT-L-14`; or a folder in its layout, or a YAML
            file that pins weights.
        pretrained: the tag of the weights, if `clip` is a name.
        n_queries: k, the size of the dictionary.
        device: where the CLIP computes: `auto`, `cpu` or `cuda`.
        batch_size: pictures and texts per batch of the CLIP.
        progress: whether to show a progress bar, if there is a terminal.
        test_fraction: the share of each class of a folder without `train` and `test` that are test
            images, those of the pipeline; 0 to fit on all. A list of pictures is fitted on as a
            whole.
        language_model: what is asked for questions that tell these classes apart, for what is true
            of the classes, and for its judgement of the questions chosen: the address and the name
            of a model on a server of OpenAI's chat completions, as a pair, or with a mapping of
            more fields of its requests as a third; `vllm:FOLDER` or `vllm:MODEL@REVISION`; or a
            `LanguageModel`. None to ask none. If its answers are of no use, an error is logged,
            and the model is as without it.
        answers_in: the folder where answers of the language model are kept; None for one in the
            cache folder.
        settings: others of InformationPursuitClassifier, such as `ban` or `stop`. `annotations` may
            be a file, or `Annotations` that name the pictures. `knowledge` is `clip` if neither
            texts nor a language model are given.

    Raises:
        InputError: the folder is malformed, labels and pictures are not equally many, a class has
            no readable picture, or the CLIP is not there and cannot be fetched.
    """
    train, test = labelled_pictures(images, classes, test_fraction)
    given, reference = list(visual_vocabulary() if texts is None else texts), None
    if texts is None and language_model is None:
        settings = {"knowledge": BY_CLIP, **settings}
    table = settings.get("knowledge")
    if texts is None and isinstance(table, str | Path) and Path(table).suffix == CSV_SUFFIX:
        given, reference = list(read_knowledge_csv(table).texts), given
    if language_model is not None and table is not None:
        raise InputError("knowledge and language_model: both say what is true; expected one")
    said, teaching = settings.pop("annotations", None), {}
    certified = settings.pop("certified", False)
    if isinstance(said, str | Path):
        said = read_annotations(said)
    helper = None
    if language_model is not None:  # a mistake is reported before images are embedded
        from infopursuit.estimators.language_model import LanguageModelHelp

        helper = LanguageModelHelp(language_model, answers_in or cache_folder() / "answers")
    source = clip_source(clip, pretrained)
    wanted = set(train.labels)
    if len(wanted) < 2:
        raise InputError(f"one class, {train.labels[0]!r}; expected two or more classes")
    model = InformationPursuitClassifier(list(given), None, n_queries, **settings)
    model.check_before_fit(sorted(wanted))
    tower = load_clip(source, device)
    rows, train, rejected, digests = _embedded(tower, train, batch_size, progress)
    missing = sorted(wanted - set(train.labels))
    if missing:
        raise InputError(f"the class {missing[0]!r} has no readable picture; expected at least one")
    asked: list[str] = []
    if helper is not None:
        names = sorted({str(each) for each in train.labels})
        logger.info("%s", helper.announce(names, n_queries, len(given) + n_queries))
        asked = helper.questions(names, n_queries)
        given = distinct([*given, *asked])
    own = texts if isinstance(texts, Mapping) else {}
    embedded = [own.get(each, each) for each in given]
    model.texts, model.text_embeddings = given, embed_texts(tower, embedded, batch_size, progress)
    if reference is not None:
        teaching["reference_embeddings"] = embed_texts(tower, reference, batch_size, progress)
    labels = np.array(train.labels)
    if isinstance(said, Annotations):
        names = names_of(train.pictures, len(train.pictures))
        others = [] if test is None else names_of(test.pictures, len(test.pictures))
        said = said.of_pictures([*names, *others])
        # Of test images alone they measure, and teach nothing.
        said = said.of_images(names) if said.about(names) else None
    teaching |= {"annotations": said, "certified": certified}
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "ban: nothing to ban")  # that was said before
        draft = BY_CLIP if texts is None else None
        model = (
            model.fit(rows, labels, **teaching)
            if helper is None
            else helper.fit(model, rows, labels, draft, **teaching)
        )
    remember(model.provenance_, train.pictures)
    model.clip_, model.clip_source_, model.clip_device_ = tower.name, source, device
    if test is not None and test.pictures:
        test_rows, test, unreadable, more = _embedded(tower, test, batch_size, progress)
        rejected |= unreadable
        digests += more
        model.provenance_["test_images"] = len(test.labels)
        model.provenance_["test_accuracy"] = float(model.score(test_rows, test.labels))
    _warn_of_copies(digests)
    model.provenance_["rejected"] = rejected
    if texts is None:
        shipped = phrase_kinds()
        model.provenance_["sources"] = {
            query: "visual vocabulary" if query in shipped else "language model"
            for query in model.queries_
            if query in shipped or query in asked
        }
    return model


def labelled_pictures(
    images: Any, classes: Any = None, test_fraction: float = TEST_FRACTION, tell: bool = True
) -> tuple[LabelledPictures, LabelledPictures | None]:
    """Return the pictures to fit on, and those to test on if a folder has some.

    Args and errors are those of `fit`; `tell` is that of `read_image_folder`.
    """
    if not 0 <= test_fraction < 1:
        raise InputError(f"test_fraction is {test_fraction!r}; expected at least 0, less than 1")
    if isinstance(images, str | Path):
        folder = read_image_folder(images, tell)
        chosen = set(map(composed, classes or ()))
        unknown = sorted(chosen - set(folder.class_names))
        if unknown:
            raise InputError(
                f"{images}: no class {unknown[0]!r}; expected some of "
                f"{', '.join(folder.class_names[:10])}"
            )
        if classes is not None:
            folder = folder.subset([r for r, each in enumerate(folder.labels) if each in chosen])
        if folder.splits is None:
            if not test_fraction:
                return folder, None
            folder = with_splits(Path(images), folder, test_fraction, tell)
            if "test" not in (folder.splits or ()):
                return folder, None
        return folder.split("train"), folder.split("test")
    pictures = picture_list(images)
    labels = [] if classes is None else list(classes)
    if len(labels) != len(pictures) or not pictures:
        raise InputError(
            f"{len(labels)} labels for {len(pictures)} pictures; expected one for each (a folder "
            "CLASS/IMAGE brings its own)"
        )
    return LabelledPictures(pictures, np.array(labels).tolist()), None


class _Named(NamedTuple):
    """A picture that may have copies: the SHA-256 of its bytes, its name, and what it counts as."""

    digest: str | None
    name: str
    label: Any
    split: str | None


def _warn_of_copies(pictures: Sequence[_Named]) -> None:
    """Warn of equal files under several names; first those of two classes, then of two splits."""
    first: dict[str, _Named] = {}
    copies: list[tuple[bool, bool, str]] = []
    for each in pictures:
        other = each if each.digest is None else first.setdefault(each.digest, each)
        if other is not each:
            of_class, of_split = each.label == other.label, each.split == other.split
            said = "" if of_class else f" (of the classes {other.label} and {each.label})"
            said = said or ("" if of_split else " (to fit on and to test on)")
            copies.append((of_class, of_split, f"{other.name} = {each.name}{said}"))
    if copies:
        listed = "; ".join(said for *_, said in sorted(copies)[:LISTED])
        warnings.warn(
            f"{counted(len(copies), 'picture')} with the bytes of another, by another name: "
            f"{listed}",
            UserWarning,
            stacklevel=3,
        )


def _embedded(
    clip: Clip, given: LabelledPictures, batch_size: int, progress: bool
) -> tuple[Float32[np.ndarray, "m d"], LabelledPictures, dict[str, str], list[_Named]]:
    """Return embeddings of the readable pictures, these, why others are not, and all by content."""
    embedded = embed_readable_pictures(clip, given.pictures, batch_size, progress)
    names = names_of(given.pictures, len(given.pictures))
    # The name of a file may be no text that UTF-8 can hold.
    rejected = {writable(names[row]): why for row, why in sorted(embedded.rejected.items())}
    if rejected:
        first = "; ".join(f"{name}: {why}" for name, why in list(rejected.items())[:LISTED])
        warnings.warn(
            f"{len(rejected)} of {len(given.pictures)} pictures cannot be read and are left out "
            f"({first})",
            UserWarning,
            stacklevel=4,
        )
    splits = given.splits or [None] * len(names)
    named = [
        _Named(embedded.digests[row], names[row], given.labels[row], splits[row])
        for row in embedded.rows
    ]
    return embedded.embeddings, given.subset(embedded.rows), rejected, named
