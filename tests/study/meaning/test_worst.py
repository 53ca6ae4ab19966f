import numpy as np
import pytest
import torch

from infopursuit.pursuit.rollout import RollOut
from infopursuit_study.meaning.worst_answers import denied, worst_answers

NAMES = tuple([f"{kind} {n}" for n in range(30)] for kind in ("image", "class", "query"))


def roll_out(order: list, answers: list, posteriors: list) -> RollOut:
    none = torch.zeros(len(order), len(order[0]), 0)
    return RollOut(
        torch.tensor(order), torch.tensor(answers), torch.tensor(posteriors), none.long(), none
    )


def drawn(seed: int, n: int = 30, k: int = 7, steps: int = 5, c: int = 4):
    draw = np.random.default_rng(seed)
    order = np.array([draw.permutation(k)[:steps] for _ in range(n)])
    answers = draw.choice([0.0, 0.5, 1.0], (n, steps))
    posteriors = draw.dirichlet(np.ones(c), (n, steps + 1))
    truth = draw.choice([0.0, 1.0, np.nan], (n, k))
    labels, lengths = draw.integers(0, c, n), draw.integers(0, steps + 1, n)
    return roll_out(order.tolist(), answers.tolist(), posteriors.tolist()), lengths, truth, labels


@pytest.mark.parametrize("seed", range(6))
def test_as_found_one_by_one(seed: int) -> None:
    asked, lengths, truth, labels = drawn(seed)
    every = []
    for row in range(len(labels)):
        for step in range(lengths[row]):
            query, answer = int(asked.order[row, step]), float(asked.answers[row, step])
            said = {1.0: 1.0, 0.0: 0.0}.get(answer)
            if said is None or np.isnan(truth[row, query]) or said == truth[row, query]:
                continue
            rise = (asked.posteriors[row, step + 1] - asked.posteriors[row, step]).tolist()
            wrong = max((c for c in range(4) if c != labels[row]), key=rise.__getitem__)
            harm = rise[wrong] - rise[labels[row]]
            if harm > 0:
                every.append((harm, row, step + 1, query, wrong))
    every.sort(key=lambda each: -each[0])
    told: list[tuple] = []
    for each in every:
        rows = {one[1] for one in told}
        cells = {one[3:] for one in told}
        if each[1] not in rows and each[3:] not in cells:
            told.append(each)
    found = worst_answers(asked, lengths, {"strict": truth}, labels, *NAMES, most=5)
    assert [(one.image, one.number, one.query, one.toward) for one in found] == [
        (f"image {row}", number, f"query {query}", f"class {wrong}")
        for _, row, number, query, wrong in told[:5]
    ]
    for one, (_, row, number, query, wrong) in zip(found, told, strict=False):
        posteriors = asked.posteriors[row, number - 1 : number + 1].numpy()
        assert np.allclose(posteriors[:, wrong], (one.before, one.after), atol=1e-6)
        of_true = posteriors[:, labels[row]]
        assert np.allclose(of_true, (one.true_before, one.true_after), atol=1e-6)
        assert one.true_class == f"class {labels[row]}"
        assert one.yes == (truth[row, query] == 0)


def test_the_first_source_that_knows_decides() -> None:
    asked = roll_out([[0, 1]], [[1.0, 1.0]], [[[0.5, 0.5], [0.3, 0.7], [0.1, 0.9]]])
    truths = {"strict": np.array([[1.0, np.nan]]), "knowledge": np.array([[0.0, 0.0]])}
    (found,) = worst_answers(asked, np.array([2]), truths, np.array([0]), *NAMES)
    assert (found.query, found.by) == ("query 1", "knowledge")
    assert worst_answers(asked, np.array([1]), truths, np.array([0]), *NAMES) == []


def test_knowledge_denies_and_affirms_nothing() -> None:
    found = denied(np.array([[0.0, 0.5, 1.0, np.nan]]))
    assert found[0, 0] == 0
    assert np.isnan(found[0, 1:]).all()
