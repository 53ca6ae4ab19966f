"""A printed key: a tree of the pursuit that branches on answers, cut at a stated error."""

from __future__ import annotations

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.markdown import plain
from infopursuit.core.numbers import counted, distinct_numbers
from infopursuit.pursuit.answers.columns import interval
from infopursuit.pursuit.answers.gain import entropy
from infopursuit.pursuit.answers.rules import WORDS
from infopursuit.pursuit.naive_bayes.model import InformationGain
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
    branches: dict[str, _Node] = field(default_factory=dict)

    @property
    def error(self) -> float:
        return self.mass * (1 - float(self.posterior.max()))

    def named(self, pursuit: Pursuit) -> str:
        """Return the classes that may be here: those at least half as probable as the first."""
        best = float(self.posterior.max())
        order = self.posterior.argsort(descending=True, stable=True).tolist()
        tied = [each for each in order if self.posterior[each] > best / 2]
        names = " or ".join(f"*{plain(pursuit.class_names[each])}*" for each in tied[:NAMED])
        return f"{names} or {len(tied) - NAMED} more" if len(tied) > NAMED else names


def printed_key(pursuit: Pursuit, title: str, error: float) -> str:
    """Return a key in Markdown: numbered questions, each of which leads to others or to a class.

    A question has a branch for each firm answer: yes and no, or the states of a character. It is
    the one that tells most, less what its answer leaves open if the class is known. The tree grows
    where its error is largest, until the key names the wrong class for at most this share of
    specimens whose answers are as reliable as the model says; nothing tells more; or it has
    MOST_QUESTIONS a class. Its head says which error is left.

    Raises:
        InputError: it is not a naive Bayes model, or its classes have subclasses.
    """
    root = _Node(1.0, _posterior(pursuit, []), [])
    waiting, count, left = [(-root.error, 0, root)], 1, root.error
    asked, most = [root], MOST_QUESTIONS * len(pursuit.class_names)
    while waiting and left > error and len(asked) <= most:
        _, _, node = heapq.heappop(waiting)
        split = _split(pursuit, node)
        if not split:
            continue
        asked.append(node)
        left += sum(each.error for each in split) - node.error
        for each in split:
            heapq.heappush(waiting, (-each.error, count, each))
            count += 1
    for node in reversed(asked):  # a question whose answers lead to one class is none
        ends = [each.query is None and each.named(pursuit) for each in node.branches.values()]
        if ends and ends[0] and all(end == ends[0] for end in ends):
            node.query, node.branches = None, {}
    return "\n".join(_lines(root, pursuit, title, left)) + "\n"


def _posterior(pursuit: Pursuit, history: Sequence[tuple[int, float]]) -> Tensor:
    return pursuit.classifier(*_masked(pursuit, history)).softmax(dim=1)[0].double()


def _masked(pursuit: Pursuit, history: Sequence[tuple[int, float]]) -> tuple[Tensor, Tensor]:
    answers = torch.zeros(1, len(pursuit.queries), device=pursuit.device)
    mask = torch.zeros_like(answers)
    for query, answer in history:
        answers[0, query], mask[0, query] = answer, 1
    return answers, mask


def _firm_answers(pursuit: Pursuit, query: int) -> dict[str, int]:
    """Return the answers that the key prints for a question, and their levels."""
    top = pursuit.rule.levels - 1
    if not pursuit.words:
        return {"yes": top, "no": 0}
    shown = {word: level for level, word in enumerate(pursuit.words[query]) if word}
    firm = {word: level for word, level in shown.items() if WORDS.get(word, 1.0) in (0.0, 1.0)}
    return dict(reversed(firm.items())) if set(firm) == {"yes", "no"} else firm


@torch.no_grad()
def _split(pursuit: Pursuit, node: _Node) -> list[_Node]:
    """Ask the best question at a node; return its ends, none if no question tells anything."""
    querier, classifier = pursuit.querier, pursuit.classifier
    table = classifier.exact
    if not isinstance(querier, InformationGain):
        raise InputError("networks have no table of answers; expected a naive Bayes model")
    if table is None:
        raise InputError('classes have subclasses; expected a model fitted with rates="counted"')
    answers, mask = _masked(pursuit, node.history)
    gains = querier(answers, mask)
    # In print a class that gives several answers to a question stands at several ends.
    worth = gains - node.posterior.to(gains) @ entropy(table.log_likelihood.exp()).T
    worth = worth.masked_fill((mask > 0) | (gains < LEAST_GAIN), -torch.inf)
    query = int(first_of_the_best(worth, querier.rounding)[0])
    if worth[0, query] == -torch.inf:
        return []
    levels = _firm_answers(pursuit, query)
    rates = table.log_likelihood[list(levels.values()), query].exp()
    shares = (rates / rates.sum(dim=0)) @ node.posterior.to(rates)
    node.query = query
    for (word, level), share in zip(levels.items(), shares.tolist(), strict=True):
        history = [*node.history, (query, level / (pursuit.rule.levels - 1))]
        node.branches[word] = _Node(node.mass * share, _posterior(pursuit, history), history)
    return list(node.branches.values())


def _lines(root: _Node, pursuit: Pursuit, title: str, error: float) -> list[str]:
    numbers: dict[int, int] = {}
    order, waiting = [], [root]
    while waiting:
        node = waiting.pop()
        if node.query is not None:
            numbers[id(node)] = len(numbers) + 1
            order.append(node)
            waiting += reversed(node.branches.values())
    classes = counted(len(pursuit.class_names), "class")
    lines = [
        f"# {plain(title)}",
        "",
        f"{classes}, {counted(len(order), 'question')}. If answers are as reliable as the key "
        f"assumes, it names the wrong class for {100 * error:.1f} % of specimens.",
        "",
    ]
    for node in order:
        assert node.query is not None
        lines.append(f"**{numbers[id(node)]}.** {plain(pursuit.question(node.query))}")
        joined: dict[str, list[str]] = {}  # answers that lead to the same end are one line
        for word, branch in node.branches.items():
            joined.setdefault(_goes_to(branch, numbers, pursuit), []).append(word)
        lines += [f"- {_joined(pursuit, node.query, each)}: {to}" for to, each in joined.items()]
        lines.append("")
    return lines if order else [*lines, _goes_to(root, numbers, pursuit)]


def _goes_to(node: _Node, numbers: dict[int, int], pursuit: Pursuit) -> str:
    if node.query is not None:
        return f"go to **{numbers[id(node)]}**"
    return f"{node.named(pursuit)} ({100 * float(node.posterior.max()):.0f} %)"


def _joined(pursuit: Pursuit, query: int, words: Sequence[str]) -> str:
    """Return answers that lead to the same as one: intervals beside each other are joined."""
    rule, parts = pursuit.rule, list(map(plain, words))
    cuts = rule.number_cuts(query)
    if cuts is not None:
        cells = list(_firm_answers(pursuit, query))
        ends = distinct_numbers(cuts)
        places = [cells.index(word) for word in words]
        firsts = [place for place in places if place - 1 not in places]
        lasts = [place for place in places if place + 1 not in places]
        parts = [interval(ends, *run) for run in zip(firsts, lasts, strict=True)]
    return " or ".join(parts)
