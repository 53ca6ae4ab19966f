"""False answers and switched pairs: read, summed over seeds, shown where they are known."""

import json

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import NOTHING
from infopursuit.report.groups import measured_groups
from infopursuit.report.report import render_report
from infopursuit.report.runs import RunKey, read_dataset, read_run
from infopursuit.report.truth_tables import false_share, false_table, pairs_table
from tests.report.made_up_runs import ANSWERS, FIRST_TEN, KNOWN, SWITCHED, make_baselines, make_run

KEYS = [RunKey("menagerie", "llm", "fixed", seed) for seed in (0, 1)]


def read(folder, **known):
    for key in KEYS:
        make_run(folder, key, images=20, k=8, budget=6, truth=True, known=known)
    make_baselines(folder, "menagerie")
    results = read_dataset(folder, "menagerie", KEYS, truth=True)
    return results, measured_groups(results, (5,), 20)


def test_false_answers_are_summed_over_seeds(tmp_path) -> None:
    results, groups = read(tmp_path, **KNOWN)
    (row,) = false_table(groups)
    assert row[2:] == ("20", "194", "160", "8", "5.0")
    assert false_share(results.runs[0]) == 4 / 80
    page = render_report([results], 20)
    assert "How many answers of an explanation are false?" in page


def test_switched_pairs_are_told_for_every_group_and_attribute(tmp_path) -> None:
    results, groups = read(tmp_path, **KNOWN)
    found = pairs_table(groups, results.runs[0])
    assert found is not None
    (row,) = found.rows
    assert row == ("llm", "fixed", "80", ("93.0", "71.0", "97.0"), ("5", "71.0", "97.0"))
    assert [each.name for each in found.attributes] == ["striped", "water"]
    assert found.attributes[1].phrases == (NOTHING, NOTHING, "98.0")
    assert "does the answer change?" in render_report([results], 20)


def test_nothing_is_shown_of_what_a_file_lacks(tmp_path) -> None:
    results, groups = read(tmp_path)
    assert false_table(groups) == []
    assert pairs_table(groups, results.runs[0]) is None
    assert false_share(results.runs[0]) is None
    page = render_report([results], 20)
    assert "Are the answers true?" in page
    assert "does the answer change?" not in page
    assert "of an explanation are false" not in page


def test_without_an_answer_to_check_there_is_no_share(tmp_path) -> None:
    nothing = {**FIRST_TEN, "claims": 0, "false": 0, "not_sure": 0}
    results, groups = read(tmp_path, first_ten=nothing)
    assert false_table(groups)[0].share_false == NOTHING
    assert false_share(results.runs[0]) is None


@pytest.mark.parametrize(
    ("known", "message"),
    [
        ({"first_ten": {"pictures": 1}}, r"no key first_ten\.questions; expected what the stage"),
        ({"first_ten": {**FIRST_TEN, "false": "4"}}, r"first_ten\.false is '4'; expected a number"),
        ({"pairs": {"striped": SWITCHED["striped"]}}, r"no key pairs\.all"),
        (
            {"pairs": {"all": {**SWITCHED["all"], "order": "high"}}},
            r"pairs\.all\.order is 'high'; expected a number or null",
        ),
        ({"answers": {}}, r"no key answers\.phrases"),
        (
            {"answers": {"phrases": {**ANSWERS["phrases"], "right": "no"}}},
            r"answers\.phrases\.right is 'no'; expected a number or null",
        ),
        ({"dictionary_pairs": 3}, r"no key dictionary_pairs\.all"),
    ],
)
def test_a_malformed_file_of_truths_is_named(tmp_path, known, message) -> None:
    make_run(tmp_path, KEYS[0], images=20, k=8, budget=6, truth=True, known=known)
    with pytest.raises(InputError, match=rf"truth\.json: {message}"):
        read_run(tmp_path, KEYS[0], truth=True)
    assert json.loads((tmp_path / f"evaluation/{KEYS[0].name}.truth.json").read_text())
