from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.queries.templates import PromptTemplate, load_template

PROMPTS = Path(__file__).parents[2] / "src/infopursuit/queries/prompts"


def test_the_caption_prompt_ends_with_the_caption() -> None:
    template = load_template(PROMPTS / "caption_concepts.jinja", ["caption"], ["max_concepts"])
    prompt = template.render(caption="A dog & a <cat>.", max_concepts=7)
    assert prompt.endswith("\nCaption: A dog & a <cat>.")
    assert "At most 7 concepts" in prompt


def test_the_class_prompt_lists_the_classes() -> None:
    template = load_template(PROMPTS / "class_queries.jinja", ["classes", "k"])
    prompt = template.render(classes=["zebra", "city bus"], k=12)
    assert "\n- zebra\n- city bus\n\nWrite 12 " in prompt


def test_mistakes_are_found_before_anything_is_asked(tmp_path: Path) -> None:
    path = tmp_path / "prompt.jinja"
    with pytest.raises(InputError, match=r"prompt\.jinja: no such file"):
        load_template(path, ["caption"])
    path.write_text("{{ caption }} {{ captoin }}", encoding="utf-8")
    with pytest.raises(InputError, match="unknown variable 'captoin'; known are caption, k"):
        load_template(path, ["caption"], ["k"])
    path.write_text("always the same {{ k }}", encoding="utf-8")
    with pytest.raises(InputError, match=r"never uses 'caption'; expected \{\{ caption \}\}"):
        load_template(path, ["caption"], ["k"])
    path.write_text("one\n{% for x in %}", encoding="utf-8")
    with pytest.raises(InputError, match="line 2 is no valid Jinja"):
        load_template(path, ["caption"])
    path.write_bytes(b"\xff{{ caption }}")
    with pytest.raises(InputError, match="not a readable UTF-8"):
        load_template(path, ["caption"])


def test_a_variable_that_is_not_given() -> None:
    with pytest.raises(InputError, match="'k' is undefined; given are caption"):
        PromptTemplate("prompt", "{{ caption }} {{ k }}").render(caption="x")


@pytest.mark.parametrize(
    "code",
    [
        "caption.__class__.__mro__[1].__subclasses__()",
        "caption.format.__globals__",
        "self.__init__.__globals__.__builtins__.open('made', 'w')",
        "'{0.__class__.__mro__}'.format(caption)",
    ],
)
def test_a_prompt_from_a_stranger_runs_no_code(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(InputError, match="prompt: "):
        PromptTemplate("prompt", f"{{{{ caption }}}} {{{{ {code} }}}}").render(caption="x")
    assert not list(tmp_path.iterdir())
