"""The page: complete, self-contained, equal on repeat, and honest about its selection."""

import base64
import re
from html.parser import HTMLParser
from itertools import pairwise, product

import pytest

from infopursuit.errors import InputError
from infopursuit.presentation.report import in_words, render_report, shown_run
from infopursuit.presentation.report_tables import differences, evolution, results_table
from infopursuit.presentation.runs import RunKey, read_columns, read_dataset, read_run
from tests.presentation.made_up_runs import make_black_box, make_run

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


def make_dataset(folder, dataset="menagerie", seeds=(0,), methods=("fixed", "alternating"), **run):
    keys = [RunKey(dataset, *key) for key in product(("llm", "random"), methods, seeds)]
    for key in keys:
        make_run(folder, key, **run)
    make_black_box(folder, dataset)
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
    for tag, attrs in found.tags:
        assert tag not in ("script", "link", "iframe", "object")
        for name in ("src", "href", "srcset", "data", "poster"):
            value = attrs.get(name) or "#"
            assert value.startswith(("#", "data:image/png;base64,"))
    style = page[page.index("<style>") : page.index("</style>")]
    assert "url(" not in style
    assert "@import" not in style


def test_page_nests_and_its_links_lead_somewhere(page):
    found = Page(page)
    assert len(found.ids) == len(set(found.ids))
    for link in found.attributes("a"):
        assert link["href"].removeprefix("#") in found.ids
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


def test_page_shows_every_run_and_the_figures_of_one(results, page):
    words = "".join(Page(page).words)
    for run in results.runs:
        assert f"{run.key.init}, {run.key.method}, seed 0" in words
        assert run.sources[f"evaluation/{run.key.name}.json"] in words
        for name in ("universe", "images", "initial"):
            assert run.settings["inputs"][name] in words
    best = shown_run(results.runs)
    pictures = [attrs["src"] for attrs in Page(page).attributes("img")]
    assert [base64.b64decode(src.partition(",")[2]) for src in pictures] == [
        each.figure.read_bytes() for each in best.explanations
    ]
    for each in best.explanations:
        assert in_words(each.trajectory) in words
        assert all(step.query in words for step in each.trajectory.steps)
    assert "$5 &amp; &lt;ticket&gt;" in page


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
    table = results_table(results[0])
    assert len(table.runs) == 8
    assert [row.seed for row in table.means] == ["mean of 2"] * 4
    found = differences(results[0], 200)
    assert [row.seed for row in found] == ["0", "1", "0", "1", "mean of 2", "mean of 2"]


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
