"""No line that an explanation prints is untrue of the full chain of questions."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from infopursuit import InformationPursuitClassifier, StoppingRule
from infopursuit.datasets.embedding_files import read_embedded_texts, read_embeddings
from infopursuit.pursuit.answers.rules import in_words
from infopursuit.pursuit.explanation import LITTLE, Explanation
from infopursuit.report.words import NAMED

REAL = Path(__file__).parents[2] / "../shared/data/clip_vitb32"
# Explanations keep probabilities to a millionth.
CLOSE = 2e-6
RULE = StoppingRule()
LINE = re.compile(r" *(\d+)(?:-(\d+))?  (.*\S) {2,}(\S.*)")
GROUP = re.compile(r"(\d+) answers moved no class by more than (\d+) points?: (.*)")
BELIEF = re.compile(r"(.*?) ((?:[<>] )?[\d.]+) %")
ENDING = re.compile(
    r"  Prediction: (.*), ([<>]? ?\d+) %, (?:after (\d+) questions?|not certain: (?:"
    r"the last (\d+) of (\d+) questions did not change the class|after (\d+) questions none is left"
    r"|(\d+) questions did not change the class))\."
)


class Chain(NamedTuple):
    """What a model does with one image if it asks everything, from a roll-out."""

    model: InformationPursuitClassifier
    order: np.ndarray
    answers: np.ndarray
    posteriors: np.ndarray

    def states(self, said: str, probability: float, down: bool) -> None:
        """Check a number in percent, rounded, or rounded down."""
        sign, number = re.fullmatch(r"([<>]?) ?([\d.]+)", said).groups()  # type: ignore[union-attr]
        decimal = 10.0 ** -len(number.partition(".")[2])
        if sign == "<":
            assert 0 < probability < 0.005 * decimal + CLOSE, said
        elif sign == ">":
            assert 1 - 0.005 * decimal - CLOSE <= probability < 1 + CLOSE, said
        else:
            above = 100 * probability - float(number) - down * decimal / 2
            assert abs(above) <= decimal / 2 + 100 * CLOSE, said

    def believes(self, said: str, t: int, down: bool = False) -> None:
        """Check the class that leads after t questions, and its probability."""
        name, number = BELIEF.fullmatch(said).groups()  # type: ignore[union-attr]
        posterior = self.posteriors[t]
        self.states(number, posterior.max(), down)
        leading = np.flatnonzero(posterior >= posterior.max() - CLOSE)
        names = [str(self.model.classes_[each]) for each in leading]
        tied = re.fullmatch(r"(\d+) classes tied at", name)
        if tied is None:
            assert set(name.split(" = ")) <= set(names)
        else:
            assert int(tied[1]) <= len(names)

    def said(self, step: int) -> str:
        answer = float(self.answers[step])
        return self.model.pursuit_.word(int(self.order[step]), answer) or in_words(answer)

    def needed(self, t: int) -> float:
        assert RULE.probability is not None
        before, leader = self.posteriors[0], self.posteriors[t].argmax()
        common = leader == before.argmax() and before[leader] > 0.5
        doubt = (1 - RULE.probability) * (2 * (1 - before[leader]) if common else 1)
        return 1 - doubt

    def unchanged(self, t: int) -> int:
        leaders = self.posteriors[: t + 1].argmax(axis=1)
        return int((leaders == leaders[-1])[::-1].cumprod().sum()) - 1


def check(chain: Chain, explanation: Explanation) -> Counter[str]:
    """Read what is printed of an explanation, line by line; count the kinds of lines."""
    _, before, *lines = str(explanation).splitlines()
    chain.believes(before.strip().removeprefix("before any question").strip(), 0)
    found: Counter[str] = Counter()
    t = 0
    while (match := LINE.fullmatch(lines[0])) is not None:
        first, last, asked, rest = match.groups()
        assert int(first) == t + 1
        steps = range(t, int(last or first))
        t = steps.stop
        group = GROUP.match(asked)
        if group is None:
            query = int(chain.order[steps[0]])
            question, said = re.split(" {2,}", asked)
            assert question == chain.model.pursuit_.question(query)
            assert said == chain.said(steps[0])
        else:
            holds_of_group(chain, steps, group)
        chain.believes(rest, t, t == len(explanation.steps) and not explanation.confident)
        found["group" if group else "alone"] += 1
        del lines[0]
    assert found["alone"], "something is shown"
    ends(chain, t, lines.pop(0), found)
    assert repr(explanation).removesuffix(">").split(": ", 1)[1] in str(explanation)
    assert all(line.startswith("  It looks like none of the classes: ") for line in lines)
    return found


def holds_of_group(chain: Chain, steps: range, group: re.Match[str]) -> None:
    """At each step, over the group, and between any two answers of it."""
    count, most, words = int(group[1]), int(group[2]), group[3]
    assert count == len(steps) > 1
    course = chain.posteriors[steps.start : steps.stop + 1]
    assert np.abs(np.diff(course, axis=0)).max() <= most / 100 + CLOSE
    assert np.abs(course[-1] - course[0]).max() <= most / 100 + CLOSE
    assert np.ptp(course, axis=0).max() <= most / 100 + CLOSE
    assert np.ptp(course, axis=0).max() < LITTLE + CLOSE
    leader = course[0].argmax()
    assert (course[:, leader] >= course.max(axis=1) - CLOSE).all()
    asked = [chain.model.queries_[int(chain.order[step])] for step in steps]
    more = f" and {len(asked) - NAMED} more" if len(asked) > NAMED else ""
    assert words == ", ".join(asked[:NAMED]) + more


def ends(chain: Chain, t: int, line: str, found: Counter[str]) -> None:
    """Check that the rule ends the questions here, and that it is for the reason given."""
    match = ENDING.fullmatch(line)
    assert match is not None, line
    name, number, sure, last, of, out, all_same = match.groups()
    chain.believes(f"{name} {number} %", t, sure is None)
    assert {t} == {int(each) for each in (sure, of, out, all_same) if each is not None}
    highest = chain.posteriors.max(axis=1)
    reached = [highest[each] >= chain.needed(each) - CLOSE for each in range(t + 1)]
    stable = [chain.unchanged(each) >= 20 for each in range(t + 1)]
    assert not any(stable[:-1])
    assert not any(highest[each] > chain.needed(each) + CLOSE for each in range(t))
    if sure is not None:
        assert reached[-1]
        found["certain"] += 1
    elif out is not None:
        assert not stable[-1]
        found["out of questions"] += 1
    else:
        assert stable[-1]
        assert int(last or all_same) >= 20
        leader = chain.posteriors[t].argmax()
        course = chain.posteriors[t - int(last or all_same) : t + 1]
        assert (course[:, leader] >= course.max(axis=1) - CLOSE).all()
        found["not certain"] += 1


def check_all(model: InformationPursuitClassifier, X: np.ndarray) -> Counter[str]:
    explained = model.explain(X)
    rolled = model.roll_out(X, max(len(each.steps) for each in explained))
    parts = rolled.order.numpy(), rolled.answers.numpy(), rolled.posteriors.double().numpy()
    found: Counter[str] = Counter()
    for row, explanation in enumerate(explained):
        found += check(Chain(model, *(each[row] for each in parts)), explanation)
    return found


def test_of_a_small_world_no_line_is_untrue() -> None:
    """Twelve kinds that are hard to tell apart, so that chains are long."""
    draw = np.random.default_rng(0)
    centers, T = draw.normal(size=(12, 64)), draw.normal(size=(60, 64))
    y = np.repeat(np.arange(12), 50)
    X = centers[y] + 2.2 * draw.normal(size=(len(y), 64))
    X, T = (each / np.linalg.norm(each, axis=1, keepdims=True) for each in (X, T))
    texts = [f"thing {number}" for number in range(60)]
    names = np.array([f"kind {number}" for number in range(12)])
    model = InformationPursuitClassifier(texts, T, n_queries=60).fit(X[::2], names[y[::2]])
    found = check_all(model, X[1::2])
    for kind in ("group", "alone", "certain", "not certain"):
        assert found[kind] >= 10, (kind, found)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["oxford_pets", "caltech101", "food10"])
def test_of_real_images_no_line_is_untrue(name: str) -> None:
    if not REAL.is_dir():
        pytest.skip("no real embeddings here")
    train, test = read_embeddings(REAL / f"{name}.parquet", None)
    assert test is not None
    texts, T, _ = read_embedded_texts(REAL / "texts.parquet")
    model = InformationPursuitClassifier(texts, np.asarray(T, np.float32)).fit(
        train.rows, train.labels
    )
    rows = np.random.default_rng(0).permutation(len(test.rows))[:500]
    found = check_all(model, test.rows[np.sort(rows)])
    assert found["certain"] + found["not certain"] + found["out of questions"] == len(rows)
    assert found["group"] > 50
