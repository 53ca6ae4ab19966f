"""A printed dichotomous key: a tree of the pursuit, cut at a stated error."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.rollout import first_of_the_best

# A question that tells less, in nats, splits nothing.
LEAST_GAIN = 1e-3
# A key with more questions a class is not printed.
MOST_QUESTIONS = 4
# Classes named at an end that leaves several.
NAMED = 5


@dataclass
class _Node:
    mass: float  # P(a specimen comes here)
    posterior: Tensor  # (c,)
    history: list[tuple[int, float]]
    query: int | None = None
    branches: list[_Node] = field(default_factory=list)

    @property
    def error(self) -> float:
        return self.mass * (1 - float(self.posterior.max()))


def printed_key(pursuit: Pursuit, title: str, error: float) -> str:
    """Return a key in Markdown: numbered questions, each of which leads to others or to a class.

    The tree grows where its error is largest, until the key names the wrong class for at most this
    share of specimens whose answers are as reliable as the model says; nothing tells more; or it
    has MOST_QUESTIONS a class. Its head says which error is left.
    """
    root = _Node(1.0, _posterior(pursuit, []), [])
    waiting, count, left = [(-root.error, 0, root)], 1, root.error
    while waiting and left > error and count < 2 * MOST_QUESTIONS * len(pursuit.class_names):
        _, _, node = heapq.heappop(waiting)
        split = _split(pursuit, node)
        if not split:
            continue
        left += sum(each.error for each in split) - node.error
        for each in split:
            heapq.heappush(waiting, (-each.error, count, each))
            count += 1
    return "\n".join(_lines(root, pursuit, title, left)) + "\n"


def _posterior(pursuit: Pursuit, history: Sequence[tuple[int, float]]) -> Tensor:
    return pursuit.classifier(*_masked(pursuit, history)).softmax(dim=1)[0].double()


def _masked(pursuit: Pursuit, history: Sequence[tuple[int, float]]) -> tuple[Tensor, Tensor]:
    answers = torch.zeros(1, len(pursuit.queries), device=pursuit.device)
    mask = torch.zeros_like(answers)
    for query, answer in history:
        answers[0, query], mask[0, query] = answer, 1
    return answers, mask


@torch.no_grad()
def _split(pursuit: Pursuit, node: _Node) -> list[_Node]:
    """Ask the best question at a node; return its ends for yes and no, none if it tells nothing."""
    answers, mask = _masked(pursuit, node.history)
    gains = pursuit.querier(answers, mask).masked_fill(mask > 0, -torch.inf)
    query = int(first_of_the_best(gains, pursuit.querier.rounding)[0])
    if gains[0, query] < LEAST_GAIN:
        return []
    after = [[*node.history, (query, answer)] for answer in (1.0, 0.0)]
    ends = [_posterior(pursuit, history) for history in after]
    # The posterior is the mean of those after each answer, weighted by how probable these are.
    apart = ends[0] - ends[1]
    yes = float(((node.posterior - ends[1]) @ apart / (apart @ apart)).clamp(0, 1))
    masses = node.mass * yes, node.mass * (1 - yes)
    node.query = query
    node.branches = [_Node(*parts) for parts in zip(masses, ends, after, strict=True)]
    return node.branches


def _lines(root: _Node, pursuit: Pursuit, title: str, error: float) -> list[str]:
    numbers: dict[int, int] = {}
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node.query is not None:
            numbers[id(node)] = len(numbers) + 1
            order.append(node)
            waiting += reversed(node.branches)
    lines = [
        f"# {title}",
        "",
        f"{len(pursuit.class_names)} classes, {len(order)} questions. If answers are as reliable "
        f"as the key assumes, it names the wrong class for {100 * error:.1f} % of specimens.",
        "",
    ]
    for node in order:
        assert node.query is not None
        lines.append(f"**{numbers[id(node)]}.** {pursuit.question(node.query)}")
        for word, branch in zip(("yes", "no"), node.branches, strict=True):
            lines.append(f"- {word}: {_goes_to(branch, numbers, pursuit)}")
        lines.append("")
    return lines if order else [*lines, _goes_to(root, numbers, pursuit)]


def _goes_to(node: _Node, numbers: dict[int, int], pursuit: Pursuit) -> str:
    if node.query is not None:
        return f"go to **{numbers[id(node)]}**"
    best = float(node.posterior.max())
    order = node.posterior.argsort(descending=True, stable=True).tolist()
    tied = [each for each in order if node.posterior[each] > best / 2]
    names = " or ".join(f"*{pursuit.class_names[each]}*" for each in tied[:NAMED])
    more = f" or {len(tied) - NAMED} more" if len(tied) > NAMED else ""
    return f"{names}{more} ({100 * best:.0f} %)"
