"""What goes into a page: a model, samples of its images, and all within the limit of its size."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, cast

import numpy as np
import torch
from jaxtyping import Float, Integer
from torch import Tensor, nn

from infopursuit.core.errors import InputError, writable
from infopursuit.core.numbers import counted
from infopursuit.datasets.decoding import UnreadableError, thumbnail
from infopursuit.explorer import payload
from infopursuit.pursuit.answers.rules import AnswerRule
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.explanation import LEAST_CONFORMITY
from infopursuit.pursuit.gaussian.histories import LEAST
from infopursuit.pursuit.gaussian.information import MOST, NEGLIGIBLE, REACH, STEP
from infopursuit.pursuit.gaussian.levels import LevelAnswers
from infopursuit.pursuit.gaussian.model import (
    CANDIDATES,
    GaussianClassifier,
    GaussianQuerier,
)
from infopursuit.pursuit.gaussian.model import ROUNDING as SCORES_ROUNDING
from infopursuit.pursuit.gaussian.scores import TOLD
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.pursuit.vip.networks import HistoryNetwork
from infopursuit.texts.knowledge import KnowledgeTable
from infopursuit.texts.normalization import normalize
from infopursuit.texts.vocabulary import phrase_kinds

logger = logging.getLogger("infopursuit")

# Samples with pictures, if there is room for them.
TEST, TRAIN = 200, 100
# The share of the samples that may be chosen because they are wrong: people want to see these.
WRONG_SHARE = 1 / 3
# The share of the room for pictures that test images get.
TEST_SHARE = 0.7
# Test images besides the samples whose answers the page counts.
SCORED = 10_000
UNKNOWN = -1
# Numbers in the networks of one model that the page still takes with it: 2 MiB.
SMALL = 2**19
# What a source of the universe, KIND/NAME, is called; any other is called as it is.
KINDS = {
    "corpus": "captions",
    "dictionary": "class prompts",
    "list": "a list",
    "kept": "kept by your choice",
}
# Cells of a knowledge table that the page still takes with it.
KNOWN = 2**21
# A table of more questions times classes is written as codes if each question has few rates.
LARGE, MOST_COLORS = 2**18, 256
VOCABULARY = "visual vocabulary"

# Gives the maps of pictures, uint8 (n, k, h, w), and which part of each they are of.
Mapper = Callable[[Sequence[Any]], tuple[np.ndarray, list[tuple[float, float, float, float]]]]
# Gives the pictures of some rows.
Pictures = Callable[[Sequence[int]], Sequence[Any]]


@dataclass(frozen=True)
class Chosen:
    """How many images of each split the page shows, and how many bytes the payload may have."""

    test: int = TEST
    train: int = TRAIN
    limit: int | None = None


def contents(
    model: tuple[Pursuit, Facts],
    test: AnsweredImages,
    train: AnsweredImages | None = None,
    title: str = "Explorer",
    served: bool = False,
    chosen: Chosen = Chosen(),
    key: bool = False,
) -> payload.Payload:
    """Return the payload of a page; with `key`, of one that only asks a person.

    Samples are spread over the classes; the last of them are wrong predictions. If pictures do not
    all fit into the limit, the last ones are left out, which is logged; test images that are not
    shown count in accuracies.
    """
    pursuit = model[0]
    about = described(*model)
    if about.kind == "server" and not served:
        raise InputError(
            f"{about.name}: the page cannot compute what its {pursuit.querier.kind} asks; expected "
            "`infopursuit serve`, or a model of the library's own"
        )
    order = _samples_first(model, test, chosen.test)
    samples = order[: chosen.test]
    rest = scored(pursuit, test.rows(sorted(order[len(samples) :])))
    empty = payload.Payload(
        format=payload.FORMAT,
        title=writable(title),
        served=served,
        key=key,
        noun=pursuit.noun,
        model=about,
        images=payload.Images(test=[], train=[], scored=rest),
    )
    room = _room(empty, chosen)
    first = page_images(model, test.rows(samples), None if room is None else int(TEST_SHARE * room))
    if len(first) < len(samples):  # what has no picture is counted all the same
        rest = scored(pursuit, test.rows(sorted(order[len(first) :])))
        empty = empty.model_copy(update={"images": payload.Images(test=[], train=[], scored=rest)})
        room = _room(empty, chosen)
    if room is not None:
        room -= sum(len(each.model_dump_json()) + 1 for each in first)
    second: list[payload.Image] = []
    if train is not None:
        others = spread(train.labels)[: chosen.train]
        second = page_images(model, train.rows(others), room)
        _log_left_out("training", len(second), len(others))
    _log_left_out("test", len(first), len(samples))
    images = payload.Images(test=first, train=second, scored=rest, fitted=test.fitted)
    return empty.model_copy(update={"images": images})


def _samples_first(model: tuple[Pursuit, Facts], test: AnsweredImages, count: int) -> list[int]:
    """Return all rows: the samples, of which some are wrong predictions, then the others."""
    order = spread(test.labels)
    pursuit, facts = model
    if len(order) <= count:
        return order
    ending = pursuit.ask_until(test.answers.to(pursuit.device), facts.stop)
    predicted = ending.posterior.argmax(dim=1).cpu().numpy()
    wrong = {row for row in order if test.labels[row] not in (UNKNOWN, predicted[row])}
    plain = count - min(len(wrong), int(WRONG_SHARE * count))
    # The sort is stable: the wrong ones keep the order of the spread.
    return order[:plain] + sorted(order[plain:], key=lambda row: row not in wrong)


def no_images(pursuit: Pursuit) -> AnsweredImages:
    """Return no images, for the page of a model without them."""
    return AnsweredImages([], np.zeros(0, dtype=np.int64), torch.zeros(0, len(pursuit.queries)))


def _room(empty: payload.Payload, chosen: Chosen) -> int | None:
    if chosen.limit is None:
        return None
    taken = len(payload.written(empty))
    if taken > chosen.limit:
        model = empty.model
        raise InputError(
            f"without any picture the page is {taken / 1e6:.1f} MB too large for "
            f"{chosen.limit / 1e6:.1f} MB: {model.name} has "
            f"{counted(len(model.queries), 'question')} and "
            f"{counted(len(model.classes), 'class')}; expected fewer, or `infopursuit serve`"
        )
    return chosen.limit - taken


def _log_left_out(split: str, fitting: int, count: int) -> None:
    if fitting < count:
        logger.warning(
            "%d of %d %s images fit into the page; the others are not shown", fitting, count, split
        )


# -- images -----------------------------------------------------------------------------------


@dataclass(frozen=True)
class AnsweredImages:
    """n images of one split, with their answers.

    Attributes:
        ids: what the page calls them.
        labels: (n,) numbers of their classes, -1 where a class is not known.
        answers: (n, k), in [0, 1].
        pictures: of any kind that `to_rgb` takes, None for an image without one; or a function that
            gives those of some rows, so that the others are never read. None for no pictures.
        fitted: on how many of these images, or equal ones, the model was fitted.
    """

    ids: Sequence[str]
    labels: Integer[np.ndarray, " n"]
    answers: Float[Tensor, "n k"]
    pictures: Sequence[Any] | Pictures | None = None
    fitted: int = 0

    def rows(self, places: Sequence[int]) -> AnsweredImages:
        """Return some of the images."""
        chosen = torch.tensor(list(places), dtype=torch.long)
        return AnsweredImages(
            [self.ids[place] for place in places],
            self.labels[chosen.numpy()],
            self.answers[chosen.to(self.answers.device)],
            None if self.pictures is None else lambda r: self.pictures_of([places[i] for i in r]),
        )

    def pictures_of(self, places: Sequence[int]) -> Sequence[Any]:
        """Return the pictures of some rows."""
        if self.pictures is None:
            return [None] * len(places)
        if callable(self.pictures):
            return self.pictures(places)
        return [self.pictures[place] for place in places]


def page_images(
    model: tuple[Pursuit, Facts], images: AnsweredImages, room: int | None = None
) -> list[payload.Image]:
    """Return the first images with their thumbnails, as many as fit into `room` bytes.

    Of the questions that the model asks of an image, each yes has its place.
    """
    fitting: list[payload.Image] = []
    taken = 0
    pictures = images.pictures_of(range(len(images.ids)))
    pursuit, facts = model
    of_images = _asked_places(pursuit, facts, images.answers, pictures)
    unusual = _unusual(pursuit, images.answers)
    for row, name in enumerate(images.ids):
        label = int(images.labels[row])
        try:
            small = None if pictures[row] is None else thumbnail(pictures[row])
        except UnreadableError as reason:
            raise InputError(f"the image {name!r} is {reason}") from reason
        image = payload.Image(
            id=writable(name),
            label=None if label == UNKNOWN else label,
            thumbnail=small,
            answers=joined_answers(pursuit, images.answers[row : row + 1]),
            places=of_images[row],
            unusual=unusual[row],
        )
        taken += len(image.model_dump_json()) + 1
        if room is not None and taken > room:
            break
        fitting.append(image)
    return fitting


def _unusual(pursuit: Pursuit, answers: Float[Tensor, "n k"]) -> list[float | None]:
    """Return how usual images are that look like none of the classes; None of all others."""
    if pursuit.conformity is None:
        return [None] * len(answers)
    shares = pursuit.conformity.p_values(answers.to(pursuit.device)).tolist()
    return [share if share < LEAST_CONFORMITY else None for share in shares]


def _asked_places(
    pursuit: Pursuit, facts: Facts, answers: Float[Tensor, "n k"], pictures: Sequence[Any]
) -> list[payload.Places | None]:
    places: list[payload.Places | None] = [None] * len(pictures)
    rows = [row for row, picture in enumerate(pictures) if picture is not None]
    if facts.maps is None or not rows:
        return places
    maps, seen = facts.maps([pictures[row] for row in rows])
    explained = pursuit.explain(answers[rows].to(pursuit.device), facts.stop, [""] * len(rows))
    for row, of_image, part, explanation in zip(rows, maps, seen, explained, strict=True):
        numbers = [pursuit.number(step.query) for step in explanation.steps if step.yes]
        if numbers:
            places[row] = payload.places(of_image[numbers], numbers, part)
    return places


def scored(pursuit: Pursuit, images: AnsweredImages) -> payload.Scored:
    """Return labels and answers of images with a class; of many an even sample of `SCORED`."""
    places = np.flatnonzero(images.labels != UNKNOWN)
    if len(places) > SCORED:
        places = places[np.linspace(0, len(places) - 1, SCORED).round().astype(np.int64)]
    chosen = images.rows(places.tolist())
    return payload.Scored(
        labels=payload.labels(chosen.labels), answers=joined_answers(pursuit, chosen.answers)
    )


def spread(labels: Integer[np.ndarray, " n"]) -> list[int]:
    """Return all rows: the first image of each class, then the second of each, ..."""
    rank = np.zeros(len(labels), dtype=np.int64)
    for label in np.unique(labels):
        rows = np.flatnonzero(labels == label)
        rank[rows] = np.arange(len(rows))
    return np.lexsort((np.arange(len(labels)), labels, rank)).tolist()


# -- a fitted model ---------------------------------------------------------------------------


@dataclass(frozen=True)
class Facts:
    """What is known of a model besides the model.

    Attributes:
        name: what the page calls it.
        stop: its stopping rule.
        origins: of queries, where each comes from: `captions`, `class prompts`, ...
        truth: of queries, how true their answers are.
        sees: whether its CLIP can take pictures.
        maps: gives the maps of pictures; None if there are none.
        knowledge: what it was fitted with; None for nothing.
    """

    name: str
    stop: StoppingRule
    origins: Mapping[str, str] = field(default_factory=dict)
    truth: Mapping[str, payload.Truth] | None = None
    sees: bool = False
    maps: Mapper | None = None
    knowledge: KnowledgeTable | None = None


def described(pursuit: Pursuit, facts: Facts) -> payload.Model:
    """Return a model as the page gets it."""
    if not pursuit.queries or not pursuit.class_names:
        raise InputError(
            f"{facts.name}: {len(pursuit.queries)} questions and {len(pursuit.class_names)} "
            "classes; expected at least one of each"
        )
    table = networks = None
    querier, classifier = pursuit.querier, pursuit.classifier
    kind: Literal["naive_bayes", "gaussian", "networks", "server"] = "server"
    scores = None
    rates = classifier.rates if isinstance(classifier, NaiveBayes) else None
    # The page computes no querier and no classifier of one's own.
    if type(querier) is InformationGain and rates and classifier.kind == rates.classifier:
        kind = "naive_bayes"
        table = _table(querier, rates, pursuit.words)
    elif type(querier) is GaussianQuerier and type(classifier) is GaussianClassifier:
        kind, scores = "gaussian", _scores(classifier)
    elif isinstance(querier, HistoryNetwork) and isinstance(classifier, HistoryNetwork):
        kind = "networks"
        sizes = [each.numel() for part in (querier, classifier) for each in part.parameters()]
        plain = type(querier) is type(classifier) is HistoryNetwork  # the page knows no other
        if plain and sum(sizes) < SMALL:
            networks = payload.Networks(querier=_layers(querier), classifier=_layers(classifier))
    numbers = range(len(pursuit.queries))
    return payload.Model(
        name=writable(facts.name),
        kind=kind,
        classes=[writable(each) for each in pursuit.class_names],
        queries=[writable(each) for each in pursuit.queries],
        questions=[writable(pursuit.question(k)) for k in numbers],
        origins=[facts.origins.get(each) for each in pursuit.queries],
        first=pursuit.first,
        stop=payload.Stop(**facts.stop.checked()._asdict()),
        answers=answer_levels(pursuit),
        words=[[*map(writable, each)] for each in pursuit.words] or None,
        # What a number that a person types is compared with.
        cuts=[pursuit.rule.number_cuts(k) or [] for k in numbers] if pursuit.words else None,
        table=table,
        scores=scores,
        scale=_scale(pursuit.rule),
        networks=networks,
        truth=None if facts.truth is None else [*map(facts.truth.get, pursuit.queries)],
        knowledge=_knowledge(pursuit, facts.knowledge),
        sees=facts.sees,
        note=None if pursuit.note is None else writable(pursuit.note),
    )


def _knowledge(pursuit: Pursuit, known: KnowledgeTable | None) -> payload.Knowledge | None:
    if known is None or not known.texts or known.values.size > KNOWN:
        return None
    texts = list(known.texts)
    place_of = {normalize(text): place for place, text in enumerate(texts)}
    for query in pursuit.queries:
        if normalize(query) not in place_of:
            place_of[normalize(query)] = len(texts)
            texts.append(query)
    values = known.for_classes_and_texts(pursuit.class_names, texts)
    levels = np.nan_to_num(2 * values, nan=3).astype(np.uint8)
    return payload.Knowledge(
        texts=[writable(text) for text in texts],
        columns=[place_of[normalize(query)] for query in pursuit.queries],
        values=payload.levels(levels, 4),
    )


def answer_levels(pursuit: Pursuit) -> int | None:
    """Return how many answers a model knows; None if they are soft."""
    return None if pursuit.rule.soft else pursuit.rule.levels


def joined_answers(pursuit: Pursuit, answers: Float[Tensor, "n k"]) -> str:
    """Return the answers of n images as the page gets them."""
    count = answer_levels(pursuit)
    answers = answers.cpu()
    if count is None:
        return payload.floats(answers.float().numpy())
    return payload.levels((answers * (count - 1)).round().numpy().astype(np.uint8), count)


def _table(
    querier: InformationGain, table: AnswerTable, words: Sequence[Sequence[str]]
) -> payload.Table:
    independent, redundant = table.independent_answers, querier.redundant
    of = table.tensors().get("of")
    put_off = None
    if redundant is not None and len(redundant.pairs):
        put_off = payload.PutOff(pairs=payload.labels(redundant.pairs.cpu().numpy()))
    palette = _palette(table.log_likelihood.cpu().numpy())
    rates = table.log_likelihood
    if words:
        rates = rates[torch.tensor([[bool(word) for word in each] for each in words]).T]
    likelihood, colors = (_numbers(rates), None) if palette is None else palette
    return payload.Table(
        of=None if of is None else payload.labels(of.cpu().numpy()),
        log_likelihood=likelihood,
        palette=colors,
        log_prior=_numbers(table.log_prior),
        independent_answers=None if np.isinf(independent) else float(independent),
        evidence_weight=float(table.evidence_weight),
        growth=float(table.growth),
        temperature_ratio=float(table.temperature_ratio),
        prior_exponent=float(table.prior_exponent),
        put_off=put_off,
        rounding=querier.rounding,
        costs=None if querier.costs is None else querier.costs.tolist(),
    )


def _palette(table: Float[np.ndarray, "v k c"]) -> tuple[str, str] | None:
    """Return a large table of few different numbers as bytes that count them; None of any other.

    A key has a handful of rates for each question: a byte a class instead of eight.
    """
    levels, k, c = table.shape
    if k * c < LARGE:
        return None
    codes, palettes = np.empty((k, c), np.uint8), []
    for query in range(k):
        distinct, places = np.unique(table[:, query], axis=1, return_inverse=True)
        if distinct.shape[1] > MOST_COLORS:
            return None
        codes[query] = places.reshape(-1)
        palettes.append(distinct.T)
    padded = np.zeros((k, max(map(len, palettes)), levels), np.float32)
    for row, colors in zip(padded, palettes, strict=True):
        row[: len(colors)] = colors
    return payload.bytes_of(codes), payload.floats(padded)


def _layers(network: HistoryNetwork) -> payload.Layers:
    first_norm, _, second, second_norm, _ = cast(nn.Sequential, network.rest)
    assert isinstance(first_norm, nn.LayerNorm)
    assert isinstance(second_norm, nn.LayerNorm)
    assert isinstance(second, nn.Linear)
    linear = {"first": network.first, "second": second, "head": network.head}
    values = {
        f"{name}_{part}": _numbers(tensor)
        for name, layer in linear.items()
        for part, tensor in (("weight", layer.weight), ("bias", layer.bias))
    }
    for name, norm in (("first", first_norm), ("second", second_norm)):
        values[f"{name}_scale"] = _numbers(norm.weight)
        values[f"{name}_shift"] = _numbers(norm.bias)
    return payload.Layers(
        widths=(network.first.out_features, second.out_features),
        outputs=network.head.out_features,
        epsilon=first_norm.eps,
        **values,
    )


def _scores(classifier: GaussianClassifier) -> payload.Scores:
    tensors = classifier.scores.tensors()
    weight, scale, growth = tensors.pop("temperature").tolist()
    return payload.Scores(
        **{name: _numbers(each) for name, each in tensors.items()},
        told=list(TOLD),
        temperature=(weight, scale, growth),
        candidates=CANDIDATES,
        step=STEP,
        reach=REACH,
        most=MOST,
        negligible=NEGLIGIBLE,
        least=LEAST,
        rounding=SCORES_ROUNDING,
    )


def _scale(rule: AnswerRule) -> payload.Scale | None:
    if not isinstance(rule, LevelAnswers):
        return None
    return payload.Scale(cuts=_numbers(rule.cuts), deciles=_numbers(rule.deciles))


def _numbers(tensor: Tensor) -> str:
    return payload.floats(tensor.detach().cpu().numpy())


# -- where questions come from ----------------------------------------------------------------


def origins(sources: Mapping[str, str]) -> dict[str, str]:
    """Return the origin of each query in words, from its sources, joined by commas.

    A corpus whose queries are all phrases of the visual vocabulary is the visual vocabulary.
    """
    vocabulary = phrase_kinds()
    of_query = {query: source.split(",") for query, source in sources.items()}
    others = {
        source
        for query, each in of_query.items()
        for source in each
        if query.casefold() not in vocabulary
    }

    def called(source: str) -> str:
        kind = source.partition("/")[0]
        if kind == "corpus" and source not in others:
            return VOCABULARY
        return KINDS.get(kind, kind)

    return {query: " and ".join(sorted(set(map(called, each)))) for query, each in of_query.items()}
