"""Trajectories: what was asked about one image, what was answered, and what was believed after it.

A trajectory is the explanation of a prediction. It ends where the classifier is sure enough, or
where no more questions are allowed, and is plain data: it goes to JSON and back unchanged.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from jaxtyping import Bool, Float, Int

from infopursuit.errors import InputError
from infopursuit.evaluation.stopping import stop_at_max_probability
from infopursuit.pursuit.rollout import RollOut

# Probabilities are kept to a millionth: what float32 carries, and the same text on every repeat.
DIGITS = 6


@dataclass(frozen=True)
class Step:
    """One question: its text, the answer in [0, 1], and what the classifier believed after it.

    Attributes:
        query: the text of the query.
        answer: 1 for yes and 0 for no; in between where a model has soft answers.
        posterior: probability of each of the c classes, in the order of the class names.
        entropy: of that posterior, in nats.
    """

    query: str
    answer: float
    posterior: tuple[float, ...]
    entropy: float

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
        """The answer in words: `yes`, `no`, or with its value where it is soft, `yes 0.73`."""
        word = "yes" if self.yes else "no"
        return word if self.answer in (0.0, 1.0) else f"{word} {self.answer:.2f}"


@dataclass(frozen=True)
class Trajectory:
    """The explanation of one image.

    Attributes:
        image: its id or path.
        class_names: the c classes.
        prior: the posterior before any question.
        steps: the questions in the order asked, up to the stop.
        confident: whether it stopped because the posterior reached the wanted probability.
        true_class: the class the image is labelled with, None for a new image.
    """

    image: str
    class_names: tuple[str, ...]
    prior: tuple[float, ...]
    steps: tuple[Step, ...]
    confident: bool
    true_class: str | None = None

    @property
    def posterior(self) -> tuple[float, ...]:
        """The last posterior, which the prediction rests on."""
        return self.steps[-1].posterior if self.steps else self.prior

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

    def to_json(self) -> dict[str, Any]:
        """Plain values; `from_json` gives an equal trajectory."""
        return asdict(self)

    @classmethod
    def from_json(cls, values: Mapping[str, Any]) -> Trajectory:
        """The trajectory that `to_json` wrote.

        Raises:
            KeyError, TypeError: a key is missing or unknown.
        """
        steps = tuple(
            Step(**{**step, "posterior": tuple(step["posterior"])}) for step in values["steps"]
        )
        return cls(
            **{
                **values,
                "class_names": tuple(values["class_names"]),
                "prior": tuple(values["prior"]),
                "steps": steps,
            }
        )


class Stop(NamedTuple):
    """When to ask no more: at this posterior probability, or after so many questions."""

    probability: float = 0.85
    max_queries: int = 20


def entropy_nats(posterior: Float[np.ndarray, "*many c"]) -> Float[np.ndarray, "*many"]:
    """Shannon entropy in nats over the last axis; zeros count as zero."""
    logs = np.log(np.where(posterior > 0, posterior, 1.0))
    return np.maximum(-(posterior * logs).sum(axis=-1), 0.0)


def stop_steps(
    posteriors: Float[np.ndarray, "n T1 c"], stop: Stop
) -> tuple[Int[np.ndarray, " n"], Bool[np.ndarray, " n"]]:
    """After how many questions each image stops (n,), and whether it was confident by then (n,).

    The first t = 0..T whose largest probability reaches `stop.probability`, or the last allowed.
    """
    highest = posteriors[:, : stop.max_queries + 1].max(axis=2)
    steps = stop_at_max_probability(highest, stop.probability)
    return steps, highest[np.arange(len(steps)), steps] >= stop.probability


def trajectories(
    roll_out: RollOut,
    queries: Sequence[str],
    class_names: Sequence[str],
    images: Sequence[str],
    true_classes: Sequence[str | None] | None = None,
    stop: Stop | None = None,
) -> list[Trajectory]:
    """The trajectories of n images from their roll-out over T steps.

    Args:
        roll_out: of n images over at least one step.
        queries: the k texts of the dictionary.
        class_names: the c classes.
        images: n ids or paths.
        true_classes: n class names, None where unknown.
        stop: when to ask no more; None for the default `Stop()`.
    """
    order = roll_out.order.cpu().numpy()
    answers = roll_out.answers.double().cpu().numpy()
    posteriors = roll_out.posteriors.double().cpu().numpy()
    counts, confident = stop_steps(posteriors, stop or Stop())
    entropies = entropy_nats(posteriors)

    def posterior(row: int, step: int) -> tuple[float, ...]:
        return tuple(posteriors[row, step].round(DIGITS).tolist())

    found = []
    for row, image in enumerate(images):
        steps = tuple(
            Step(
                query=queries[int(order[row, step])],
                answer=round(float(answers[row, step]), DIGITS),
                posterior=posterior(row, step + 1),
                entropy=round(float(entropies[row, step + 1]), DIGITS),
            )
            for step in range(int(counts[row]))
        )
        found.append(
            Trajectory(
                image=image,
                class_names=tuple(class_names),
                prior=posterior(row, 0),
                steps=steps,
                confident=bool(confident[row]),
                true_class=None if true_classes is None else true_classes[row],
            )
        )
    return found


def write_trajectories(
    path: str | Path, stop: Stop, explained: Sequence[tuple[Trajectory, str]]
) -> None:
    """Write trajectories, each with the name of its figure, as JSON with sorted keys."""
    content = {
        "stop": stop._asdict(),
        "images": [
            {"figure": figure, "trajectory": trajectory.to_json()}
            for trajectory, figure in explained
        ],
    }
    text = json.dumps(content, sort_keys=True, ensure_ascii=False, allow_nan=False)
    Path(path).write_text(text + "\n", encoding="utf-8")


def read_trajectories(path: str | Path) -> tuple[Stop, list[tuple[Trajectory, str]]]:
    """Read what `write_trajectories` wrote.

    Raises:
        InputError: the file is missing, is no JSON, or lacks a key.
    """
    try:
        content = json.loads(Path(path).read_text(encoding="utf-8"))
        stop = Stop(**content["stop"])
        return stop, [
            (Trajectory.from_json(image["trajectory"]), image["figure"])
            for image in content["images"]
        ]
    except FileNotFoundError as error:
        raise InputError(f"{path}: no such file; the stage explain writes it") from error
    except (json.JSONDecodeError, UnicodeDecodeError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not the trajectories that the stage explain writes ({error})"
        ) from error
