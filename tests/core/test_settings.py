"""Settings files: what is read, and one message with the path of the key for a mistake."""

from __future__ import annotations

from pathlib import Path

import pytest

from infopursuit.core.errors import InputError
from infopursuit.core.settings import (
    Positive,
    Section,
    Share,
    check_names,
    read_one_of,
    read_settings,
)


class Inner(Section):
    """A section of a section."""

    count: Positive
    share: Share = 0.5


class Outer(Section):
    """A whole file."""

    name: str
    inner: Inner
    more: dict[str, Inner] = {}  # noqa: RUF012


def written(folder: Path, text: str) -> Path:
    path = folder / "settings.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_settings_are_read_with_numbers_as_people_write_them(tmp_path: Path) -> None:
    path = written(tmp_path, "name: a\ninner: {count: 3, share: 1e-3}\n")
    settings = read_settings(path, Outer)
    assert (settings.name, settings.inner.count, settings.inner.share) == ("a", 3, 0.001)
    with pytest.raises(Exception, match="frozen"):
        settings.name = "b"  # type: ignore[misc]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "expected a mapping of settings, found NoneType"),
        ("- name\n", "expected a mapping of settings, found list"),
        ("? [a]\n: b\n", r"the key .* expected a text"),
        ("name: [\n", "not valid YAML"),
        ("name: a\nname: b\n", ".*duplicate key"),
        ("name: 2001-99-99\n", "not valid YAML"),
        (f"name: {'9' * 5000}\n", ".*Exceeds the limit"),
        (f"name: {'[' * 500}{']' * 500}\n", ".*too deep"),
        ("name: a\n", "inner: missing key"),
        ("name: a\ninner: {}\n", "inner.count: missing key"),
        (
            "name: a\ninner: {count: 1}\nmore: {2024: {count: 1}}\n",
            "more.2024: .*found 2024; a name that YAML reads as a number, .* needs quotes",
        ),
        ("name: a\ninner: {count: 1}\nmore: {b: {count: 1, c: 2}}\n", "more.b.c: unknown key"),
        ("name: 3\ninner: {count: 1}\n", "name: .*valid string, found 3; a name .* needs quotes"),
        ("name: a\ninner: {count: '1'}\n", "inner.count: .*valid integer, found '1'"),
        ("name: a\ninner: {count: true}\n", "inner.count: .*found True"),
        ("name: a\ninner: {count: 0}\n", "inner.count: .*greater than or equal to 1, found 0"),
        ("name: a\ninner: {count: 1, share: .nan}\n", "inner.share: .*found nan"),
    ],
)
def test_a_mistake_is_one_line_with_file_and_key(tmp_path: Path, text: str, message: str) -> None:
    path = written(tmp_path, text)
    with pytest.raises(InputError, match=f"settings.yaml: {message}") as caught:
        read_settings(path, Outer)
    assert "\n" not in str(caught.value)


def test_a_stage_passes_over_sections_that_are_not_its_own(tmp_path: Path) -> None:
    path = written(tmp_path, "name: a\ninner: {count: 1}\nothers: {wrong: [}\n".replace("[}", "1}"))
    assert read_settings(path, Outer, partly=True).inner.count == 1
    with pytest.raises(InputError, match="others: unknown key"):
        read_settings(path, Outer)
    path = written(tmp_path, "name: a\ninner: {count: 1, other: 2}\n")
    with pytest.raises(InputError, match=r"inner\.other: unknown key"):
        read_settings(path, Outer, partly=True)


def test_the_key_that_only_one_kind_has_decides(tmp_path: Path) -> None:
    kinds: dict[str, type[Section]] = {"inner": Outer, "count": Inner}
    found = read_one_of(written(tmp_path, "count: 3\n"), kinds, "a thing")
    assert isinstance(found, Inner)
    for text in ("other: 1\n", "count: 1\ninner: {count: 2}\n"):
        with pytest.raises(InputError, match="expected a thing, with one of the keys inner, count"):
            read_one_of(written(tmp_path, text), kinds, "a thing")
    with pytest.raises(InputError, match=r"settings\.yaml: count: .*found 0"):
        read_one_of(written(tmp_path, "count: 0\n"), kinds, "a thing")
    with pytest.raises(InputError, match="expected a YAML file with a thing"):
        read_one_of(tmp_path / "no.yaml", kinds, "a thing")


@pytest.mark.parametrize(
    "name",
    ["$(touch x)", "a b", "a;b", "../up", "v1.5", "a-b", "", "a\n", "é"],
)
def test_names_that_could_break_a_path_or_a_command_are_not(name: str) -> None:
    check_names("datasets", ["CIFAR_10", "9lives", "_x"])
    with pytest.raises(ValueError, match=r"datasets: the name .*expected letters, digits"):
        check_names("datasets", ["good", name])
