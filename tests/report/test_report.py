"""The page: complete, self-contained, equal on repeat, and honest about its selection."""

import base64
import re
from dataclasses import replace
from html.parser import HTMLParser
from itertools import pairwise, product
from pathlib import Path

import numpy as np
import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.numbers import NOTHING
from infopursuit.estimators.information_pursuit import InformationPursuitClassifier
from infopursuit.evaluation.files import write_json
from infopursuit.evaluation.run_metrics import BUDGETS
from infopursuit.explanation.text import NONE_OF_THE_CLASSES, question
from infopursuit.report.groups import measured_groups
from infopursuit.report.origin_tables import selection_rows, settings_rows
from infopursuit.report.report import (
    belief,
    columns,
    in_short,
    in_words,
    one_rule,
    render_report,
    shown_run,
)
from infopursuit.report.report_tables import (
    dependence_table,
    evolution,
    evolutions,
    fixed_order_rows,
    results_table,
)
from infopursuit.report.runs import (
    RunKey,
    read_columns,
    read_dataset,
    read_metrics,
    read_model,
    read_run,
)
from infopursuit.report.truth_tables import truth_table
from infopursuit.report.verdict import figures, verdict
from tests.report.made_up_runs import METHODS, STOP, make_baselines, make_run

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


def make_dataset(
    folder, dataset="menagerie", seeds=(0,), methods=("fixed", "alternating"),
    inits=("llm", "random"), **run,
):  # fmt: skip
    keys = [RunKey(dataset, *key) for key in product(inits, methods, seeds)]
    for key in keys:
        make_run(folder, key, **run)
    make_baselines(folder, dataset)
    return keys


@pytest.fixture(scope="module")
def artifacts(tmp_path_factory):
    folder = tmp_path_factory.mktemp("artifacts")
    return folder, make_dataset(folder)


@pytest.fixture(scope="module")
def results(artifacts):
    return read_dataset(artifacts[0], "menagerie", artifacts[1])


@pytest.fixture(scope="module")
def page(results):
    return render_report([results], 200)


def test_page_is_equal_on_repeat(results, page):
    assert render_report([results], 200) == page


def test_page_needs_nothing_beside_itself(page):
    found = Page(page)
    assert "://" not in page
    assert found.attributes("script") == [{}], "one, that opens what is folded before printing"
    for tag, attrs in found.tags:
        assert tag not in ("link", "iframe", "object")
        for name in ("src", "href", "srcset", "data", "poster"):
            value = attrs.get(name) or "#"
            # A page of its own lies beside this one; a reader may follow it.
            assert value.startswith(("#", "data:image/png;base64,")) or value == EXPLORER
    assert {"href": EXPLORER} in found.attributes("a")
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_page_nests_and_its_links_lead_somewhere(page):
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


def test_every_table_has_a_caption_and_every_picture_a_text(page):
    found = Page(page)
    assert len(found.attributes("caption")) == len(found.attributes("table"))
    assert all(len(picture["alt"]) > 20 for picture in found.attributes("img"))
    charts = [attrs for attrs in found.attributes("svg") if attrs["class"] == "chart"]
    assert charts
    assert all(chart["role"] == "img" and chart["aria-label"] for chart in charts)


def test_the_first_lines_name_the_baselines_that_are_ahead(results, page):
    found = verdict(results, shown_run(results.runs))
    assert "MLP" in found.ahead
    assert page.index(found.ahead) < page.index("<nav")
    assert "More accurate without an explanation" in page
    best = dict.fromkeys(results.baselines, 0.0)
    assert "No baseline is more accurate" in render_report([replace(results, baselines=best)], 50)


def test_captions_stay_in_view_and_print_unfolds(page):
    scrolling = re.findall(r'<div class="scroll"[^>]*>\s*<table.*?</table>', page, re.DOTALL)
    assert len(scrolling) > 5
    assert all(re.search(r"<caption[^>]*><span>", table) for table in scrolling)
    style = page[page.index("<style>") : page.index("</style>")]
    _, printed = style.split("@media print")
    assert ".scroll { overflow: visible" in printed
    assert "details::details-content" in printed
    assert 'addEventListener("beforeprint"' in page


def test_an_image_of_none_of_the_classes_is_told(results, page):
    assert NONE_OF_THE_CLASSES not in page
    run = shown_run(results.runs)
    first, *others = run.explanations
    odd = first._replace(explanation=replace(first.explanation, familiarity=0.001))
    runs = [replace(each, explanations=(odd, *others)) if each is run else each
            for each in results.runs]  # fmt: skip
    told = render_report([replace(results, runs=tuple(runs))], 50)
    assert told.count(NONE_OF_THE_CLASSES) == 1


def test_the_first_lines_lead_to_the_explorer(page):
    """Classes, confusions and single questions are looked at there."""
    opening = page[page.index('<article class="opening"') : page.index("</article>")]
    assert f'href="{EXPLORER}"' in opening


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
        assert f"{run.key.init}, {run.key.method}, seed 0" in words
        assert run.sources[f"evaluation/{run.key.name}.json"] in words
        for name in ("universe", "images", "initial"):
            assert run.inputs[name] in words
    best = shown_run(results.runs)
    pictures = [attrs["src"] for attrs in Page(page).attributes("img")]
    assert [base64.b64decode(src.partition(",")[2]) for src in pictures] == [
        Path(each.figure).read_bytes() for each in best.explanations
    ]
    for each in best.explanations:
        assert in_words(each.explanation) in words
        assert each.short is not None
        assert f"{in_short(each.short)}." in words
        assert all(question(step.query) in words for step in each.explanation.steps)
    assert "$5 &amp; &lt;ticket&gt;?" in page
    assert "??" not in words


def test_selection_on_test_is_told(tmp_path, page):
    assert "selected on test" not in page.lower()
    keys = make_dataset(tmp_path, select_on="test")
    told = render_report([read_dataset(tmp_path, "menagerie", keys)], 200)
    assert "Selected on test." in told
    charts = told.count('class="panel"')
    assert told.count(">† selected on test</span>") >= charts > 0


def test_several_data_sets_and_seeds(tmp_path):
    seeds, names = (0, 1), ("menagerie", "pets")
    keys = {name: make_dataset(tmp_path, name, seeds, images=20, k=8, budget=6) for name in names}
    results = [read_dataset(tmp_path, name, keys[name]) for name in names]
    told = render_report(results, 200)
    assert "Lines are means over seeds" in told
    Page(told)
    groups = measured_groups(results[0], BUDGETS, 200)
    table = results_table(results[0], groups)
    assert table.budgets == ["5", "6"]
    assert len(table.runs) == 8
    assert [row.seed for row in table.means] == ["2"] * 4
    for row, group in zip(table.means, groups, strict=True):
        areas = [run.metrics["auc"] for run in group.runs]
        assert float(row.auc.value) == pytest.approx(50 * sum(areas), abs=0.051)
        assert row.auc.interval.startswith("[")
        assert len(row.accuracies) == 2
    assert sum(row.best for row in table.means) == 1


def test_one_row_tells_of_dependence_exactly(tmp_path):
    keys = make_dataset(tmp_path, seeds=(0, 1), methods=("alternating", "naive_bayes"), k=12)
    groups = measured_groups(read_dataset(tmp_path, "menagerie", keys), BUDGETS, 100)
    learned, bayes = dependence_table(groups)[:2]
    assert learned.tests == ("4.13", "8.71", "0.27")
    assert bayes.tests == ("0", "0", "0")
    assert bayes.overlap == "1.00"
    # All texts but the last are the same with both seeds.
    alike = len(set(groups[0].runs[0].evolution["final"])) - 1
    assert learned.overlap == f"{alike / (alike + 2):.2f}"


def test_what_was_not_measured_is_a_dash(tmp_path):
    keys = make_dataset(tmp_path, seeds=(0, 1), methods=("alternating",))
    names = (
        "asked_answers_changed_by_unasked",
        "predictions_changed_by_unasked",
        "answers_flipped_by_deletion",
        "usage_perplexity_in_first_10",
    )
    for key in keys:
        path = tmp_path / "evaluation" / f"{key.name}.json"
        found = read_metrics(path, names)
        if key.init == "llm" and key.seed == 1:  # one run of a group is enough
            write_json(path, {name: value for name, value in found.items() if name not in names})
    results = read_dataset(tmp_path, "menagerie", keys)
    without, whole = dependence_table(measured_groups(results, BUDGETS, 100))
    assert (*without.tests, without.perplexity) == ("–",) * 4
    assert whole.tests == ("4.13", "8.71", "0.27")
    assert "–" in "".join(Page(render_report([results], 100)).words)


def test_truth_is_told_where_it_is_known(tmp_path, page):
    keys = make_dataset(tmp_path, seeds=(1, 2), inits=("llm",), truth=True)
    results = read_dataset(tmp_path, "menagerie", keys, truth=True)
    found = truth_table(measured_groups(results, (10, 12), 10))
    assert (found.phrases, found.share_true) == ("134", "64.0")
    assert found.rows[0].dictionary == ("1.5", "77.0", "77.0")
    assert found.rows[0].phrases == ("64.0", "64.0", "64.0")
    told = render_report([results], 20)
    assert "the 134 texts of the universe that name an attribute" in " ".join(Page(told).words)
    assert "Are the answers true?" not in page
    (tmp_path / "evaluation" / f"{keys[1].name}.truth.json").unlink()
    with pytest.raises(InputError, match=f"{keys[1].name}.truth.json: no such file"):
        read_dataset(tmp_path, "menagerie", keys, truth=True)


def test_a_dictionary_that_names_no_attribute_has_dashes(tmp_path):
    keys = make_dataset(tmp_path, inits=("llm",), truth=True)
    results = read_dataset(tmp_path, "menagerie", keys, truth=True)
    found = truth_table(measured_groups(results, (10, 12), 10))
    assert found.rows[0].dictionary == ("0", NOTHING, NOTHING)


def test_baselines_of_a_fixed_order_stand_at_the_budgets_of_the_table(results, page, tmp_path):
    random, greedy = fixed_order_rows(results, ["5", "20", "24"])
    assert [cell.value for cell in random.accuracies] == ["45.0", "–", "70.0"]
    assert greedy.accuracies[-1].interval == "[79.0, 82.0]"
    words = "Baselines with the same questions for every image"
    assert words in page
    make_baselines(tmp_path, "menagerie", fixed_order=False)
    lacking = read_metrics(tmp_path / "baselines" / "menagerie.json", ())
    assert words not in render_report([replace(results, baselines=lacking)], 100)


def test_many_methods_with_all_inits(tmp_path):
    inits = ("llm", "random", "medoids", "informative", "random_words")
    keys = make_dataset(tmp_path, methods=tuple(METHODS), inits=inits, images=28, k=8, budget=6)
    results = read_dataset(tmp_path, "menagerie", keys)
    told = render_report([results], 100)
    found = Page(told)
    assert len(found.ids) == len(set(found.ids))
    for words in ("Against the paper", "What are the concepts worth?", "What quantisation costs"):
        assert words in told
    for attrs in found.attributes("a"):
        assert attrs["href"].removeprefix("#") in (*found.ids, EXPLORER)
    styles = {attrs["class"] for attrs in found.attributes("path") if "hue-" in attrs["class"]}
    assert len({style.removeprefix("line ") for style in styles if style[:4] == "line"}) == 7
    runs = results.runs
    assert shown_run(runs).key.method in ("naive_bayes", "threshold_fixed"), (
        "answers that stand alone"
    )
    assert "an answer depends on its own question and the image alone" in told
    others = [run for run in runs if run.settings["answers"] != "threshold"]
    assert shown_run(others).key.method not in ("soft_answers", "free_queries")
    for some in (runs, others):
        assert shown_run(some).key.init != "random_words"
    assert [each.method for each in evolutions(results)][:5] == ["alternating"] * 5


def test_training_without_updates_has_no_chart(tmp_path):
    keys = make_dataset(tmp_path, methods=("naive_bayes",), images=28, k=8, budget=6)
    told = render_report([read_dataset(tmp_path, "menagerie", keys)], 100)
    assert "AUC in training" not in told
    assert 'id="menagerie-training"' not in told
    Page(told)


def test_naive_bayes_shows_no_updates_and_no_settings_of_networks(tmp_path):
    keys = make_dataset(tmp_path, methods=("alternating", "naive_bayes"), inits=("llm",))
    results = read_dataset(tmp_path, "menagerie", keys)
    network, bayes = selection_rows(results.runs)
    assert (network.phase, network.updates) == ("biased", "1000")
    assert (bayes.phase, bayes.updates) == (NOTHING, NOTHING)
    assert results.runs[1].training == {}
    names, rows = settings_rows(results.runs)
    assert names == ["alternating", "naive_bayes"]
    told = dict(rows)
    assert told["method"] == ["variational", "naive_bayes"]
    assert told["random_updates"] == ["250", NOTHING]
    assert told["quantize_queries"] == ["yes", NOTHING]


def test_text_headline_and_explanations_have_one_stopping_rule(results, page):
    rule = "at a probability of 85 % or after 8 questions"
    best = shown_run(results.runs)
    _, _, short = figures(best)
    assert best.stop == STOP
    assert short.number == f"{best.metrics['mean_length_at_stop']:.1f}"
    assert rule in short.meaning
    # In the headline, in the caption of the table, above the explanations and the curves.
    assert page.count(rule) == 4
    for run in results.runs:
        for each in run.explanations:
            told = each.explanation
            before = [told.prior, *(step.posterior for step in told.steps)][:-1]
            assert all(max(posterior) < 0.85 for posterior in before)
            assert told.confident == (max(told.posterior) >= 0.85)
            assert told.confident or len(told.steps) == 8
            assert in_words(told).count(" (the limit)") == (not told.confident)


def test_metrics_of_another_rule_than_the_explanations_are_refused(tmp_path):
    (key, *_) = make_dataset(tmp_path, methods=("fixed",))
    path = tmp_path / "evaluation" / f"{key.name}.json"
    found = read_metrics(path, ("stop_probability",))
    write_json(path, {**found, "stop_probability": 0.9})
    with pytest.raises(InputError, match=r"expected one stopping rule: `dvc repro` makes both"):
        read_run(tmp_path, key)


def test_runs_of_two_rules_are_refused(results):
    one, two, *_ = results.runs
    with pytest.raises(InputError, match="expected one stopping rule"):
        one_rule([one, replace(two, stop=STOP._replace(max_queries=9))])


def test_a_saved_model_is_read_without_its_weights(tmp_path):
    texts = ["wings", "wheels"]
    model = InformationPursuitClassifier(texts, np.eye(2), queries=texts)
    model.fit(np.eye(2)[[0, 1, 0, 1]], ["bird", "car", "bird", "car"])
    model.save(tmp_path)
    with pytest.raises(InputError, match=r"no key provenance.settings; expected a model of stage"):
        read_model(tmp_path / "model.json")
    model.clip_ = "ViT"
    model.provenance_ = {"settings": {}, "selected": {}, "evolution": {}, "inputs": {"a": "b"}}
    model.save(tmp_path)
    (tmp_path / "weights.safetensors").unlink()
    assert read_model(tmp_path / "model.json") == ("ViT", ("bird", "car"), model.provenance_)
    text = (tmp_path / "model.json").read_text(encoding="utf-8")
    (tmp_path / "model.json").write_text(text.replace('"format": 4', '"format": 3'))
    with pytest.raises(InputError, match="format 3; expected 4"):
        read_model(tmp_path / "model.json")


def test_only_fixed_runs_make_a_page_without_learning(tmp_path):
    keys = make_dataset(tmp_path, methods=("fixed",))
    told = render_report([read_dataset(tmp_path, "menagerie", keys)], 200)
    assert "Does learning the dictionary help?" not in told
    assert "How the dictionary changed" not in told
    Page(told)


def test_evolution_puts_the_most_changed_first(results):
    run = next(run for run in results.runs if run.key.method == "alternating")
    found = evolution(run)
    changes = [len(set(texts)) for texts in found.rows if texts[0] != texts[-1]]
    assert changes == sorted(changes, reverse=True)
    assert len(changes) == found.changed
    assert sorted(texts[0] for texts in found.rows) == sorted(run.evolution["initial"])
    assert found.distinct == len(set(run.evolution["final"]))


def test_missing_and_malformed_files_are_named(tmp_path):
    (key, *_) = make_dataset(tmp_path, methods=("fixed",))
    figure = tmp_path / "explanations" / key.name / "0000.png"
    results = read_dataset(tmp_path, "menagerie", [key])
    figure.unlink()
    with pytest.raises(InputError, match=r"0000\.png: no such figure"):
        render_report([results], 200)
    metrics = tmp_path / "evaluation" / f"{key.name}.json"
    metrics.write_text("{}")
    with pytest.raises(InputError, match=r"json: no key 'auc'"):
        read_run(tmp_path, key)
    metrics.unlink()
    with pytest.raises(InputError, match=r"json: no such file; `dvc repro` makes it"):
        read_run(tmp_path, key)


@pytest.mark.parametrize(
    ("content", "message"),
    [("", "not a CSV"), ("a,b\n", "no rows"), ("a\n1\n", "no column 'b'"), ("a,b\n1\n", "line 2")],
)
def test_malformed_columns_are_named(tmp_path, content, message):
    path = tmp_path / "curve.csv"
    path.write_text(content)
    with pytest.raises(InputError, match=message):
        read_columns(path, ("a", "b"))
