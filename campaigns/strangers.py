"""What comes from strangers runs no code, reaches no other file, and reveals no secret.

    python -m campaigns.strangers

It is tested with the code that it concerns: `PROMISES` names those tests, and the long form runs
them. A test that is skipped, for example because there is no browser, counts as got through. That
no reader of a stranger's file runs code, starts a program or opens another file is watched while
the bad inputs are read (`campaigns.watched`); ruff's rules S search the source.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from campaigns import write_tables

ROOT = Path(__file__).parents[1]

SAVED = "tests/estimators/test_saved.py"
HERE = "campaigns/test_strangers.py"
SERVER = "tests/queries/language_models/test_openai_server.py"
RELEASES = "tests/packaging/test_releases.py"
# What a stranger gives, what it may not do, and the tests that try.
PROMISES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("a model folder", "run code; be of other shapes", (
        f"{SAVED}::test_a_model_from_a_stranger_runs_no_code",
        f"{SAVED}::test_a_malformed_folder_is_refused",
    )),
    ("weights and configuration of a CLIP", "run code; name its own files and addresses", (
        "tests/clip/test_weights.py",
        "tests/clip/test_towers.py::test_a_tokenizer_may_not_ask_to_run_code",
    )),
    ("checkpoints, tables, arrays", "run code", (
        f"{HERE}::test_a_pickle_in_place_of_data_does_not_run",
    )),
    ("a folder of pictures", "name pictures outside it", (
        "tests/datasets/test_open_images.py::test_a_saved_folder_names_no_file_outside_it",
    )),
    ("names of data sets, methods, images", "lead out of their folder; be a command", (
        "tests/core/test_settings.py",
        "tests/pipeline/test_params.py",
        "tests/evaluation/test_chosen_images.py",
    )),
    ("class names, questions, ids", "act as markup", (
        "tests/explorer/test_page_faults.py::test_hostile_texts_are_shown_and_run_nowhere",
        "tests/explorer/test_page.py",
        "tests/explorer/test_notebook.py",
        f"{HERE}::test_names_are_texts_in_cards_and_figures",
    )),
    ("a prompt file", "run code", (
        "tests/queries/test_generation.py::test_a_prompt_from_a_stranger_runs_no_code",
    )),
    ("a language-model server", "make its key appear in errors and logs", (
        f"{SERVER}::test_a_refusal_that_repeats_the_key_is_reported_without_it",
        f"{SERVER}::test_a_key_that_cannot_be_sent_is_not_shown",
        f"{SERVER}::test_a_bad_address_is_refused_without_its_password",
        f"{SERVER}::test_what_a_server_sends_is_bounded_and_never_shows_the_key",
        f"{SERVER}::test_an_answer_that_repeats_the_key_is_kept_without_it",
    )),
    ("a client of the explorer's server", "get files; be slow forever; keep others out", (
        "tests/explorer/test_server.py",
    )),
    ("a package index", "give other files than those pinned", (
        f"{RELEASES}::test_every_pinned_requirement_has_a_hash",
        f"{RELEASES}::test_hashes_are_required_where_the_lock_is_installed",
    )),
)  # fmt: skip


def main() -> int:
    """Run all tests that are named; return 1 if one of them fails or is skipped."""
    rows, broken = [], False
    for given, may_not, tests in PROMISES:
        command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
        done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
        outcomes = re.findall(r"(\d+) (passed|failed|error|skipped)", done.stdout)
        counts = {outcome: int(number) for number, outcome in outcomes}
        passed = counts.pop("passed", 0)
        if done.returncode or counts:
            broken = True
            print(done.stdout[-3000:])
        rows.append([given, may_not, str(passed), str(sum(counts.values()))])
        header = ["from a stranger", "may not", "cases tried", "got through"]
        write_tables("strangers", header, rows)
    return int(broken)


if __name__ == "__main__":
    sys.exit(main())
