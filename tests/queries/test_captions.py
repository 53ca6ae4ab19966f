import json
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.captions import Caption, read_captions

REAL = Path(__file__).parents[2] / "../shared/data/coco/captions_val2017.json"


def write(path: Path, content: object) -> Path:
    path.write_text(json.dumps(content), encoding="utf-8")
    return path


def annotations(*pairs: tuple[object, object]) -> dict[str, object]:
    return {"annotations": [{"id": i, "image_id": 1, "caption": text} for i, text in pairs]}


def test_equal_captions_are_joined_in_order_of_their_first(tmp_path: Path) -> None:
    path = write(
        tmp_path / "captions.json",
        annotations((7, "A dog. "), (3, "A cat."), (5, "A\ndog.")),
    )
    assert read_captions(path) == [Caption("A dog.", (7, 5)), Caption("A cat.", (3,))]


def test_limit_counts_annotations(tmp_path: Path) -> None:
    path = write(tmp_path / "captions.json", annotations((1, "x"), (2, "x"), (3, "y")))
    assert read_captions(path, limit=2) == [Caption("x", (1, 2))]
    assert read_captions(path, limit=99) == [Caption("x", (1, 2)), Caption("y", (3,))]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ([1], "holds a list"),
        ({"images": []}, "no list 'annotations', found the keys images"),
        ({"annotations": []}, "'annotations' is empty"),
        ({"annotations": ["A dog."]}, r"annotations\[0\] is str"),
        (annotations((1, "x"), (None, "y")), r"annotations\[1\] has no id"),
        (annotations((True, "x")), r"annotations\[0\] has no id"),
        ({"annotations": [{"id": 4}]}, r"annotations\[0\] has no caption.*found keys id"),
        (annotations((1, 5)), "has no caption; expected a text, found 5"),
        (annotations((1, "x"), (2, " \n")), r"annotations\[1\] \(id 2\) has an empty caption"),
        (annotations((1, "x"), (1, "y")), r"annotations\[1\] has the id 1 of annotations\[0\]"),
        (annotations((1, "half \ud83d")), r"holds half of a surrogate pair"),
        (annotations((2**63, "x")), r"annotations\[0\] has the id 9\d+; .*fits into 64 bits"),
    ],
)
def test_bad_content_is_named(tmp_path: Path, content: object, message: str) -> None:
    path = write(tmp_path / "captions.json", content)
    with pytest.raises(InputError, match=message):
        read_captions(path)


def test_missing_malformed_and_undecodable_files(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere\.json: no such file"):
        read_captions(tmp_path / "nowhere.json")
    cut = tmp_path / "cut.json"
    cut.write_text('{"annotations": [\n{"id": 1,', encoding="utf-8")
    with pytest.raises(InputError, match=r"cut\.json: not valid JSON, line 2"):
        read_captions(cut)
    binary = tmp_path / "binary.json"
    binary.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match=r"binary\.json: not a readable UTF-8"):
        read_captions(binary)


@pytest.mark.skipif(not REAL.is_file(), reason="real COCO captions are not here")
def test_real_coco_captions() -> None:
    captions = read_captions(REAL)
    assert sum(len(caption.ids) for caption in captions) == 25014
    assert all(caption.text == " ".join(caption.text.split()) for caption in captions)
