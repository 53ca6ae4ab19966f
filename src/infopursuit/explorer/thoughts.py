"""What a model makes of histories that the page sends."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from infopursuit.core.errors import InputError
from infopursuit.explorer.api import Thought, Told
from infopursuit.pursuit.pursuit import Pursuit


@torch.no_grad()
def thoughts(pursuit: Pursuit, histories: Sequence[Sequence[Told]]) -> list[Thought]:
    """The posterior and the values of all queries after each history.

    Raises:
        InputError: a query is none of the model's, or stands twice in a history.
    """
    k = len(pursuit.queries)
    answers = torch.zeros(len(histories), k)
    mask = torch.zeros_like(answers)
    for row, history in enumerate(histories):
        for told in history:
            if told.query >= k:
                raise InputError(f"no query {told.query}; expected 0 to {k - 1}")
            if mask[row, told.query]:
                raise InputError(f"the query {told.query} stands twice; expected it once")
            answers[row, told.query], mask[row, told.query] = told.answer, 1
    answers, mask = answers.to(pursuit.device), mask.to(pursuit.device)
    posterior = pursuit.classifier(answers, mask).double().softmax(dim=1).tolist()
    outputs = pursuit.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
    values = pursuit.querier.values(outputs).masked_fill(mask > 0, -torch.inf).tolist()
    return [
        Thought(
            posterior=of_classes,
            values=[None if value == -torch.inf else value for value in of_queries],
        )
        for of_classes, of_queries in zip(posterior, values, strict=True)
    ]
