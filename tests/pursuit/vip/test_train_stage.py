"""The stage that fits: every kind of method, what it writes, and what the control replaces."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from infopursuit import load
from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text_list
from infopursuit.core.tables import (
    EMBEDDED_IMAGES,
    read_table,
    table_writer,
)
from infopursuit.datasets.labelled_images import hold_out, load_images
from infopursuit.datasets.matrix import UnitMatrix
from infopursuit.pipeline.params import Params
from infopursuit.pursuit.answers.rules import ThresholdAnswers
from infopursuit.pursuit.vip.updates import fit_threshold_rule
from tests.pursuit.vip.stage_world import (
    CLASSES,
    IMAGES,
    WIDTH,
    write_concepts,
    write_words,
)
from tests.pursuit.vip.stage_world import params as params
from tests.stage_scripts import stage


def test_the_control_replaces_the_dictionary_and_nothing_else(params: Params) -> None:
    train = stage("train")
    train(params, "menagerie", "random_words", "naive_bayes", 0)
    model = load("artifacts/models/menagerie-random_words-naive_bayes-0")
    assert model.queries_ == tuple(f"word {row}" for row in range(6))
    assert {"universe", "control"} <= set(model.provenance_["inputs"])
    assert set(model.provenance_["sources"].values()) == {"word"}
    shown, _ = hold_out(load_images(IMAGES, "train"), 0.1, 0)
    words, universe = write_words(), write_concepts()
    queries = normalize(torch.from_numpy(np.float16(words[:6])).float(), dim=1)
    rules = [
        fit_threshold_rule(
            queries,
            UnitMatrix(np.float16(reference), "texts"),
            UnitMatrix(shown.embeddings, "images"),
            shown.labels,
        )
        for reference in (universe, words)
    ]
    rule = model.pursuit_.rule
    assert isinstance(rule, ThresholdAnswers)
    torch.testing.assert_close(rule.directions, rules[0].directions)
    torch.testing.assert_close(rule.thresholds, rules[0].thresholds)
    assert not torch.allclose(rule.directions, rules[1].directions, atol=1e-2)


def test_texts_of_another_clip_or_dictionary_are_refused(params: Params) -> None:
    train = stage("train")
    write_words(clip="another clip")
    with pytest.raises(InputError, match="another clip"):
        train(params, "menagerie", "random_words", "naive_bayes", 0)
    write_text_list("artifacts/initial/menagerie-llm-0.txt", ["concept 1", "no concept"])
    with pytest.raises(InputError, match="no concept"):
        train(params, "menagerie", "llm", "naive_bayes", 0)


def put_in_shards() -> None:
    """The same images, in four files."""
    table = read_table(IMAGES, EMBEDDED_IMAGES)
    with table_writer(IMAGES, EMBEDDED_IMAGES, WIDTH, "a clip", (100, 30)) as writer:
        writer.write_table(table.cast(writer.schema))
    assert len(list(Path(IMAGES).iterdir())) == 4


@pytest.mark.parametrize("method", ["naive_bayes", "threshold"])
def test_images_in_shards_give_the_model_of_one_file(params: Params, method: str) -> None:
    main, arguments = stage("train"), ("menagerie", "llm", method, 0)
    assert main(params, *arguments).read == 80
    folder = Path(f"artifacts/models/menagerie-llm-{method}-0")
    weights = (folder / "weights.safetensors").read_bytes()
    expected, log = load(folder), Path(f"artifacts/training/menagerie-llm-{method}-0.csv")
    written = log.read_text()
    put_in_shards()
    assert main(params, *arguments).read == 80
    if method == "threshold":
        assert (folder / "weights.safetensors").read_bytes() == weights
    found = load(folder)
    assert found.queries_ == expected.queries_
    assert found.classes_.tolist() == expected.classes_.tolist() == CLASSES
    for part in ("classifier", "rule"):
        ours, theirs = (getattr(each.pursuit_, part).tensors() for each in (found, expected))
        torch.testing.assert_close(ours, theirs)
    assert log.read_text() == written
    assert found.provenance_["inputs"]["images"] != expected.provenance_["inputs"]["images"]
    images = load_images(IMAGES, "test").embeddings
    np.testing.assert_array_equal(found.answer(images), expected.answer(images))
