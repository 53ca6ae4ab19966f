"""What a page holds: the model to the bit, samples of every class, all within its limit."""

from __future__ import annotations

import logging
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import thumbnail
from infopursuit.explorer import payload
from infopursuit.explorer.contents import Chosen, Facts, contents, described, page_images
from infopursuit.pursuit.answers.table import AnswerTable
from infopursuit.pursuit.conformity import Conformity
from infopursuit.pursuit.explanation import LEAST_CONFORMITY
from tests.explorer.made_up import (
    PLAIN,
    STOP,
    images,
    naive_bayes,
    read_floats,
    read_labels,
    read_levels,
    unit,
)


@pytest.mark.parametrize("levels", [2, 3, 5])
def test_the_page_holds_the_exact_table_of_a_naive_bayes_model(levels: int) -> None:
    pursuit = naive_bayes(levels=levels)
    found = described(pursuit, Facts("m", STOP, {"query 1": "captions"}))
    table = pursuit.classifier.table  # type: ignore[union-attr]
    assert found.kind == "naive_bayes"
    assert found.answers == levels
    assert found.table is not None
    likelihood = read_floats(found.table.log_likelihood, levels, 9, 6)
    assert np.array_equal(likelihood, table.log_likelihood.numpy())
    assert np.array_equal(read_floats(found.table.log_prior, 6), table.log_prior.numpy())
    assert found.table.independent_answers == 12
    assert (found.table.temperature_ratio, found.table.prior_exponent) == (1.5, 0.5)
    assert found.origins == [None, "captions", *[None] * 7]
    assert found.questions[0] == "query 0?"
    assert found.stop == payload.Stop(**STOP._asdict())


def test_an_image_says_how_unusual_it_is_if_it_looks_like_none_of_the_classes() -> None:
    table = naive_bayes().classifier.table
    assert isinstance(table, AnswerTable)
    held_out = naive_bayes().answers(unit(400, 7))
    plain = Conformity(table, held_out).p_values(held_out) > 0.5
    compared = Conformity(table, held_out[plain])
    pursuit, facts = naive_bayes(conformity=compared), Facts("m", STOP)
    shown = images(pursuit, 200, pictures=False)
    expected = compared.p_values(shown.answers).tolist()
    found = [each.unusual for each in page_images((pursuit, facts), shown)]
    assert found == [share if share < LEAST_CONFORMITY else None for share in expected]
    assert 0 < sum(each is not None for each in found) < 200
    assert page_images((replace(pursuit, conformity=None), facts), shown)[0].unusual is None


@pytest.mark.parametrize("levels", [3, 5])
def test_samples_are_spread_over_the_classes_and_all_others_are_scored(levels: int) -> None:
    pursuit = naive_bayes(levels=levels)
    test = images(pursuit, 25)
    named = (pursuit, Facts("m", STOP))
    found = contents(named, test, images(pursuit, 9, 3), chosen=Chosen(test=8, train=3))
    assert [each.label for each in found.images.test] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert len({each.id for each in found.images.test}) == 8
    assert [each.label for each in found.images.train] == [0, 1, 2]
    for each in found.images.test:
        row = int(each.id.split()[1])
        written = read_levels(each.answers, 9, levels)[0]
        assert written.tolist() == ((levels - 1) * test.answers[row]).tolist()
    others = read_levels(found.images.scored.answers, 9, levels)
    assert others.shape == (17, 9)
    left = [row for row in range(25) if f"image {row}" not in {e.id for e in found.images.test}]
    assert np.array_equal(others, ((levels - 1) * test.answers[left]).numpy())
    assert read_labels(found.images.scored.labels).tolist() == [r % 6 for r in left]
    assert found.model.classes == list(PLAIN)


def test_the_limit_holds_and_what_is_left_out_is_reported(caplog: pytest.LogCaptureFixture) -> None:
    pursuit = naive_bayes()
    named = (pursuit, Facts("m", STOP))
    generator = np.random.default_rng(0)
    noise = [generator.integers(0, 256, (128, 128, 3), dtype=np.uint8) for _ in range(40)]
    test = replace(images(pursuit, 40), pictures=noise)
    whole = contents(named, test, test, chosen=Chosen(test=40, train=40))
    limit = len(payload.written(whole)) // 2
    with caplog.at_level(logging.WARNING, "infopursuit"):
        found = contents(named, test, test, chosen=Chosen(40, 40, limit))
    assert limit * 0.8 < len(payload.written(found)) <= limit
    shown_test, shown_train = len(found.images.test), len(found.images.train)
    assert 40 > shown_test > shown_train > 0
    assert found.images.test == whole.images.test[:shown_test]
    scored = read_labels(found.images.scored.labels)
    assert shown_test + len(scored) == 40  # all test images count
    assert f"{shown_test} of 40 test images fit" in caplog.text
    assert f"{shown_train} of 40 training images fit" in caplog.text


def test_bad_input_is_refused() -> None:
    pursuit = naive_bayes()
    named = (pursuit, Facts("m", STOP))
    with pytest.raises(InputError, match=r"m: 0 questions and 6 classes; expected at least one"):
        described(replace(pursuit, queries=()), Facts("m", STOP))
    damaged = replace(images(pursuit, 2), pictures=[b"no picture", None])
    with pytest.raises(InputError, match=r"the image 'image 0' is not an image of a known format"):
        page_images(named, damaged)
    bare = replace(damaged, pictures=[None, None])
    assert page_images(named, bare)[0].thumbnail is None


def test_each_yes_that_is_asked_has_its_place() -> None:
    pursuit, shown = naive_bayes(), images(naive_bayes(), 12)
    rng = np.random.default_rng(0)
    maps = rng.integers(256, size=(12, 9, 3, 4), dtype=np.uint8)

    def mapper(pictures: list) -> tuple:
        return maps[: len(pictures)], [(0.25, 0.0, 0.75, 1.0)] * len(pictures)

    found = page_images((pursuit, Facts("m", STOP, maps=mapper)), shown)
    explained = pursuit.explain(shown.answers, STOP, shown.ids)
    for row, (image, explanation) in enumerate(zip(found, explained, strict=True)):
        asked = [pursuit.number(step.query) for step in explanation.steps if step.yes]
        places = image.places
        assert (places is None) == (not asked)
        if places is not None:
            assert places.size == (3, 4)
            assert places.seen == (0.25, 0.0, 0.75, 1.0)
            assert read_labels(places.queries).tolist() == asked
            written = np.frombuffer(b64decode(places.maps), dtype=np.uint8)
            assert np.array_equal(written.reshape(-1, 3, 4), maps[row, asked])
    assert any(image.places for image in found)
    assert not any(image.places for image in page_images((pursuit, Facts("m", STOP)), shown))


def test_a_thumbnail_is_small_and_bare() -> None:
    exif, file = Image.Exif(), BytesIO()
    exif[0x010E] = "where I live"
    Image.new("RGB", (900, 600), "red").save(file, "JPEG", exif=exif)
    content = b64decode(thumbnail(file.getvalue()).partition(",")[2])
    again = Image.open(BytesIO(content))
    assert (again.format, again.size) == ("WEBP", (128, 85))
    assert b"where I live" not in content and not again.getexif()
