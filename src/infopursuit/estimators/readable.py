"""What a fitted model takes of what a person gives: rows as they are, pictures as its CLIP sees."""

from __future__ import annotations

from typing import TYPE_CHECKING

from infopursuit.core.errors import InputError
from infopursuit.datasets.samples import Readable, Samples
from infopursuit.datasets.table_columns import Wanted
from infopursuit.estimators.base import PursuitClassifier

if TYPE_CHECKING:
    from infopursuit.clip.towers import Clip


def wanted_by(model: PursuitClassifier) -> Wanted | None:
    """Return which columns a model asks about; None if it asks about images."""
    if not model.pursuit_.rule.of_tables:
        return None
    names, facts = getattr(model, "feature_names_in_", None), model.provenance_
    columns = None if names is None else [str(name) for name in names]
    return Wanted(columns, model.n_features_in_, facts.get("label"), facts.get("named_by"))


def clip_of(model: PursuitClassifier) -> Clip:
    """Return the CLIP that embeds the pictures of a model."""
    from infopursuit.clip.towers import model_clip

    return model_clip(model.clip_source_, model.clip_, model.clip_device_)


def readable(model: PursuitClassifier, samples: Samples, where: bool = False) -> Readable:
    """Return what can be read of what was given, with rows.

    Args:
        model: that takes it.
        samples: with pictures, or with rows.
        where: whether to map where in the pictures something speaks for each question.

    Raises:
        InputError: the embeddings are of another CLIP, rows have no places, or the model does not
            know its CLIP.
    """
    if samples.rows is None:
        from infopursuit.clip.embed import embed_samples
        from infopursuit.estimators.places import directions

        along = directions(model) if where else None
        return embed_samples(clip_of(model), samples, directions=along)
    if where:
        raise InputError("--where: rows do not say where anything is; expected pictures")
    if None not in (samples.clip, model.clip_) and samples.clip != model.clip_:
        raise InputError(
            f"{samples.where}: embedded by {samples.clip}; the model was fitted with "
            f"{model.clip_}: expected one CLIP for both"
        )
    return Readable(samples)
