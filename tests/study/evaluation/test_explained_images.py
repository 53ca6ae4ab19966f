"""Explained images go to a file and come back unchanged."""

from __future__ import annotations

from pathlib import Path

from infopursuit.pursuit.explanation import Step
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit_study.evaluation.explained_images import (
    ExplainedImage,
    read_explanations,
    write_explanations,
)
from tests.pursuit.test_explanation import explained


def test_a_file_gives_back_what_was_written(tmp_path: Path) -> None:
    images = [
        ExplainedImage(explained(image="ä/1"), "1.png"),
        ExplainedImage(explained(true_class=None, steps=()), "2.png"),
        ExplainedImage(explained(ended="stability", familiarity=1 / 3, prior=(0.1, 0.2, 0.7)), ""),
    ]
    unsure = Step("legs", 0.5, (0.3, 0.4, 0.3), 1.1, rates=(0.4, 0.1), rival=0)
    images.append(ExplainedImage(explained(steps=(unsure,)), "4.png"))
    rule, path = StoppingRule(0.8, 4, None, 3), tmp_path / "explanations.json"
    write_explanations(path, rule, images)
    assert read_explanations(path) == (rule, images)
