"""How true and how sensible: read, put into sentences and a table, with the worst answers."""

import json
from dataclasses import replace

import pytest
from PIL import Image

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import NOTHING
from infopursuit.report.groups import measured_groups
from infopursuit.report.meaning_tables import (
    COLUMNS,
    meaning_section,
    of_100,
    sentences,
    worst_rows,
)
from infopursuit.report.meanings import RunMeaning
from infopursuit.report.report import render_report
from infopursuit.report.runs import RunKey, read_dataset, read_run
from infopursuit.report.verdict import figures
from tests.report.made_up_runs import (
    ANSWERS,
    KNOWN,
    MEANING,
    NO_MEANING,
    WORST,
    make_baselines,
    make_run,
)

KEYS = [RunKey("pets", "llm", method, 0) for method in ("fixed", "naive_bayes")]


def read(folder, truth=False, **made):
    for key in KEYS:
        make_run(folder, key, images=20, k=8, budget=6, truth=truth, **made)
    make_baselines(folder, "pets")
    return read_dataset(folder, "pets", KEYS, truth=truth)


def told(run: RunMeaning) -> list[str]:
    return [" ".join(part for part in each if part) for each in sentences(run)]


def test_sentences_for_people_without_statistics(tmp_path) -> None:
    run = read(tmp_path, meaning=MEANING).runs[0]
    assert told(run.meaning) == [
        "Of 100 times it said yes, 41 were right. By chance: 3.",
        "Of 100 answers yes or no, 95 were right. To 32 of 100 questions it said “not sure”.",
        "Of 100 questions it asked first, 96 fit a class.",
        "Of 100 times it said yes to them, 85 fit the class that it named in the end. By chance: "
        "2.",
        "Somebody who knows the classes, and hears these questions and answers but sees no image, "
        "names the right class for 52 of 100 images. The model itself does for 79. By chance: 1.",
        "Of what its answers tell of the class, 23 % follows from the words. The rest is something "
        "that the words do not say. By chance: 2.",
    ]


def test_the_table_has_every_run_and_chance(tmp_path) -> None:
    results = read(tmp_path, meaning=MEANING)
    found = meaning_section(measured_groups(results, (5,), 20), results.runs[0].meaning)
    assert [row.method for row in found.rows] == ["fixed", "naive_bayes"]
    assert found.rows[0].values == [
        "41.2", "90.0", "68.0", "95.4", "96.0", "85.1", "52.0", "79.0", "23.2",
    ]  # fmt: skip
    assert dict(zip(COLUMNS, found.chance, strict=True))["true_yes"] == "3.0"
    assert "written beforehand" in found.sources[0]
    assert "a judge has written down" in found.sources[1]
    page = render_report([results], 20)
    assert page.count("41.2") >= 2


def test_what_pictures_show_comes_before_lists(tmp_path) -> None:
    run = read(tmp_path, truth=True, known=KNOWN, meaning=MEANING).runs[0]
    assert run.meaning.truth_by == "pictures"
    assert run.meaning.true_yes == ANSWERS["phrases"]["precision_of_yes"]
    assert run.meaning.chance_yes == run.truth["phrases_share_true"]
    assert run.meaning.supported == MEANING["sense"]["supported_yes"]


def test_a_source_that_is_not_independent_is_told_once(tmp_path) -> None:
    said = {name: part and {**part, "by": "knowledge"} for name, part in MEANING.items()}
    results = read(tmp_path, meaning=said)
    found = meaning_section(measured_groups(results, (5,), 20), results.runs[0].meaning)
    assert len(found.sources) == 1
    assert "no independent source" in found.sources[0]
    assert "no independent source" in figures(results.runs[0])[1].meaning


def test_where_nobody_says_what_is_true_the_page_says_that(tmp_path) -> None:
    results = read(tmp_path, meaning=NO_MEANING)
    assert figures(results.runs[0])[1].number == NOTHING
    assert told(results.runs[0].meaning) == []
    page = render_report([results], 20)
    assert "Nobody has said what is true of these classes" in page
    assert "yes that<br>are true" not in page
    assert "worst answers" not in page


def test_the_three_figures_are_how_good_how_true_how_short(tmp_path) -> None:
    run = read(tmp_path, meaning=MEANING).runs[0]
    good, true, short = figures(run)
    assert good.number == f"{100 * run.metrics['accuracy_at_stop']:.1f}"
    assert "after all 6 questions" in good.meaning
    assert (true.number, true.unit) == ("41", "of 100")
    assert true.meaning.endswith("by chance 3")
    assert short.unit == "questions"
    few = replace(run, evolution={**run.evolution, "final": ["a", "b", "c"]})
    assert "after all 3 questions" in figures(few)[0].meaning


def test_the_page_opens_with_figures_and_a_curve_then_who_is_ahead(tmp_path) -> None:
    page = render_report([read(tmp_path, meaning=MEANING)], 20)
    opening = page[page.index('<article class="opening"') : page.index("</article>")]
    places = [opening.index(words) for words in (
        "How good?", "How true?", "How short?", "<svg", "More accurate without an explanation")
    ]  # fmt: skip
    assert places == sorted(places)
    assert opening.count("<svg") == 1


def test_worst_answers_have_question_answer_truth_and_effect(tmp_path) -> None:
    pictures = {"test/7": Image.new("RGB", (300, 100), "red")}
    results = read(tmp_path, meaning=MEANING, worst=WORST, pictures=pictures)
    first, second = worst_rows(results.runs[1].worst)
    assert (first.answer, first.number, first.true_class) == ("yes", 2, "zebra")
    assert first.false_by == "the list of true texts"
    effect = "Belief in school bus: 10 % → 62 %; in zebra: 50 % → 9 %"
    assert first.effect.replace("\N{NO-BREAK SPACE}", " ") == effect
    assert (second.question, second.answer) == ("Does it have four legs?", "no")
    assert second.picture is None
    page = render_report([results], 20)
    assert "The 2 worst answers" in page
    listed = page[page.index('<ol class="worst">') :]
    listed = listed[: listed.index("</ol>")]
    assert listed.count("<img") == 1
    assert "$5 &amp; &lt;ticket&gt;?" in listed
    with Image.open(first.picture) as shown:
        assert shown.size == (192, 64)
    first.picture.unlink()
    with pytest.raises(InputError, match=r"01\.png: no such figure"):
        render_report([results], 20)


@pytest.mark.parametrize(
    ("value", "words"),
    [(0.0, "0"), (0.004, "fewer than 1"), (0.82, "82"), (0.996, "more than 99"), (1.0, "100")],
)
def test_a_share_of_a_hundred_is_neither_none_nor_all_by_rounding(value, words) -> None:
    assert of_100(value) == words


@pytest.mark.parametrize(
    ("meaning", "message"),
    [
        ({"truth": None, "sense": None}, "no key 'explained'"),
        ({**MEANING, "sense": {"by": "judge"}}, r"no key sense\.plausible; expected what the"),
        (
            {**MEANING, "explained": {**MEANING["explained"], "explained": "much"}},
            r"explained\.explained is 'much'; expected a number or null",
        ),
    ],
)
def test_a_malformed_file_is_named(tmp_path, meaning, message) -> None:
    make_run(tmp_path, KEYS[0], images=20, k=8, budget=6, meaning=meaning)
    with pytest.raises(InputError, match=rf"naive_bayes-0\.json|fixed-0\.json: {message}"):
        read_run(tmp_path, KEYS[0])
    assert json.loads((tmp_path / f"meaning/{KEYS[0].name}.json").read_text()) == meaning
