"""Trajectories against a plain loop, and back from JSON unchanged."""

import json
import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from infopursuit.errors import InputError
from infopursuit.presentation.trajectories import (
    Step,
    Stop,
    Trajectory,
    entropy_nats,
    read_trajectories,
    stop_steps,
    trajectories,
    write_trajectories,
)
from infopursuit.pursuit.rollout import RollOut
from tests.presentation.made_up_runs import CLASSES, TEXTS, made_up_roll_out


def slow_stop(posteriors, stop):
    """The definition, one image and one question at a time."""
    for t in range(min(stop.max_queries, len(posteriors) - 1) + 1):
        if posteriors[t].max() >= stop.probability:
            return t, True
    return min(stop.max_queries, len(posteriors) - 1), False


@given(
    scores=arrays.arrays(np.float64, (4, 6, 3), elements=st.floats(-4, 4)),
    probability=st.floats(0.01, 1.0),
    max_queries=st.integers(1, 9),
)
def test_stop_steps_agree_with_a_loop(scores, probability, max_queries):
    posteriors = np.exp(scores) / np.exp(scores).sum(axis=2, keepdims=True)
    stop = Stop(probability, max_queries)
    steps, confident = stop_steps(posteriors, stop)
    expected = [slow_stop(rows, stop) for rows in posteriors]
    assert list(zip(steps.tolist(), confident.tolist(), strict=True)) == expected


def test_entropy_counts_zero_as_nothing():
    found = entropy_nats(np.array([[1.0, 0.0], [0.5, 0.5]]))
    assert found.tolist() == [0.0, pytest.approx(math.log(2))]


def test_steps_hold_what_the_roll_out_says():
    labels = np.array([0, 3, 5])
    found = made_up_roll_out(labels, k=len(TEXTS), budget=9, skill=0.6, seed=1)
    names = [CLASSES[label] for label in labels]
    told = trajectories(found, TEXTS, CLASSES, ["a", "b", "c"], names, Stop(0.9, 7))
    for row, trajectory in enumerate(told):
        assert trajectory.image == "abc"[row]
        assert trajectory.true_class == names[row]
        assert len(trajectory.steps) <= 7
        assert trajectory.prior == pytest.approx(found.posteriors[row, 0].tolist(), abs=1e-6)
        for step, values in enumerate(trajectory.steps):
            assert values.query == TEXTS[int(found.order[row, step])]
            assert values.answer == found.answers[row, step]
            expected = found.posteriors[row, step + 1].tolist()
            assert values.posterior == pytest.approx(expected, abs=1e-6)
        best = int(found.posteriors[row, len(trajectory.steps)].argmax())
        assert trajectory.predicted_class == CLASSES[best]
        assert trajectory.correct == (best == labels[row])
        assert trajectory.confident == (trajectory.probability >= 0.9)


def test_a_sure_classifier_asks_nothing():
    posteriors = torch.tensor([[[0.95, 0.05], [0.5, 0.5]]])
    found = RollOut(torch.tensor([[0]]), torch.tensor([[1.0]]), posteriors)
    (told,) = trajectories(found, ["wings"], ["bird", "bus"], ["x"])
    assert told.steps == ()
    assert (told.predicted_class, told.confident, told.correct) == ("bird", True, None)


def test_soft_answers_keep_their_value():
    words = [Step("q", answer, (1.0,), 0.0).said for answer in (1.0, 0.0, 0.73, 0.5)]
    assert words == ["yes", "no", "yes 0.73", "no 0.50"]


def test_top_classes_puts_the_first_of_equals_first():
    told = Trajectory("x", ("a", "b", "c", "d"), (0.1, 0.4, 0.4, 0.1), (), False)
    assert told.top_classes(3) == [1, 2, 0]
    assert told.top_classes(9) == [1, 2, 0, 3]
    assert told.predicted_class == "b"


def test_file_gives_back_what_was_written(tmp_path):
    found = made_up_roll_out(np.array([1, 2]), k=len(TEXTS), budget=5, skill=0.5, seed=2)
    told = trajectories(found, TEXTS, CLASSES, ["ä/1", "2"], ["horse", None], Stop(0.8, 4))
    explained = [(told[0], "1.png"), (told[1], "2.png")]
    path = tmp_path / "trajectories.json"
    write_trajectories(path, Stop(0.8, 4), explained)
    assert read_trajectories(path) == (Stop(0.8, 4), explained)
    before = path.read_bytes()
    write_trajectories(path, *read_trajectories(path))
    assert path.read_bytes() == before


@pytest.mark.parametrize("content", ["[", "[]", "{}", json.dumps({"stop": {}, "images": [{}]})])
def test_a_malformed_file_is_named(tmp_path, content):
    path = tmp_path / "trajectories.json"
    path.write_text(content)
    with pytest.raises(InputError, match=r"trajectories\.json: not the trajectories"):
        read_trajectories(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(InputError, match="no such file"):
        read_trajectories(tmp_path / "trajectories.json")
