"""The page as one file: modules become one script, the policy names all of it, texts stay texts."""

from __future__ import annotations

import base64
import hashlib
import json
import re
from html.parser import HTMLParser

import pytest

from infopursuit.explorer import payload
from infopursuit.explorer.page import bundled, page, sources
from tests.explorer.made_up import HOSTILE, small_payload

MARKUP = """<!doctype html>
<html lang="en"><head><meta charset="utf-8">
<title>t</title>
<link rel="stylesheet" href="style.css">
</head><body><main></main>
<script type="module" src="main.js"></script>
</body></html>
"""
SOURCES = {"index.html": MARKUP, "style.css": "p { color: red }", "main.js": "document.title;\n"}
SCRIPT = '<script type="module" src="main.js"></script>'
# A name of a vocabulary that nothing fetches; every other address would be one too many.
NAMESPACES = ("http://www.w3.org/2000/svg",)


class Elements(HTMLParser):
    """All elements with their attributes, and the text in each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.texts: list[tuple[str, dict[str, str | None], str]] = []
        self.open = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        self.open = tag in ("script", "style", "title")
        if self.open:
            self.texts.append((tag, dict(attrs), ""))

    def handle_endtag(self, tag: str) -> None:
        self.open = False

    def handle_data(self, data: str) -> None:
        if self.open:
            tag, attributes, text = self.texts.pop()
            self.texts.append((tag, attributes, text + data))


def policy_of(elements: Elements) -> dict[str, str]:
    given = [
        each["content"] or ""
        for tag, each in elements.found
        if tag == "meta" and each.get("http-equiv") == "Content-Security-Policy"
    ]
    assert len(given) == 1
    return dict(part.split(" ", 1) for part in given[0].split("; "))


def digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def test_the_shipped_page_is_one_file_that_asks_nobody() -> None:
    made = small_payload()
    text = page(made)
    elements = Elements(text)
    for tag, attributes in elements.found:
        for name in ("src", "href", "srcset", "action", "data", "poster"):
            value = attributes.get(name) or "#"
            assert value.startswith("#"), f"<{tag} {name}={value!r}>"
        assert "style" not in attributes, f"<{tag}> has a style that the policy forbids"
        assert not [name for name in attributes if name.startswith("on")]
    addresses = set(re.findall(r"(?:https?|wss?|ftp):?//[^\s\"'`<>)]*", text))
    assert addresses <= set(NAMESPACES)
    styles = [content for tag, _, content in elements.texts if tag == "style"]
    assert not re.findall(r"url\(|@import", "".join(styles))
    scripts = [(each, content) for tag, each, content in elements.texts if tag == "script"]
    assert payload.read(scripts[0][1]) == made
    policy = policy_of(elements)
    assert policy["default-src"] == "'none'"
    assert policy["connect-src"] == "'none'"
    assert policy["script-src"] == digest(scripts[1][1])
    assert policy["style-src"] == " ".join(map(digest, styles))
    assert "unsafe" not in str(policy)
    assert len(scripts) == 2
    head = text.index("Content-Security-Policy")
    assert head < text.index("<style") < text.index('<script type="module">')


def test_equal_payloads_are_equal_bytes() -> None:
    assert page(small_payload()) == page(small_payload())


def test_a_served_page_may_ask_its_server_and_nobody_else() -> None:
    made = small_payload().model_copy(update={"served": True})
    assert policy_of(Elements(page(made)))["connect-src"] == "'self'"


@pytest.mark.parametrize("name", HOSTILE)
def test_names_are_texts_wherever_they_stand(name: str) -> None:
    plain = Elements(page(small_payload(names=["a", "b", "c"]), SOURCES))
    made = small_payload(names=[name, name + "2", name + "3"]).model_copy(update={"title": name})
    text = page(made, SOURCES)
    elements = Elements(text)
    assert elements.found == [(tag, attributes) for tag, attributes in plain.found], (
        "a name opened an element"
    )
    (title,) = [content for tag, _, content in elements.texts if tag == "title"]
    assert title == name
    (data,) = [content for tag, each, content in elements.texts if each.get("id") == "payload"]
    assert json.loads(data)["models"][0]["classes"][0] == name


def test_modules_become_one_script_in_the_order_of_need() -> None:
    script = bundled(
        {
            "main.js": 'import { twice, once as one } from "./b.js";\n'
            'import * as a from "./a.js";\n'
            "export const shown = twice(a.step) + one;\n",
            "b.js": 'import {\n  step,\n} from "./a.js";\n// import nothing\n'
            '/** @import { X } from "./a.js" */\n'
            "const hidden = 1;\nexport const once = hidden + step;\n"
            "export function twice(x) { return 2 * x; }\nexport class Odd {}\n"
            "export async function later() {}\n",
            "a.js": "export const step = 3;\n",
            "unused.js": "broken(",
        }
    )
    assert [script.index(f"// {name}.js\n") for name in ("a", "b", "main")] == sorted(
        script.index(f"// {name}.js\n") for name in ("a", "b", "main")
    )
    assert "const $a = (() => {\nconst step = 3;\n\nreturn { step };\n})();" in script
    assert "return { once, twice, Odd, later };" in script
    assert "const { twice, once: one } = $b;\nconst a = $a;\nconst shown" in script
    assert "broken" not in script


@pytest.mark.parametrize(
    ("module", "told"),
    [
        ("export default 3;", "export default 3"),
        ("export let a = 1;", "export let a"),
        ("export { a };", "export { a }"),
        ('export * from "./a.js";', "export "),
        ('import a from "./a.js";', "import a"),
        ('import "./a.js";', "import "),
        ('import { a } from "https://example.org/a.js";', "import { a }"),
        ('const a = import("./a.js");', "import("),
    ],
)
def test_a_module_of_another_form_is_refused(module: str, told: str) -> None:
    given = {"main.js": 'import { b } from "./b.js";\n', "b.js": f"{module}\n", "a.js": ""}
    with pytest.raises(ValueError, match=r"b\.js: ") as caught:
        bundled(given)
    assert told in str(caught.value)


def test_cycles_and_missing_modules_are_refused() -> None:
    with pytest.raises(ValueError, match=r"main.js: imports itself, by way of main.js, b.js"):
        bundled(
            {"main.js": 'import { b } from "./b.js";', "b.js": 'import { a } from "./main.js";'}
        )
    with pytest.raises(ValueError, match=r"main.js: b.js does not export b"):
        bundled({"main.js": 'import { b as c } from "./b.js";', "b.js": "const b = 1;"})
    with pytest.raises(ValueError, match=r"main.js: no module b.js"):
        bundled({"main.js": 'import { b } from "./b.js";'})


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"main.js": 'a = "</SCRIPT>";'}, "'</script'"),
        ({"main.js": 'a = "<!--";'}, "'<!--'"),
        ({"style.css": "</style>"}, "'</style'"),
        ({"index.html": MARKUP.replace('<meta charset="utf-8">', "")}, "0 times <meta"),
        (
            {"index.html": MARKUP + '<script type="module" src="main.js"></script>'},
            "2 times <script",
        ),
    ],
)
def test_sources_that_would_end_their_element_are_refused(change: dict, told: str) -> None:
    with pytest.raises(ValueError, match=re.escape(told)):
        page(small_payload(), SOURCES | change)


def test_the_sources_ship_with_the_package() -> None:
    assert {"index.html", "main.js", "style.css"} <= set(sources())
