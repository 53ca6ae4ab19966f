"""What a review of the project found, what comes from strangers, and the tests that try each.

    python -m campaigns.findings

`FINDINGS` is one table: H, M and L are findings of high, medium and low weight, S what comes from
strangers besides. A row names test functions, files of tests, or kinds of bad input by the start of
their name; or it says why nothing was changed. The long form runs them row by row. A test that is
skipped, for example because there is no browser, counts as failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from functools import cache
from pathlib import Path
from typing import NamedTuple

from campaigns import write_tables
from campaigns.bad_inputs import all_kinds

ROOT = Path(__file__).parents[1]
KIND = "campaigns/test_bad_inputs.py::test_a_bad_input_is_reported_in_one_line"
COMES_BACK = "test_what_fit_takes_comes_back_or_is_refused_at_once"
NAMES = "test_names_are_texts_in_cards_figures_and_terminals"
LOAD = "test_honest_users_are_served_next_to_hostile_ones"
REFUSED = "refused in one line"


class Row(NamedTuple):
    """What is tried, what has to happen, and the tests; without tests, why it is as it is."""

    tried: str
    expected: str
    tests: tuple[str, ...] = ()


def _row(tried: str, expected: str, *tests: str) -> Row:
    return Row(tried, expected, tests)


FINDINGS: dict[str, Row] = {
    "H1": _row("labels of any type of numpy and pandas", "come back, or are refused", COMES_BACK),
    "H2": _row("a tokenizer or tower that brings code", "no code runs",
        "test_a_tokenizer_may_not_ask_to_run_code", "CLIPs: a tower of transformers",
        "CLIPs: code for a tokenizer"),
    "H3": _row("files of two saves in one folder", REFUSED,
        "test_a_mixture_of_two_models_is_refused"),
    "H4": _row("names that are not UTF-8", "nothing is lost",
        "test_bad_images_are_listed_and_the_rest_is_fitted",
        "test_bad_files_are_listed_and_the_others_explained", COMES_BACK),
    "M1": _row("a JPEG of thousands of scans", REFUSED, "pictures: 300 scans"),
    "M2": _row("answers that are read slowly", "memory has a limit", "test_an_answer_has_a_limit",
        "test_an_answer_that_is_not_taken_counts", LOAD),
    "M3": _row("a language-model server that repeats its key", "the key is masked",
        "test_a_refusal_that_repeats_the_key_is_reported_without_it",
        "test_a_key_that_cannot_be_sent_is_not_shown",
        "test_a_bad_address_is_refused_without_its_password",
        "test_an_answer_that_repeats_the_key_is_kept_without_it"),
    "M4": _row("replies without an end, huge, packed", REFUSED,
        "test_what_a_server_sends_is_bounded_and_never_shows_the_key"),
    "M5": _row("a model that names an address", "only known hosts are asked",
        "test_a_stranger_s_address_is_not_asked", "test_a_download_is_verified_and_kept"),
    "M6": _row("names that a terminal would obey", "are escaped", NAMES),
    "M7": _row("sizes that are only claimed", "take no memory", "models: a column of 10^9",
        "models: a description of 300 MB", "CLIPs: 10^6 layers", "CLIPs: more than its weights",
        "CLIPs: pictures of 40000", "CLIPs: 6e7 words"),
    "M8": _row("descriptions of another form", REFUSED, "models: sources are a list",
        "models: an accuracy of 1e308", "models: columns are a", "models: a first question of 1.0",
        "models: 1e300 questions", "models: a table of float64"),
    "M9": _row("markup in a model's card", "is text", NAMES, "models: a number of images is"),
    "M10": _row("settings that change while a stage runs", REFUSED,
        "test_a_setting_that_changes_meanwhile_is_not_recorded"),
    "M11": _row("equal texts, texts across all images, weights of 1e300", "an answer, or refused",
        "test_degenerate_data_give_an_answer_or_one_line"),
    "M12": _row("40,000 classes", "memory not for images times classes",
        "test_selection_takes_no_memory_for_images_times_classes"),
    "L1": _row("labels, seeds and threads out of range", REFUSED, "commands: fit: labels of 0.5",
        "commands: fit: a label of NaN", "commands: fit: labels of",
        "commands: fit: complex labels", "commands: fit: a seed of 2^70", "settings: 10^9 threads",
        "settings: a seed of 2^64"),
    "L2": _row("damaged weights of a CLIP", REFUSED, "weights of CLIPs: "),
    "L3": _row("terminals without Unicode, closed streams", "works, or one line",
        "processes: LC_ALL=C", "processes: ASCII", "processes: a console of Windows",
        "processes: no standard", "processes: a full standard output"),
    "L4": _row("formulas in a CSV of explanations", "by design: a CSV is text (SECURITY.md)"),
    "L5": _row("paths in errors of the server", "are not there",
        "test_an_error_of_the_server_reveals_nothing"),
    "L6": _row("a Parquet table that unpacks to gigabytes", "by design: `ulimit` (SECURITY.md)"),
    "L7": _row("a prompt that loops for ever", "by design: `ulimit` (SECURITY.md)"),
    "L8": _row("a page of more than 65,536 classes", REFUSED,
        "test_floats_and_labels_survive_a_round_trip"),
    "L9": _row("pipes in the place of files", REFUSED, "pictures: a pipe", "CLIPs: a pipe"),
    "L10": _row("classes that their type cannot hold", REFUSED, "models: texts of another type",
        "models: classes of 4 GB"),
    "L11": _row("figures of a class name of 10 MB", "10 s, 2 GiB", "commands: explain: figures"),
    "L12": _row("a CSV from Excel, with a byte order mark", "is read", "corpora: the mark of Excel",
        "lists and class files: a byte order mark"),
    "L13": _row("a `params.yaml` that is a link", "stays one", "commands: configure: a link"),
    "L14": _row('`fit --out ""`', REFUSED, "commands: an empty folder"),
    "L15": _row("clients that leave", "leave no lines in the log",
        "test_clients_who_leave_are_no_lines_in_the_log"),
    "L16": _row("bits of networks with other threads", "by design: see the table of promises"),
    "L17": _row("`RandomState`, `StringDType`", "refused, or comes back",
        "test_a_setting_that_cannot_be_saved_is_refused", COMES_BACK),
    "L18": _row("seeds and rates out of range", REFUSED, COMES_BACK,
        "tests/estimators/test_variational.py::test_bad_settings_are_refused"),
    "L19": _row("actions by a tag or branch", "are by commit",
        "test_a_workflow_has_few_rights_and_pins_what_it_uses"),
    "L20": _row("packages of another content", "are not installed; vLLM's: SECURITY.md",
        "test_every_pinned_requirement_has_a_hash",
        "test_hashes_are_required_where_the_lock_is_installed", "test_another_file_is_refused"),
    "L21": _row("weights of 200 GB, little address space", REFUSED, "models: weights of 200 GB",
        "processes: little address space"),
    "L22": _row("captions of 100 MB", "by design: 1 GB at most, read as a whole"),
    "S1": _row("a model folder", "runs no code", "test_a_model_from_a_stranger_runs_no_code",
        "test_a_malformed_folder_is_refused", "tests/clip/test_weights.py"),
    "S2": _row("checkpoints, tables, arrays", "run no code",
        "test_a_pickle_in_place_of_data_does_not_run"),
    "S3": _row("a folder of pictures", "names none outside",
        "test_a_saved_folder_names_no_file_outside_it"),
    "S4": _row("names of data sets, methods, images", "stay in their folder",
        "tests/core/test_settings.py", "tests/pipeline/test_params.py",
        "tests/evaluation/test_chosen_images.py"),
    "S5": _row("class names, questions, ids in a page", "are text",
        "test_hostile_texts_are_shown_and_run_nowhere", "tests/explorer/test_page.py",
        "tests/explorer/test_notebook.py"),
    "S6": _row("a prompt file", "runs no code", "test_a_prompt_from_a_stranger_runs_no_code"),
    "S7": _row("clients of the explorer's server", "get no files, keep nobody out",
        "tests/explorer/test_server.py", LOAD),
    "S8": _row("a deleted working directory", REFUSED, "processes: a folder that is gone"),
}  # fmt: skip


@cache
def _files() -> dict[str, str]:
    """Return the file of each test function, by its name."""
    files: dict[str, str] = {}
    for path in (*(ROOT / "tests").rglob("test_*.py"), *(ROOT / "campaigns").glob("test_*.py")):
        for test in re.findall(r"^def (test_\w+)", path.read_text(encoding="utf-8"), re.MULTILINE):
            files[test] = "" if test in files else str(path.relative_to(ROOT))
    return files


def nodes(row: Row) -> list[str]:
    """Return the tests of a row by pytest's names."""
    found = []
    for test in row.tests:
        if ".py" in test:
            found.append(test)
        elif test.startswith("test_"):
            assert _files().get(test), f"expected one test called {test}"
            found.append(f"{_files()[test]}::{test}")
        else:
            kinds = [kind.key for kind in all_kinds() if kind.key.startswith(test)]
            assert kinds, f"no kind of bad input is called {test!r}"
            found += [f"{KIND}[{key}]" for key in kinds]
    return found


def main() -> int:
    """Run the tests of each row; return 1 if one of them fails, is skipped, or is not there."""
    rows, broken = [], False
    for finding, row in FINDINGS.items():
        passed = failed = ""
        if row.tests:
            command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *nodes(row)]
            done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
            ends = re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)
            counts = {end: int(number) for number, end in ends}
            passed, failed = str(counts.pop("passed", 0)), str(sum(counts.values()))
            if done.returncode or counts:
                broken = True
                print(done.stdout[-3000:])
        rows.append([finding, row.tried, row.expected, passed, failed])
        header = ["finding", "tried", "expected", "cases passed", "failed or skipped"]
        write_tables("findings", header, rows)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
