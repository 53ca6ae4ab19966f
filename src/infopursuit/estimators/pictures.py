"""From pixels to a classifier, and from new pictures to its predictions.

import infopursuit

model = infopursuit.fit("photos")                       # CLASS/IMAGE, or train/ and test/ of these
model = infopursuit.fit(["a.png", "b.png"], ["cat", "dog"], texts, clip="ViT-L-14")
model.explain(["new.png"])[0]
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import numpy as np

from infopursuit.clip.weights import clip_source
from infopursuit.core.defaults import own_defaults
from infopursuit.core.errors import InputError
from infopursuit.core.names import composed
from infopursuit.datasets.decoding import picture_list
from infopursuit.datasets.embedding_files import of_classes
from infopursuit.datasets.image_folders import TEST_FRACTION, read_image_folder, splits_of
from infopursuit.datasets.image_source import SPLITS
from infopursuit.datasets.labels import with_labels
from infopursuit.datasets.packed_pictures import is_packed, read_packed
from infopursuit.datasets.samples import Samples, names_of, of_list
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.estimators.plan import Embedding, Plan, carry_out

HOW = tuple(each.name for each in fields(Embedding) if each.name != "source")


@own_defaults
def fit(
    images: Any,
    classes: Any = None,
    texts: Sequence[str] | Mapping[str, str] | None = None,
    clip: str | Path = "ViT-B-32",
    pretrained: str = "openai",
    n_queries: int = 128,
    *,
    test_fraction: float = TEST_FRACTION,
    language_model: Any = None,
    **settings: Any,
) -> InformationPursuitClassifier:
    """Fit a classifier on pictures, all the way from pixels.

    Pictures that cannot be read are left out, with a warning; `provenance_["rejected"]` lists them.
    `provenance_["test_accuracy"]` is measured on the test images of a folder, which nothing is
    fitted on. The model knows its training images again, by their checksums.

    Args:
        images: a folder CLASS/IMAGE, or train/CLASS/IMAGE and test/CLASS/IMAGE; Parquet, tars or a
            data set of the hub (`infopursuit.datasets.packed_pictures`); or a list of pictures:
            files, encoded bytes, PIL images, arrays or tensors of pixels.
        classes: the label of each picture of a list; of a folder the names of the classes to use,
            None for all.
        texts: what may become a question; None for `infopursuit.texts.visual_vocabulary()`. A
            mapping gives questions in your own words, and the text that the CLIP embeds for each.
        clip: a model of open_clip by name, such as `ViT-L-14`; or a folder in its layout, or a YAML
            file that pins weights.
        pretrained: the tag of the weights, if `clip` is a name.
        n_queries: k, the size of the dictionary.
        test_fraction: the share of each class of a folder without `train` and `test` that are test
            images, those of the pipeline; 0 to fit on all. A list of pictures is fitted on as a
            whole.
        language_model: what is asked for questions that tell these classes apart, and for what is
            true of the classes: the address and the name of a model on a server of OpenAI's chat
            completions, as a pair, or with a mapping of more fields of its requests as a third;
            `vllm:FOLDER` or `vllm:MODEL@REVISION`; or a `LanguageModel`. None to ask none. If its
            answers are of no use, an error is logged, and the model is as without it.
        settings: those of `estimators.plan.Embedding`, `device`, `batch_size` and `progress`;
            `answers_in`, the folder where answers of the language model are kept, None for one in
            the cache folder; and others of InformationPursuitClassifier, such as `ban` or `stop`.
            `annotations` may be a file, or `Annotations` that name the pictures. `knowledge` is
            `clip` if neither texts nor a language model are given.

    Raises:
        InputError: the folder is malformed, labels and pictures are not equally many, a class has
            no readable picture, or the CLIP is not there and cannot be fetched.
    """
    train, test = labelled_pictures(images, classes, test_fraction)
    how = {name: settings.pop(name) for name in HOW if name in settings}
    answers_in = settings.pop("answers_in", None)
    plan = Plan(
        {"n_queries": n_queries, **settings},
        texts,
        Embedding(clip_source(clip, pretrained), **how),
        language_model=language_model,
        answers_in=answers_in,
    )
    return carry_out(plan, train, test).classifier


def labelled_pictures(
    images: Any, classes: Any = None, test_fraction: float = TEST_FRACTION, label: str | None = None
) -> tuple[Samples, Samples | None]:
    """Return the pictures to fit on, and those to test on if a folder has some.

    Args and errors are those of `fit`; `label` is the column of the classes, if Parquet files have
    several.
    """
    if not 0 <= test_fraction < 1:
        raise InputError(f"test_fraction is {test_fraction!r}; expected at least 0, less than 1")
    if isinstance(images, str | Path):
        return _of_path(images, classes, test_fraction, label)
    pictures = picture_list(images)
    labels = [] if classes is None else list(classes)
    if len(labels) != len(pictures) or not pictures:
        raise InputError(
            f"{len(labels)} labels for {len(pictures)} pictures; expected one for each (a folder "
            "CLASS/IMAGE brings its own)"
        )
    names = names_of(pictures, len(pictures))
    samples = Samples("images", names, np.array(labels).tolist(), pictures=of_list(pictures))
    return samples, None


def _of_path(
    images: str | Path, classes: Any, test_fraction: float, label: str | None
) -> tuple[Samples, Samples | None]:
    packed = is_packed(images)
    if packed:
        samples = _several_of_each(with_labels(read_packed(images, label)))
        names = samples.ids
    else:
        samples = read_image_folder(images)
        files = samples.some_pictures()
        samples = replace(samples, ids=list(map(str, files)))
        names = [file.relative_to(images).as_posix() for file in files]
    split = samples.splits is None and test_fraction > 0
    if split:
        samples = replace(samples, splits=splits_of(names, samples.classes, test_fraction))
    if classes is not None:
        names = [str(each) for each in samples.classes]
        known, chosen = sorted(set(names)), set(map(composed, classes))
        unknown = sorted(chosen - set(known))
        if unknown:
            raise InputError(
                f"{images}: no class {unknown[0]!r}; expected some of {', '.join(known[:10])}"
            )
        samples = samples.subset([row for row, name in enumerate(names) if name in chosen])
    if samples.splits is None:
        return samples, None
    train, test = (samples.split(name) for name in SPLITS)
    if train is None:
        raise InputError(f"{images}: no images of the split 'train'; found 'test' alone")
    if test is not None and (split or packed):
        test = of_classes(images, train, test)
    return train, test


def _several_of_each(samples: Samples) -> Samples:
    classes = set(samples.classes)
    if len(classes) > max(len(samples) / 2, 2):
        raise InputError(
            f"{samples.where}: {len(classes)} classes of {len(samples)} pictures, such as "
            f"{samples.classes[0]!r}; expected several pictures of each class"
        )
    return samples
