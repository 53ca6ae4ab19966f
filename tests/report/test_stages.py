"""The stage scripts explain and report on small made-up inputs."""

import io
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.stage import Rows
from infopursuit.core.tables import EMBEDDED_IMAGES, IMAGES, write_table
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.explanation.explanation import read_explanations
from infopursuit.explanation.stopping import StoppingRule
from infopursuit.pipeline.params import Params, load_params
from infopursuit.report.runs import RunKey
from tests.report.made_up_runs import make_baselines, make_run
from tests.stage_scripts import ROOT, stage

KEY = ("menagerie", "llm", "naive_bayes", 0)
FOLDER = Path("artifacts/explanations/menagerie-llm-naive_bayes-0")
N, K, WIDTH = 24, 6, 16


def edited(params: Params, section: str, **values: object) -> Params:
    return params.model_copy(update={section: getattr(params, section).model_copy(update=values)})


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A model, embedded images and their pictures below a temporary folder, and work there."""
    monkeypatch.chdir(tmp_path)
    Path("artifacts/images").mkdir(parents=True)
    columns = {
        "id": [f"image/{row}" for row in range(N)],
        "split": ["train" if row % 2 else "test" for row in range(N)],
        "label": [row // 2 % 3 for row in range(N)],
        "class_name": ["abc"[row // 2 % 3] for row in range(N)],
    }
    embeddings = np.random.default_rng(0).normal(size=(N, WIDTH))
    embeddings /= np.linalg.norm(embeddings, axis=1, keepdims=True)
    texts = [f"query {index}" for index in range(K)]
    model = InformationPursuitClassifier(texts, np.eye(K, WIDTH), queries=texts)
    model.fit(embeddings, columns["class_name"]).save(
        "artifacts/models/menagerie-llm-naive_bayes-0"
    )
    embedded = columns | {"embedding": embeddings}
    write_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, embedded)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    write_table("pictures.parquet", IMAGES, columns | {"image": [buffer.getvalue()] * N})
    settings = edited(load_params(ROOT / "params.yaml"), "explain", ids={})
    dataset = settings.datasets["menagerie"].model_copy(update={"images": "pictures.parquet"})
    return settings.model_copy(update={"datasets": {"menagerie": dataset}})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_explain_draws_chosen_images_and_is_equal_on_repeat(params: Params) -> None:
    assert stage("explain")(params, *KEY) == Rows(N // 2, 4)
    first = contents(FOLDER)
    stop, explained = read_explanations(FOLDER / "explanations.json")
    assert stop == StoppingRule(0.85, 20)
    assert all(len(explanation.steps) <= K for explanation, *_ in explained)
    assert set(first) == {"explanations.json", *(figure for _, figure, _ in explained)}
    assert len(explained) == 4
    for explanation, figure, short in explained:
        assert short is not None
        assert (short.image, short.chosen_from) == (explanation.image, K)
        assert short.true_class == explanation.true_class
        row = int(explanation.image.removeprefix("image/"))
        assert explanation.true_class == "abc"[row // 2 % 3]
        with Image.open(FOLDER / figure) as shown:
            pixels = np.asarray(shown.convert("RGB"))
        assert ((pixels == (255, 0, 0)).all(axis=2)).any()  # the picture itself
    (FOLDER / "stale.png").write_bytes(b"")
    stage("explain")(params, *KEY)
    assert contents(FOLDER) == first


def test_explain_adds_ids_once_and_names_unknown_ones(params: Params) -> None:
    stage("explain")(params, *KEY)
    spread = set(contents(FOLDER))
    ids = [next(f"image/{row}" for row in range(0, N, 2) if f"image_{row}.png" not in spread)]
    ids.append(min(spread - {"explanations.json"}).removesuffix(".png").replace("_", "/"))
    chosen = edited(params, "explain", ids={"menagerie": ids, "another": ["x"]})
    assert stage("explain")(chosen, *KEY).written == 5
    assert set(contents(FOLDER)) == {*spread, ids[0].replace("/", "_") + ".png"}
    with pytest.raises(InputError, match="'image/1' is not a test image"):
        stage("explain")(edited(params, "explain", ids={"menagerie": ["image/1"]}), *KEY)


def test_explain_finds_an_id_that_is_not_in_the_sample_of_a_large_split(params: Params) -> None:
    few = params.model_copy(update={"max_images": 6})
    for row in range(0, N, 2):
        chosen = edited(few, "explain", images=1, ids={"menagerie": [f"image/{row}"]})
        assert stage("explain")(chosen, *KEY).read < N // 2
        assert f"image_{row}.png" in contents(FOLDER)


def test_report_joins_all_runs_of_the_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.chdir(tmp_path)
    caplog.set_level("INFO")
    params = edited(
        load_params(ROOT / "params.yaml"),
        "run",
        inits=["llm", "medoids"],
        methods=["fixed", "alternating"],
        seeds=[0],
    )
    for key in product(params.run.datasets, params.run.inits, params.run.methods, params.run.seeds):
        make_run(Path("artifacts"), RunKey(*key), images=20, k=8, budget=6, truth=True)
    make_baselines(Path("artifacts"), "menagerie", zero_shot=False)
    assert stage("report")(params) == Rows(4, 1)
    page = Path("artifacts/report/index.html").read_bytes()
    curves = Path("artifacts/report/curves.csv").read_text(encoding="utf-8").splitlines()
    assert curves[0] == "run,t,accuracy"
    assert len(curves) == 1 + 4 * (6 + 1)
    assert b"zero-shot" not in page
    assert "| llm        | fixed" in caplog.text, "the stage ends with the table"
    assert "| baseline   | MLP" in caplog.text
    assert len(list(Path("artifacts/report/metrics").iterdir())) == 4 + 2
    assert len(list(Path("artifacts/report/plots").iterdir())) == 2
    stage("report")(params)
    assert Path("artifacts/report/index.html").read_bytes() == page
    Path("artifacts/baselines/menagerie.json").unlink()
    with pytest.raises(InputError, match=r"menagerie\.json: no such file; `dvc repro` makes it"):
        stage("report")(params)
