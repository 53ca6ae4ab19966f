"""Order, change and steadiness, against counts by hand."""

import numpy as np

from menagerie.counterfactuals import SwitchedPairs
from menagerie.scenes import ATTRIBUTE_NAMES
from menagerie.switch_measures import SwitchMeasures, switch_measures
from menagerie.truths import Claim

STRIPED, NO_WHEELS, WHEELS = Claim("striped", True), Claim("wheels", False), Claim("wheels", True)
TWO_WHEELS, RED = Claim("two_wheels", True), Claim("red", True)


def pairs_of(*attributes: str, true: tuple[str, ...] = ()) -> SwitchedPairs:
    """Pairs of pictures of which the attributes in `true` always hold."""
    truth = np.zeros((2 * len(attributes), len(ATTRIBUTE_NAMES)), dtype=bool)
    for row, attribute in enumerate(attributes):
        truth[2 * row, ATTRIBUTE_NAMES.index(attribute)] = True
    for name in true:
        truth[:, ATTRIBUTE_NAMES.index(name)] = True
    names = [f"{attribute}-{row}" for row, attribute in enumerate(attributes)]
    return SwitchedPairs(names, list(attributes), truth)


def test_one_who_sees_is_right_in_all() -> None:
    pairs = pairs_of("striped", "wheels", "striped", true=("red",))
    claims = [STRIPED, WHEELS, NO_WHEELS, RED]
    columns = [ATTRIBUTE_NAMES.index(claim.attribute) for claim in claims]
    answers = (pairs.truth[:, columns] == [True, True, False, True]).astype(float)
    found = switch_measures(pairs, claims, answers * 2 - 1, answers)
    assert switch_measures(pairs, claims, answers * 2 - 1, answers == 1) == found
    assert found["striped"] == SwitchMeasures(2, 1, 1.0, 1.0, 0.0, 1.0)
    assert found["wheels"] == SwitchMeasures(1, 2, 1.0, 1.0, 0.0, 1.0)
    assert found["all"] == SwitchMeasures(3, 3, 1.0, 1.0, 0.0, 1.0)


def test_shares_are_counted_by_hand() -> None:
    """Two pairs of stripes, asked about stripes (twice, once in the negative) and red.

    The first pair's scores rise and its answers move; the second's fall, and red moves with it.
    """
    pairs = pairs_of("striped", "striped")
    claims = [STRIPED, Claim("striped", False), RED]
    scores = np.array([[2.0, 0, 0], [1, 1, 0], [1, 1, 0], [2, 1, 0]])
    answers = np.array([[1.0, 0.5, 0], [0, 1, 0], [0.5, 1, 1], [1, 1, 0]])
    found = switch_measures(pairs, claims, scores, answers)["striped"]
    assert found == SwitchMeasures(2, 2, (1 + 1 + 0 + 0.5) / 4, 2 / 4, 1 / 4, 1 / 2)


def test_attributes_that_follow_are_asked_about_neither_way() -> None:
    """Wheels taken off take two wheels with them: no question of another attribute that stays."""
    pairs = pairs_of("wheels")
    pairs.truth[0, ATTRIBUTE_NAMES.index("two_wheels")] = True
    answers = np.array([[1.0], [0.0]])
    found = switch_measures(pairs, [TWO_WHEELS], answers, answers)["wheels"]
    assert found == SwitchMeasures(1, 0, None, None, None, None)


def test_without_questions_there_is_nothing_to_measure() -> None:
    none = np.zeros((2, 0))
    found = switch_measures(pairs_of("night"), [], none, none)
    assert found["all"] == SwitchMeasures(1, 0, None, None, None, None)
