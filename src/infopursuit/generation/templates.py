"""Prompts: files with Jinja templates."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path
from typing import Any

import jinja2
from jinja2 import meta
from jinja2.sandbox import ImmutableSandboxedEnvironment

from infopursuit.core.errors import InputError
from infopursuit.core.files import read_text

# A prompt file may be a stranger's: in the sandbox it cannot reach the inside of Python.
_ENVIRONMENT = ImmutableSandboxedEnvironment(undefined=jinja2.StrictUndefined, autoescape=False)


class FilledPrompt(str):
    """A prompt that remembers what it is about: the variables that filled its template."""

    variables: Mapping[str, Any]


class PromptTemplate:
    """A template with its name, for messages, and its exact text."""

    def __init__(self, name: str, text: str) -> None:
        self.name = name
        self.text = text
        try:
            self._template = _ENVIRONMENT.from_string(text)
        except jinja2.TemplateSyntaxError as error:
            raise InputError(
                f"{name}: line {error.lineno} is not valid Jinja: {error.message}"
            ) from error
        except (RecursionError, ValueError, OverflowError, MemoryError) as error:
            raise InputError(f"{name}: not valid Jinja: {type(error).__name__}: {error}") from error

    def variables(self) -> set[str]:
        """Return the names of the variables that the template uses."""
        return meta.find_undeclared_variables(_ENVIRONMENT.parse(self.text))

    def render(self, /, **variables: Any) -> FilledPrompt:
        """Return the prompt, with every variable filled in."""
        try:
            prompt = FilledPrompt(self._template.render(variables))
        except Exception as error:  # a template computes: it can fail as any program can
            raise InputError(
                f"{self.name}: {type(error).__name__}: {error}; given are "
                f"{', '.join(sorted(variables))}"
            ) from error
        prompt.variables = variables
        return prompt


def load_template(
    path: str | Path, needed: Collection[str], offered: Collection[str] = ()
) -> PromptTemplate:
    """Read a prompt file and check its variables before a language model is asked anything."""
    path = Path(path)
    text = read_text(path, "expected a prompt template (.jinja)")
    template = PromptTemplate(str(path), text)
    used = template.variables()
    allowed = {*needed, *offered}
    for name in sorted(used - allowed):
        raise InputError(
            f"{path}: unknown variable {name!r}; known are {', '.join(sorted(allowed))}"
        )
    for name in sorted(set(needed) - used):
        raise InputError(f"{path}: the prompt never uses {name!r}; expected {{{{ {name} }}}} in it")
    return template
