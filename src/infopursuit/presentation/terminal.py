"""A trajectory told in plain lines of text, for the terminal."""

from __future__ import annotations

from infopursuit.presentation.numbers import percent
from infopursuit.presentation.trajectories import Trajectory

BEFORE = "before any question"


def told(trajectory: Trajectory) -> str:
    """One line for each question with its answer and the class it makes most probable.

    Ends with the prediction and why the questions stopped; every line ends with a line break.
    """
    names = trajectory.class_names
    rows = [("", BEFORE, "", _leader(names, trajectory.prior))]
    rows += [
        (str(number), f"{step.query}?", step.said, _leader(names, step.posterior))
        for number, step in enumerate(trajectory.steps, start=1)
    ]
    widths = [max(len(row[column]) for row in rows) for column in range(3)]
    lines = [trajectory.image]
    for number, question, answer, belief in rows:
        lines.append(
            f"  {number:>{widths[0]}}  {question:<{widths[1]}}  {answer:<{widths[2]}}  {belief}"
        )
    count = len(trajectory.steps)
    ending = f"after {count} question{'' if count == 1 else 's'}"
    if not trajectory.confident:
        ending += ", the most allowed"
    prediction = f"{trajectory.predicted_class}, {percent(trajectory.probability)}"
    lines.append(f"  Prediction: {prediction}, {ending}.")
    return "".join(f"{line}\n" for line in lines)


def _leader(names: tuple[str, ...], posterior: tuple[float, ...]) -> str:
    """The most probable class (the first of equals) with its probability."""
    best = max(range(len(posterior)), key=posterior.__getitem__)
    return f"{names[best]} {percent(posterior[best])}"
