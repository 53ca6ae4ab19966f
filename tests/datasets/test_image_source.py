"""The rows of a data set: checked in parts, whatever their number."""

import pyarrow as pa
import pytest

from infopursuit.core.errors import InputError
from infopursuit.datasets import image_source


def test_rows_in_parts_are_checked_as_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(image_source, "AT_ONCE", 2)
    columns = {
        "id": ["a", "b", "c", "d", "e"],
        "split": ["train", "test", "train", "test", "train"],
        "label": [1, 0, 1, 0, 0],
        "class_name": ["Bus", "car", "bus", "Car", "car"],
    }
    table = pa.table(columns, schema=image_source.ROWS)
    parts = pa.concat_tables([table.slice(0, 3), table.slice(3)])
    checked = image_source.checked_image_rows("x", parts, ["car", "bus"])
    assert checked.column("class_name").to_pylist() == ["bus", "car", "bus", "car", "car"]
    assert list(image_source.strings(checked.column("id"))) == columns["id"]
    twice = pa.concat_tables([parts, table.slice(1, 1)])
    with pytest.raises(InputError, match="the id 'b' of row 5 is also that of row 1"):
        image_source.checked_image_rows("x", twice, ["car", "bus"])
    with pytest.raises(InputError, match="row 1 has the class name 'Car' and the label 0"):
        image_source.checked_image_rows("x", parts.slice(2), ["lorry", "bus"])
