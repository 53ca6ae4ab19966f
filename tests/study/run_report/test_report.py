"""The page: complete, self-contained, equal on repeat, and honest about its selection."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise
from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.pursuit.explanation import IMAGE, question
from infopursuit.report.words import NONE_OF_THE_CLASSES
from infopursuit_study.run_report.methods import stands_alone
from infopursuit_study.run_report.page import (
    belief,
    columns,
    one_rule,
    render_report,
    shown_run,
    summary,
)
from infopursuit_study.run_report.tables import evolutions, figures, verdict
from tests.study.run_report.made_up_runs import (
    KNOWN,
    MEANING,
    METHODS,
    STOP,
    make_dataset,
)

EXPLORER = "explorer/menagerie.html"

VOID = {"meta", "img", "br", "link", "input", "hr"}


class Page(HTMLParser):
    """Checks that tags nest, and collects what the tests ask about."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.open, self.tags, self.ids, self.words = [], [], [], []
        self.feed(text)
        assert self.open == []

    def handle_starttag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))
        self.ids += [value for name, value in attrs if name == "id"]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.append((tag, dict(attrs)))

    def handle_endtag(self, tag):
        assert self.open.pop() == tag

    def handle_data(self, data):
        self.words.append(data)

    def attributes(self, tag):
        return [attrs for found, attrs in self.tags if found == tag]


INITS = ("llm", "random")


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    return make_dataset(tmp_path_factory.mktemp("artifacts"), inits=INITS)


@pytest.fixture(scope="module")
def page(results):
    return render_report([results], 200)


def test_page_needs_no_other_file_and_unfolds_for_print(page):
    found = Page(page)
    assert "://" not in page
    assert found.attributes("script") == [{}], "one, that opens what is folded before printing"
    for tag, attrs in found.tags:
        assert tag not in ("link", "iframe", "object")
        for name in ("src", "href", "srcset", "data", "poster"):
            value = attrs.get(name) or "#"
            # The page to explore the model is another file; a reader may follow the link.
            assert value.startswith(("#", "data:image/png;base64,")) or value == EXPLORER
    assert {"href": EXPLORER} in found.attributes("a")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style
    assert "details::details-content" in style.partition("@media print")[2]
    assert 'addEventListener("beforeprint"' in page


def test_page_nests_links_lead_somewhere_and_what_is_shown_has_a_text(page):
    found = Page(page)
    assert len(found.ids) == len(set(found.ids))
    for link in found.attributes("a"):
        assert link["href"].removeprefix("#") in (*found.ids, EXPLORER)
    for tag, attrs in found.tags:
        for target in (attrs.get("aria-labelledby") or "").split():
            assert target in found.ids, tag
    headings = [int(tag[1]) for tag, _ in found.tags if re.fullmatch("h[1-6]", tag)]
    assert headings[0] == 1
    assert all(after - before <= 1 for before, after in pairwise(headings))
    assert len(found.attributes("caption")) == len(found.attributes("table"))
    assert all(len(picture["alt"]) > 20 for picture in found.attributes("img"))
    charts = [attrs for attrs in found.attributes("svg") if attrs["class"] == "chart"]
    assert charts
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_the_first_lines_name_the_baselines_that_are_ahead(results, page):
    found = verdict(results, shown_run(results.runs))
    assert "linear probe" in found["ahead"]
    assert page.index(found["ahead"]) < page.index("<nav")
    assert "More accurate without an explanation" in page
    best = dict.fromkeys(results.baselines, 0.0)
    assert "No baseline is more accurate" in render_report([replace(results, baselines=best)], 50)


def test_an_image_of_none_of_the_classes_is_told(results, page):
    assert NONE_OF_THE_CLASSES.format(IMAGE) not in page
    run = shown_run(results.runs)
    first, *others = run.explanations
    odd = first._replace(explanation=replace(first.explanation, familiarity=0.001))
    runs = [replace(each, explanations=(odd, *others)) if each is run else each
            for each in results.runs]  # fmt: skip
    told = render_report([replace(results, runs=tuple(runs))], 50)
    assert told.count(NONE_OF_THE_CLASSES.format(IMAGE)) == 1


def test_a_tie_is_told_as_one(results):
    told = results.runs[0].explanations[0].explanation
    rest = (0.0,) * (len(told.class_names) - 2)
    assert belief((0.5, 0.5, *rest), told) == "zebra = horse 50 %"
    assert belief((0.4, 0.6, *rest), told) == "horse 60 %"


@pytest.mark.parametrize(("panels", "side_by_side"), [(1, 1), (2, 2), (3, 3), (4, 2), (5, 3)])
def test_charts_fill_their_card(panels, side_by_side):
    assert columns(panels) == side_by_side


def test_page_shows_every_run_and_the_figures_of_one(results, page):
    words = "".join(Page(page).words)
    for run in results.runs:
        assert f"{run.name.init}, {run.name.method}, seed 0" in words
        assert run.sources[f"evaluation/{run.name}.json"] in words
        for name in ("universe", "images", "initial"):
            assert run.inputs[name] in words
    best = shown_run(results.runs)
    pictures = [attrs["src"] for attrs in Page(page).attributes("img")]
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


def test_several_data_sets_and_seeds(tmp_path):
    seeds, names = (0, 1), ("menagerie", "pets")
    small = {"inits": INITS, "seeds": seeds, "images": 20, "k": 8, "budget": 6}
    results = [make_dataset(tmp_path, name, **small) for name in names]
    told = render_report(results, 200)
    assert "Lines are means over seeds" in told
    assert len(Page(told).ids) == len(set(Page(told).ids))


def test_truth_and_meaning_are_shown_where_they_are_known(tmp_path, page):
    results = make_dataset(tmp_path, truth=True, known=KNOWN, meaning=MEANING)
    told = render_report([results], 20)
    known = (
        "the 134 texts of the universe that name an attribute", "Are the answers true?",
        "How many answers of an explanation are false?", "does the answer change?",
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


def test_many_methods_with_all_inits(tmp_path):
    inits = ("llm", "random", "medoids", "informative", "random_words")
    methods = tuple(METHODS)
    results = make_dataset(tmp_path, methods=methods, inits=inits, images=28, k=8, budget=6)
    told = render_report([results], 100)
    found = Page(told)
    assert len(found.ids) == len(set(found.ids))
    for words in ("Against the paper", "What are the concepts worth?", "What quantisation costs"):
        assert words in told
    for attrs in found.attributes("a"):
        assert attrs["href"].removeprefix("#") in (*found.ids, EXPLORER)
    swatches = {
        attrs["style"] for attrs in found.attributes("path") if "M1 7H35" in attrs.get("d", "")
    }
    assert len([style for style in swatches if "hue" in style]) == 7
    runs = results.runs
    assert shown_run(runs).name.method in ("naive_bayes", "threshold_fixed"), (
        "answers that stand alone"
    )
    assert "an answer depends on its own question and the image alone" in told
    others = [run for run in runs if not stands_alone(run.settings)]
    assert shown_run(others).name.method not in ("soft_answers", "free_queries")
    for some in (runs, others):
        assert shown_run(some).name.init != "random_words"
    assert [each["name"].method for each in evolutions(results)][:5] == ["alternating"] * 5


def test_no_table_has_more_than_eight_columns_and_each_has_as_many_as_its_heads_say(tmp_path):
    results = make_dataset(tmp_path, "cub200", seeds=(0, 1), methods=tuple(METHODS), truth=True,
                           known=KNOWN, meaning=MEANING, images=28, k=130, budget=128)  # fmt: skip
    told = render_report([results], 20)
    tables = re.findall(r"<table.*?</table>", told[: told.index('id="paper"')], re.DOTALL)
    assert len(tables) > 10
    for table in tables:
        rows = re.findall(r"<tr.*?</tr>", table, re.DOTALL)
        widths = [
            sum(
                int(span or 1)
                for span in re.findall(r'<t[hd](?:[^>]*?colspan="(\d+)")?[^>]*>', row)
            )
            for row in rows
        ]
        assert max(widths) <= 8
        # The second of two head rows lacks what spans both.
        assert len(set(widths[1 + (' rowspan="2"' in table) :])) <= 1 or "all together" in table


def test_text_headline_and_explanations_have_one_stopping_rule(results, page):
    rule = "at a probability of 85 % or after 8 questions"
    best = shown_run(results.runs)
    _, _, short = figures(best)
    assert best.stop == STOP
    assert short["number"] == f"{best.metrics['mean_length_at_stop']:.1f}"
    assert rule in short["meaning"]
    # In the headline, in the caption of the table, above the explanations and the curves.
    assert page.count(rule) == 4
    for run in results.runs:
        for each in run.explanations:
            told = each.explanation
            before = [told.prior, *(step.posterior for step in told.steps)][:-1]
            assert all(max(posterior) < 0.85 for posterior in before)
            assert told.confident == (max(told.posterior) >= 0.85)
            assert told.confident or len(told.steps) == 8
            assert summary(told).endswith("it may ask no more") == (not told.confident)


def test_runs_of_two_rules_are_refused(results):
    one, two, *_ = results.runs
    with pytest.raises(InputError, match="expected one stopping rule"):
        one_rule([one, replace(two, stop=STOP._replace(max_queries=9))])


def test_only_fixed_runs_make_a_page_without_learning(tmp_path):
    told = render_report([make_dataset(tmp_path, inits=INITS, methods=("fixed",))], 200)
    assert "Does learning the dictionary help?" not in told
    assert "How the dictionary changed" not in told
    Page(told)


def test_a_missing_figure_is_named(tmp_path):
    results = make_dataset(tmp_path, methods=("fixed",))
    (tmp_path / "explanations" / str(results.runs[0].name) / "0000.png").unlink()
    with pytest.raises(InputError, match=r"0000\.png: no such figure"):
        render_report([results], 200)
