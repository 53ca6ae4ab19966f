from pathlib import Path

import pytest
import torch

from infopursuit.errors import InputError
from infopursuit.pursuit.model import TrainedModel
from infopursuit.pursuit.networks import HistoryNetwork

QUERIES = ("wings", "wheels", "long neck")


def model(answers: str = "minmax") -> TrainedModel:
    torch.manual_seed(0)
    settings = {"recipe": {"answers": answers, "hidden": (6, 5)}, "clip": "ViT"}
    return TrainedModel(
        HistoryNetwork(3, 3, (6, 5)),
        HistoryNetwork(3, 2, (6, 5)),
        torch.nn.functional.normalize(torch.randn(3, 4), dim=1),
        QUERIES,
        ("bird", "car"),
        3,
        settings,
        {"initial": list(QUERIES), "midway": list(QUERIES), "final": list(QUERIES)},
    )


@pytest.mark.parametrize("answers", ["minmax", "soft"])
def test_a_saved_model_gives_the_same_answers(tmp_path: Path, answers: str) -> None:
    original = model(answers)
    original.save(tmp_path / "model")
    loaded = TrainedModel.load(tmp_path / "model")
    images = torch.nn.functional.normalize(torch.randn(7, 4), dim=1)
    assert all(map(torch.equal, loaded.roll_out(images), original.roll_out(images)))
    assert (loaded.queries, loaded.class_names, loaded.budget) == (QUERIES, ("bird", "car"), 3)
    hard = loaded.roll_out(images).answers.unique().tolist() == [0.0, 1.0]
    assert hard == (answers == "minmax")


def test_equal_models_are_equal_bytes(tmp_path: Path) -> None:
    for name in "ab":
        model().save(tmp_path / name)
    for file in ("weights.safetensors", "model.json"):
        assert (tmp_path / "a" / file).read_bytes() == (tmp_path / "b" / file).read_bytes()


def test_what_is_no_model_or_no_image_of_its_space_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no trained model"):
        TrainedModel.load(tmp_path)
    model().save(tmp_path)
    with pytest.raises(InputError, match="width 5; the model's queries have 4"):
        model().roll_out(torch.randn(2, 5))
    with pytest.raises(InputError, match="a budget of 4 queries; expected 0 to 3"):
        model().roll_out(torch.randn(2, 4), budget=4)
    description = tmp_path / "model.json"
    text = description.read_text(encoding="utf-8")
    description.write_text(text.replace('"format": 3', '"format": 9'), encoding="utf-8")
    with pytest.raises(InputError, match="format 9; expected 3"):
        TrainedModel.load(tmp_path)
    description.write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match="not a readable trained model"):
        TrainedModel.load(tmp_path)
