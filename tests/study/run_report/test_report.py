"""The page: complete, self-contained, equal on repeat, and honest about its selection."""

import base64
from dataclasses import replace
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.pursuit.explanation import question
from infopursuit_study.run_report.page import columns, render_report, shown_run, summary
from tests.elements import Elements
from tests.study.run_report.made_up_runs import KNOWN, MEANING, STOP, make_dataset

EXPLORER = "explorer/menagerie.html"

INITS = ("llm", "random")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("artifacts"), inits=INITS)


@pytest.fixture(scope="module")
def page(results):
    return render_report([results], 200)


def test_page_needs_no_other_file_and_links_lead_somewhere(page):
    found = Elements(page)
    assert found.nested and not found.open
    ids = [attributes["id"] for _, attributes in found.found if "id" in attributes]
    assert len(ids) == len(set(ids))
    for link in found.attributes("a"):
        assert link["href"].removeprefix("#") in (*ids, EXPLORER)
    assert len(found.attributes("caption")) == len(found.attributes("table"))
    assert all(len(picture["alt"]) > 20 for picture in found.attributes("img"))
    assert "://" not in page
    assert found.attributes("script") == [{}], "one, that opens what is folded before printing"
    for tag, attrs in found.found:
        assert tag not in ("link", "iframe", "object")
        for name in ("src", "href", "srcset", "data", "poster"):
            value = attrs.get(name) or "#"
            # The page to explore the model is another file; a reader may follow the link.
            assert value.startswith(("#", "data:image/png;base64,")) or value == EXPLORER
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "details::details-content" in style.partition("@media print")[2]
    assert 'addEventListener("beforeprint"' in page


@pytest.mark.parametrize(("panels", "side_by_side"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_charts_fill_their_card(panels, side_by_side):
    assert columns(panels) == side_by_side


def test_page_shows_every_run_and_the_figures_of_one(results, page):
    found = Elements(page)
    words = "".join(found.words)
    for run in results.runs:
        assert f"{run.name.init}, {run.name.method}, seed 0" in words
        assert run.sources[f"evaluation/{run.name}/metrics.json"] in words
        for name in ("universe", "images", "initial"):
            assert run.inputs[name] in words
    best = shown_run(results.runs)
    assert f"AUC of {best.held_out} held-out images, as a mean over seeds" in words
    pictures = [attrs["src"] for attrs in found.attributes("img")]
    assert [base64.b64decode(src.partition(",")[2]) for src in pictures] == [
        Path(each.figure).read_bytes() for each in best.explanations
    ]
    for each in best.explanations:
        assert summary(each.explanation) in words
        assert all(question(step.query) in words for step in each.explanation.steps)
    assert "$5 &amp; &lt;ticket&gt;?" in page
    assert "??" not in words


def test_selection_on_test_is_told(tmp_path, page):
    assert "selected on test" not in page.lower()
    told = render_report([make_dataset(tmp_path, inits=INITS, select_on="test")], 200)
    assert "Selected on test." in told
    charts = told.count('class="panel"')
    assert told.count(">† selected on test</span>") >= charts > 0


def test_truth_and_meaning_are_shown_where_they_are_known(tmp_path, page):
    results = make_dataset(tmp_path, truth=True, known=KNOWN, meaning=MEANING)
    told = render_report([results], 20)
    known = (
        "How many answers of an explanation are false?",
        "yes that<br>are true", "80.0 (49.0 to 94.3) of 10", "62.5",
        "People agree in 75 % of 4 pairs",
    )  # fmt: skip
    for words in known:
        assert words in told
        assert words not in page
    assert "No table says what is true of these classes" in page
    opening = told[told.index('<article class="opening"') :].partition("</article>")[0]
    places = [opening.index(words) for words in (
        "How good?", "How true?", "How short?", "<svg", "More accurate without an explanation")
    ]  # fmt: skip
    assert places == sorted(places)


def test_runs_of_two_rules_make_no_page(results):
    run = results.runs[0]
    odd = replace(run, stop=STOP._replace(max_queries=9)), *results.runs[1:]
    with pytest.raises(InputError, match="rule"):
        render_report([replace(results, runs=odd)], 50)
