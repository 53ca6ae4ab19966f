"""Captions and phrases: true, varied, and the ones that the recorded answers belong to."""

import hashlib

from hypothesis import given
from hypothesis import strategies as st

from infopursuit.menagerie import phrases, wordings
from infopursuit.menagerie.captions import UNFIT, coco_captions, describe
from infopursuit.menagerie.scenes import scene_for
from infopursuit.menagerie.species import CLASS_NAMES

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


@given(INDICES)
def test_phrases_name_no_part_out_of_view(index: int) -> None:
    scene, rng = scene_for(11, "pairs", index)
    body, around = phrases.phrases(scene, rng)
    visible = {
        wording.format(accent=scene.accent)
        for part in scene.visible
        for wording in wordings.PARTS[part]
    }
    known = {
        *wordings.KNOWN[scene.species.name],
        *wordings.PATTERNS[scene.pattern],
        *(wording for kind in scene.species.kinds for wording in wordings.KINDS[kind]),
        *(wordings.RIDER if scene.rider else ()),
    }
    coloured = [text for text in body if text not in visible | known]
    assert len(coloured) == 1
    assert any(word in coloured[0] for word in wordings.COLOURS[scene.colour])
    assert len(around) >= 4


@given(INDICES)
def test_training_texts_name_no_other_class(index: int) -> None:
    scene, rng = scene_for(11, "pairs", index)
    others = set(CLASS_NAMES) - {scene.species.name}
    text = phrases.training_text(scene, rng)
    assert text and "{" not in text
    # "elephant trunk" and "horse like animal" are said of their own species and the zebra.
    assert not others - {"horse"} & set(text.lower().replace(",", "").rstrip(".").split())
