from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.clip.pictures import embed_pictures, embed_readable_pictures
from infopursuit.clip.towers import Clip, load_clip
from infopursuit.core.errors import InputError
from infopursuit.datasets.decoding import to_rgb
from tests.clip.test_clip import write_texts
from tests.datasets.images import encoded


@pytest.fixture(scope="module")
def clip(tiny_clip: Path) -> Clip:
    return load_clip(tiny_clip, "cpu")


def test_pictures_of_all_kinds_embed_as_their_pixels(clip: Clip, tmp_path: Path) -> None:
    path = tmp_path / "a.png"
    path.write_bytes(encoded(0))
    image = to_rgb(encoded(0))
    array = np.asarray(image)
    kinds = [
        path,
        str(path),
        encoded(0),
        path.open("rb"),
        image,
        array,
        array / 255,
        torch.from_numpy(array.copy()).permute(2, 0, 1),
    ]
    found = embed_pictures(clip, kinds, batch_size=3, progress=False)
    kinds[3].close()
    wanted = clip.encode_images(torch.stack([clip.preprocess(image)]))
    assert (found.shape, found.dtype) == ((8, 16), np.float32)
    np.testing.assert_allclose(found, np.repeat(wanted, 8, axis=0), atol=1e-5)
    np.testing.assert_allclose(np.linalg.norm(found, axis=1), 1, atol=1e-6)


def test_pictures_keep_their_order_whatever_the_batches(clip: Clip) -> None:
    pictures = [encoded(seed) for seed in range(7)]
    found = embed_pictures(clip, pictures, batch_size=2)
    np.testing.assert_allclose(found, embed_pictures(clip, pictures, batch_size=7), atol=1e-6)
    alone = [embed_pictures(clip, to_rgb(picture))[0] for picture in pictures]
    np.testing.assert_allclose(found, alone, atol=1e-6)
    assert (1 - found @ found.T)[np.triu_indices(7, 1)].min() > 1e-4
    assert embed_pictures(clip, []).shape == (0, 16)


def test_unreadable_pictures_are_named(clip: Clip, tmp_path: Path) -> None:
    pictures = [encoded(0), tmp_path / "absent.png", b"bad", encoded(1), 7, np.zeros(3)]
    message = (
        r"4 of 6 pictures cannot be read \(.*absent\.png: missing; picture 2: not an image of a "
        r"known format; picture 4: a int; expected a path, bytes or pixels\)"
    )
    with pytest.raises(InputError, match=message):
        embed_pictures(clip, pictures)
    found = embed_readable_pictures(clip, pictures, batch_size=4)
    assert found.rows == [0, 3]
    assert sorted(found.rejected) == [1, 2, 4, 5]
    np.testing.assert_allclose(
        found.embeddings, embed_pictures(clip, [encoded(0), encoded(1)]), atol=1e-6
    )
    assert embed_readable_pictures(clip, [b"bad"]).embeddings.shape == (0, 16)


def test_a_path_in_the_place_of_a_list_and_a_clip_without_images_are_told(
    clip: Clip, tmp_path: Path
) -> None:
    with pytest.raises(InputError, match=r"found 'photo\.jpg'; write \[picture\]"):
        embed_pictures(clip, "photo.jpg")
    write_texts(tmp_path / "texts.parquet", ["a"])
    with pytest.raises(InputError, match="cannot embed images"):
        embed_pictures(load_clip(tmp_path / "texts.parquet"), [Image.new("RGB", (4, 4))])


def test_a_progress_bar_is_shown_on_a_terminal_only(
    clip: Clip, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    embed_pictures(clip, [encoded(0)])
    assert capsys.readouterr().err == ""
    monkeypatch.setattr("sys.stderr.isatty", lambda: True, raising=False)
    embed_pictures(clip, [encoded(0)])
    assert "pictures: 100%" in capsys.readouterr().err
    embed_pictures(clip, [encoded(0)], progress=False)
    assert capsys.readouterr().err == ""
