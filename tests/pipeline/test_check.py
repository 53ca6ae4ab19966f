"""`infopursuit check`: every mistake of settings and inputs is told before anything runs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from ruamel.yaml import YAML

from infopursuit.core.errors import InputError
from infopursuit.pipeline.check import check
from tests.generation.language_models.test_openai_server import completion, serving

ROOT = Path(__file__).parents[2]
PINNED = f"hf-hub:a/clip@{'a' * 40}"


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A project whose data set, texts and CLIP are small tables."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    texts = [f"text {i}" for i in range(6)]
    embeddings(tmp_path / "texts.parquet", {"text": texts, "source": ["x"] * 6}, rng)
    rows = {
        "id": [f"{split}{i}" for split in ("train", "test") for i in range(4)],
        "split": ["train"] * 4 + ["test"] * 4,
        "label": pa.array([0, 1] * 4, pa.int32()),
        "class_name": ["cat", "dog"] * 4,
    }
    embeddings(tmp_path / "images.parquet", rows, rng)
    (tmp_path / "classes.txt").write_text("cat\ndog\n", encoding="utf-8")
    (tmp_path / "list.txt").write_text("text 0\ntext 1\n", encoding="utf-8")
    for name in ("known", "question_reference", "answer_reference"):
        (tmp_path / f"{name}.csv").write_text("class,fur\ncat,1\ndog,0.5\n", encoding="utf-8")
    (tmp_path / "said.csv").write_text("image,text,answer\na.jpg,fur,yes\n", encoding="utf-8")
    (tmp_path / "words.txt").write_text("therefore\n", encoding="utf-8")
    (tmp_path / "pin.yaml").write_text("layout: cub200\nroot: data/birds\n", encoding="utf-8")
    params = YAML().load((ROOT / "params.yaml").read_text(encoding="utf-8"))
    params["run"].update(datasets=["pets"], inits=["llm"], truth=[])
    params["clip"] = "texts.parquet"
    params["queries"] |= {
        "corpora": {"given": "texts.parquet"},
        "dictionaries": {"pets": "list.txt"},
    }
    params["universe"]["control_words"] = "words.txt"
    params["datasets"] = {
        "pets": {
            "images": "images.parquet",
            "classes": "classes.txt",
            "knowledge": "known.csv",
            "question_reference": "question_reference.csv",
            "answer_reference": "answer_reference.csv",
            "annotations": "said.csv",
            "k": 2,
            "budget": None,
            "max_rejected": 0.0,
            "variational": {},
        }
    }
    with (tmp_path / "params.yaml").open("w", encoding="utf-8") as file:
        YAML().dump(params, file)
    return tmp_path


def embeddings(
    path: Path, columns: dict[str, Any], rng: np.random.Generator, width: int = 4
) -> None:
    count = len(next(iter(columns.values())))
    values = pa.array(rng.normal(size=count * width).astype(np.float16))
    lists = pa.FixedSizeListArray.from_arrays(values, width)
    pq.write_table(pa.table({**columns, "embedding": lists}), path)


def edit(project: Path, *keys: str, value: Any) -> None:
    yaml = YAML()
    content = yaml.load((project / "params.yaml").read_text(encoding="utf-8"))
    section = content
    for key in keys[:-1]:
        section = section[key]
    section[keys[-1]] = value
    with (project / "params.yaml").open("w", encoding="utf-8") as file:
        yaml.dump(content, file)


def test_a_project_without_mistakes_passes(project: Path) -> None:
    assert check() == 10


def test_the_shipped_project_passes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(ROOT)
    assert check() > 3


def test_all_mistakes_are_told_at_once_with_their_keys(project: Path) -> None:
    (project / "classes.txt").write_text("cat\nfox\n", encoding="utf-8")
    edit(project, "datasets", "pets", "k", value=3)
    edit(project, "queries", "corpora", value={"given": "nowhere.parquet"})
    with pytest.raises(InputError) as caught:
        check()
    lines = str(caught.value).splitlines()
    assert [line.split(": ")[1] for line in lines] == [
        "queries.corpora.given",
        "queries.dictionaries.pets",
        "datasets.pets.knowledge",
        "datasets.pets.question_reference",
        "datasets.pets.answer_reference",
        "datasets.pets.images",
    ]


def test_images_of_another_clip_are_told(project: Path) -> None:
    rng = np.random.default_rng(1)
    table = pq.read_table(project / "images.parquet").drop_columns("embedding")
    embeddings(project / "images.parquet", table.to_pydict(), rng, width=5)
    with pytest.raises(InputError, match="embeddings of width 5, but `clip` has width 4"):
        check()


@pytest.mark.parametrize(
    ("keys", "value", "message"),
    [
        (("compute", "device"), "cuda", r"compute\.device: .*no GPU"),
        (("compute", "threds"), 2, r"compute\.threds: unknown key"),
        (("datasets", "pets", "classes"), "away.txt", r"pets\.classes: away\.txt: no such"),
        (("datasets", "pets", "classes"), "data/away", r"^[^\n]*away: no such folder; [^\n]*$"),
        (("datasets", "pets", "images"), "pin.yaml", r"pin\.yaml: root: no folder data/birds"),
        (("datasets", "pets", "knowledge"), "a.csv", r"pets\.knowledge: a\.csv: no such file"),
        (("datasets", "pets", "knowledge"), "words.txt", r"unknown kind of knowledge '\.txt'"),
        (("datasets", "pets", "question_reference"), "a.csv", r": a\.csv: no such file"),
        (("datasets", "pets", "answer_reference"), None, r"reference: null; expected a path"),
        (("datasets", "pets", "annotations"), None, r"null; .*params/no_annotations"),
        (("clip",), "away", r"clip: away: "),
        (("clip",), "ViT-B-32:openai", r"clip: ViT-B-32:openai is a name.*params/clip"),
        (("clip",), PINNED, rf"two lines hub: a/clip and revision: {PINNED[-40:]}"),
        (("queries", "dictionaries"), {}, r"queries\.dictionaries: no entry for 'pets'.*'llm'"),
        (("run", "inits"), ["list"], r"queries\.lists: no entry for 'pets'.*'list'"),
        (("queries", "lists"), {"pts": "list.txt"}, r"lists: 'pts' is not a key of datasets"),
        (("run", "inits"), ["random_words"], r"run\.inits: random_words need a CLIP"),
    ],
)  # fmt: skip
def test_a_mistake_is_told_with_its_key(
    project: Path,
    keys: tuple[str, ...],
    value: Any,
    message: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    edit(project, *keys, value=value)
    with pytest.raises(InputError, match=message):
        check()


def test_neither_dictionary_nor_list_is_needed_for_informative(project: Path) -> None:
    (project / "list.txt").unlink()
    edit(project, "queries", "dictionaries", value={})
    edit(project, "run", "inits", value=["informative"])
    assert check() == 9


def test_a_text_to_keep_that_is_banned_is_told(project: Path) -> None:
    edit(project, "questions", value={"ban": ["Red"], "keep": [], "first": "a red hat"})
    with pytest.raises(InputError, match="questions: 'a red hat' is to be kept, and is banned"):
        check()
    edit(project, "questions", value={"ban": ["Red"], "keep": ["reddish hat"], "first": None})
    check()


def test_the_classes_may_be_the_folders_of_the_images(project: Path) -> None:
    for name in ("cat", "dog"):
        for number in range(3):
            (project / "photos" / name).mkdir(parents=True, exist_ok=True)
            (project / "photos" / name / f"{number}.jpg").write_bytes(b"")
    edit(project, "datasets", "pets", "images", value="photos")
    edit(project, "datasets", "pets", "classes", value="photos")
    check()
    (project / "photos" / "dog" / "1.jpg").unlink()
    (project / "photos" / "dog" / "2.jpg").unlink()
    with pytest.raises(InputError, match="1 image of the class 'dog'; expected two or more"):
        check()


def test_a_class_that_nothing_is_known_of_is_told(project: Path) -> None:
    (project / "known.csv").write_text("class,fur\ncat,1\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"known\.csv: nothing about the class 'dog'"):
        check()


def test_a_file_that_says_nothing_fits_every_data_set(project: Path) -> None:
    for key in ("knowledge", "question_reference", "answer_reference"):
        edit(project, "datasets", "pets", key, value=str(ROOT / "params/no_knowledge.csv"))
    assert check() == 10


def test_raw_inputs_may_be_missing_where_what_is_made_of_them_is_there(
    project: Path, caplog: pytest.LogCaptureFixture
) -> None:
    (project / "images.parquet").unlink()
    with pytest.raises(InputError, match=r"datasets\.pets\.images: images\.parquet"):
        check()
    made = project / "artifacts/datasets/pets/images.parquet"
    made.parent.mkdir(parents=True)
    made.touch()
    caplog.set_level("INFO")
    check()
    assert (
        "datasets.pets.images: images.parquet: not here; artifacts/datasets/pets/images"
        in caplog.text
    )
    edit(project, "datasets", "pets", "images", value="pin.yaml")
    check()
    assert (
        "datasets.pets.images: data/birds: not here; artifacts/datasets/pets/images" in caplog.text
    )


@pytest.mark.parametrize(
    ("reply", "said"),
    [
        (completion("true: 1\nsometimes: 2"), ""),
        (completion("Dogs are fun."), "structured_output"),
        (completion("<think>\nLet me", "length"), "is of no use; .*reasoning_effort=none.*extra"),
        ((503, b"Loading model"), "no answer in 1 try"),
        ((404, b"404 page not found"), "404"),
    ],
)
def test_a_server_is_asked_one_question(
    project: Path, reply: Any, said: str, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "infopursuit")
    prompts = ROOT / "src/infopursuit/generation/prompts"
    edit(project, "queries", "dictionaries", "pets", value=str(prompts / "class_queries.jinja"))
    edit(project, "language_model", "backend", value="openai")
    with serving(lambda request: reply) as (url, requests):
        edit(project, "language_model", "openai", "base_url", value=url)
        check(ask_server=False)
        assert not requests
        if said:
            with pytest.raises(InputError, match=f"language_model: .*{said}"):
                check()
        else:
            check()
            assert "answered: 'true: 1 sometimes: 2'" in caplog.text
        assert len(requests) == 1
