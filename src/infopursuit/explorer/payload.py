"""What the page of the explorer gets to know: one JSON document, format 1.

Arrays travel as base64 of little-endian numbers, so that the page reads them as typed arrays:

float32     tables, weights, soft answers; the shape is given with each field
uint16      labels of images
levels      answers: b bits a query, 2 if there are 2 to 4 answers, 4 if up to 16, else 8. With
            n = 8 / b, query i is in byte i // n from bit b (i % n) on; ceil(k / n) bytes a row.
            Level 0 is the firmest no, the highest the firmest yes

All texts are inert: the page shows them and runs none.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Sequence
from typing import Annotated, Literal

import numpy as np
from jaxtyping import Float, Integer, UInt8
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from infopursuit.core.errors import InputError

FORMAT = 1
# Bytes of an exported page, so that it can be mailed.
LIMIT = 5_000_000

Base64 = Annotated[str, Field(pattern=r"^[A-Za-z0-9+/]*={0,2}$")]
Thumbnail = Annotated[str, Field(pattern=r"^data:image/webp;base64,[A-Za-z0-9+/]+={0,2}$")]
Share = Annotated[float, Field(ge=0, le=1)]


class Part(BaseModel):
    """A part of the document: strict, frozen, no unknown keys."""

    model_config = ConfigDict(strict=True, frozen=True, extra="forbid", ser_json_inf_nan="null")


class Stop(Part):
    """A `StoppingRule`; what is null plays no part."""

    probability: float | None
    max_queries: int | None
    entropy: float | None
    stability: int | None


class PutOff(Part):
    """Questions that are not asked after others, since their answers are implied.

    `pairs` is uint16 (p, 3): a question that was asked, one that is redundant after it, and
    after which answer: 0 any, 1 yes, 2 no, 3 not sure.
    """

    pairs: Base64


class Table(Part):
    """The whole of a naive-Bayes model, with s subclasses in place of its c classes if it has them.

    The next question is the first whose gain is within `rounding` of the largest.

    Attributes:
        of: uint16 (s,), ascending, the class of each subclass; null for none: s is c.
        log_likelihood: float32 (levels, k, s); of questions with words those alone that have one,
            level by level, (r, s). With a palette uint8 (k, s), places in it.
        palette: float32 (k, m, levels), the rates of each question that occur; null for none.
        log_prior: float32 (s,).
        independent_answers: how many independent answers all are worth; null for infinitely many.
        evidence_weight: what each answer counts.
        growth: the power of the divisor.
        temperature_ratio: the posterior is the mean of two, evidence divided by and times this.
        prior_exponent: the log-prior is divided by the divisor to this power.
        put_off: redundant questions; null if there are none.
        rounding: gains that differ by less, in nats, are equal.
        costs: of each question, of which gains are divided; null if all cost the same.
    """

    of: Base64 | None = None
    log_likelihood: Base64
    palette: Base64 | None = None
    log_prior: Base64
    independent_answers: float | None
    evidence_weight: float = 1.0
    growth: float = 1.0
    temperature_ratio: float = 1.0
    prior_exponent: float = 1.0
    put_off: PutOff | None
    rounding: float
    costs: list[float] | None = None


class Scores(Part):
    """The whole of a model of jointly normal scores (`pursuit.gaussian`).

    Numbers are float32: `log_prior` (c,), `means` (c, k), `covariance` (k, k), `word_means` and
    `word_variances` (w, k) of the words whose values are `told`. After q questions evidence counts
    as the three numbers of `temperature` say; the others are constants of the querier.
    """

    log_prior: Base64
    means: Base64
    covariance: Base64
    told: list[float]
    word_means: Base64
    word_variances: Base64
    temperature: tuple[float, float, float]
    candidates: int
    step: float
    reach: float
    most: int
    negligible: float
    least: float
    rounding: float


class Scale(Part):
    """What answers of images are called: float32 `cuts` (k, 2) and `deciles` (k, 9)."""

    cuts: Base64
    deciles: Base64


class Layers(Part):
    """One `HistoryNetwork`: two layers on answers and on mask, then the head on both.

    `widths` are h1 and h2, `outputs` k of a querier and c of a classifier, `epsilon` that of both
    layer norms. Weights are float32: first_weight (h1, k), second_weight (h2, h1), head_weight
    (outputs, 2 h2) with the half of the answers first; scale and shift are of the layer norms.
    """

    widths: tuple[int, int]
    outputs: int
    epsilon: float
    first_weight: Base64
    first_bias: Base64
    first_scale: Base64
    first_shift: Base64
    second_weight: Base64
    second_bias: Base64
    second_scale: Base64
    second_shift: Base64
    head_weight: Base64
    head_bias: Base64


class Networks(Part):
    """The querier and the classifier of the paper's method."""

    querier: Layers
    classifier: Layers


class Truth(Part):
    """How true the answers to a question are, on test images whose truth is known.

    `right` is the share of its answers yes and no that are true, null without any; `answered` is
    the share of images for which it is answered, yes or no.
    """

    right: Share | None
    answered: Share


class Knowledge(Part):
    """What is known of the classes: the table that `infopursuit knowledge` writes.

    Attributes:
        texts: u texts, the queries among them.
        columns: of each query its place in `texts`.
        values: c rows of u levels: 0 not true, 1 true of some pictures, 2 true, 3 not known.
    """

    texts: list[str]
    columns: list[int]
    values: Base64


class Model(Part):
    """One model.

    Attributes:
        name: what the page calls it.
        kind: `naive_bayes` has a `table`, `gaussian` has `scores`; `networks` has `networks` if
            they are small, and asks the server (`api/steps`) otherwise, as all others do
            (`server`).
        classes: c names.
        queries: k texts.
        questions: the same as people read them.
        origins: where each comes from, null if unknown.
        first: the question that every image is asked first, null for the model's choice.
        stop: the model's own stopping rule.
        answers: how many levels there are; null for soft answers.
        words: of each question its answers in words, if they are the values of a column of a table,
            empty if it has no such answer; null for yes and no.
        cuts: of each question the numbers between its values, ascending, if these are numbers;
            null for yes and no.
        truth: of each query; null if unknown.
        knowledge: null if the model was fitted without, or the table is very large.
        sees: whether the server can take pictures for this model (it has the CLIP).
        note: what everybody should know who reads its answers; null for nothing.
    """

    name: str
    kind: Literal["naive_bayes", "gaussian", "networks", "server"]
    classes: list[str]
    queries: list[str]
    questions: list[str]
    origins: list[str | None]
    first: int | None
    stop: Stop
    answers: Annotated[int, Field(ge=2, le=255)] | None
    words: list[list[str]] | None = None
    cuts: list[list[float]] | None = None
    table: Table | None
    scores: Scores | None = None
    scale: Scale | None = None
    networks: Networks | None
    truth: list[Truth | None] | None
    knowledge: Knowledge | None = None
    sees: bool
    note: str | None = None


class Places(Part):
    """Where in a picture answers yes come from: a map for each of m questions.

    Attributes:
        size: h and w of the maps.
        queries: uint16 (m,).
        maps: uint8 (m, h, w), from 0 to 255.
        seen: left, top, right and bottom of the part of the picture that maps are of, in its
            widths and heights.
    """

    size: tuple[int, int]
    queries: Base64
    maps: Base64
    seen: tuple[float, float, float, float]


class Image(Part):
    """An image that the page can show: path or id, class, picture, and its answers.

    Answers are levels, or float32 (k,) of soft answers; `places` is null if there are none.
    `unusual` is the share of images of the classes that are at most as usual, where it is so small
    that the image looks like none of them.
    """

    id: str
    label: int | None
    thumbnail: Thumbnail | None
    answers: Base64
    places: Places | None = None
    unusual: Share | None = None


class Scored(Part):
    """More test images, without pictures: for accuracies.

    Labels are uint16 (n,); answers are n rows of levels, or float32 (n, k).
    """

    labels: Base64
    answers: Base64


class Images(Part):
    """Test samples, training images to compare with, and further test images.

    On `fitted` of the test images, or on equal ones, the model was fitted: they are no test.
    """

    test: list[Image]
    train: list[Image]
    scored: Scored
    fitted: int = 0


class Payload(Part):
    """Everything that the page shows.

    With `served`, there is a server at `api/`; with `key`, the page only asks a person what class
    something is, and with `annotate` what pictures show. `noun` is what an image is called: of a
    table a `row`.
    """

    format: Literal[1]
    title: str
    served: bool
    key: bool = False
    annotate: bool = False
    noun: str = "image"
    model: Model
    images: Images


def floats(values: Float[np.ndarray, "*shape"]) -> str:
    """Return numbers as base64 of float32."""
    return _base64(np.ascontiguousarray(values, dtype="<f4").tobytes())


def labels(values: Integer[np.ndarray, "*shape"]) -> str:
    """Return labels, or numbers of questions, as base64 of uint16; InputError beyond 65,535."""
    if values.size and values.max() > np.iinfo(np.uint16).max:
        raise InputError(
            f"the page numbers at most 65,536 classes or questions; found {values.max() + 1}"
        )
    return _base64(np.ascontiguousarray(values, dtype="<u2").tobytes())


def levels(values: Integer[np.ndarray, "n k"], count: int) -> str:
    """Return levels 0..count-1 as base64 of 2, 4 or 8 bits each; every row starts a byte."""
    rows, k = values.shape
    bits = 2 if count <= 4 else 4 if count <= 16 else 8
    width = -(-k * bits // 8)
    padded = np.zeros((rows, width * 8 // bits), dtype=np.uint8)
    padded[:, :k] = values
    shifts = np.arange(0, 8, bits, dtype=np.uint8)
    packed = padded.reshape(rows, width, 8 // bits) << shifts
    return _base64(np.bitwise_or.reduce(packed, axis=2).tobytes())


def written(payload: Payload) -> str:
    """Return the document as JSON that is safe inside a script element: plain ASCII, without `<`.

    Equal payloads are equal texts.
    """
    content = payload.model_dump(mode="json")
    text = json.dumps(content, ensure_ascii=True, allow_nan=False, separators=(",", ":"))
    return text.replace("<", "\\u003c")


def read(text: str) -> Payload:
    """Return the payload of a document that `written` gave."""
    try:
        return Payload.model_validate_json(text)
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(map(str, first["loc"])) or "the document"
        raise InputError(f"payload: {where}: {first['msg']}") from error


def bytes_of(values: Integer[np.ndarray, "*shape"]) -> str:
    """Return numbers 0..255 as base64 of bytes."""
    return _base64(np.ascontiguousarray(values, dtype=np.uint8).tobytes())


def places(
    maps: UInt8[np.ndarray, "m h w"], queries: Sequence[int], seen: tuple[float, ...]
) -> Places:
    """Return maps of m questions; `seen` is rounded."""
    left, top, right, bottom = (round(each, 4) for each in seen)
    return Places(
        size=(maps.shape[1], maps.shape[2]),
        queries=labels(np.array(queries, dtype=np.int64)),
        maps=_base64(np.ascontiguousarray(maps).tobytes()),
        seen=(left, top, right, bottom),
    )


def _base64(content: bytes) -> str:
    return base64.b64encode(content).decode("ascii")
