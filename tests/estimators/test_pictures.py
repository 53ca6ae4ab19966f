"""From pixels: a folder or a list of pictures, a tiny CLIP with random weights."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image
from safetensors.torch import load_file, save_file

import infopursuit
from infopursuit.core.errors import InputError
from infopursuit.datasets.image_folders import open_folder
from infopursuit.datasets.trained_on import seen
from tests.clip.conftest import tiny_clip as tiny_clip
from tests.explorer.made_up import payload_of
from tests.planted import COLORS, PHOTO_TEXTS, picture, write_folder


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Embeddings of texts are kept in a folder of the test."""
    monkeypatch.setenv("INFOPURSUIT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def photos(tmp_path: Path) -> Path:
    return write_folder(tmp_path / "photos")


def test_a_folder_is_all_it_takes(photos: Path, tiny_clip: Path, cache: Path) -> None:
    model = infopursuit.fit(photos, clip=tiny_clip, n_queries=16)
    assert list(model.classes_) == sorted(COLORS)
    assert set(model.queries_) <= set(infopursuit.texts.visual_vocabulary())
    assert len(model.queries_) == 16
    assert list(cache.rglob("*.parquet"))
    files = sorted(photos.rglob("*.png"))
    assert np.mean(model.predict(files) == [file.parent.name for file in files]) > 0.7
    explained = model.explain([photos / "red" / "0.png"])[0]
    assert (explained.image, explained.predicted_class) == (str(photos / "red" / "0.png"), "red")
    facts = {"images": 18, "test_images": 6, "rejected": {}}
    assert facts.items() <= model.provenance_.items()
    assert model.clip_source_ == str(tiny_clip)


def test_pictures_of_any_kind_are_one(photos: Path, tiny_clip: Path) -> None:
    model = infopursuit.fit(photos, None, PHOTO_TEXTS, clip=tiny_clip)
    file = photos / "green" / "3.png"
    pixels = np.asarray(Image.open(file))
    channels = torch.from_numpy(pixels.transpose(2, 0, 1).copy())
    expected = model.predict_proba([file])
    same = pytest.approx(expected, rel=1e-3, abs=0)  # last bits hang on where arrays lie
    one = Image.open(file)
    for given in ([str(file)], file, file.read_bytes(), one, [one], pixels[None], [pixels]):
        assert model.predict_proba(given) == same
    assert model.predict_proba([channels]) == same
    rounded = model.predict_proba([(channels / 255).half()])
    assert rounded == pytest.approx(expected, abs=1e-3)


def test_a_list_with_labels_is_a_folder(photos: Path, tiny_clip: Path) -> None:
    files = sorted(photos.rglob("*.png"))
    labels = [COLORS[file.parent.name][0] for file in files]
    model = infopursuit.fit(files, labels, PHOTO_TEXTS, clip=tiny_clip)
    assert sorted(model.classes_.tolist()) == [20, 30, 230]
    folder = infopursuit.fit(photos, texts=PHOTO_TEXTS, clip=tiny_clip, test_fraction=0.0)
    assert folder.queries_ == model.queries_
    fewer = infopursuit.fit(photos, ["red", "blue"], PHOTO_TEXTS, clip=tiny_clip)
    assert list(fewer.classes_) == ["blue", "red"]


def test_a_folder_is_split_as_the_pipeline_splits_it(
    photos: Path, tiny_clip: Path, tmp_path: Path
) -> None:
    source = open_folder(photos, sorted(COLORS))
    split = dict(zip(source.rows["id"].to_pylist(), source.rows["split"].to_pylist(), strict=True))
    infopursuit.fit(photos, texts=PHOTO_TEXTS, clip=tiny_clip).save(tmp_path / "model")
    facts = infopursuit.load(tmp_path / "model").provenance_
    files = {name: photos / name for name in split}
    known = seen(facts, files.values())
    assert dict(zip(files, known, strict=True)) == {n: s == "train" for n, s in split.items()}
    moved = shutil.copy(photos / "red" / "0.png", tmp_path / "moved.png")
    assert seen(facts, [moved, Path(moved).read_bytes()]).tolist() == [known[16], known[16]]
    assert not seen({}, files.values()).any()


def test_a_saved_model_finds_its_clip_from_any_folder(
    photos: Path, tiny_clip: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tiny_clip.parent)
    model = infopursuit.fit(photos, texts=PHOTO_TEXTS, clip=tiny_clip.name)
    monkeypatch.chdir(tmp_path)
    model.save("models/colors")
    assert str(tmp_path) not in Path("models/colors/model.json").read_text()
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    again = infopursuit.load("../models/colors")
    file = photos / "blue" / "0.png"
    assert np.array_equal(again.predict_proba([file]), model.predict_proba([file]))


def test_a_clip_that_has_gone_or_changed_is_reported(
    photos: Path, tiny_clip: Path, tmp_path: Path
) -> None:
    moved = tmp_path / "clip"
    shutil.copytree(tiny_clip, moved)
    infopursuit.fit(photos, texts=PHOTO_TEXTS, clip=moved).save(tmp_path / "model")
    moved.rename(tmp_path / "new place")
    file = photos / "blue" / "0.png"
    with pytest.raises(InputError, match=r"the CLIP of the model is not there; expected"):
        infopursuit.load(tmp_path / "model").explain([file])
    model = infopursuit.load(tmp_path / "model", clip=tmp_path / "new place")
    assert model.explain([file])[0].predicted_class == "blue"
    weights = tmp_path / "new place" / "open_clip_model.safetensors"
    changed = {key: value + 1 for key, value in load_file(weights).items()}
    shutil.copytree(tmp_path / "new place", tmp_path / "other")
    save_file(changed, tmp_path / "other" / "open_clip_model.safetensors")
    with pytest.raises(InputError, match=r"other is open_clip:.*; the model was fitted with"):
        infopursuit.load(tmp_path / "model", clip=tmp_path / "other").explain([file])


@pytest.mark.parametrize(
    ("labels", "settings", "word"),
    [
        (["pink"], {}, "pink"),
        (None, {"clip": "ViT-B-33"}, "ViT-B-32"),
        (None, {"clip": "ViT-B-32", "pretrained": "nobody"}, "nobody"),
        (None, {"test_fraction": 1.0}, "test_fraction"),
    ],
)
def test_bad_arguments_are_refused(
    photos: Path, tiny_clip: Path, labels: list | None, settings: dict, word: str
) -> None:
    with pytest.raises(InputError, match=word):
        infopursuit.fit(photos, labels, PHOTO_TEXTS, **{"clip": tiny_clip, **settings})
    with pytest.raises(InputError, match="24"):
        infopursuit.fit(sorted(photos.rglob("*.png")), labels, PHOTO_TEXTS, clip=tiny_clip)


def test_equal_pictures_under_two_names_are_told(photos: Path, tiny_clip: Path) -> None:
    shutil.copy(photos / "red/0.png", photos / "blue/x.png")
    shutil.copy(photos / "red/1.png", photos / "red/copy.png")
    shutil.copytree(photos, photos.parent / "split/train")
    shutil.copytree(photos / "green", photos.parent / "split/test/green")
    for name in ("red", "blue"):
        (photos.parent / "split/test" / name).mkdir()
        picture(name, 50).save(photos.parent / "split/test" / name / "new.png")
    with pytest.warns(UserWarning) as caught:
        infopursuit.fit(photos.parent / "split", clip=tiny_clip, n_queries=4)
    (message,) = [str(each.message) for each in caught if "another name: " in str(each.message)]
    assert message.startswith("10 pictures with the bytes of another, by another name: ")
    first, second, *_ = message.partition(": ")[2].split("; ")
    assert first.endswith(
        "blue/x.png = {}/red/0.png (of the classes blue and red)".format(
            photos.parent / "split/train"
        )
    )
    assert second.endswith("(to fit on and to test on)")


def test_each_yes_has_its_place_in_the_picture(photos: Path, tiny_clip: Path) -> None:
    model = infopursuit.fit(photos, None, PHOTO_TEXTS, clip=tiny_clip)
    files = [picture(color, 90) for color in ("green", "red", "blue")]
    maps = model.where(files, list(model.queries_))
    assert maps.shape == (3, len(model.queries_), 4, 4)
    np.testing.assert_allclose(model.where(files, model.queries_[1]), maps[:, 1], atol=1e-6)
    plain, located = model.explain(files), model.explain(files, where=True)
    for row, (before, after) in enumerate(zip(plain, located, strict=True)):
        assert str(before) == str(after)
        assert (before.picture, before.answers) == (None, after.answers)
        assert type(after).from_dict(json.loads(json.dumps(after.to_dict()))) == after
        for step in after.steps:
            assert (step.where is not None) == step.yes
            if step.where is not None:
                assert np.argmax(step.where) == maps[row, model.queries_.index(step.query)].argmax()
                assert (np.min(step.where), np.max(step.where)) == (0, 255)
        assert after._repr_html_().count("<img") == sum(step.yes for step in after.steps)
        assert "<img" not in before._repr_html_()
        assert after.plot().get_figwidth() > before.plot().get_figwidth()
    assert any(step.yes for each in located for step in each.steps)
    corrected = model.explain(files, overrides=dict.fromkeys(model.queries_, "yes"), where=True)
    assert all(step.where is None for step in corrected[0].steps)
    shown = payload_of(model.explore(model._rows(files).tensor(), pictures=files).html)
    assert any(each.places for each in shown.images.test)
    with pytest.raises(InputError, match="X are embeddings, which do not say where"):
        model.explain(np.ones((1, 16), dtype=np.float32), where=True)


@pytest.mark.parametrize("copied", [1, 2, 6])
@pytest.mark.filterwarnings("default")
def test_a_test_image_that_was_fitted_on_measures_nothing(
    photos: Path, tiny_clip: Path, tmp_path: Path, copied: int
) -> None:
    for file in sorted(photos.rglob("*.png")):
        split = "test" if file.stem in "01" else "train"
        copied_to(file, tmp_path / split / file.parent.name / file.name)
    for number, file in enumerate(sorted((tmp_path / "test").rglob("*.png"))[:copied]):
        copied_to(file, tmp_path / "train" / file.parent.name / f"copy{number}.png")
    with pytest.warns(UserWarning, match=f"{copied} of 6 test images were fitted on, too"):
        model = infopursuit.fit(tmp_path, None, PHOTO_TEXTS, clip=tiny_clip)
    assert model.provenance_.get("test_images", 0) == 6 - copied
    assert ("test_accuracy" in model.provenance_) == (copied < 6)


def copied_to(file: Path, to: Path) -> None:
    to.parent.mkdir(parents=True, exist_ok=True)
    to.write_bytes(file.read_bytes())
