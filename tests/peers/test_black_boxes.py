"""Black boxes have the face of a peer, and rest on no text."""

from __future__ import annotations

import numpy as np
from sklearn.linear_model import LogisticRegression

from infopursuit.peers.black_boxes import EmbeddingMLP, EmbeddingProbe
from tests.peers.planted import planted


def test_the_probe_is_the_regression_of_scikit_learn() -> None:
    data = planted(noise=0.8)
    model = EmbeddingProbe(10.0).fit(data.X, data.y)
    peer = LogisticRegression(C=10.0, max_iter=2000).fit(data.X, data.y)
    np.testing.assert_allclose(
        model.predict_proba(data.X_test), peer.predict_proba(data.X_test), atol=1e-6
    )


def test_no_text_is_used() -> None:
    data = planted()
    for model in (EmbeddingProbe(), EmbeddingMLP(hidden=16, updates=300, learning_rate=1e-2)):
        told = model.fit(data.X, data.y).explain(data.X_test[:5])
        assert told.texts == ()
        assert told.values.shape == (5, 4, 0)
        assert model.score(data.X_test, data.y_test) > 0.9
