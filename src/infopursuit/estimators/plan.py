"""A plan of fitting: its settings, and what carries it out on pictures or embeddings.

plan = Plan({"n_queries": 32}, texts, Embedding(clip_source("ViT-B-32")))
carry_out(plan, train, test).classifier
"""

from __future__ import annotations

import logging
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from infopursuit.clip.embed import cache_folder, embed_samples, embed_texts
from infopursuit.clip.towers import load_clip
from infopursuit.core.devices import log_where_it_computes
from infopursuit.core.errors import InputError, writable
from infopursuit.core.numbers import counted
from infopursuit.datasets.image_folders import of_objects
from infopursuit.datasets.samples import Readable, Samples
from infopursuit.datasets.trained_on import remember
from infopursuit.datasets.trained_on import seen as seen_in_fit
from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.texts.annotations import Annotations, read_annotations
from infopursuit.texts.knowledge import read_knowledge_csv
from infopursuit.texts.knowledge_files import CSV_SUFFIX
from infopursuit.texts.normalization import distinct
from infopursuit.texts.vocabulary import phrase_kinds, visual_vocabulary

logger = logging.getLogger("infopursuit")

LISTED = 3


@dataclass(frozen=True)
class Embedding:
    """How a CLIP embeds pictures and texts.

    Attributes:
        source: where it is, as `clip_source` returns it.
        device: where it computes: `auto`, `cpu` or `cuda`.
        batch_size: pictures and texts per batch.
        progress: whether to show a progress bar, if there is a terminal.
    """

    source: str
    device: str = "auto"
    batch_size: int = 64
    progress: bool = True


class EmbeddedTexts(NamedTuple):
    """Texts that are embedded already."""

    texts: list[str]
    embeddings: np.ndarray  # (u, d)
    clip: str | None = None  # the CLIP that they come from, by name


@dataclass(frozen=True)
class Plan:
    """What to fit, and with which help.

    Attributes:
        settings: of InformationPursuitClassifier, and `annotations` of its `fit`, which may be a
            file, or `Annotations` that name the images.
        texts: what may become a question, a mapping for questions in other words than the text
            that is embedded, or embedded already; None for `visual_vocabulary()`.
        embedding: the CLIP; None if all is embedded, and no CLIP is known.
        language_model: as `infopursuit.fit` takes it.
        answers_in: the folder where its answers are kept; None for one in the cache folder.
    """

    settings: Mapping[str, Any]
    texts: Sequence[str] | Mapping[str, str] | EmbeddedTexts | None = None
    embedding: Embedding | None = None
    language_model: Any = None
    answers_in: str | Path | None = None


class Fitted(NamedTuple):
    """A model, and the images that tell how good it is."""

    classifier: InformationPursuitClassifier
    test: Samples | None  # that can be read, with embeddings
    annotations: Annotations | None  # under the names of the images


def carry_out(plan: Plan, train: Samples, test: Samples | None = None) -> Fitted:
    """Fit a classifier, and measure it on test images.

    Args:
        plan: the settings.
        train: pictures, or embeddings, with their classes.
        test: the same; None for none.

    Raises:
        InputError: a setting is wrong, a class has no readable picture, or the CLIP is not there
            and cannot be fetched.
    """
    seen = train.rows is None
    texts, reference, settings = _questions(plan)
    annotations, teaching = settings.pop("annotations", None), {}
    if isinstance(annotations, str | Path):
        annotations = read_annotations(annotations)
    if isinstance(annotations, Annotations):
        annotations = annotations.of_pictures([*train.ids, *([] if test is None else test.ids)])
    helper = None
    if plan.language_model is not None:  # a mistake is reported before images are embedded
        from infopursuit.estimators.language_model import LanguageModelHelp

        kept_in = plan.answers_in or cache_folder() / "answers"
        helper = LanguageModelHelp(plan.language_model, kept_in)
    classes = set(train.labels.tolist())
    if seen and len(classes) < 2:
        raise InputError(
            f"one class, {train.classes[0]!r}; expected two or more classes, a folder for each, or "
            f"a CSV file with the columns path and label{of_objects(Path(train.where))}"
        )
    model = InformationPursuitClassifier(texts).set_params(**settings)
    tower = None
    if seen or not isinstance(plan.texts, EmbeddedTexts):
        model.check_before_fit(sorted(classes))
        tower = _Tower(plan.embedding)
    of_train = Readable(train) if tower is None else tower.readable(train)
    train = of_train.samples
    missing = sorted(classes - set(train.labels.tolist())) if seen else []
    if missing:
        first = next((f" ({name}: {why})" for name, why in of_train.rejected.items()), "")
        raise InputError(
            f"the class {missing[0]!r} has no readable picture{first}; expected at least one"
        )
    invented: list[str] = []
    if helper is not None:
        names = sorted({str(each) for each in train.labels.tolist()})
        most = len(texts) + (model.n_queries if seen else 0)
        logger.info("%s", helper.announce(names, model.n_queries, most, seen))
        invented = helper.questions(names, model.n_queries) if seen else []
        texts = distinct([*texts, *invented])
    if isinstance(plan.texts, EmbeddedTexts):
        model.text_embeddings = plan.texts.embeddings
    elif tower is not None:
        own = plan.texts if isinstance(plan.texts, Mapping) else {}
        model.texts = texts
        model.text_embeddings = tower.embedded([own.get(each, each) for each in texts])
        if reference is not None:
            teaching["reference_embeddings"] = tower.embedded(reference)
    teaching["annotations"] = annotations
    if isinstance(annotations, Annotations):
        about = annotations.about(train.ids)
        teaching["annotations"] = annotations.of_images(train.ids) if about else None
    with warnings.catch_warnings():
        if tower is not None:  # that was said before
            warnings.filterwarnings("ignore", "ban: nothing to ban")
        if helper is None:
            model.fit(train.rows, train.labels, **teaching)
        else:
            helper.fit(model, train.rows, train.labels, **teaching)
    remember(model.provenance_, train.some_pictures() if seen else train.rows)
    if tower is not None:
        model.clip_, model.clip_device_ = tower.clip.name, tower.how.device
    elif isinstance(plan.texts, EmbeddedTexts):
        model.clip_ = plan.texts.clip
    if plan.embedding is not None:
        model.clip_source_ = plan.embedding.source
    read = [of_train]
    if test is not None and test.ids:
        read.append(Readable(test) if tower is None else tower.readable(test))
        test = _not_fitted_on(model.provenance_, read[-1].samples)
        if test.ids:
            model.provenance_["test_images"] = len(test.ids)
            posterior = model.predict_proba(test.rows)
            right = model.classes_[posterior.argmax(axis=1)] == test.labels
            model.provenance_["test_accuracy"] = float(right.mean())
            model.provenance_["test_confidence"] = float(posterior.max(axis=1).mean())
    if seen:
        _warn_of_copies(read)
        rejected = {name: why for each in read for name, why in each.rejected.items()}
        model.provenance_["rejected"] = rejected
    if plan.texts is None:
        shipped = phrase_kinds()
        model.provenance_["sources"] = {
            query: "visual vocabulary" if query in shipped else "language model"
            for query in model.queries_
            if query in shipped or query in invented
        }
    return Fitted(model, test, annotations if isinstance(annotations, Annotations) else None)


def _not_fitted_on(provenance: dict[str, Any], test: Samples) -> Samples:
    """Return the test images that are no training images, too; say how many are."""
    fitted_on = seen_in_fit(provenance, test.some_pictures() or test.rows)
    if not fitted_on.any():
        return test
    of_others = "accuracy is that of the others" if not fitted_on.all() else "there is no accuracy"
    warnings.warn(
        f"{fitted_on.sum()} of {counted(len(test.ids), 'test image')} were fitted on, too: "
        f"{of_others}",
        UserWarning,
        stacklevel=4,
    )
    return test.subset(np.flatnonzero(~fitted_on).tolist())


def _questions(plan: Plan) -> tuple[list[str], list[str] | None, dict[str, Any]]:
    """Return what may become a question, what its scores are relative to, and the settings."""
    settings, reference = dict(plan.settings), None
    if isinstance(plan.texts, EmbeddedTexts):
        texts = plan.texts.texts
    else:
        texts = list(visual_vocabulary() if plan.texts is None else plan.texts)
    table = settings.get("knowledge")
    if plan.texts is None and isinstance(table, str | Path) and Path(table).suffix == CSV_SUFFIX:
        texts, reference = list(read_knowledge_csv(table).texts), texts
    if plan.language_model is not None and table is not None:
        raise InputError("knowledge and language_model: both say what is true; expected one")
    return texts, reference, settings


class _Tower:
    def __init__(self, how: Embedding | None) -> None:
        assert how is not None  # a plan without one has embeddings of images and texts
        self.how, self.clip = how, load_clip(how.source, how.device)
        log_where_it_computes(how.device)

    def embedded(self, texts: Sequence[str]) -> np.ndarray:
        return embed_texts(self.clip, texts, self.how.batch_size, self.how.progress)

    def readable(self, images: Samples) -> Readable:
        """Return what can be read of given images; warn of the others."""
        if images.rows is not None:
            return Readable(images)
        read = embed_samples(self.clip, images, self.how.batch_size, self.how.progress)
        # The name of a file may be no text that UTF-8 can hold.
        rejected = {writable(name): why for name, why in read.rejected.items()}
        if rejected:
            first = "; ".join(f"{name}: {why}" for name, why in list(rejected.items())[:LISTED])
            warnings.warn(
                f"{len(rejected)} of {len(images.ids)} pictures cannot be read and are left out "
                f"({first})",
                UserWarning,
                stacklevel=4,
            )
        return read._replace(rejected=rejected)


class _Named(NamedTuple):
    """A picture that may have copies: the SHA-256 of its bytes, its name, and what it counts as."""

    digest: str | None
    name: str
    label: Any
    split: str | None


def _warn_of_copies(read: Sequence[Readable]) -> None:
    """Warn of equal files under several names; first those of two classes, then of two splits."""
    pictures = [
        _Named(digest, name, label, split)
        for images, _, digests, _ in read
        for digest, name, label, split in zip(
            digests, images.ids, images.classes, images.splits or [None] * len(digests), strict=True
        )
    ]
    first: dict[str, _Named] = {}
    copies: list[tuple[bool, bool, str]] = []
    for each in pictures:
        other = each if each.digest is None else first.setdefault(each.digest, each)
        if other is not each:
            of_class, of_split = each.label == other.label, each.split == other.split
            differs = "" if of_class else f" (of the classes {other.label} and {each.label})"
            differs = differs or ("" if of_split else " (to fit on and to test on)")
            copies.append((of_class, of_split, f"{other.name} = {each.name}{differs}"))
    if copies:
        listed = "; ".join(pair for *_, pair in sorted(copies)[:LISTED])
        warnings.warn(
            f"{counted(len(copies), 'picture')} with the bytes of another, by another name: "
            f"{listed}",
            UserWarning,
            stacklevel=4,
        )
