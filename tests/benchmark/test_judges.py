from pathlib import Path

import numpy as np
import pytest

from infopursuit.benchmark.judges import read_judge
from infopursuit.core.errors import InputError
from tests.meaning.recorded import judged_table

COMPLETE = '{"complete": true}\n'


def test_texts_are_true_often_or_not() -> None:
    root = Path(__file__).parents[1] / "meaning/judge/food10.jsonl"
    entries = [line for line in root.read_text().splitlines() if line][1:]
    names = sorted({name for line in entries for key in ("true", "often")
                    for name in __import__("json").loads(line)[key]})  # fmt: skip
    texts = [__import__("json").loads(line)["text"] for line in entries] + ["a text of no class"]
    found, expected = read_judge(root, names, texts), judged_table("food10", names, texts)
    np.testing.assert_array_equal(found.values, expected.values)
    assert not found.values[:, -1].any()


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ('{"text": "fur", "true": [], "often": []}\n', "in the first line"),
        (COMPLETE + '{"text": "fur", "true": ["cat"]}\n', "line 2; expected the keys"),
        (COMPLETE + '{"text": "fur", "true": ["cow"], "often": []}\n', "line 2: no class 'cow'"),
        (COMPLETE + "fur\n", "not lines of JSON"),
    ],
)
def test_malformed_tables_are_told(tmp_path: Path, content: str, message: str) -> None:
    path = tmp_path / "judge.jsonl"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_judge(path, ["cat"], ["fur"])
    with pytest.raises(InputError, match="no such file"):
        read_judge(tmp_path / "none.jsonl", ["cat"], ["fur"])
