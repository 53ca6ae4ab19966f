"""The explanation of one prediction: what was asked and answered, and the posterior after it.

An explanation ends when its stopping rule holds, or when no more questions are allowed. It is plain
data: it goes to JSON and back unchanged. What makes lines of text, a figure or HTML of it is found
through `core.renderers`.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import takewhile
from operator import sub
from typing import TYPE_CHECKING, Any

from infopursuit.core.errors import InputError, one_line
from infopursuit.core.numbers import percent
from infopursuit.core.renderers import renderer
from infopursuit.pursuit.answers.rules import NOT_SURE, WORDS, in_words
from infopursuit.pursuit.querier import Criterion
from infopursuit.pursuit.stopping import CERTAIN, Ended

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

# Probabilities are kept to a millionth: what float32 carries, and the same text on every repeat.
DIGITS = 6
# An image does not conform if fewer images of the classes than this share are as unusual.
LEAST_CONFORMITY = 0.01

# What an explanation may lack.
OPTIONAL = ("labels", "picture", "noun", "not_asked", "known", "note", "spent")

IMAGE = "image"
# Answers in a row are read as one line if they leave each class in a band narrower than this, and
# the most probable class as it was (docs/method/index.md, "Groups").
LITTLE = 1 / 10
# If that is so of all answers before the last, this many that moved a class most have a line each.
MOVERS = 3
# A tie of more classes is given by their number.
NAMED = 3
# Equals of a smaller probability have a decimal.
DECIMAL = 0.0999


def say(name: str, /, **parts: object) -> str:
    """Return a sentence (`sentences.py`), looked up by name: what trains depends on none."""
    return renderer("say")(name, **parts)


def question(query: str) -> str:
    """Return a query as it is asked (`sentences.py`), looked up by name, too."""
    return renderer("question")(query)


def answer_value(answer: Any) -> float:
    """Return an answer as a number in [0, 1].

    Raises:
        InputError: it is neither one of `rules.WORDS`, in any spelling, nor such a number.
    """
    plain = plain_answer(answer)
    if isinstance(plain, str) and plain.casefold() in WORDS:
        return WORDS[plain.casefold()]
    if isinstance(plain, (bool, int, float)) and 0 <= plain <= 1:
        return float(plain)
    words = ", ".join(map(repr, reversed(WORDS)))
    raise InputError(f"the answer {answer!r}; expected {words}, or a number from 0 to 1")


def plain_answer(answer: Any) -> Any:
    """Return a number of numpy or torch as one of Python, a text with single blanks inside."""
    if getattr(answer, "ndim", None) == 0:
        answer = answer.item()
    return " ".join(answer.split()) if isinstance(answer, str) else answer


def rounded(probabilities: Iterable[float]) -> tuple[float, ...]:
    """Round numbers as explanations keep them."""
    return tuple(round(value, DIGITS) for value in probabilities)


@dataclass(frozen=True)
class Candidate:
    """A question that could have been asked, and its value by the querier's criterion."""

    query: str
    value: float


@dataclass(frozen=True)
class Step:
    """One question, its answer, and the posterior after it.

    Attributes:
        query: the text of the query.
        answer: in [0, 1]: below 0.5 for no, above for yes, 0.5 for not sure.
        posterior: probability of each of the c classes, in the order of the class names.
        entropy: of that posterior, in nats.
        value: how much the querier expected of the question, by `Explanation.criterion`; None if
            a person chose it.
        runners_up: the questions that came next by the same criterion, the best first.
        overridden: whether the answer was given instead of the image's.
        where: how much each patch of the picture speaks for an answer yes, in rows from the top
            left corner; from 0 to 255. None if that is not known.
        rates: of an answer not sure: how probable it is in the class that leads after it, and in
            its rival. None for other answers, or if the model has no rates that tell why.
        rival: the class that the leading one is compared with, by number (`rival`).
        word: the answer in words, if it is the value of a column; None if it is yes or no.
        wording: the question in words, if it is not the one that the query alone gives.
    """

    query: str
    answer: float
    posterior: tuple[float, ...]
    entropy: float
    value: float | None = None
    runners_up: tuple[Candidate, ...] = ()
    overridden: bool = False
    where: tuple[tuple[int, ...], ...] | None = None
    rates: tuple[float, float] | None = None
    rival: int | None = None
    word: str | None = None
    wording: str | None = None

    @property
    def question(self) -> str:
        """The question in words."""
        return self.wording or question(self.query)

    @property
    def leader(self) -> int:
        """Index of the most probable class after the answer (the first of equals)."""
        return _first(self.posterior)

    @property
    def yes(self) -> bool:
        """Whether the answer is closer to yes."""
        return self.answer > NOT_SURE

    @property
    def said(self) -> str:
        """The answer in words (`rules.WORDS`), on one line; a soft one has its value."""
        return one_line(self.word or in_words(self.answer))

    @property
    def marked(self) -> str:
        """The answer in words, with `*` if it was given instead of the image's."""
        return f"{self.said} *" if self.overridden else self.said

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Step:
        """Return the step that `Explanation.to_dict` wrote."""
        runners_up = tuple(Candidate(**each) for each in values["runners_up"])
        parts = {"posterior": tuple(values["posterior"]), "runners_up": runners_up}
        if values.get("where"):
            parts["where"] = tuple(map(tuple, values["where"]))
        if values.get("rates"):
            parts["rates"] = tuple(values["rates"])
        return cls(**{**values, **parts})


@dataclass(frozen=True, repr=False)
class Explanation:
    """The explanation of one image.

    Attributes:
        image: its id or path.
        class_names: the c classes.
        prior: the posterior before any question, and after what is known.
        steps: the questions in the order asked, up to the stop.
        ended: why the questions ended.
        true_class: the class the image is labelled with, None for a new image.
        criterion: what the values of questions are: expected information in nats, or the
            probability that the querier network gives to a question.
        conformity: in (0, 1], the share of images of these classes that are at most as unusual, by
            all of their answers. None if that is not known.
        labels: the c class labels if they are not texts, such as integers; None if the class names
            are the labels.
        picture: the image as the model saw it, small, as a data address; None if no answer has a
            place (`Step.where`).
        noun: what is explained: `image`, or `row` of a table.
        not_asked: answers of a person to questions that are not among the steps, each with the
            posterior as if it had come last.
        known: answers that were known before the first question; their posterior is `prior`.
        note: what everybody should know who reads it; None for nothing.
        spent: what its questions cost; None if questions have no costs.
    """

    image: str
    class_names: tuple[str, ...]
    prior: tuple[float, ...]
    steps: tuple[Step, ...]
    ended: Ended
    true_class: str | None = None
    criterion: Criterion = "information gain"
    conformity: float | None = None
    labels: tuple[Any, ...] | None = None
    picture: str | None = None
    noun: str = IMAGE
    not_asked: tuple[Step, ...] = ()
    known: tuple[Step, ...] = ()
    note: str | None = None
    spent: float | None = None

    @property
    def confident(self) -> bool:
        """Whether the probability, or the entropy, was reached at which questions stop."""
        return self.ended in CERTAIN

    @property
    def nonconforming(self) -> bool:
        """Whether the image looks like none of the classes: fewer than 1 % are as unusual."""
        return self.conformity is not None and self.conformity < LEAST_CONFORMITY

    @property
    def posterior(self) -> tuple[float, ...]:
        """The last posterior, which the prediction rests on."""
        return self.steps[-1].posterior if self.steps else self.prior

    @property
    def questions(self) -> tuple[str, ...]:
        """The texts of the questions, in the order asked."""
        return tuple(step.query for step in self.steps)

    @property
    def answers(self) -> tuple[str, ...]:
        """The answers in words, in the order asked."""
        return tuple(step.said for step in self.steps)

    @property
    def predicted_class(self) -> Any:
        """The label of the most probable class at the end (the first of equals)."""
        return (self.labels or self.class_names)[self.top_classes(1)[0]]

    @property
    def probability(self) -> float:
        """The probability of the predicted class."""
        return max(self.posterior)

    @property
    def percent(self) -> str:
        """The same in percent, as `leaders` has it."""
        return self.leaders(self.posterior)[1]

    def leaders(self, posterior: tuple[float, ...]) -> tuple[str, str]:
        """Return the most probable class of one of its posteriors, and its `percent`.

        That of more than ten equals has one decimal: 37 classes have 2.7 % each, not 3. The last
        one is rounded down if it is not certain: it reached no limit.
        """
        tied, probability = most_probable(self.class_names, posterior)
        many = probability < DECIMAL and posterior.count(probability) > NAMED
        down = posterior is self.posterior and not self.confident
        return tied, percent(probability, int(many), down)

    @property
    def correct(self) -> bool | None:
        """Whether the prediction is the true class; None if that is not known."""
        predicted = self.class_names[self.top_classes(1)[0]]
        return None if self.true_class is None else predicted == self.true_class

    def grouped(self) -> list[list[int]]:
        """Return the steps as they are read, by number from 0.

        Each is alone, or in a group: there no class moved much, and the same one led throughout.
        Between two groups is a line, and the answer that ended the questions has one.
        """
        sizes = [self.moved([number]) for number in range(len(self.steps))]
        runs = self._runs(sizes, ())
        if not any(len(run) == 1 for run in runs[:-1]):
            runs = self._runs(sizes, sorted(range(len(sizes)), key=lambda n: -sizes[n])[:MOVERS])
        return runs

    def _runs(self, sizes: Sequence[float], alone: Collection[int]) -> list[list[int]]:
        runs: list[list[int]] = []
        before, start = self.prior, 0
        for number, step in enumerate(self.steps):
            small = sizes[number] < LITTLE and _leading(before) == _leading(step.posterior)
            last = number == len(sizes) - 1
            if not small or step.overridden or last or number in alone:
                runs += [*self._divided(range(start, number), sizes), [number]]
                start = number + 1
            before = step.posterior
        return runs

    def _divided(self, run: range, sizes: Sequence[float]) -> list[list[int]]:
        """Take the answer that moved most (of equals the middle one) out of what moved much."""
        if len(run) < 2 or self.moved(run) < LITTLE:
            return [[*run]] if run else []
        middle = run[0] + run[-1]
        most = max(run, key=lambda number: (sizes[number], -abs(2 * number - middle)))
        before, after = range(run[0], most), range(most + 1, run[-1] + 1)
        return [*self._divided(before, sizes), [most], *self._divided(after, sizes)]

    def moved(self, run: Sequence[int]) -> float:
        """Return the widest band in which steps in a row moved a class, from before them on."""
        course = [self.steps[run[0] - 1].posterior if run[0] else self.prior]
        course += [self.steps[number].posterior for number in run]
        return round(max(max(each) - min(each) for each in zip(*course, strict=True)), DIGITS)

    def top_classes(self, count: int) -> list[int]:
        """Return the `count` most probable classes at the end, the most probable first."""
        return sorted(range(len(self.posterior)), key=lambda i: (-self.posterior[i], i))[:count]

    def to_dict(self) -> dict[str, Any]:
        """Return plain values; `from_dict` gives an equal explanation."""
        values = {**asdict(self), "confident": self.confident}
        for step in (*values["steps"], *values["not_asked"], *values["known"]):
            for key in ("where", "rates", "rival", "word", "wording"):
                if step[key] is None:
                    del step[key]
        if self.noun == IMAGE:
            values["noun"] = None
        return {key: each for key, each in values.items() if key not in OPTIONAL or each}

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Explanation:
        """Return the explanation that `to_dict` wrote.

        Raises:
            InputError: it does not say why the questions ended.
            KeyError, TypeError: another key is missing, or one is unknown.
        """
        if "ended" not in values:
            raise InputError(
                f"the explanation of {one_line(str(values.get('image')))} has no key 'ended' (why "
                "the questions ended), which files of older versions lack; expected it: explain "
                "again"
            )
        parts = {
            "class_names": tuple(values["class_names"]),
            "prior": tuple(values["prior"]),
            "steps": tuple(map(Step.from_dict, values["steps"])),
            "not_asked": tuple(map(Step.from_dict, values.get("not_asked", ()))),
            "known": tuple(map(Step.from_dict, values.get("known", ()))),
        }
        if values.get("labels"):
            parts["labels"] = tuple(values["labels"])
        stored = {key: each for key, each in values.items() if key != "confident"}
        return cls(**{**stored, **parts})

    def __repr__(self) -> str:
        """Return one line, whatever names hold: lists of explanations stay readable."""
        prediction = f"{self.predicted_class}, {self.percent}, {ending(self)}"
        return f"<Explanation of {one_line(self.image)}: {one_line(prediction)}>"

    def __str__(self) -> str:
        """Return the explanation in lines of plain text, answers that changed little grouped."""
        return self.to_text()

    def to_text(self, *, everything: bool = False) -> str:
        """Return the explanation in lines of plain text.

        Args:
            everything: whether answers that changed little have a line each, too.
        """
        return renderer("explanation_text")(self, everything)

    def _repr_html_(self) -> str:
        return renderer("explanation_html")(self)

    def plot(
        self,
        classes_shown: int = 10,
        picture: Image.Image | None = None,
        *,
        everything: bool = False,
    ) -> Figure:
        """Return the explanation as a matplotlib figure: questions down, classes across.

        Args:
            classes_shown: how many of the most probable classes at the end become columns.
            picture: the image itself, drawn next to the heat map.
            everything: whether answers that changed little have a row each, too.
        """
        return renderer("explanation_figure")(self, classes_shown, picture, everything)


def rival(before: Sequence[float], after: Sequence[float]) -> tuple[int, bool]:
    """Return the class that explains what an answer did to the leading one, of c >= 2 classes.

    It is the class that led before; if that is the same, or several did, the one that lost most, or
    gained most if the leading one lost.

    Returns:
        The class, and whether the leading one gained on it.
    """
    leader, former = _first(after), _leading(before)
    if len(former) == 1 and leader != former[0]:
        return former[0], True
    changes = list(map(sub, after, before))
    others = [y for y in range(len(changes)) if y != leader]
    gained = changes[leader] > 0
    return (min if gained else max)(others, key=changes.__getitem__), gained


def _first(posterior: Sequence[float]) -> int:
    return max(range(len(posterior)), key=posterior.__getitem__)


def _leading(posterior: Sequence[float]) -> list[int]:
    highest = max(posterior)
    return [place for place, each in enumerate(posterior) if each == highest]


def most_probable(names: tuple[str, ...], posterior: tuple[float, ...]) -> tuple[str, float]:
    """Return the most probable class and its probability; equally probable ones are a tie."""
    highest = max(posterior)
    tied = [name for name, each in zip(names, posterior, strict=True) if each == highest]
    if len(tied) > NAMED:
        return say("tied_at", count=len(tied)), highest
    return " = ".join(tied), highest


def ending(explanation: Explanation) -> str:
    """Say after how many questions it ended; if not certain, why then."""
    after = say("after", count=len(explanation.steps))
    if explanation.spent is not None:
        after = say("cost", after=after, cost=f"{explanation.spent:g}")
    if explanation.confident:
        return after
    reason = say(f"ended_{explanation.ended}", after=after, which=_unchanged(explanation))
    common = explanation.prior[_first(explanation.posterior)] > 1 / 2
    of_class = ("_likely" if explanation.known else "_common") if common else ""
    return say(f"not_certain{of_class}", reason=reason)


def _unchanged(explanation: Explanation) -> str:
    course = [explanation.prior, *(step.posterior for step in explanation.steps)]
    predicted = _first(course[-1])
    count = len([*takewhile(lambda each: each[predicted] == max(each), course[-2::-1])])
    questions = say("question", count=len(explanation.steps))
    whole = count == len(explanation.steps)
    return questions if whole else say("last_of", count=count, questions=questions)
