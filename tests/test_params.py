from pathlib import Path

import pytest
from ruamel.yaml import YAML

from infopursuit.configure import configure
from infopursuit.errors import InputError
from infopursuit.params import load_params

ROOT = Path(__file__).parents[1]
OVERLAYS = sorted((ROOT / "params").glob("*.yaml"))


def edited(tmp_path: Path, *edits: tuple[str, str]) -> Path:
    """params.yaml with texts replaced, each of which must occur."""
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    for old, new in edits:
        assert old in text
        text = text.replace(old, new, 1)
    path = tmp_path / "params.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_the_shipped_parameters_are_valid_and_explained() -> None:
    params = load_params(ROOT / "params.yaml")
    assert params.budget("menagerie") == min(128, params.datasets["menagerie"].k)
    lines = (ROOT / "params.yaml").read_text(encoding="utf-8").splitlines()
    assert sum(line.strip().startswith("#") for line in lines) > 60


def test_a_data_set_overrides_single_settings_of_a_recipe(tmp_path: Path) -> None:
    path = edited(tmp_path, ("recipe: {}", "recipe: {batch_size: 7, hidden: [9, 8]}"))
    recipe = load_params(path).recipe("fixed", "menagerie")
    assert (recipe.batch_size, recipe.hidden, recipe.learning_rate) == (7, (9, 8), 1e-3)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("  seeds: [0]", "  sedes: [0]", "run.seeds: missing key|run.sedes: unknown key"),
        ("    k: 48", "    k: '48'", r"datasets.menagerie.k: .*valid integer.*'48'"),
        ("    k: 48", "    k: 48.5", r"datasets.menagerie.k: .*48\.5"),
        ("  inits: [llm", "  inits: [lm", "run.inits.0: .*'lm'"),
        ("datasets: [menagerie]", "datasets: [zoo]", "run.datasets: 'zoo' is not a key"),
        ("  seeds: [0]", "  seeds: [0, 0]", "run.seeds: .*twice"),
        ("  truths: [menagerie]", "  truths: [zoo]", "run.truths.0: .*'zoo'"),
        ("    budget: null", "    budget: 49", "datasets.menagerie: budget is 49; .*k = 48"),
        ("  menagerie:\n", "  my zoo:\n", "my zoo"),
        ("    batch_size: 256", "    batch_size: 0", "recipes.fixed.*batch_size is 0"),
        ("    batch_size: 256", "    batchsize: 256", "recipes.fixed.*batchsize: unknown key"),
        ("recipe: {}", "recipe: {answers: maybe}", "datasets.menagerie.recipe.*answers.*'maybe'"),
        ("    held_out: 0.1", "    held_out: 1.5", "held_out is 1.5"),
        ("run:\n", "run: [\n", "not valid YAML"),
    ],
)
def test_a_mistake_is_told_with_the_path_of_its_key(
    tmp_path: Path, old: str, new: str, message: str
) -> None:
    with pytest.raises(InputError, match=message) as caught:
        load_params(edited(tmp_path, (old, new)))
    assert "\n" not in str(caught.value)


def test_a_missing_file_is_an_input_error(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="no such file"):
        load_params(tmp_path / "params.yaml")


@pytest.mark.parametrize("overlay", OVERLAYS, ids=[path.stem for path in OVERLAYS])
def test_ready_made_settings_merge_and_keep_the_comments(tmp_path: Path, overlay: Path) -> None:
    path = edited(tmp_path)
    configure(overlay, path)
    params = load_params(path)
    wanted = YAML(typ="safe").load(overlay.read_text(encoding="utf-8"))
    assert set(params.datasets) == set(wanted["datasets"])
    assert params.run.datasets == wanted["run"]["datasets"]
    assert "# Adam's learning rates" in path.read_text(encoding="utf-8")
    before = path.read_bytes()
    configure(overlay, path)
    assert path.read_bytes() == before


def test_an_invalid_overlay_leaves_the_parameters_alone(tmp_path: Path) -> None:
    path = edited(tmp_path)
    before = path.read_bytes()
    overlay = tmp_path / "mine.yaml"
    overlay.write_text("run: {datasets: [nowhere]}\n", encoding="utf-8")
    with pytest.raises(InputError, match=r"params\.yaml with .*mine\.yaml: .*'nowhere'"):
        configure(overlay, path)
    assert path.read_bytes() == before
    assert sorted(p.name for p in tmp_path.iterdir()) == ["mine.yaml", "params.yaml"]


def test_the_truth_is_only_asked_of_data_sets_that_are_run(tmp_path: Path) -> None:
    path = edited(
        tmp_path, ("datasets: [menagerie]", "datasets: [zoo]"), ("  menagerie:\n", "  zoo:\n")
    )
    with pytest.raises(InputError, match=r"run.truths: 'menagerie' is not among run.datasets"):
        load_params(path)
    path.write_text(path.read_text().replace("truths: [menagerie]", "truths: []"))
    assert load_params(path).run.truths == []
