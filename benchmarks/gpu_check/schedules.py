"""The paper's training of CIFAR-10 and CIFAR-100, by timing a share of its steps.

The embeddings are made up, in the shape of CLIP ViT-L/14's: time does not depend on what is in
them on a GPU, where every step computes all histories to their full length. A step is one batch:
four updates of the networks and one of the dictionary. An epoch is one pass over the images, as
in the authors' code; `params/paper.yaml` counts an update as a batch, which is a quarter of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.engine_pair import SETTINGS
from benchmarks.gpu_check.rows import NOT_APPLICABLE, Row
from benchmarks.harness import seconds
from benchmarks.made_up import Problem, problem
from infopursuit.pursuit.vip.cuda_graphs import WARM_UP
from infopursuit.pursuit.vip.distributed import Execution
from infopursuit.pursuit.vip.early_stopping import mean_accuracy_by_budget
from infopursuit.pursuit.vip.settings import VariationalSettings
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer, TrainingImages
from tests.pursuit.dictionary.nearest_checks import lead

EPOCHS_A_VALIDATION = 10
FOREVER = 10**9  # updates that no run reaches


@dataclass(frozen=True)
class Schedule:
    """A data set's training, in epochs of each phase, and the minutes it may take."""

    name: str
    classes: int
    k: int
    random: int
    biased: int
    minutes: float
    images: int = 50_000
    validation: int = 10_000
    u: int = 300_000
    d: int = 768
    batch: int = 256
    hidden: tuple[int, int] = SETTINGS.hidden
    timed: float = 20.0  # seconds of each phase

    @property
    def batches(self) -> float:
        """In an epoch."""
        return self.images / self.batch


SCHEDULES = (
    Schedule("CIFAR-10", 10, 128, 500, 200, 5),
    Schedule("CIFAR-100", 100, 824, 800, 800, 20),
)
TINY: dict[str, Any] = {
    "images": 120,
    "validation": 20,
    "u": 400,
    "d": 16,
    "batch": 16,
    "hidden": (16, 8),
    "k": 8,
    "timed": 0.1,
}


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """A row for each schedule."""
    for schedule in SCHEDULES:
        yield measured(replace(schedule, **TINY) if tiny else schedule, device, tiny)


def measured(schedule: Schedule, device: str, tiny: bool) -> Row:
    """Time steps of both phases and a validation, and extrapolate."""
    made = problem(
        schedule.images + schedule.validation, schedule.u, schedule.k, schedule.d, schedule.classes
    )
    settings = replace(
        SETTINGS, hidden=schedule.hidden, batch_size=schedule.batch, validate_every=FOREVER
    )
    random = trainer_of(schedule, made, replace(settings, random_updates=FOREVER), device)
    random_step, random_count = seconds_a_step(random, schedule.timed, device)
    del random
    only_biased = replace(settings, random_updates=0, biased_updates=FOREVER)
    biased = trainer_of(schedule, made, only_biased, device)
    biased_step, biased_count = seconds_a_step(biased, schedule.timed, device)
    validation = seconds(lambda: validate(biased), device)
    steps = schedule.random * schedule.batches, schedule.biased * schedule.batches
    validations = (schedule.random + schedule.biased) / EPOCHS_A_VALIDATION
    training = steps[0] * random_step + steps[1] * biased_step
    minutes = (training + validations * validation) / 60
    behind = lead(
        biased.dictionary.theta.detach().cpu(), made.universe, biased.dictionary.rows.cpu()
    )
    count, share = random_count + biased_count, (random_count + biased_count) / sum(steps)
    full = not tiny and device != "cpu"
    return Row(
        f"{schedule.name}: {schedule.random} + {schedule.biased} epochs of `alternating`, "
        f"{schedule.images:,} images, k = {schedule.k}",
        f"{minutes:.1f} minutes, extrapolated from {count:,} of {sum(steps):,.0f} steps "
        f"({100 * share:.2g} %): {1e3 * random_step:.2f} ms a step of the random and "
        f"{1e3 * biased_step:.2f} ms of the biased phase, {validation:.2f} s a validation; "
        f"{training / 4 / 60:.1f} minutes where an update counts as a batch",
        f"{schedule.minutes:g} minutes" if full else NOT_APPLICABLE,
        minutes <= schedule.minutes if full else None,
        behind <= 1e-5,  # the dictionary's texts are the nearest ones, up to float32's rounding
        figures={
            "minutes": minutes,
            "random_step_seconds": random_step,
            "biased_step_seconds": biased_step,
            "validation_seconds": validation,
            "timed_steps": count,
            "steps": sum(steps),
            "goal_minutes": schedule.minutes,
        },
    )


def trainer_of(
    schedule: Schedule, made: Problem, settings: VariationalSettings, device: str
) -> Trainer:
    """A run on the made-up images, the last of which validate."""
    embeddings, labels, classes = made.images
    cut = schedule.images
    return Trainer(
        TrainingImages(embeddings[:cut], labels[:cut], classes),
        TrainingImages(embeddings[cut:], labels[cut:], classes),
        InitialDictionary(made.universe, made.initial),
        settings,
        min(128, schedule.k),
        execution=Execution(device),
    )


def seconds_a_step(trainer: Trainer, timed: float, device: str) -> tuple[float, int]:
    """Mean seconds of a step, and how many were timed, in about `timed` seconds."""

    def steps(count: int) -> None:
        for _ in range(count):
            trainer.train_on_batch()

    steps(WARM_UP + 2)
    one = seconds(lambda: steps(4), device) / 4
    count = max(4, round(timed / one))
    return seconds(lambda: steps(count), device) / count, count


def validate(trainer: Trainer) -> float:
    """The AUC on the validation images, as the trainer measures it."""
    images, labels = trainer.held_out.own, trainer.held_out_labels
    answers = trainer.step.answers(images).detach()
    networks = trainer.querier, trainer.classifier
    return mean_accuracy_by_budget(*networks, answers, labels, trainer.budget, trainer.classes)
