"""Zero-shot and descriptions, against the formula by hand."""

from __future__ import annotations

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.peers.zero_shot import DescriptionEnsemble
from tests.peers.planted import planted

NAMES = ("cat", "dog", "emu", "fox")


def test_the_score_is_a_hundred_times_the_mean_cosine_with_the_descriptions() -> None:
    data = planted()
    told = {name: [f"concept {i}", *(["noise 3"] if i else [])] for i, name in enumerate(NAMES)}
    model = DescriptionEnsemble(data.texts, data.embeddings, told).fit(data.X, data.y)
    cosines = data.X_test @ data.embeddings.T
    by_hand = [
        100 * np.mean([cosines[:, data.texts.index(text)] for text in told[name]], axis=0)
        for name in NAMES
    ]
    np.testing.assert_allclose(
        model.decision_function(data.X_test), np.stack(by_hand, axis=1), rtol=1e-4
    )


def test_names_of_classes_are_one_description_each() -> None:
    data = planted()
    model = DescriptionEnsemble(NAMES, data.embeddings[:4]).fit(data.X, data.y)
    nearest = (data.X_test @ data.embeddings[:4].T).argmax(axis=1)
    assert model.predict(data.X_test).tolist() == np.array(NAMES)[nearest].tolist()
    assert model.score(data.X_test, data.y_test) > 0.9
    assert model.explain(data.X_test[:2]).texts == NAMES


def test_a_class_without_descriptions_and_an_unknown_one_are_told() -> None:
    data = planted()
    told = {name: ["concept 0"] for name in NAMES}
    with pytest.raises(InputError, match="none for the class 'fox'"):
        DescriptionEnsemble(data.texts, data.embeddings, {**told, "fox": []}).fit(data.X, data.y)
    with pytest.raises(InputError, match="'ear' of the class 'fox' is not among"):
        DescriptionEnsemble(data.texts, data.embeddings, {**told, "fox": ["ear"]}).fit(
            data.X, data.y
        )
