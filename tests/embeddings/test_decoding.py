from __future__ import annotations

import io
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.embeddings.decoding import UnreadableError, decode, prepared_ahead
from tests.embeddings.conftest import encoded


@pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA", "CMYK"])
def test_every_mode_becomes_rgb(mode: str) -> None:
    file = io.BytesIO()
    kind = "TIFF" if mode == "CMYK" else "PNG"
    Image.open(io.BytesIO(encoded(0))).convert(mode).save(file, kind)
    image = decode(file.getvalue())
    assert (image.mode, image.size) == ("RGB", (40, 36))


def test_reasons_are_short_and_repeatable(tmp_path: Path) -> None:
    jpeg, png = encoded(0, "JPEG"), encoded(0)
    (tmp_path / "text.jpg").write_text("no picture")
    broken = [
        (None, "missing"),
        (b"", "missing"),
        (tmp_path / "absent.jpg", "missing"),
        (b"no picture", "not an image of a known format"),
        (tmp_path / "text.jpg", "not an image of a known format"),
        (jpeg[: len(jpeg) // 2], "damaged: image file is truncated"),
        (png[:60] + b"\0\0\0\0" + png[64:], "damaged: "),
    ]
    for image, reason in broken:
        found = []
        for _ in range(2):
            with pytest.raises(UnreadableError) as error:
                decode(image)
            found.append(str(error.value))
        assert found[0] == found[1]
        assert found[0].startswith(reason)
        assert "0x" not in found[0]


def test_images_keep_their_order_and_bad_ones_their_place() -> None:
    good = [encoded(row) for row in range(9)]
    images = [*good[:4], b"bad", *good[4:]]

    def pixels(image: Image.Image) -> torch.Tensor:
        return torch.from_numpy(np.array(image)).permute(2, 0, 1).float()

    for workers, ahead in [(1, 1), (4, 3), (3, 100)]:
        found = list(prepared_ahead(iter(images), pixels, workers, ahead))
        assert isinstance(found.pop(4), UnreadableError)
        for tensor, image in zip(found, good, strict=True):
            assert isinstance(tensor, torch.Tensor)
            assert torch.equal(tensor, pixels(decode(image)))


def test_no_more_images_are_held_than_asked_for() -> None:
    taken = []

    def images():
        for row in range(50):
            taken.append(row)
            yield encoded(row % 3)

    prepared = prepared_ahead(images(), lambda _: torch.zeros(3, 1, 1), workers=2, ahead=5)
    for number in range(1, 20):
        next(prepared)
        assert len(taken) <= number + 5
    prepared.close()
