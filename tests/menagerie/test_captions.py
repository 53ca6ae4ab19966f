"""Captions: true, varied, and the ones that the recorded answers belong to."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st
from menagerie.captions import UNFIT, coco_captions, describe
from menagerie.scenes import scene_for
from menagerie.species import CLASS_NAMES

INDICES = st.integers(min_value=0, max_value=5000)


def captions_of(document: dict[str, object]) -> list[str]:
    annotations = document["annotations"]
    assert isinstance(annotations, list)
    return [annotation["caption"] for annotation in annotations]


def test_the_captions_that_the_recorded_answers_belong_to_stay_as_they_are() -> None:
    text = "\n".join(captions_of(coco_captions(2, 240, 64)))
    assert hashlib.sha256(text.encode()).hexdigest() == (
        "491805aedd3be5495ebb3565aae52638907f5942a019f2f253aac901cb45876a"
    )


def test_captions_are_distinct_and_half_of_them_name_no_class() -> None:
    captions = captions_of(coco_captions(2, 240, 64))
    assert len(set(captions)) >= 220
    words = {*CLASS_NAMES, "plane", "bike", "motorbike", "boat"}
    named = sum(bool(words & set(caption.lower().rstrip(".").split())) for caption in captions)
    assert 0.35 < named / len(captions) < 0.65


def test_a_larger_count_begins_with_the_captions_of_a_smaller_one() -> None:
    few, many = coco_captions(5, 20, 64), coco_captions(5, 50, 64)
    assert captions_of(many)[:20] == captions_of(few)
    assert set(few) == {"info", "licenses", "images", "annotations"}


@given(INDICES)
def test_a_caption_is_one_sentence_of_6_to_16_words(index: int) -> None:
    scene, rng = scene_for(11, "captions", index)
    text = describe(scene, rng)
    assert text in UNFIT or 6 <= len(text.split()) <= 16
    assert text[0].isupper() and text.endswith(".") and "  " not in text and "{" not in text
