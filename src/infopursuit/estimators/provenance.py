"""Where a model comes from: what its provenance holds, read and written with types.

`model.provenance_` stays a dictionary of plain values, which `model.json` keeps.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, fields
from typing import Any

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import counted, percent
from infopursuit.core.run_name import RunName

# Words run out if a smaller share of the first yes fit the class.
FITTING = 0.5
LISTED = 3
WHAT_HELPS = "What helps: texts of your own, a language model, or what people say of pictures"


@dataclass(frozen=True)
class RunProvenance:
    """What a run of the pipeline writes into the provenance of its model.

    Attributes:
        dataset, init, method, seed: the name of the run.
        settings: of the method, as plain values, and `method`, `validation_fraction`, `select_on`.
        budget: the largest number of questions that runs are compared at.
        clip_path: the CLIP, as params.yaml names it.
        inputs: SHA-256 of what the run read.
    """

    dataset: str
    init: str
    method: str
    seed: int
    settings: Mapping[str, Any]
    budget: int
    clip_path: str
    inputs: Mapping[str, str]

    @classmethod
    def of(cls, provenance: Mapping[str, Any]) -> RunProvenance:
        """Return what a run wrote.

        Raises:
            InputError: no run of the pipeline wrote it.
        """
        names = [each.name for each in fields(cls)]
        missing = [name for name in names if name not in provenance]
        if missing:
            raise InputError(
                f"provenance: no {missing[0]!r}; expected a model of the stage `train`"
            )
        return cls(**{name: provenance[name] for name in names})

    @property
    def name(self) -> RunName:
        """The name of the run."""
        return RunName(self.dataset, self.init, self.method, self.seed)

    @property
    def select_on(self) -> str:
        """The images that choose the parameters: `held_out` or `test`."""
        return self.settings["select_on"]

    @property
    def validation_fraction(self) -> float:
        """The share of training images that are held out."""
        return self.settings["validation_fraction"]

    @property
    def knows(self) -> bool:
        """Whether the knowledge table was used."""
        return self.settings.get("knowledge", False)

    def as_values(self) -> dict[str, Any]:
        """Return plain values, under the names of the attributes."""
        return asdict(self)


@dataclass(frozen=True)
class Measured:
    """The accuracy of a model on images that it was not fitted on.

    Attributes:
        split: `test` or `held-out`.
        accuracy: with the model's own stopping rule.
        confidence: the mean probability of the class that it names; None if that is not known.
        images: how many; 0 if that is not known.
    """

    split: str
    accuracy: float
    confidence: float | None
    images: int


def measured(provenance: Mapping[str, Any]) -> Iterator[Measured]:
    """Yield the accuracies that are known, of test images first."""
    for split, key in (("test", "test"), ("held-out", "held_out")):
        if f"{key}_accuracy" in provenance:
            count, confidence = provenance.get(f"{key}_images", 0), f"{key}_confidence"
            accuracy = float(provenance[f"{key}_accuracy"])
            yield Measured(split, accuracy, provenance.get(confidence), int(count))


def images_read(provenance: Mapping[str, Any]) -> int:
    """Return how many images a model was fitted and selected or calibrated on."""
    images = provenance["images"]
    if isinstance(images, Mapping):  # networks count what they learn from and what selects
        return sum(images.values())
    return images + provenance.get("held_out_images", 0)


def images_held_out(provenance: Mapping[str, Any]) -> int:
    """Return how many images a model was selected or calibrated on; 0 if that is not known."""
    images = provenance.get("images")
    counts = images if isinstance(images, Mapping) else {}
    return counts.get("held_out", provenance.get("held_out_images", 0))


def words_run_out(provenance: Mapping[str, Any]) -> str | None:
    """Return that the questions that tell are odd ones, in a sentence; None if they are not.

    They are if fewer than half of the yes among the first questions fit the class, or if no
    question names some class.
    """
    words = provenance.get("words")
    if words is None or words["fits"] is None:
        return None
    unnamed = words["unnamed"]
    if words["fits"] >= FITTING and not unnamed:
        return None
    reasons = [f"{percent(words['fits'])} of the first answers yes name what fits the class"]
    if unnamed:
        listed = ", ".join([*unnamed[:LISTED], *(["..."] if len(unnamed) > LISTED else [])])
        reasons.append(f"no question names {counted(len(unnamed), 'class')} ({listed})")
    return f"the words run out: {'; '.join(reasons)}. {WHAT_HELPS}"
