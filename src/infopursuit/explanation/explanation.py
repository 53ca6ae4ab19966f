"""The explanation of one prediction: what was asked, what was answered, what was believed.

An explanation ends where its stopping rule holds, or where no more questions are allowed. It is
plain data: it goes to JSON and back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from infopursuit.core.errors import InputError
from infopursuit.core.whole_files import write_text
from infopursuit.explanation.stopping import StoppingRule

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from PIL import Image

# Probabilities are kept to a millionth: what float32 carries, and the same text on every repeat.
DIGITS = 6

Criterion = Literal["information gain", "querier probability", "decisive answers"]

# An image is told to look like none of the classes where fewer images than this are as unusual.
UNFAMILIAR = 0.01

# Answers as a person gives them.
ANSWERS = {"no": 0.0, "not sure": 0.5, "yes": 1.0}


def answer_value(answer: str | float) -> float:
    """An answer as a number in [0, 1].

    Raises:
        InputError: it is neither `yes`, `no` or `not sure` nor such a number.
    """
    if isinstance(answer, str) and answer in ANSWERS:
        return ANSWERS[answer]
    if isinstance(answer, (bool, int, float)) and 0 <= answer <= 1:
        return float(answer)
    raise InputError(
        f"the answer {answer!r}; expected 'yes', 'no', 'not sure', or a number from 0 to 1"
    )


def rounded(probabilities: Iterable[float]) -> tuple[float, ...]:
    """Numbers as explanations keep them."""
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
        answer: 1 for yes, 0 for no, 0.5 for not sure; any value in [0, 1] for soft answers.
        posterior: probability of each of the c classes, in the order of the class names.
        entropy: of that posterior, in nats.
        value: how much the querier expected of the question, by `Explanation.criterion`; None
            where a person chose it.
        runners_up: the questions that came next by the same criterion, the best first.
        overridden: whether a person gave the answer in the place of the image.
    """

    query: str
    answer: float
    posterior: tuple[float, ...]
    entropy: float
    value: float | None = None
    runners_up: tuple[Candidate, ...] = ()
    overridden: bool = False

    @property
    def leader(self) -> int:
        """Index of the most probable class after the answer (the first of equals)."""
        return max(range(len(self.posterior)), key=self.posterior.__getitem__)

    @property
    def yes(self) -> bool:
        """Whether the answer is closer to yes."""
        return self.answer > 0.5

    @property
    def said(self) -> str:
        """The answer in words: `yes`, `no`, `not sure`, or a soft one with its value."""
        if self.answer == 0.5:
            return "not sure"
        word = "yes" if self.yes else "no"
        return word if self.answer in (0.0, 1.0) else f"{word} {self.answer:.2f}"


@dataclass(frozen=True)
class Explanation:
    """The explanation of one image.

    Attributes:
        image: its id or path.
        class_names: the c classes.
        prior: the posterior before any question.
        steps: the questions in the order asked, up to the stop.
        confident: whether the stopping rule held, or the answers decide; False where the questions
            ran out.
        true_class: the class the image is labelled with, None for a new image.
        criterion: what the values of questions are: expected information in nats, the probability
            that the querier network gives to a question, or by how many nats a decisive answer
            brings the posterior closer to that of all answers.
        familiarity: in (0, 1]; of images of these classes so many are at most as unusual, by all
            of their answers. None where that is not known.
        chosen_from: where the steps are the answers that decide, how many answers they were chosen
            from; None where one question was asked after another.
    """

    image: str
    class_names: tuple[str, ...]
    prior: tuple[float, ...]
    steps: tuple[Step, ...]
    confident: bool
    true_class: str | None = None
    criterion: Criterion = "information gain"
    familiarity: float | None = None
    chosen_from: int | None = None

    @property
    def unfamiliar(self) -> bool:
        """Whether the image looks like none of the classes: fewer than 1 % are as unusual."""
        return self.familiarity is not None and self.familiarity < UNFAMILIAR

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
    def predicted_class(self) -> str:
        """The most probable class at the end (the first of equals)."""
        return self.class_names[self.top_classes(1)[0]]

    @property
    def probability(self) -> float:
        """The probability of the predicted class."""
        return max(self.posterior)

    @property
    def correct(self) -> bool | None:
        """Whether the prediction is the true class; None where that is not known."""
        return None if self.true_class is None else self.predicted_class == self.true_class

    def top_classes(self, count: int) -> list[int]:
        """The `count` most probable classes at the end, the most probable first."""
        return sorted(range(len(self.posterior)), key=lambda i: (-self.posterior[i], i))[:count]

    def to_dict(self) -> dict[str, Any]:
        """Plain values; `from_dict` gives an equal explanation."""
        return asdict(self)

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> Explanation:
        """The explanation that `to_dict` wrote.

        Raises:
            KeyError, TypeError: a key is missing or unknown.
        """
        steps = tuple(
            Step(
                **{
                    **step,
                    "posterior": tuple(step["posterior"]),
                    "runners_up": tuple(Candidate(**each) for each in step["runners_up"]),
                }
            )
            for step in values["steps"]
        )
        return cls(
            **{
                **values,
                "class_names": tuple(values["class_names"]),
                "prior": tuple(values["prior"]),
                "steps": steps,
            }
        )

    def __str__(self) -> str:
        """The explanation in lines of plain text."""
        from infopursuit.explanation.text import explanation_text

        return explanation_text(self)

    def _repr_html_(self) -> str:
        """A table for notebooks."""
        from infopursuit.explanation.html import explanation_html

        return explanation_html(self)

    def plot(self, classes_shown: int = 10, picture: Image.Image | None = None) -> Figure:
        """The explanation as a matplotlib figure: questions down, classes across.

        Args:
            classes_shown: how many of the most probable classes at the end become columns.
            picture: the image itself, drawn beside the heat map.
        """
        from infopursuit.explanation.figure import explanation_figure

        return explanation_figure(self, classes_shown, picture)


class ExplainedImage(NamedTuple):
    """What is told of one image.

    Attributes:
        explanation: the questions in the order asked.
        figure: the file that shows it: its name in a file of explanations, its path in a report.
        short: the answers that decide; None where a model cannot tell them.
    """

    explanation: Explanation
    figure: str
    short: Explanation | None = None


def write_explanations(
    path: str | Path, stop: StoppingRule, explained: Sequence[ExplainedImage]
) -> None:
    """Write explanations as JSON with sorted keys."""
    content = {
        "stop": stop._asdict(),
        "images": [
            {
                "figure": image.figure,
                "explanation": image.explanation.to_dict(),
                "short": None if image.short is None else image.short.to_dict(),
            }
            for image in explained
        ],
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    write_text(path, text + "\n")


def read_explanations(path: str | Path) -> tuple[StoppingRule, list[ExplainedImage]]:
    """Read what `write_explanations` wrote.

    Raises:
        InputError: the file is missing, is no JSON, or lacks a key.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        return StoppingRule(**content["stop"]), [
            ExplainedImage(
                Explanation.from_dict(image["explanation"]),
                image["figure"],
                None if image["short"] is None else Explanation.from_dict(image["short"]),
            )
            for image in content["images"]
        ]
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; the stage explain writes it") from error
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not the explanations that the stage explain writes ({error})"
        ) from error
