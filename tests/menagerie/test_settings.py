"""The menagerie's settings: the shipped file is valid, and mistakes are named."""

from itertools import pairwise
from pathlib import Path

import pytest
from menagerie.settings import load_settings

from infopursuit.core.errors import InputError

SHIPPED = Path(__file__).parents[2] / "stages/menagerie/params.yaml"


def test_the_shipped_settings_are_valid() -> None:
    settings = load_settings(SHIPPED)
    assert settings.draw.seed == 2
    assert settings.draw.captions == 240


def test_every_key_has_a_sentence_above_it() -> None:
    lines = SHIPPED.read_text(encoding="utf-8").splitlines()
    for before, line in pairwise(lines):
        key, _, value = line.strip().partition(":")
        if value.strip() and not line.strip().startswith("#"):
            assert before.strip().startswith("#"), key


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  seed: 2", "  sede: 2", "draw.seed"),
        ("  steps: ", "  steps: many #", "clip.steps"),
        ("layers: [1, 1, 2, 1]", "layers: [1, 1]", "clip.vision.layers"),
        ("  size: 64", "  size: 8", "draw.size"),
        ("  batch_size: 64", "  batch_size: 65", "clip.batch_size"),
        ("draw:", "draw: [", "not valid YAML"),
    ],
)
def test_a_mistake_is_named_with_its_key(tmp_path: Path, old: str, new: str, message: str) -> None:
    text = SHIPPED.read_text(encoding="utf-8")
    assert old in text
    path = tmp_path / "params.yaml"
    path.write_text(text.replace(old, new, 1), encoding="utf-8")
    with pytest.raises(InputError, match=message):
        load_settings(path)


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nothing\.yaml"):
        load_settings(tmp_path / "nothing.yaml")
