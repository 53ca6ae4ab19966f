"""What a page holds: the model to the bit, samples of every class, all within its limit."""

from __future__ import annotations

import logging
from base64 import b64decode
from dataclasses import replace
from io import BytesIO

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.explorer import payload
from infopursuit.explorer.contents import Chosen, contents, no_images
from infopursuit.explorer.described_model import SMALL, Facts, described
from infopursuit.explorer.page import page, room
from infopursuit.explorer.shown_images import UNKNOWN, AnsweredImages, shown, thumbnail
from infopursuit.naive_bayes.model import InformationGain
from infopursuit.naive_bayes.put_off import COUNTS, PutOff
from infopursuit.vip.networks import HistoryNetwork
from tests.explorer.made_up import PLAIN, STOP, images, naive_bayes, networks


@pytest.mark.parametrize("levels", [2, 3])
def test_the_table_of_a_naive_bayes_model_is_there_to_the_bit(levels: int) -> None:
    pursuit = naive_bayes(levels=levels)
    found = described(pursuit, Facts("m", STOP, {"query 1": "captions"}))
    table = pursuit.classifier.table  # type: ignore[union-attr]
    assert found.kind == "naive_bayes"
    assert found.answers == levels
    assert found.networks is None
    assert found.table is not None
    likelihood = payload.read_floats(found.table.log_likelihood, levels, 9, 6)
    assert np.array_equal(likelihood, table.log_likelihood.numpy())
    assert np.array_equal(payload.read_floats(found.table.log_prior, 6), table.log_prior.numpy())
    assert found.table.independent_answers == 12
    assert found.table.worth is None
    assert found.origins == [None, "captions", *[None] * 7]
    assert found.questions[0] == "query 0?"
    assert found.stop == payload.Stop(**STOP._asdict())
    assert found.familiar is not None
    assert found.familiar.log_likelihood is None  # that of the table
    held_out = payload.read_floats(found.familiar.held_out, 30)
    assert (np.diff(held_out) >= 0).all()


def test_what_differs_between_models_is_told() -> None:
    pursuit = naive_bayes()
    table = replace(pursuit.classifier.table, independent_answers=torch.inf)  # type: ignore[union-attr]
    worth = torch.linspace(0, 1, 9)
    pursuit = replace(pursuit, querier=InformationGain(table, worth), first=3, familiarity=None)
    truth = {"query 2": payload.Truth(right=0.5, answered=1.0)}
    found = described(pursuit, Facts("m", STOP, truth=truth, sees=True))
    assert found.table is not None
    assert np.array_equal(payload.read_floats(found.table.worth or "", 9), worth.numpy())
    assert (found.first, found.familiar, found.sees) == (3, None, True)
    assert found.truth == [None, None, truth["query 2"], *[None] * 6]
    of_table = described(
        replace(pursuit, classifier=type(pursuit.classifier)(table)), Facts("m", STOP)
    )
    assert of_table.table is not None


def test_questions_that_are_put_off_are_told_by_pairs() -> None:
    pursuit = naive_bayes()
    table = pursuit.classifier.table  # type: ignore[union-attr]
    pairs = torch.tensor([[2, 5, 0], [5, 2, 0], [3, 7, 1]])
    later = InformationGain(table, None, PutOff(pairs, 9))
    found = described(replace(pursuit, querier=later), Facts("m", STOP)).table
    assert found is not None
    assert found.put_off is not None
    assert payload.read_labels(found.put_off.pairs).reshape(-1, 3).tolist() == pairs.tolist()
    assert found.put_off.counts == COUNTS
    nothing = InformationGain(table, None, PutOff(pairs[:0], 9))
    found = described(replace(pursuit, querier=nothing), Facts("m", STOP)).table
    assert found is not None
    assert found.put_off is None


def test_infinitely_many_independent_answers_are_null() -> None:
    pursuit = naive_bayes()
    table = replace(pursuit.classifier.table, independent_answers=torch.inf)  # type: ignore[union-attr]
    found = described(
        replace(pursuit, classifier=type(pursuit.classifier)(table)), Facts("m", STOP)
    )
    assert found.table is not None
    assert found.table.independent_answers is None


def test_small_networks_are_there_and_compute_the_same() -> None:
    pursuit = networks()
    found = described(pursuit, Facts("m", STOP))
    assert (found.kind, found.answers, found.table) == ("networks", 2, None)
    assert found.networks is not None
    answers, mask = torch.rand(5, 9), (torch.rand(5, 9) > 0.4).float()
    for layers, network, outputs in (
        (found.networks.querier, pursuit.querier, 9),
        (found.networks.classifier, pursuit.classifier, 6),
    ):
        computed = _forward(layers, 9, (answers * mask).numpy(), mask.numpy())
        assert layers.outputs == outputs
        assert np.allclose(computed, network(answers, mask).detach().numpy(), atol=1e-5)


def _forward(layers: payload.Layers, k: int, answers: np.ndarray, mask: np.ndarray) -> np.ndarray:
    """The network as its description says it."""
    first, second = layers.widths

    def read(name: str, *shape: int) -> np.ndarray:
        return payload.read_floats(getattr(layers, name), *shape).astype(np.float64)

    def norm(values: np.ndarray, name: str, width: int) -> np.ndarray:
        centred = values - values.mean(axis=1, keepdims=True)
        scaled = centred / np.sqrt((centred**2).mean(axis=1, keepdims=True) + layers.epsilon)
        turned = scaled * read(f"{name}_scale", width) + read(f"{name}_shift", width)
        return np.maximum(turned, 0)

    both = []
    for channel in (answers, mask):
        hidden = channel @ read("first_weight", first, k).T + read("first_bias", first)
        hidden = norm(hidden, "first", first)
        hidden = hidden @ read("second_weight", second, first).T + read("second_bias", second)
        both.append(norm(hidden, "second", second))
    head = read("head_weight", layers.outputs, 2 * second)
    return np.concatenate(both, axis=1) @ head.T + read("head_bias", layers.outputs)


def test_large_networks_stay_at_the_server() -> None:
    pursuit = networks()
    large = HistoryNetwork(9, 9, (SMALL // 9, 8)).eval()
    found = described(replace(pursuit, querier=large), Facts("m", STOP))
    assert (found.kind, found.networks) == ("networks", None)


def test_soft_answers_are_floats() -> None:
    pursuit = networks(hard=False)
    test = images([pursuit])
    found = contents([(pursuit, Facts("m", STOP))], test, chosen=Chosen(test=5))
    assert found.models[0].answers is None
    assert found.models[0].familiar is None
    row = payload.read_floats(found.images.test[0].answers[0], 9)
    assert np.array_equal(row, test.answers[0][0].numpy())
    assert payload.read_floats(found.images.scored.answers[0], 15, 9).shape == (15, 9)


def test_samples_are_spread_over_the_classes_and_all_others_are_scored() -> None:
    pursuits = [naive_bayes(), naive_bayes(levels=2)]
    test = images(pursuits, 25)
    named = [(pursuit, Facts(f"m{n}", STOP)) for n, pursuit in enumerate(pursuits)]
    found = contents(named, test, images(pursuits, 9, 3), chosen=Chosen(test=8, train=3))
    assert [each.label for each in found.images.test] == [0, 1, 2, 3, 4, 5, 0, 1]
    assert len({each.id for each in found.images.test}) == 8
    assert [each.label for each in found.images.train] == [0, 1, 2]
    for number, (pursuit, steps) in enumerate(zip(pursuits, (2, 1), strict=True)):
        for each in found.images.test:
            row = int(each.id.split()[1])
            levels = payload.read_levels(each.answers[number], 9)[0]
            assert levels.tolist() == (steps * test.answers[number][row]).tolist()
        others = payload.read_levels(found.images.scored.answers[number], 9)
        assert others.shape == (17, 9)
        left = [row for row in range(25) if f"image {row}" not in {e.id for e in found.images.test}]
        assert np.array_equal(others, (steps * test.answers[number][left]).numpy())
        assert payload.read_labels(found.images.scored.labels).tolist() == [r % 6 for r in left]
        assert pursuit.class_names == PLAIN


def test_images_without_a_class_are_shown_and_not_scored() -> None:
    pursuit = naive_bayes()
    test = replace(images([pursuit], 12), labels=np.full(12, UNKNOWN))
    found = contents([(pursuit, Facts("m", STOP))], test, chosen=Chosen(test=5))
    assert [each.label for each in found.images.test] == [None] * 5
    assert found.images.scored.labels == ""


def test_a_model_alone_has_no_images() -> None:
    pursuit = naive_bayes()
    found = contents([(pursuit, Facts("m", STOP))], no_images([pursuit]))
    assert (found.images.test, found.images.train) == ([], [])
    assert found.images.scored == payload.Scored(labels="", answers=[""])


def test_the_limit_holds_and_what_is_left_out_is_told(caplog: pytest.LogCaptureFixture) -> None:
    pursuit = naive_bayes()
    named = [(pursuit, Facts("m", STOP))]
    generator = np.random.default_rng(0)
    noise = [generator.integers(0, 256, (128, 128, 3), dtype=np.uint8) for _ in range(40)]
    test = replace(images([pursuit], 40), pictures=noise)
    whole = contents(named, test, test, chosen=Chosen(test=40, train=40))
    limit = len(payload.written(whole)) // 2
    with caplog.at_level(logging.WARNING, "infopursuit"):
        found = contents(named, test, test, chosen=Chosen(40, 40, limit))
    assert limit * 0.8 < len(payload.written(found)) <= limit
    shown_test, shown_train = len(found.images.test), len(found.images.train)
    assert 40 > shown_test > shown_train > 0
    assert found.images.test == whole.images.test[:shown_test]
    scored = payload.read_labels(found.images.scored.labels)
    assert shown_test + len(scored) == 40  # all test images count
    assert f"{shown_test} of 40 test images fit" in caplog.text
    assert f"{shown_train} of 40 training images fit" in caplog.text


def test_a_model_beyond_the_limit_is_refused() -> None:
    pursuit = naive_bayes(300)
    with pytest.raises(InputError, match=r"m has 300 questions and 6 classes; expected fewer"):
        contents([(pursuit, Facts("m", STOP))], images([pursuit]), chosen=Chosen(limit=20_000))


def test_5000_questions_fit_into_a_page() -> None:
    pursuit = naive_bayes(5000, PLAIN[:6])
    test = images([pursuit], 40)
    found = contents([(pursuit, Facts("m", STOP))], test, chosen=Chosen(limit=room("m")))
    assert len(found.models[0].queries) == 5000
    assert len(found.images.test) == 40
    assert len(page(found).encode()) <= payload.LIMIT
    wide = naive_bayes(5000, [f"class {number}" for number in range(100)])
    with pytest.raises(InputError, match="m has 5000 questions and 100 classes; expected fewer"):
        contents([(wide, Facts("m", STOP))], test, chosen=Chosen(limit=room("m")))


def test_models_of_other_classes_are_not_compared() -> None:
    pursuits = [naive_bayes(), naive_bayes(classes=PLAIN[::-1])]
    named = [(pursuit, Facts(f"m{n}", STOP)) for n, pursuit in enumerate(pursuits)]
    with pytest.raises(InputError, match=r"m1: 6 classes .* expected those of m0"):
        contents(named, images(pursuits))


def test_a_model_without_questions_is_refused() -> None:
    pursuit = naive_bayes()
    with pytest.raises(InputError, match=r"m: 0 questions and 6 classes; expected at least one"):
        described(replace(pursuit, queries=()), Facts("m", STOP))


def test_one_class_is_enough() -> None:
    pursuit = naive_bayes(classes=("zebra",))
    found = contents([(pursuit, Facts("m", STOP))], images([pursuit]))
    assert found.models[0].classes == ["zebra"]


def test_a_thumbnail_is_small_and_bare() -> None:

    large = Image.new("RGB", (900, 600), "red")
    exif = Image.Exif()
    exif[0x010E] = "where I live"
    file = BytesIO()
    large.save(file, "JPEG", exif=exif)
    content = b64decode(thumbnail(file.getvalue()).partition(",")[2])
    again = Image.open(BytesIO(content))
    assert (again.format, again.size) == ("WEBP", (128, 85))
    assert b"where I live" not in content
    assert not again.getexif()


def test_a_damaged_picture_is_named() -> None:
    pursuit = naive_bayes()
    damaged = replace(images([pursuit], 2), pictures=[b"no picture", None])
    with pytest.raises(InputError, match=r"the image 'image 0' is not an image of a known format"):
        shown([pursuit], damaged)
    assert shown([pursuit], replace(damaged, pictures=[None, None]))[0].thumbnail is None


def test_of_many_images_an_even_sample_is_scored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("infopursuit.explorer.shown_images.SCORED", 10)
    pursuit = naive_bayes()
    labels = np.arange(100) % 6
    answers = pursuit.answers(torch.randn(100, 6))
    test = AnsweredImages([str(row) for row in range(100)], labels, [answers])
    found = contents([(pursuit, Facts("m", STOP))], test, chosen=Chosen(test=0))
    assert len(payload.read_labels(found.images.scored.labels)) == 10


def test_a_third_of_the_samples_may_be_wrong_predictions() -> None:
    pursuit = naive_bayes()
    test = images([pursuit], 300, pictures=False)
    found = contents([(pursuit, Facts("m", STOP))], test, chosen=Chosen(30, 0)).images.test
    predicted = pursuit.ask_until(test.answers[0], STOP).posterior.argmax(dim=1).numpy()
    rows = [int(each.id.split()[1]) for each in found]
    assert rows[:20] == list(range(20))  # spread over the classes, as the images are
    assert (predicted[rows[20:]] != test.labels[rows[20:]]).all()
    assert len(set(rows)) == 30
    unknown = replace(test, labels=np.full(300, UNKNOWN))
    found = contents([(pursuit, Facts("m", STOP))], unknown, chosen=Chosen(30, 0)).images.test
    assert [int(each.id.split()[1]) for each in found] == list(range(30))
