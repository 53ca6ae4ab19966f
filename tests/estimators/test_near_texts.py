"""Texts near a query, against the plain product of all."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from infopursuit.core.errors import InputError
from infopursuit.estimators.near_texts import NearTexts
from infopursuit.texts import nearest, visual_vocabulary
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.estimators.conftest import World


def test_the_nearest_are_those_of_the_largest_cosines(world: World) -> None:
    cosines = world.unseen @ world.embeddings.T
    index = NearTexts(world.texts, world.embeddings.astype(np.float16))
    for row, query in zip(cosines[:20], world.unseen[:20], strict=True):
        found = index.nearest(torch.from_numpy(query), 5)
        order = np.argsort(-row)[:5]
        assert [text for text, _ in found] == [world.texts[place] for place in order]
        assert [cosine for _, cosine in found] == pytest.approx(row[order].tolist(), abs=1e-3)


def test_a_text_of_the_list_is_nearest_to_itself(world: World) -> None:
    found = nearest("four legs", world.texts, world.embeddings, count=100)
    assert found[0] == ("four legs", pytest.approx(1, abs=1e-6))
    assert len(found) == len(world.texts)


def test_a_new_text_needs_a_clip(
    world: World, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INFOPURSUIT_CACHE", str(tmp_path))
    texts = visual_vocabulary()[:50]
    found = nearest(texts[7].upper() + "!", texts, count=3, clip=tiny_clip)
    assert len(found) == 3
    assert found == NearTexts(texts, clip=tiny_clip).nearest(texts[7].upper() + "!", 3)
    with pytest.raises(InputError, match=r"'striped body' is not among the texts; expected clip"):
        nearest("striped body", world.texts, world.embeddings)
    with pytest.raises(InputError, match="text_embeddings is missing"):
        nearest("striped body", world.texts)
    with pytest.raises(InputError, match=r"found the shape \(1, 47\)"):
        nearest(np.ones(47) / 47**0.5, world.texts, world.embeddings)
