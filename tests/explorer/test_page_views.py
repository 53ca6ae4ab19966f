"""One trip through each view of the page, in the browser, at two widths."""

from __future__ import annotations

import re
from functools import cache
from pathlib import Path

import numpy as np
import pytest
from playwright.sync_api import Locator, Page, expect

from infopursuit.explorer import payload
from infopursuit.explorer.contents import AnsweredImages, Chosen, Facts, contents
from infopursuit.pursuit.dialogue import Dialogue
from infopursuit.pursuit.explanation import Explanation
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule
from infopursuit.texts.knowledge import KnowledgeTable, read_knowledge_csv
from tests.explorer.conftest import Opened
from tests.explorer.made_up import PLAIN, images, naive_bayes

pytestmark = pytest.mark.slow  # minutes in a browser

STOP = StoppingRule(0.9, 12)
QUERIES = (
    "striped body", "four legs", "two wheels", "feathers", "long neck", "hooves", "wings",
    "red paint", "a beak", "fur", "windows", "a tail", "spots", "fins", "horns", "a trunk",
)  # fmt: skip
WORD = {0.0: "no", 0.5: "not sure", 1.0: "yes"}


@cache
def model(seed: int = 4) -> Pursuit:
    return naive_bayes(len(QUERIES), PLAIN, seed=seed, queries=QUERIES)


@cache
def split(name: str) -> AnsweredImages:
    return images(model(), 60 if name == "test" else 40, seed=2 if name == "test" else 3)


@cache
def document(stop: StoppingRule = STOP) -> payload.Payload:
    facts = Facts(
        "made up",
        stop,
        origins={QUERIES[0]: "captions"},
        truth={QUERIES[0]: payload.Truth(right=0.75, answered=1.0)},
    )
    return contents((model(), facts), split("test"), split("train"), "Zoo", chosen=Chosen(40, 40))


def explained(image: str, stop: StoppingRule = STOP, **overrides: float) -> Explanation:
    """What Python says of a test image; `overrides` by number: q3=1.0."""
    answers = split("test").answers[split("test").ids.index(image)].clone()
    for name, value in overrides.items():
        answers[int(name[1:])] = value
    return model().explain(answers.unsqueeze(0), stop, [image])[0]


def asked(page: Page) -> list[str]:
    return page.locator(".step .question p").all_inner_texts()


@cache
def texts() -> tuple[str, ...]:
    return tuple(document().model.questions)


def step(page: Page, number: int) -> Locator:
    return page.locator(".step").nth(number - 1)


def checked(page: Page) -> list[str]:
    return page.locator(".step input:checked + span").all_inner_texts()


def predictions() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    ending = model().ask_until(split("test").answers, STOP)
    best = ending.posterior.max(dim=1)
    return best.indices.numpy(), best.values.numpy(), ending.length.numpy()


# 2. What if.


def test_reset_and_a_link_to_the_whole_state(open_page: Opened, width: int) -> None:
    page = open_page(document(), width=width)
    page.get_by_role("option", name="image 2, penguin").click()
    first = explained("image 2").steps[0]
    word = "not sure" if first.answer != 0.5 else "yes"
    step(page, 1).locator("label", has_text=re.compile(f"^{word}$")).click()
    expect(step(page, 1)).to_contain_text("your answer")
    expect(page.locator(".outcome").first).to_contain_text("Before your changes")
    step(page, 2).get_by_text("Why this question?").click()
    step(page, 2).get_by_role("button", name="Strike this question").click()
    page.get_by_text("Ask a question of your choice next").click()
    page.get_by_role("button", name=re.compile("^Ask ")).first.click()
    expect(page.locator(".tag", has_text="your question")).to_have_count(1)
    found = asked(page), checked(page), page.locator(".outcome").first.inner_text()
    again = open_page(document(), hash=page.url.split("#")[1], width=width)
    expect(again.locator(".step")).to_have_count(len(found[0]))
    assert (asked(again), checked(again), again.locator(".outcome").first.inner_text()) == found
    again.get_by_role("button", name="Reset").click()
    expect(again.locator(".step")).to_have_count(len(explained("image 2").steps))
    again.get_by_role("button", name="Undo").click()
    expect(again.locator(".step")).to_have_count(len(found[0]))
    again.go_back()
    expect(again.locator(".step")).to_have_count(len(explained("image 2").steps))


def turned_round(image: str, **given: float) -> list[tuple[dict[str, float], Explanation]]:
    """Each answer turned round that comes after those given, and what follows."""
    before = explained(image, **given)
    queries = [QUERIES.index(query) for query in before.questions]
    start = max((queries.index(int(name[1:])) + 1 for name in given), default=0)
    return [
        (turned, explained(image, **turned))
        for query, each in list(zip(queries, before.steps, strict=True))[start:]
        for value in ((0.0, 1.0) if each.answer == 0.5 else (1 - each.answer,))
        for turned in [{**given, f"q{query}": value}]
    ]


def changing(
    image: str, turns: list[tuple[dict[str, float], Explanation]]
) -> list[tuple[dict[str, float], Explanation]]:
    own = explained(image).predicted_class
    found = [each for each in turns if each[1].predicted_class != own]
    return sorted(found, key=lambda each: -each[1].probability)


def assert_turns(page: Page, turns: list[tuple[dict[str, float], Explanation]]) -> None:
    rows = page.locator(".turns li")
    expect(rows).to_have_count(len(turns))
    for row, (turned, after) in zip(rows.all(), turns, strict=True):
        said = [f"{texts()[int(name[1:])]} {WORD[value]}" for name, value in turned.items()]
        assert row.locator(".turned p").all_inner_texts() == said
        expect(row).to_contain_text(after.predicted_class)
        expect(row).to_contain_text(f"after {len(after.steps)} question")


@pytest.mark.parametrize("answers", [1, 2])
def test_what_would_change_its_mind(open_page: Opened, width: int, answers: int) -> None:
    """Pairs of answers are shown if no single answer would change the prediction."""
    image = next(
        each.id
        for each in document().images.test
        if bool(changing(each.id, turned_round(each.id))) == (answers == 1)
        and explained(each.id).steps
    )
    turns = turned_round(image)
    if answers == 2:
        turns = [pair for turned, _ in turns for pair in turned_round(image, **turned)]
    found = changing(image, turns)
    if answers == 2:
        found = found[:3]
    assert found, "otherwise the test tests nothing"
    page = open_page(document(), hash=f"view=image&image={image}", width=width)
    said = page.locator(".mind-change").filter(has_text="No single answer would")
    expect(said).to_have_count(answers - 1)
    assert_turns(page, found)
    page.get_by_role("button", name="Try it").first.click()
    expect(page.locator(".tag", has_text="your answer")).to_have_count(answers)
    expect(page.locator(".outcome.another")).to_be_visible()
    expect(page.locator(".ending")).to_contain_text(found[0][1].predicted_class)


# 3. You are the image.


def test_a_person_plays_the_image(open_page: Opened, width: int) -> None:
    page = open_page(document(), hash="view=you", width=width)
    dialogue = Dialogue(model(), stop=StoppingRule(0.9, 12))
    words = ["yes", "no", "not sure", "no", "yes"]
    described = dict(zip(QUERIES, texts(), strict=True))
    replies = []
    while not dialogue._stopped(STOP) and len(replies) < 12:
        question = dialogue.next_question()
        assert question is not None
        expect(page.locator(".stage h2")).to_have_text(described[question])
        word = words[len(replies) % len(words)]
        page.get_by_role("button", name=word, exact=True).click()
        dialogue.answer(word)
        replies.append((question, word))
        expect(page.locator(".said li")).to_have_count(len(replies))
    posterior = dialogue.posterior
    best = max(posterior, key=posterior.__getitem__)
    expect(page.locator(".stage h2")).to_have_text(f"Is it {best}?")
    page.get_by_role("button", name="Yes, that is it").click()
    expect(page.locator(".stage h2")).to_have_text(f"It guessed right: {best}")
    rows = page.locator(".compared tbody tr")
    expect(rows).to_have_count(len(replies))
    likelihood = model().classifier.table.log_likelihood.exp()  # type: ignore[attr-defined]
    usual = likelihood[:, :, PLAIN.index(best)]
    for place, (query, word) in enumerate(replies):
        rates = usual[:, QUERIES.index(query)]
        level = int(rates.argmax())
        cells = rows.nth(place).locator("td")
        expect(cells.nth(0)).to_have_text(word)
        expect(cells.nth(1)).to_contain_text(WORD[level / 2])
        differs = rates[level] >= 0.5 and WORD[level / 2] != word
        expect(rows.nth(place).locator("th .tag")).to_have_count(int(differs))
    page.get_by_role("button", name="Play again").click()
    expect(page.locator(".said li")).to_have_count(0)


# 4. A class.


def test_a_class(open_page: Opened, width: int) -> None:
    page = open_page(document(), hash="view=classes&class=3&beside=1", width=width)
    expect(page.locator("h1")).to_have_text("How does it know “parrot”?")
    table = model().classifier.table.log_likelihood.exp().double().numpy()  # type: ignore[attr-defined]
    own = table[2, :, 3]
    others = np.delete(table[2], 3, axis=1).mean(axis=1)
    weight = np.maximum(own, others) * np.log(own / others)
    order = np.argsort(-weight, kind="stable")
    speaking = page.locator("section", has=page.locator("h2", has_text="What speaks for it"))
    expected = [texts()[query] for query in order[:6] if weight[query] > 0]
    assert speaking.locator("tbody th").all_inner_texts() == expected
    shares = speaking.locator("tbody tr").first.locator(".number").all_inner_texts()
    assert [int(each.split("\u00a0")[0]) for each in shares] == [
        round(100 * own[order[0]]),
        round(100 * others[order[0]]),
    ]
    against = page.locator("section", has=page.locator("h2", has_text="What speaks against it"))
    expected = [texts()[query] for query in order[::-1][:6] if weight[query] < 0]
    assert against.locator("tbody th").all_inner_texts() == expected
    pair = table[:, :, [3, 1]]
    middle = pair.mean(axis=2, keepdims=True)
    telling = (pair * np.log(pair / middle)).sum(axis=(0, 2)) / 2
    apart = page.locator("section", has=page.locator("h2", has_text="What tells them apart?"))
    expect(apart.locator("tbody th").first).to_have_text(texts()[int(telling.argmax())])


# 5. The dictionary.


def test_what_is_known_of_the_classes_is_corrected_and_saved(
    open_page: Opened, width: int, tmp_path: Path
) -> None:
    texts = ("Feathers", 'a "crest", red', "four legs")
    values = np.array([[0, 1, np.nan], [0.5, 0, 1]] * 3, np.float32)
    known = KnowledgeTable(PLAIN, texts, values)
    content = contents((model(), Facts("m", STOP, knowledge=known)), split("test"))
    page = open_page(content, hash="view=dictionary", width=width)
    save = page.get_by_role("button", name="Save the table")
    expect(save).to_be_disabled()
    page.get_by_label("Search").fill("feathers")
    expect(page.locator(".dictionary > li")).to_contain_text("by its table true of 0 classes")
    page.get_by_text("By class").last.click()
    cell = page.get_by_label("Feathers, parrot", exact=True)  # the fourth
    expect(cell).to_have_value("1")
    cell.select_option("true")
    page.get_by_label("Feathers, zebra", exact=True).select_option("not known")
    page.get_by_label("Feathers, bus", exact=True).select_option("true")
    page.get_by_label("Feathers, bus", exact=True).select_option("not true")  # as it was
    expect(page.locator(".class-table")).to_contain_text("You corrected 2 cells")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    with page.expect_download() as saved:
        save.click()
    saved.value.save_as(tmp_path / "table.csv")
    read = read_knowledge_csv(tmp_path / "table.csv")
    assert read.classes == PLAIN
    assert read.texts[:3] == texts
    assert len(read.texts) == 3 + len(QUERIES) - 2, "two questions are in the table"
    expected = values.copy()
    expected[3, 0], expected[0, 0] = 1, np.nan
    assert np.array_equal(read.values[:, :3], expected, equal_nan=True)
    assert np.isnan(read.values[:, 3:]).all()


# 6. Failures.


def test_failures(open_page: Opened, width: int) -> None:
    images = document().images.model_copy(update={"fitted": 7})
    content = document().model_copy(update={"images": images})
    page = open_page(content, hash="view=failures", width=width)
    predicted, probability, length = predictions()
    labels = split("test").labels
    wrong = np.flatnonzero(predicted != labels)
    expect(page.locator(".failures-view .lead")).to_contain_text(
        f"{100 * (1 - len(wrong) / 60):.1f}\u00a0% of 60 images are right, {len(wrong)} wrong"
    )
    expect(page.locator(".lead")).to_contain_text("was fitted on 7 of these images")
    cards = page.locator(".gallery > li:not(.end)")
    expect(cards).to_have_count(len(wrong))
    shown = {each.id for each in document().images.test}
    pictured = [row for row in wrong if f"image {row}" in shown]
    surest = max(pictured, key=lambda row: probability[row])
    expect(cards.first).to_contain_text(PLAIN[predicted[surest]])
    expect(cards.first).to_contain_text(f"is {PLAIN[labels[surest]]}")
    page.get_by_label("True class").select_option("zebra")
    expect(cards).to_have_count(int((labels[wrong] == 0).sum()))
    page.get_by_label("also those that are right").check()
    expect(cards).to_have_count(int((labels == 0).sum()))
    page.get_by_label("Questions, from").fill("4")
    page.get_by_label("Questions, from").blur()
    expect(cards).to_have_count(int(((labels == 0) & (length >= 4)).sum()))
    page.get_by_role("button", name="Clear filters").click()
    expect(cards).to_have_count(len(wrong))
    truth, said = int(labels[wrong[0]]), int(predicted[wrong[0]])
    count = int(((labels == truth) & (predicted == said)).sum())
    name = f"{count} {PLAIN[truth]} taken for {PLAIN[said]}"
    page.get_by_role("button", name=name).click()
    expect(cards).to_have_count(count)
    expect(page.get_by_role("button", name=name)).to_have_attribute("aria-pressed", "true")
    page.locator(".gallery a").first.click()
    expect(page.locator(".picture")).to_contain_text(PLAIN[truth])
    expect(page.locator(".picture .wrong")).to_contain_text(PLAIN[said])


def test_what_is_below_the_gallery_stays_in_its_place_as_pictures_come_into_view(
    open_page: Opened, width: int
) -> None:
    page = open_page(document(), hash="view=failures", width=width)
    matrix = page.locator("#matrix-title")
    expect(matrix).to_be_attached()
    expect(page.locator(".gallery li").first).to_be_visible()
    place = "() => document.getElementById('matrix-title').getBoundingClientRect().top + scrollY"
    before = page.evaluate(place)
    for top in range(0, int(before), 300):
        page.evaluate(
            """top => new Promise(done => {
                 scrollTo(0, top);
                 requestAnimationFrame(() => requestAnimationFrame(done));
               })""",
            top,
        )
    assert page.evaluate(place) == before


def test_what_is_known_is_not_asked_and_classes_are_left_out(open_page: Opened, width: int) -> None:
    page = open_page(document(), "view=you", width)
    question, bars = page.locator(".stage h2"), page.locator(".posterior li")
    first = question.inner_text()
    query = texts().index(first)

    def expect_asked(pursuit: Pursuit) -> None:
        asked = Dialogue(pursuit.given({pursuit.queries[query]: 0.0})).next_question()
        assert asked is not None
        expect(question).to_have_text(pursuit.question(asked))

    page.get_by_text("What do you know already?").click()
    page.get_by_label("Question", exact=True).select_option(first)
    page.get_by_label("Answer", exact=True).select_option("no")
    page.get_by_role("button", name="Add", exact=True).click()
    expect(page.get_by_role("list", name="Known already")).to_contain_text(f"{first} no")
    expect_asked(model())
    expect(page.locator(".stage")).to_contain_text("Question 1 of")
    page.locator(".class-list").evaluate("(details) => (details.open = true)")
    for name in ("horse", "bus"):
        page.get_by_label(name, exact=True).check()
    expect(bars).to_have_count(2)
    expect_asked(model().given(classes=["horse", "bus"]))
    address = page.evaluate("location.hash.slice(1)")
    assert f"known={query}n&classes=1.4" in address
    again = open_page(document(), address, width)
    expect(again.locator(".posterior li")).to_have_text(bars.all_text_contents())
    expect(again.get_by_label("bus", exact=True)).to_be_checked()
    page.get_by_role("button", name="None of these").click()
    expect(bars).to_have_count(4)
    expect_asked(model().given(classes=["zebra", "penguin", "parrot", "ship"]))
    page.keyboard.press("z")
    expect(bars).to_have_count(2)
    page.get_by_role("button", name="All", exact=True).click()
    page.get_by_role("button", name="Remove").press("Enter")
    expect(page.get_by_role("heading", name="You are the image")).to_be_focused()
    expect(question).to_have_text(first)
    expect(bars).to_have_count(6)
