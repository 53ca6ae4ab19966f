"""A prediction in a few words, for tables and programs: class, probability, what decided."""

from __future__ import annotations

import math
from typing import Any

from infopursuit.pursuit.explanation import Explanation, Step

# Classes and deciding answers that are named.
TOP, DECIDING = 3, 3


def prediction(explanation: Explanation) -> dict[str, Any]:
    """Return plain values.

    Returns:
        `image`, `class`, `probability`, `top` (the three most probable classes), `conformity`,
        `questions` (their number), `known` (before the first of them), `decided_by` and `answers`
        (in the order asked, each with the class that is most probable after it).
    """
    labels = explanation.labels or explanation.class_names
    before = [explanation.prior, *(step.posterior for step in explanation.steps)]
    winner = explanation.top_classes(1)[0]
    gains = [
        math.log(max(step.posterior[winner], 1e-9) / max(earlier[winner], 1e-9))
        for earlier, step in zip(before, explanation.steps, strict=False)
    ]
    first = sorted(range(len(gains)), key=lambda place: -gains[place])[:DECIDING]

    def answer(step: Step) -> dict[str, Any]:
        return {"question": step.question, "answer": step.said}

    return {
        "image": explanation.image,
        "class": explanation.predicted_class,
        "probability": explanation.probability,
        "top": [
            {"class": labels[place], "probability": explanation.posterior[place]}
            for place in explanation.top_classes(TOP)
        ],
        "conformity": explanation.conformity,
        "questions": len(explanation.steps),
        "known": [answer(step) for step in explanation.known],
        # The answers after which the probability of this class rose most.
        "decided_by": [answer(explanation.steps[place]) for place in first if gains[place] > 0],
        "answers": [
            {
                **answer(step),
                "class": labels[step.leader],
                "probability": step.posterior[step.leader],
            }
            for step in explanation.steps
        ],
    }
