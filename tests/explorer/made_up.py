"""Small models, images and payloads of the explorer."""

from __future__ import annotations

import base64
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
import torch
from PIL import Image
from torch.nn import functional

from infopursuit.estimators.naive_bayes import InformationPursuitClassifier
from infopursuit.explorer import payload
from infopursuit.explorer.contents import AnsweredImages, Facts, contents
from infopursuit.pursuit.answers.rules import AnswerRule, MinMaxAnswers, SoftAnswers
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.conformity import Conformity
from infopursuit.pursuit.naive_bayes.model import InformationGain, NaiveBayes
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.pursuit.vip.networks import HistoryNetwork

# What may stand in a class name, a question or a file name, and must run nowhere.
HOSTILE = (
    "<script>alert(1)</script>",
    "</script><!--",
    "\"'&amp;`${x}\\",
    "\u202eright to left \u05e9\u05dc\u05d5\u05dd\u200f",
    "\U0001f993\u200d\U0001f525",
    "<img src=x onerror=alert(1)>",
)
PLAIN = ("zebra", "horse", "penguin", "parrot", "bus", "ship")
STOP = StoppingRule(0.95, stability=None)
WIDTH = 6


def unit(rows: int, seed: int) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return functional.normalize(torch.randn(rows, WIDTH, generator=generator), dim=1)


@dataclass(frozen=True)
class Graded(AnswerRule):
    """Answers in as many steps as scores have cuts, as those of columns have."""

    kind: ClassVar[str] = "graded"
    directions: torch.Tensor
    cuts: torch.Tensor

    @property
    def levels(self) -> int:
        return self.cuts.shape[1] + 1

    def scores(self, images: torch.Tensor) -> torch.Tensor:
        return images @ self.directions.T

    def of_scores(self, scores: torch.Tensor) -> torch.Tensor:
        return (scores.unsqueeze(2) > self.cuts).float().mean(dim=2)


def naive_bayes(
    k: int = 9, classes: Sequence[str] = PLAIN, levels: int = 3, seed: int = 4, **more: object
) -> Pursuit:
    generator = torch.Generator().manual_seed(seed)
    shares = torch.rand(levels, k, len(classes), generator=generator) + 0.02
    prior = (torch.rand(len(classes), generator=generator) + 0.1).log_softmax(dim=0)
    shares = (shares / shares.sum(dim=0)).log()
    table = AnswerTable(shares, prior, 12.0, temperature_ratio=1.5, prior_exponent=0.5)
    rule = Graded(unit(k, seed), torch.linspace(-0.4, 0.5, levels + 1)[1:-1].repeat(k, 1))
    known = {"conformity": Conformity(table, rule.answers(unit(30, 7)))}
    queries = more.pop("queries", None) or tuple(f"query {number}" for number in range(k))
    return Pursuit(
        queries, tuple(classes), rule, InformationGain(table), NaiveBayes(table), **(known | more)
    )  # type: ignore[arg-type]


def networks(k: int = 9, classes: Sequence[str] = PLAIN, hard: bool = True) -> Pursuit:
    torch.manual_seed(3)
    made = [HistoryNetwork(k, outputs, (16, 8)).eval() for outputs in (k, len(classes))]
    for network in made:  # LayerNorm starts as the identity: move it away
        for parameter in network.parameters():
            parameter.data += 0.3 * torch.randn_like(parameter)
    queries = tuple(f"query {number}" for number in range(k))
    rule = MinMaxAnswers if hard else SoftAnswers
    return Pursuit(queries, tuple(classes), rule(unit(k, 1)), made[0], made[1])


def with_scores() -> Pursuit:
    """A model of jointly normal scores, fitted on random images."""
    rows, texts = unit(900, 3), [f"text {number}" for number in range(60)]
    labels = np.array(PLAIN)[rows.argmax(dim=1)]
    model = InformationPursuitClassifier(texts, unit(60, 9).numpy(), 40)
    return model.fit(rows.numpy(), labels).pursuit_


def images(
    pursuit: Pursuit, count: int = 20, seed: int = 2, pictures: bool = True
) -> AnsweredImages:
    """Random images of all classes in turn, each a picture of one colour."""
    rows = unit(count, seed)
    colors = np.random.default_rng(seed).integers(0, 256, (count, 3))
    drawn = [Image.new("RGB", (40, 30), tuple(each)) for each in colors.tolist()]
    return AnsweredImages(
        [f"image {number}" for number in range(count)],
        np.arange(count) % len(pursuit.class_names),
        pursuit.answers(rows),
        drawn if pictures else None,
    )


def small_payload(names: Sequence[str] = PLAIN) -> payload.Payload:
    """A page's payload; class names, queries and ids are `names`."""
    pursuit = naive_bayes(len(names), names, queries=tuple(names))
    test = images(pursuit)
    test = AnsweredImages(
        [names[row % len(names)] for row in range(20)], test.labels, test.answers, test.pictures
    )
    facts = Facts(names[0], STOP)
    return contents((pursuit, facts), test, images(pursuit, seed=3), names[1])


def payload_of(html: str) -> payload.Payload:
    text = html.partition('id="payload">')[2].partition("</script>")[0]
    return payload.read(text)


def read_floats(text: str, *shape: int) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<f4").reshape(shape)


def read_labels(text: str) -> np.ndarray:
    return np.frombuffer(base64.b64decode(text, validate=True), dtype="<u2")


def read_levels(text: str, k: int, levels: int = 3) -> np.ndarray:
    bits = 2 if levels < 5 else 4
    width = -(-k * bits // 8)
    packed = np.frombuffer(base64.b64decode(text, validate=True), dtype=np.uint8).reshape(-1, width)
    unpacked = (packed[:, :, None] >> np.arange(0, 8, bits, dtype=np.uint8)) & (2**bits - 1)
    return unpacked.reshape(len(packed), width * (8 // bits))[:, :k]
