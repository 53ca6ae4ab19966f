"""The page as one file: markup, style, modules and payload put together.

The sources in `page/` are plain HTML, CSS and ES modules. Here the modules become one script, so
that a browser runs it from a file and a content security policy can name it by its hash: each
module but `main.js` becomes a function that runs once and gives what it exports. For that the
modules keep to a part of the language, and any other module is refused:

import { a, b as c } from "./x.js";    import * as x from "./x.js";    at the start of a line
export function a, export async function a, export const a, export class a     the same

No cycles, no `export let` or `export default`, no `import()`; `await` beyond functions in `main.js`
alone.
"""

from __future__ import annotations

import base64
import hashlib
import re
from collections.abc import Mapping, Sequence
from functools import cache
from html import escape
from importlib.resources import files
from typing import Any

import numpy as np
from jaxtyping import Float
from torch import Tensor

from infopursuit.core.errors import InputError
from infopursuit.core.renderers import FramedPage
from infopursuit.explorer import payload
from infopursuit.explorer.contents import (
    UNKNOWN,
    AnsweredImages,
    Chosen,
    Facts,
    Mapper,
    contents,
    no_images,
    origins,
)
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.stopping import StoppingRule

ENTRY, MARKUP = "main.js", "index.html"
CHARSET = '<meta charset="utf-8">'
TITLE = re.compile(r"<title>[^<]*</title>")
STYLE = re.compile(r'<link rel="stylesheet" href="([\w.-]+\.css)">')
SCRIPT = f'<script type="module" src="{ENTRY}"></script>'

IMPORT = re.compile(
    r"^import\s+(?:\{(?P<names>[^}]*)\}|\*\s+as\s+(?P<all>[\w$]+))\s+from\s+"
    r"[\"']\./(?P<module>[\w.-]+\.js)[\"'];?[ \t]*$",
    re.MULTILINE,
)
EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+function\*?|function\*?|const|class)\s+(?P<name>[\w$]+))",
    re.MULTILINE,
)
COMMENT = re.compile(r"^\s*(?://[^\n]*|/\*.*?\*/)", re.MULTILINE | re.DOTALL)
# What is left of either is of another form.
LEFT = re.compile(r"^(?:import\b(?!\.)|export\b).*$|\bimport\s*\(", re.MULTILINE)


@cache
def sources() -> dict[str, str]:
    """Return the files of `page/` by name."""
    folder = files("infopursuit.explorer").joinpath("page")
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in sorted(folder.iterdir(), key=lambda file: file.name)
        if file.name.endswith((".html", ".css", ".js"))
    }


def page(content: payload.Payload, given: Mapping[str, str] | None = None) -> str:
    """Return the page with its payload as one HTML file. Equal payloads are equal bytes."""
    of_page = sources() if given is None else given
    return _filled(of_page, payload.written(content), content.title, content.served)


def room(title: str, limit: int = payload.LIMIT) -> int:
    """Return the bytes that a page of `limit` bytes has for its payload."""
    return limit - len(_filled(sources(), "", title, served=False).encode())


def _filled(of_page: Mapping[str, str], content: str, title: str, served: bool) -> str:
    """Return the page with the JSON `content`."""
    markup = of_page[MARKUP]
    styles = [of_page[name] for name in STYLE.findall(markup)]
    script = bundled(of_page)
    for what, texts, end in (("style", styles, "</style"), ("script", [script], "</script")):
        if any(end in text.lower() or "<!--" in text for text in texts):
            raise ValueError(f"a {what} of the page has {end!r} or '<!--' in it")
    policy = escape(content_security_policy(styles, script, served))
    parts = {
        CHARSET: f'{CHARSET}\n<meta http-equiv="Content-Security-Policy" content="{policy}">',
        SCRIPT: f'<script type="application/json" id="payload">{content}</script>'
        f'\n<script type="module">{script}</script>',
    }
    for old in (CHARSET, SCRIPT):
        if markup.count(old) != 1:
            raise ValueError(f"{MARKUP}: {markup.count(old)} times {old}; expected it once")
    waiting = iter(styles)
    markup = STYLE.sub(lambda _: f"<style>{next(waiting)}</style>", markup)
    markup = TITLE.sub(lambda _: f"<title>{escape(title)}</title>", markup)
    head, tail = markup.split(SCRIPT)
    return head.replace(CHARSET, parts[CHARSET]) + parts[SCRIPT] + tail


def policy(served: bool) -> str:
    """Return the content security policy of the page that ships."""
    of_page = sources()
    styles = [of_page[name] for name in STYLE.findall(of_page[MARKUP])]
    return content_security_policy(styles, bundled(of_page), served)


def content_security_policy(styles: list[str], script: str, served: bool) -> str:
    """Return what a browser may load: this style, this script, pictures inside; its own server."""
    directives = {
        "default-src": "'none'",
        "script-src": _hash(script),
        "style-src": " ".join(map(_hash, styles)) or "'none'",
        "img-src": "data: blob:",
        "connect-src": "'self'" if served else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


def bundled(of_page: Mapping[str, str], entry: str = ENTRY) -> str:
    """Return all modules that `entry` needs as one module without imports."""
    parts: dict[str, str] = {}
    _add(entry, of_page, parts, ())
    return "\n".join(parts.values())


def _add(
    name: str, of_page: Mapping[str, str], parts: dict[str, str], waiting: tuple[str, ...]
) -> None:
    """Add what a module needs, then the module."""
    if name in waiting:
        raise ValueError(f"{name}: imports itself, by way of {', '.join(waiting)}")
    if name in parts:
        return
    if name not in of_page:
        raise ValueError(f"{waiting[-1] if waiting else 'the page'}: no module {name}")
    source = of_page[name]
    for found in IMPORT.finditer(source):
        _add(found["module"], of_page, parts, (*waiting, name))
        missing = set(_imported(found)) - set(_exported(of_page[found["module"]]))
        if missing:
            raise ValueError(f"{name}: {found['module']} does not export {sorted(missing)[0]}")
    body = EXPORT.sub("", IMPORT.sub(_from_scope, source))
    odd = LEFT.search(COMMENT.sub("", body))
    if odd:
        raise ValueError(f"{name}: {odd[0].strip()!r}; expected imports and exports of other forms")
    if waiting:
        given = ", ".join(_exported(source))
        body = f"const {_scope(name)} = (() => {{\n{body}\nreturn {{ {given} }};\n}})();"
    parts[name] = f"// {name}\n{body}"


def _exported(source: str) -> list[str]:
    return [found["name"] for found in EXPORT.finditer(source)]


def _imported(found: re.Match[str]) -> list[str]:
    return [each.split()[0] for each in (found["names"] or "").split(",") if each.strip()]


def _from_scope(found: re.Match[str]) -> str:
    if found["all"]:
        return f"const {found['all']} = {_scope(found['module'])};"
    names = re.sub(r"\s+as\s+", ": ", found["names"].strip().rstrip(","))
    return f"const {{ {names} }} = {_scope(found['module'])};"


def _scope(module: str) -> str:
    return "$" + re.sub(r"\W", "_", module.removesuffix(".js"))


def _hash(text: str) -> str:
    digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode("ascii")
    return f"'sha256-{digest}'"


# -- the page of a model in a notebook -------------------------------------------------------------


def answered(
    names: Sequence[str],
    answers: Float[Tensor, "n k"],
    y: Any,
    classes: Sequence[Any],
    pictures: Sequence[Any] | None,
    fitted: int,
) -> AnsweredImages:
    """Return images as a person gives them to `model.explore`."""
    for what, given in (("labels", y), ("pictures", pictures)):
        if given is not None and len(given) != len(names):
            raise InputError(f"{len(given)} {what} for {len(names)} images; expected one each")
    labels = np.full(len(names), UNKNOWN, dtype=np.int64)
    if y is not None:
        numbers = {label: number for number, label in enumerate(classes)}
        for row, label in enumerate(np.asarray(y).tolist()):
            if label not in numbers:
                raise InputError(f"y[{row}] is {label!r}; expected one of {list(classes)[:10]}")
            labels[row] = numbers[label]
    return AnsweredImages(list(names), labels, answers.cpu(), pictures, fitted)


def explored(
    pursuit: Pursuit,
    stop: StoppingRule,
    provenance: Mapping[str, Any],
    test: AnsweredImages | None,
    train: AnsweredImages | None,
    title: str,
    height: int,
    maps: Mapper | None = None,
) -> FramedPage:
    """Return the page of one model; test and training images may be None."""
    content = contents(
        (pursuit, Facts(title, stop, origins(provenance.get("sources", {})), maps=maps)),
        no_images(pursuit) if test is None else test,
        train,
        title,
        chosen=Chosen(limit=room(title)),
    )
    return FramedPage(page(content), title, height)
