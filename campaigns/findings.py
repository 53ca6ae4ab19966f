"""What a review of the project found, what comes from strangers, and the tests that try each.

    python -m campaigns.findings

`FINDINGS` is one table: H, M and L are findings of high, medium and low weight, S what comes from
strangers besides. A row names tests, or kinds of bad input by the start of their name; or it says
why nothing was changed. The long form runs them row by row. A test that is skipped, for
example because there is no browser, counts as failed.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

from campaigns import write_tables
from campaigns.bad_inputs import all_kinds

ROOT = Path(__file__).parents[1]
KIND = "campaigns/test_bad_inputs.py::test_a_bad_input_is_reported_in_one_line"
HERE = "campaigns/test_findings.py"
CLI, CLIP, SAVED = "tests/cli", "tests/clip", "tests/estimators/test_saved.py"
INPUTS, PAGE = "tests/estimators/test_inputs.py", "tests/explorer/test_page.py"
SERVER = "tests/explorer/test_server.py"
MODEL_SERVER = "tests/queries/language_models/test_openai_server.py"
RELEASES = "tests/packaging/test_releases.py"
COMES_BACK = f"{SAVED}::test_what_fit_takes_comes_back_or_is_refused_at_once"
NAMES = f"{HERE}::test_names_are_texts_in_cards_figures_and_terminals"
LOAD = f"{HERE}::test_honest_users_are_served_next_to_hostile_ones"
REFUSED = "refused in one line"


class Row(NamedTuple):
    """What is tried, what has to happen, and the tests; without tests, why it is as it is."""

    tried: str
    expected: str
    tests: tuple[str, ...] = ()


FINDINGS: dict[str, Row] = {
    "H1": Row("labels of any type of numpy and pandas", "come back, or are refused", (COMES_BACK,)),
    "H2": Row("a tokenizer or tower that brings code", "no code runs", (
        f"{CLIP}/test_towers.py::test_a_tokenizer_may_not_ask_to_run_code",
        "CLIPs: a tower of transformers", "CLIPs: code for a tokenizer",
    )),
    "H3": Row("files of two saves in one folder", REFUSED,
              (f"{SAVED}::test_a_mixture_of_two_models_is_refused",)),
    "H4": Row("names that are not UTF-8", "nothing is lost", (
        f"{CLI}/test_fit.py::test_bad_images_are_listed_and_the_rest_is_fitted",
        f"{CLI}/test_explain.py::test_bad_files_are_listed_and_the_others_explained", COMES_BACK,
    )),
    "M1": Row("a JPEG of thousands of scans", REFUSED, ("pictures: 300 scans",)),
    "M2": Row("answers that are read slowly", "memory has a limit", (
        f"{SERVER}::test_an_answer_has_a_limit",
        f"{SERVER}::test_an_answer_that_is_not_taken_counts", LOAD,
    )),
    "M3": Row("a language-model server that repeats its key", "the key is masked", (
        f"{MODEL_SERVER}::test_a_refusal_that_repeats_the_key_is_reported_without_it",
        f"{MODEL_SERVER}::test_a_key_that_cannot_be_sent_is_not_shown",
        f"{MODEL_SERVER}::test_a_bad_address_is_refused_without_its_password",
        f"{MODEL_SERVER}::test_an_answer_that_repeats_the_key_is_kept_without_it",
    )),
    "M4": Row("replies without an end, huge, packed", REFUSED,
              (f"{MODEL_SERVER}::test_what_a_server_sends_is_bounded_and_never_shows_the_key",)),
    "M5": Row("a model that names an address", "only known hosts are asked", (
        f"{CLIP}/test_weights.py::test_a_stranger_s_address_is_not_asked",
        f"{CLIP}/test_weights.py::test_a_download_is_verified_and_kept",
    )),
    "M6": Row("names that a terminal would obey", "are escaped", (NAMES,)),
    "M7": Row("sizes that are only claimed", "take no memory", (
        "models: a column of 10^9", "models: a description of 300 MB", "CLIPs: 10^6 layers",
        "CLIPs: more than its weights", "CLIPs: pictures of 40000", "CLIPs: 6e7 words",
    )),
    "M8": Row("descriptions of another form", REFUSED, (
        "models: sources are a list", "models: an accuracy of 1e308", "models: columns are a",
        "models: a first question of 1.0", "models: 1e300 questions", "models: a table of float64",
    )),
    "M9": Row("markup in a model's card", "is text", (NAMES, "models: a number of images is")),
    "M10": Row("settings that change while a stage runs", REFUSED, (
        "tests/core/test_stage.py::test_a_setting_that_changes_meanwhile_is_not_recorded",
    )),
    "M11": Row("equal texts, texts across all images, weights of 1e300", "an answer, or refused",
               (f"{HERE}::test_degenerate_data_give_an_answer_or_one_line",)),
    "M12": Row("40,000 classes", "memory not for images times classes",
               (f"{HERE}::test_selection_takes_no_memory_for_images_times_classes",)),
    "L1": Row("labels, seeds and threads out of range", REFUSED, (
        "commands: fit: labels of 0.5", "commands: fit: a label of NaN", "commands: fit: labels of",
        "commands: fit: complex labels", "commands: fit: a seed of 2^70", "settings: 10^9 threads",
        "settings: a seed of 2^64",
    )),
    "L2": Row("damaged weights of a CLIP", REFUSED, ("weights of CLIPs: ",)),
    "L3": Row("terminals without Unicode, closed streams", "works, or one line", (
        "processes: LC_ALL=C", "processes: ASCII", "processes: a console of Windows",
        "processes: no standard", "processes: a full standard output",
    )),
    "L4": Row("formulas in a CSV of explanations", "by design: a CSV is text (SECURITY.md)"),
    "L5": Row("paths in errors of the server", "are not there",
              (f"{SERVER}::test_an_error_of_the_server_reveals_nothing",)),
    "L6": Row("a Parquet table that unpacks to gigabytes", "by design: `ulimit` (SECURITY.md)"),
    "L7": Row("a prompt that loops for ever", "by design: `ulimit` (SECURITY.md)"),
    "L8": Row("a page of more than 65,536 classes", REFUSED,
              (f"{PAGE}::test_floats_and_labels_survive_a_round_trip",)),
    "L9": Row("pipes in the place of files", REFUSED, ("pictures: a pipe", "CLIPs: a pipe")),
    "L10": Row("classes that their type cannot hold", REFUSED,
               ("models: texts of another type", "models: classes of 4 GB")),
    "L11": Row("figures of a class name of 10 MB", "10 s, 2 GiB", ("commands: explain: figures",)),
    "L12": Row("a CSV from Excel, with a byte order mark", "is read",
               ("corpora: the mark of Excel", "lists and class files: a byte order mark")),
    "L13": Row("a `params.yaml` that is a link", "stays one", ("commands: configure: a link",)),
    "L14": Row('`fit --out ""`', REFUSED, ("commands: an empty folder",)),
    "L15": Row("clients that leave", "leave no lines in the log", (LOAD,)),
    "L16": Row("bits of networks with other threads", "by design: see the table of promises"),
    "L17": Row("`RandomState`, `StringDType`", "refused, or comes back", (
        f"{SAVED}::test_a_setting_that_cannot_be_saved_is_refused", COMES_BACK,
    )),
    "L18": Row("seeds and rates out of range", REFUSED, (
        COMES_BACK, "tests/estimators/test_variational.py::test_bad_settings_are_refused",
    )),
    "L19": Row("actions by a tag or branch", "are by commit",
               (f"{RELEASES}::test_a_workflow_has_few_rights_and_pins_what_it_uses",)),
    "L20": Row("packages of another content", "are not installed; vLLM's: SECURITY.md", (
        f"{RELEASES}::test_every_pinned_requirement_has_a_hash",
        f"{RELEASES}::test_hashes_are_required_where_the_lock_is_installed",
        f"{RELEASES}::test_another_file_is_refused",
    )),
    "L21": Row("weights of 200 GB, little address space", REFUSED,
               ("models: weights of 200 GB", "processes: little address space")),
    "L22": Row("captions of 100 MB", "by design: 1 GB at most, read as a whole"),
    "S1": Row("a model folder", "runs no code", (
        f"{SAVED}::test_a_model_from_a_stranger_runs_no_code",
        f"{SAVED}::test_a_malformed_folder_is_refused", f"{CLIP}/test_weights.py",
    )),
    "S2": Row("checkpoints, tables, arrays", "run no code",
              (f"{HERE}::test_a_pickle_in_place_of_data_does_not_run",)),
    "S3": Row("a folder of pictures", "names none outside", (
        "tests/datasets/test_open_images.py::test_a_saved_folder_names_no_file_outside_it",
    )),
    "S4": Row("names of data sets, methods, images", "stay in their folder", (
        "tests/core/test_settings.py", "tests/pipeline/test_params.py",
        "tests/evaluation/test_chosen_images.py",
    )),
    "S5": Row("class names, questions, ids in a page", "are text", (
        "tests/explorer/test_page_faults.py::test_hostile_texts_are_shown_and_run_nowhere",
        PAGE, "tests/explorer/test_notebook.py",
    )),
    "S6": Row("a prompt file", "runs no code",
              ("tests/queries/test_generation.py::test_a_prompt_from_a_stranger_runs_no_code",)),
    "S7": Row("clients of the explorer's server", "get no files, keep nobody out", (SERVER, LOAD)),
    "S8": Row("a deleted working directory", REFUSED, ("processes: a folder that is gone",)),
}  # fmt: skip


def nodes(row: Row) -> list[str]:
    """Return the tests of a row by pytest's names."""
    found = []
    for test in row.tests:
        if test.partition("::")[0].endswith(".py"):
            found.append(test)
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
