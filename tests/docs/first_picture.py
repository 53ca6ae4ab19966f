"""The picture of the README: a chain of questions, and a person who corrects one answer.

make repro && python -m tests.docs.first_picture     # then look at docs/images/explanation.png
"""

from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pyarrow.parquet as pq
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from PIL import Image

import infopursuit
from infopursuit import Explanation

ROOT = Path(__file__).parents[2]
PICTURE = ROOT / "docs/images/explanation.png"
MODEL = ROOT / "artifacts/models/menagerie-llm-naive_bayes-0"
# A cow that CLIP sees gray skin on, and what a person says of it.
SHOWN, QUERY, SAID = "test-00323", "gray wrinkled skin", "no"
QUESTION, ANSWER, BAR, FULL = 3.2, 7.6, 8.9, 2.2  # where columns begin, and a bar of 100 %
INK, SOFT, FIRST, CORRECTED = "#1d2433", "#6b7385", "#8a93a8", "#d9702a"


def explanations() -> tuple[Explanation, Explanation]:
    """Explain the picture as it is, and with the answer of a person."""
    rows = pq.read_table(ROOT / "artifacts/images/menagerie.parquet", columns=["id", "embedding"])
    found = rows.column("id").to_pylist().index(SHOWN)
    X = np.asarray([rows.column("embedding")[found].as_py()], np.float32)
    model = infopursuit.load(MODEL)
    return model.explain(X)[0], model.explain(X, overrides={QUERY: SAID})[0]


def pixels() -> Image.Image:
    """Return the picture itself."""
    rows = pq.read_table(ROOT / "artifacts/menagerie/images.parquet", columns=["id", "image"])
    held = rows.column("image")[rows.column("id").to_pylist().index(SHOWN)].as_py()
    return Image.open(io.BytesIO(held)).resize((480, 480), Image.Resampling.LANCZOS)


def write_rows(axes: Axes, explanation: Explanation, first: int, top: float, color: str) -> float:
    """Write the questions of an explanation from one on, each with its answer and a bar."""
    for number, step in enumerate(explanation.steps[first:], first + 1):
        leading = int(np.argmax(step.posterior))
        share, person = step.posterior[leading], step.query == QUERY and color == CORRECTED
        middle, weight = top + 0.16, "bold" if person else "normal"
        given = f"You: {step.said}" if person else step.said
        axes.text(QUESTION, middle, f"{number}  {step.question}", color=INK, weight=weight)
        axes.text(ANSWER, middle, given, color=CORRECTED if person else INK, weight=weight)
        axes.barh(middle - 0.05, FULL * share, 0.2, left=BAR, color=color)
        told = f"{explanation.class_names[leading]} {100 * share:.0f} %"
        axes.text(BAR + FULL * share + 0.08, middle, told, color=INK)
        top += 0.31
    return top


def main() -> None:
    """Draw both, one below the other."""
    before, after = explanations()
    changed = before.questions.index(QUERY)
    height = 0.31 * (len(before.steps) + len(after.steps) - changed) + 1.15
    figure = Figure(figsize=(12.4, height), dpi=100, facecolor="white")
    axes = figure.add_axes((0.0, 0.0, 1.0, 1.0))
    axes.set(xlim=(0, 12.4), ylim=(height, 0))
    axes.axis("off")
    axes.imshow(pixels(), extent=(0.2, 2.9, 2.95, 0.25), aspect="auto")
    axes.text(QUESTION, 0.35, "The questions, and what they make of it", color=SOFT)
    top = write_rows(axes, before, 0, 0.5, FIRST)
    axes.text(
        QUESTION, top + 0.35, "You disagree with one answer: the rest is asked anew", color=SOFT
    )
    write_rows(axes, after, changed, top + 0.5, CORRECTED)
    buffer = io.BytesIO()
    FigureCanvasAgg(figure).print_png(buffer, metadata={"Software": None})
    Image.open(buffer).convert("RGB").quantize(128).save(PICTURE, optimize=True)


if __name__ == "__main__":
    main()
