"""The frame of the stages: settings in, one closing line out, one line for whatever goes wrong."""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import re
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from infopursuit.core import instructions
from infopursuit.core.code_used import write_listings
from infopursuit.core.errors import InputError
from infopursuit.core.files import write_text
from infopursuit.core.settings import ComputeSettings, Section, read_yaml
from infopursuit.core.settings_used import write_settings
from infopursuit.core.stage import CODE, KNOWN_CODE, SETTINGS, RowCounts, run
from infopursuit.datasets.settings import Datasets
from infopursuit.generation.settings import QueriesSettings

ROOT = Path(__file__).parents[2]
MENAGERIE = ("--dataset", "menagerie", "--seed")
SCRIPT = '''
from infopursuit.core.stage import RowCounts, run
import json, logging, numpy, time, torch
from threadpoolctl import threadpool_info
from infopursuit.core.settings import ComputeSettings, Section, read_yaml
from infopursuit.core.settings_used import write_settings


class Settings(Section):
    compute: ComputeSettings


def main(settings: Settings, seed: int) -> RowCounts:
    """Report the threads of each library."""
    import polars

    pools = {pool["internal_api"]: pool["num_threads"] for pool in threadpool_info()}
    pools |= {"polars": polars.thread_pool_size(), "torch": torch.get_num_threads()}
    logging.getLogger("infopursuit").info(json.dumps(pools))
    return RowCounts(read=1, written=seed)


if __name__ == "__main__":
    run(main)
'''
WAITING = """
from infopursuit.core.stage import RowCounts, run
import atexit, time
from infopursuit.core.settings import Section


class Settings(Section):
    clip: str


def wait():
    print("here", flush=True)
    time.sleep(1)


def main(settings: Settings, seed: int) -> RowCounts:
    if seed:
        wait()
    return RowCounts(read=1, written=seed)


if __name__ == "__main__":
    atexit.register(wait)
    run(main)
"""


class Settings(Section):
    """What a stage reads of params.yaml."""

    datasets: Datasets
    queries: QueriesSettings
    methods: dict[str, dict]
    compute: ComputeSettings


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A project with params.yaml as shipped, in which DVC runs nothing."""
    text = (ROOT / "params.yaml").read_text(encoding="utf-8")
    (tmp_path / "params.yaml").write_text(text, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("DVC_STAGE", raising=False)
    before = signal.getsignal(signal.SIGINT)
    yield tmp_path
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def ran(folder: Path, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture):
    """Run a stage with some arguments; its status and what it logged."""

    def call(*arguments: str, raising: BaseException | None = None):
        def main(settings: Settings, dataset: str, seed: int) -> RowCounts:
            if raising:
                raise raising
            return RowCounts(read=settings.datasets[dataset].k, written=seed)

        monkeypatch.setattr(sys, "argv", ["count.py", *arguments])
        caplog.clear()
        caplog.set_level("INFO")
        try:
            run(main)
        except SystemExit as ended:
            return ended.code, [record.getMessage() for record in caplog.records]
        return 0, [record.getMessage() for record in caplog.records]

    return call


def test_a_stage_ends_with_rows_in_rows_out_and_seconds(ran, folder: Path) -> None:
    status, [line] = ran(*MENAGERIE, "3")
    assert status == 0
    assert re.fullmatch(r"count-menagerie-3: 48 rows in, 3 rows out, \d+\.\d s", line)
    ran(*MENAGERIE, "4")
    kept = (folder / ".scratch/seconds.csv").read_text(encoding="utf-8").splitlines()
    assert [line.split(",")[0] for line in kept] == ["count-menagerie-3", "count-menagerie-4"]
    assert all(float(line.split(",")[1]) >= 0 for line in kept)


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (InputError("unlucky"), "unlucky"),
        (OSError(30, "x", "a.txt"), "a.txt: cannot be written"),
    ],
)
def test_what_a_user_can_mend_is_one_line(ran, folder: Path, error: Exception, message) -> None:
    status, [line] = ran(*MENAGERIE, "1", raising=error)
    assert status == 1
    assert line.startswith(f"count-menagerie-1: {message}")
    assert not (folder / ".scratch").exists()


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("    k: 48", "    kay: 48", "datasets.menagerie.k"),
        ("run:\n", "run: [\n", "not valid YAML"),
        ("menagerie:\n", "zoo:\n", "--dataset"),
        ("bootstrap_resamples:", "x:", ""),  # of a section that the stage does not read
    ],
)
def test_a_mistake_in_what_the_stage_reads_stops_it(ran, folder: Path, old, new, message) -> None:
    path = folder / "params.yaml"
    path.write_text(path.read_text(encoding="utf-8").replace(old, new), encoding="utf-8")
    status, [line] = ran(*MENAGERIE, "0")
    assert status == bool(message)
    assert message in line


@pytest.mark.parametrize(
    ("old", "new", "status"),
    [
        ("    k: 48", "    k: 49", 1),
        ("bootstrap_resamples:", "x:", 0),
        ("  threads: 2", "  threads: 3", 0),
        ("    quantize_queries: true", "    quantize_queries: false", 1),
    ],
)
def test_a_setting_that_changes_meanwhile_is_not_recorded(
    folder: Path, monkeypatch: pytest.MonkeyPatch, caplog, old: str, new: str, status: int
) -> None:
    noted, keys = SETTINGS / "count@menagerie-3.json", ["datasets.menagerie.k", "methods.fixed"]
    write_listings([], CODE, KNOWN_CODE)
    write_text(CODE / "count.txt", "")
    write_settings(noted, keys, read_yaml("params.yaml"), CODE / "count.txt")

    def main(settings: Settings, dataset: str, seed: int) -> RowCounts:
        text = (folder / "params.yaml").read_text(encoding="utf-8")
        assert old in text, "a stage with other settings does not begin"
        (folder / "params.yaml").write_text(text.replace(old, new, 1), encoding="utf-8")
        return RowCounts(read=1, written=1)

    monkeypatch.setattr(sys, "argv", ["count.py"])
    monkeypatch.setenv("DVC_STAGE", "count@menagerie-3")
    with pytest.raises(SystemExit) if status else contextlib.nullcontext():
        run(main)
    changed = r"params.yaml: (datasets.menagerie.k|methods.fixed): changed since the stage check"
    assert bool(re.search(changed, caplog.text)) == bool(status)
    if status:
        with pytest.raises(SystemExit):
            run(main)


def test_code_that_changed_since_it_was_noted_is_not_recorded(
    ran, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    script = folder / "stages/count.py"
    write_text(script, '"""Count."""\nMOST = 3\n')
    write_listings([Path("stages/count.py")], CODE, KNOWN_CODE)
    monkeypatch.setenv("DVC_STAGE", "count@menagerie-0")
    assert ran()[0] == 0
    write_text(script, '"""Count what there is."""\nMOST = 3  # at most\n')
    assert ran()[0] == 0, "comments and docstrings are not recorded"
    write_text(script, "MOST = 4\n")
    status, [line] = ran()
    assert status == 1
    assert "stages/count.py: changed since the stage check noted code and settings" in line


@pytest.mark.parametrize(
    ("name", "reads", "listed"),
    [
        ("src/later.py", "import_module('later')", False),
        ("src/given/words.txt", "Path('src/given/words.txt').read_text()", False),
        ("src/given/table.csv", "Path('src/given/table.csv').read_text()", True),
        ("stages/beside.py", "__import__('besi' + 'de')", False),
    ],
)
def test_what_ran_or_was_read_and_is_not_noted_is_told(
    ran, folder: Path, monkeypatch: pytest.MonkeyPatch, name: str, reads: str, listed: bool
) -> None:
    """Code that is imported by a name made at run time, data that no dependency names."""
    write_text(folder / name, "MOST = 3\n")
    write_text(folder / "stages/count.py", f"READS = {reads!r}\n")
    write_text(folder / "dvc.yaml", "stages: {count: {deps: [src/given/table.csv]}}\n")
    write_listings([Path("stages/count.py")], CODE, KNOWN_CODE)
    monkeypatch.setenv("DVC_STAGE", "count@menagerie-0")
    monkeypatch.syspath_prepend(folder / Path(name).parent)

    def main(settings: Settings, dataset: str, seed: int) -> RowCounts:
        eval(reads, {"import_module": importlib.import_module, "Path": Path})
        return RowCounts(1, 1)

    monkeypatch.setattr(sys, "argv", ["count.py"])
    with contextlib.nullcontext() if listed else pytest.raises(SystemExit):
        run(main)
    sys.modules.pop(Path(name).stem, None)


@pytest.mark.parametrize("arguments", [(), ("--dataset", "menagerie"), (*MENAGERIE, "one")])
def test_bad_usage_is_status_2(ran, capsys: pytest.CaptureFixture, arguments) -> None:
    assert ran(*arguments)[0] == 2
    assert "usage: count.py" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("count@menagerie-3", (), "count-menagerie-3: 48 rows in, 3 rows out"),
        ("sub/dvc.yaml:count@menagerie-3", (), "count-menagerie-3: 48 rows in, 3 rows out"),
        ("count@menagerie-3", (*MENAGERIE, "4"), "count-menagerie-4: 48 rows in, 4 rows out"),
        ("count@my-zoo-3", (), "'my-zoo-3'; expected DATASET-SEED"),
        ("count@$(touch x)-3", (), "--dataset $(touch x)"),
        ("count@--help-3", (), "'--help-3'; expected DATASET-SEED"),
    ],
)
def test_the_keys_come_from_the_name_of_dvc_s_stage(
    ran, folder: Path, monkeypatch: pytest.MonkeyPatch, name, arguments, message
) -> None:
    monkeypatch.setenv("DVC_STAGE", name)
    _, [line] = ran(*arguments)
    assert message in line
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("place", "seed", "status", "message"),
    [
        ("imports", 0, 130, "count: stopped before it began; go on with dvc repro\n"),
        ("main", 1, 130, "count-1: stopped; finished stages are kept"),
        ("end", 0, 0, "count-0: 1 rows in, 0 rows out"),
    ],
)
def test_ctrl_c_ends_with_one_line(folder: Path, place, seed, status, message) -> None:
    path = folder / "stages/menagerie/count.py"
    path.parent.mkdir(parents=True)
    script = WAITING
    # What a package under import, or a library in C, may do with an interruption.
    if place == "imports":
        wait = "try:\n    wait()\nexcept KeyboardInterrupt:\n    raise ImportError\n"
        script = script.replace("def main(", f"{wait}\n\ndef main(")
    if place != "end":
        script = script.replace("    atexit.register(wait)\n", "")
    path.write_text(script, encoding="utf-8")
    process = subprocess.Popen(
        [sys.executable, str(path), "--seed", str(seed)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),  # also in the background
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "here\n"
    process.send_signal(signal.SIGINT)
    _, lines = process.communicate(timeout=60)
    assert process.returncode == status
    assert lines.startswith(message)
    assert len(lines.splitlines()) == 1


def test_a_stage_computes_with_as_many_threads_as_the_settings_say(folder: Path) -> None:
    """numpy and torch are imported before the settings are read, polars after."""
    (folder / "count.py").write_text(SCRIPT, encoding="utf-8")
    text = (folder / "params.yaml").read_text(encoding="utf-8")
    assert "  threads: 2" in text
    path = folder / "params.yaml"
    path.write_text(text.replace("  threads: 2", "  threads: 3"), encoding="utf-8")
    free = {key: value for key, value in os.environ.items() if not key.endswith("_THREADS")}
    command = [sys.executable, "count.py", "--seed", "0"]
    done = subprocess.run(command, env=free, capture_output=True, text=True)
    threads = json.loads(done.stderr.splitlines()[0])
    assert {"openblas", "openmp", "polars", "torch"} <= set(threads)
    assert set(threads.values()) == {3}


# A sum whose last bits depend on the instructions, and what torch says it uses.
SUMS = """
from infopursuit.core import stage
import hashlib, sys, numpy, torch
rows = torch.randn(700, 700, generator=torch.Generator().manual_seed(0))
sums = (rows @ rows).softmax(dim=1).numpy(), numpy.sqrt(numpy.exp(rows.numpy())).sum(axis=0)
print(torch.backends.cpu.get_cpu_capability(), *(hashlib.sha256(each).hexdigest() for each in sums))
"""


@pytest.mark.skipif(not instructions.AVX2, reason="a processor without AVX2")
def test_a_bare_shell_computes_as_one_where_the_instructions_are_set() -> None:
    """The variables are set in time: a stage computes as if its shell had set them."""
    bare = {name: each for name, each in os.environ.items() if name not in instructions.VARIABLES}
    shells = (bare, {**bare, **instructions.VARIABLES})
    command = [sys.executable, "-c", SUMS]
    first, second = (
        subprocess.run(command, env=shell, capture_output=True, text=True, check=True).stdout
        for shell in shells
    )
    assert first == second
    assert first.startswith("AVX2 ")
    heavy = "import sys, infopursuit.core.stage; print(*{'numpy', 'torch'} & {*sys.modules})"
    command = [sys.executable, "-c", heavy]
    assert subprocess.run(command, capture_output=True, text=True, check=True).stdout == "\n"
