"""The stage scripts explain and report on small made-up inputs."""

import io
import runpy
from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from infopursuit.errors import InputError
from infopursuit.params import Params, load_params
from infopursuit.presentation.runs import RunKey
from infopursuit.presentation.trajectories import Stop, read_trajectories
from infopursuit.pursuit.model import TrainedModel
from infopursuit.pursuit.networks import HistoryNetwork
from infopursuit.stage import Rows
from infopursuit.tables import EMBEDDED_IMAGES, IMAGES, write_table
from tests.presentation.made_up_runs import make_black_box, make_run

ROOT = Path(__file__).parents[2]
KEY = ("menagerie", "llm", "fixed", 0)
FOLDER = Path("artifacts/explanations/menagerie-llm-fixed-0")
N, K, WIDTH = 24, 6, 16


def stage(name: str) -> Callable[..., Rows]:
    return runpy.run_path(str(ROOT / "stages" / f"{name}.py"))["main"]


def edited(params: Params, section: str, **values: object) -> Params:
    return params.model_copy(update={section: getattr(params, section).model_copy(update=values)})


@pytest.fixture
def params(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Params:
    """A model, embedded images and their pictures below a temporary folder, and work there."""
    monkeypatch.chdir(tmp_path)
    Path("artifacts/images").mkdir(parents=True)
    torch.manual_seed(0)
    TrainedModel(
        HistoryNetwork(K, K, (8, 4)), HistoryNetwork(K, 3, (8, 4)), torch.eye(K, WIDTH),
        tuple(f"query {index}" for index in range(K)), ("a", "b", "c"), K,
        {"recipe": {"hidden": [8, 4], "answers": "minmax"}}, {},
    ).save("artifacts/models/menagerie-llm-fixed-0")  # fmt: skip
    columns = {
        "id": [f"image/{row}" for row in range(N)],
        "split": ["train" if row % 2 else "test" for row in range(N)],
        "label": [row // 2 % 3 for row in range(N)],
        "class_name": ["abc"[row // 2 % 3] for row in range(N)],
    }
    embeddings = np.random.default_rng(0).normal(size=(N, WIDTH))
    embedded = columns | {"embedding": embeddings}
    write_table("artifacts/images/menagerie.parquet", EMBEDDED_IMAGES, embedded)
    buffer = io.BytesIO()
    Image.new("RGB", (8, 8), "red").save(buffer, "PNG")
    write_table("pictures.parquet", IMAGES, columns | {"image": [buffer.getvalue()] * N})
    settings = load_params(ROOT / "params.yaml")
    dataset = settings.datasets["menagerie"].model_copy(update={"images": "pictures.parquet"})
    return settings.model_copy(update={"datasets": {"menagerie": dataset}})


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_explain_draws_chosen_images_and_is_equal_on_repeat(params: Params) -> None:
    assert stage("explain")(params, *KEY) == Rows(N // 2, 4)
    first = contents(FOLDER)
    stop, explained = read_trajectories(FOLDER / "trajectories.json")
    assert stop == Stop(0.85, K)  # as many questions as the dictionary has
    assert set(first) == {"trajectories.json", *(figure for _, figure in explained)}
    assert len(explained) == 4
    for trajectory, figure in explained:
        row = int(trajectory.image.removeprefix("image/"))
        assert trajectory.true_class == "abc"[row // 2 % 3]
        with Image.open(FOLDER / figure) as shown:
            pixels = np.asarray(shown.convert("RGB"))
        assert ((pixels == (255, 0, 0)).all(axis=2)).any()  # the picture itself
    (FOLDER / "stale.png").write_bytes(b"")
    stage("explain")(params, *KEY)
    assert contents(FOLDER) == first


def test_explain_takes_ids_and_names_unknown_ones(params: Params) -> None:
    chosen = edited(params, "explain", ids={"menagerie": ["image/6"]})
    assert stage("explain")(chosen, *KEY).written == 1
    assert set(contents(FOLDER)) == {"trajectories.json", "image_6.png"}
    with pytest.raises(InputError, match="'image/1' is not a test image"):
        stage("explain")(edited(params, "explain", ids={"menagerie": ["image/1"]}), *KEY)


def test_report_joins_all_runs_of_the_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    params = edited(
        load_params(ROOT / "params.yaml"),
        "run",
        inits=["llm", "medoids"],
        methods=["fixed", "alternating"],
        seeds=[0],
    )
    for key in product(params.run.datasets, params.run.inits, params.run.methods, params.run.seeds):
        make_run(Path("artifacts"), RunKey(*key), images=20, k=8, budget=6, truth=True)
    make_black_box(Path("artifacts"), "menagerie", zero_shot=False)
    assert stage("report")(params) == Rows(4, 1)
    page = Path("artifacts/report/index.html").read_bytes()
    curves = Path("artifacts/report/curves.csv").read_text(encoding="utf-8").splitlines()
    assert curves[0] == "run,t,accuracy"
    assert len(curves) == 1 + 4 * (6 + 1)
    assert b"zero-shot" not in page
    stage("report")(params)
    assert Path("artifacts/report/index.html").read_bytes() == page
    Path("artifacts/black_box/menagerie.json").unlink()
    with pytest.raises(InputError, match=r"menagerie\.json: no such file; `dvc repro` makes it"):
        stage("report")(params)
