"""The paper's training of CIFAR-10 and CIFAR-100, by timing a share of its steps.

The embeddings are made up, in the shape of CLIP ViT-L/14's: on a GPU time does not depend on them,
since every step computes all histories to their full length. A step is one batch: four updates of
the networks and one of the dictionary. An epoch is one pass over the images, as in the authors'
code; `params/paper.yaml` counts an update as a batch, which is a quarter of it.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from benchmarks.engine_pair import SETTINGS
from benchmarks.gpu_check.rows import Row, row
from benchmarks.harness import seconds
from benchmarks.made_up import problem
from infopursuit.pursuit.vip.cuda_graphs import WARM_UP
from infopursuit.pursuit.vip.distributed import Execution
from infopursuit.pursuit.vip.early_stopping import mean_accuracy_by_budget
from infopursuit.pursuit.vip.training import InitialDictionary, Trainer, TrainingImages
from tests.pursuit.dictionary.nearest_checks import lead

EPOCHS_A_VALIDATION = 10
FOREVER = 10**9  # more updates than any run makes


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


SCHEDULES = (
    Schedule("CIFAR-10", 10, 128, 500, 200, 5),
    Schedule("CIFAR-100", 100, 824, 800, 800, 20),
)
TINY: dict[str, Any] = {
    "images": 120, "validation": 20, "u": 400, "d": 16, "batch": 16, "hidden": (16, 8), "k": 8,
    "timed": 0.1,
}  # fmt: skip


def rows(device: str, tiny: bool) -> Iterator[Row]:
    """Yield one row per schedule."""
    for schedule in SCHEDULES:
        yield measured(replace(schedule, **TINY) if tiny else schedule, device, tiny)


def measured(schedule: Schedule, device: str, tiny: bool) -> Row:
    """Time steps of both phases and a validation, and extrapolate."""
    cut = schedule.images
    sizes = schedule.u, schedule.k, schedule.d, schedule.classes
    made = problem(cut + schedule.validation, *sizes)
    embeddings, labels, classes = made.images

    def trainer(random_updates: int) -> Trainer:
        settings = replace(
            SETTINGS,
            hidden=schedule.hidden,
            batch_size=schedule.batch,
            validate_every=FOREVER,
            random_updates=random_updates,
            biased_updates=FOREVER,
        )
        return Trainer(
            TrainingImages(embeddings[:cut], labels[:cut], classes),
            TrainingImages(embeddings[cut:], labels[cut:], classes),
            InitialDictionary(made.universe, made.initial),
            settings,
            min(128, schedule.k),
            execution=Execution(device),
        )

    random_step, random_count = seconds_a_step(trainer(FOREVER), schedule.timed, device)
    biased = trainer(0)
    biased_step, biased_count = seconds_a_step(biased, schedule.timed, device)
    validation = seconds(lambda: validate(biased), device)
    batches = schedule.images / schedule.batch
    steps = (schedule.random + schedule.biased) * batches
    training = (schedule.random * random_step + schedule.biased * biased_step) * batches
    validations = (schedule.random + schedule.biased) / EPOCHS_A_VALIDATION
    minutes = (training + validations * validation) / 60
    theta, texts = biased.dictionary.theta.detach().cpu(), biased.dictionary.rows.cpu()
    count = random_count + biased_count
    return row(
        f"{schedule.name}: {schedule.random} + {schedule.biased} epochs of `alternating`, "
        f"{schedule.images:,} images, k = {schedule.k}",
        f"{minutes:.1f} minutes, extrapolated from {count:,} of {steps:,.0f} steps "
        f"({100 * count / steps:.2g} %): {1e3 * random_step:.2f} ms a step of the random and "
        f"{1e3 * biased_step:.2f} ms of the biased phase, {validation:.2f} s a validation; "
        f"{training / 4 / 60:.1f} minutes where an update counts as a batch",
        goal=None if tiny or device == "cpu" else f"{schedule.minutes:g} minutes",
        met=minutes <= schedule.minutes,
        # The dictionary's texts are the nearest ones, up to float32's rounding.
        exact=lead(theta, made.universe, texts) <= 1e-5,
        figures={
            "minutes": minutes,
            "random_step_seconds": random_step,
            "biased_step_seconds": biased_step,
            "validation_seconds": validation,
            "timed_steps": count,
            "steps": steps,
            "goal_minutes": schedule.minutes,
        },
    )


def seconds_a_step(trainer: Trainer, timed: float, device: str) -> tuple[float, int]:
    """Return mean seconds of a step, and how many were timed, in about `timed` seconds."""

    def steps(count: int) -> None:
        for _ in range(count):
            trainer.train_on_batch()

    steps(WARM_UP + 2)
    one = seconds(lambda: steps(4), device) / 4
    count = max(4, round(timed / one))
    return seconds(lambda: steps(count), device) / count, count


def validate(trainer: Trainer) -> float:
    """Return the mean accuracy on the validation images, as the trainer measures it."""
    answers = trainer.step.answers(trainer.held_out.own).detach()
    labels, budget, classes = trainer.held_out_labels, trainer.budget, trainer.classes
    networks = trainer.querier, trainer.classifier
    return mean_accuracy_by_budget(*networks, answers, labels, budget, classes)
