"""Which questions of a model speak most for and against a class, each on its own."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from infopursuit.pursuit.answers.rules import NOT_SURE
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.texts.knowledge import KnowledgeTable

# A question, or the value of a column: its number, its answer in [0, 1], and its text.
Claim = tuple[int, float, str]


def questions_for(
    pursuit: Pursuit, y: int, count: int, table: KnowledgeTable | None
) -> dict[str, list[tuple[str, float]]]:
    """Return what `PursuitClassifier.questions_for` does, of the class of number y.

    Args:
        table: what is known of the classes; None for nothing.
    """
    k, queries = len(pursuit.queries), pursuit.queries
    claims = [(query, 1.0, text) for query, text in enumerate(queries)]
    if pursuit.words:
        claims = [
            (query, level / (len(words) - 1), f"{queries[query]} {word}")
            for query, words in enumerate(pursuit.words)
            for level, word in enumerate(words)
            if word and 2 * level != len(words) - 1
        ]
    with torch.no_grad():
        mask = torch.eye(k, device=pursuit.device)
        chosen = mask[[query for query, _, _ in claims]]
        answers = torch.tensor([[answer] for _, answer, _ in claims], device=pursuit.device)
        before = pursuit.classifier(*torch.zeros(2, 1, k, device=pursuit.device))
        before = before.log_softmax(dim=1)
        after = pursuit.classifier(chosen * answers, chosen).log_softmax(dim=1)
        unsure = pursuit.classifier(NOT_SURE * mask, mask).log_softmax(dim=1)
    texts = [text for _, _, text in claims]
    ranked = sorted(
        zip(texts, (after - before)[:, y].tolist(), strict=True), key=lambda each: -each[1]
    )
    gain_of = dict(zip(texts, _told(pursuit, claims, y), strict=True))
    other = []
    if table is not None:
        known = table.for_classes_and_texts([pursuit.class_names[y]], queries)[0]
        truth = dict(zip(queries, known, strict=True))
        supported = [
            (query, value)
            for query, value in ranked
            if (truth[query] >= 0.5 if value > 0 else truth[query] < 0.5)  # NaN is neither
        ]
        other = sorted(set(ranked) - set(supported), key=lambda each: (-abs(each[1]), each[0]))
        ranked = supported
    speaking = sorted((each for each in ranked if each[1] > 0), key=lambda each: -gain_of[each[0]])
    evidence = {
        "for": speaking[:count],
        "against": [each for each in ranked[::-1] if each[1] < 0][:count],
    }
    if pursuit.rule.levels > 2 and not pursuit.words:
        changes = zip(queries, (unsure - before)[:, y].tolist(), strict=True)
        evidence["not sure"] = sorted(changes, key=lambda each: -abs(each[1]))[:count]
    return evidence if table is None else {**evidence, "other": other[:count]}


def _told(pursuit: Pursuit, claims: Sequence[Claim], y: int) -> list[float]:
    """Return how much the answers of images of a class tell for it on average, in nats.

    Of a question, or of one value of a column; 0 for networks, which do not know it.
    """
    table = pursuit.classifier.exact
    if table is None:
        return [0.0] * len(claims)
    rates = table.log_likelihood.exp()
    overall = (rates @ table.log_prior.exp()).log()
    gain = rates[:, :, y] * (table.log_likelihood[:, :, y] - overall)
    if not pursuit.words:
        gain = gain.sum(dim=0).expand(table.levels, -1)
    return [float(gain[table.level_of(torch.tensor(answer)), query]) for query, answer, _ in claims]
