"""The stage script report on made-up runs."""

import json
from itertools import product
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.run_name import RunName
from infopursuit.core.stage import RowCounts
from infopursuit.pipeline.params import load_params
from tests.planted import edited
from tests.stage_scripts import ROOT, stage
from tests.study.run_report.made_up_runs import make_baselines, make_run


def test_report_joins_all_runs_of_the_parameters(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture
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
        make_run(Path("artifacts"), RunName(*key), images=20, k=8, budget=6, truth=True)
    make_baselines(Path("artifacts"), "menagerie", zero_shot=False)
    assert stage("report")(params) == RowCounts(4, 1)
    page = Path("artifacts/report/index.html").read_bytes()
    curves = sorted(Path("artifacts/report/curves").iterdir())
    assert [path.stem for path in curves][-1] == "menagerie-medoids-fixed-0"
    lines = curves[-1].read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"t","accuracy"'
    assert (len(curves), len(lines)) == (4, 1 + 6 + 1)
    assert b"zero-shot" not in page
    shown = capsys.readouterr().out
    assert "| llm        | fixed" in shown, "the stage ends with the table"
    assert "| baseline   | linear probe" in shown
    metrics = json.loads(Path("artifacts/report/metrics.json").read_text(encoding="utf-8"))
    assert {"llm-fixed", "medoids-alternating", "linear_probe"} <= set(metrics)
    assert len(metrics) == 4 + 1
    assert len(list(Path("artifacts/report/plots").iterdir())) == 2
    stage("report")(params)
    assert Path("artifacts/report/index.html").read_bytes() == page
    Path("artifacts/baselines/menagerie.json").unlink()
    with pytest.raises(InputError, match=r"menagerie\.json: no such file; `dvc repro` makes it"):
        stage("report")(params)
