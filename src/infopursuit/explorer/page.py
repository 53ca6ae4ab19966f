"""The page as one file: markup, style, modules and payload put together.

The sources in `page/` are plain HTML, CSS and ES modules. Here the modules become one script, so
that a browser runs it from a file and a content security policy can name it by its hash: each
module but `main.js` becomes a function that runs once and gives what it exports. For that the
modules keep to a part of the language, in lines of their own:

import { a, b as c } from "./x.js";
export function a, export async function a, export const a, export class a
"""

from __future__ import annotations

import base64
import hashlib
import json
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
from infopursuit.pursuit.answers.rules import WORDS
from infopursuit.pursuit.pursuit import Pursuit
from infopursuit.pursuit.sentences import SENTENCES
from infopursuit.pursuit.stopping import StoppingRule

ENTRY, MARKUP = "main.js", "index.html"
CHARSET = '<meta charset="utf-8">'
TITLE = re.compile(r"<title>[^<]*</title>")
STYLE = re.compile(r'<link rel="stylesheet" href="([\w.-]+\.css)">')
DATA = '<script type="application/json" id="{}">{}</script>\n'
SCRIPT = f'<script type="module" src="{ENTRY}"></script>'

IMPORT = re.compile(r"^import\s+\{([^}]*)\}\s+from\s+\"\./([\w.-]+\.js)\";$", re.MULTILINE)
EXPORT = re.compile(
    r"^export\s+(?=(?:async\s+function|function|const|class)\s+([\w$]+))", re.MULTILINE
)


@cache
def sources() -> dict[str, str]:
    """Return the files of `page/` by name."""
    folder = files("infopursuit.explorer").joinpath("page")
    return {
        file.name: file.read_text(encoding="utf-8")
        for file in folder.iterdir()
        if file.name.endswith((".html", ".css", ".js"))
    }


def page(content: payload.Payload) -> str:
    """Return the page with its payload as one HTML file. Equal payloads are equal bytes."""
    return _filled(payload.written(content), content.title, content.served)


def room(title: str, limit: int = payload.LIMIT) -> int:
    """Return the bytes that a page of `limit` bytes has for its payload."""
    return limit - len(_filled("", title, served=False).encode())


def _filled(content: str, title: str, served: bool) -> str:
    meta = f'<meta http-equiv="Content-Security-Policy" content="{escape(policy(served))}">'
    styles = iter(_styles())
    markup = STYLE.sub(lambda _: f"<style>{next(styles)}</style>", sources()[MARKUP])
    markup = TITLE.sub(lambda _: f"<title>{escape(title)}</title>", markup)
    head, tail = markup.split(SCRIPT)
    head = head.replace(CHARSET, f"{CHARSET}\n{meta}")
    words = json.dumps({"answers": WORDS, "sentences": SENTENCES}).replace("<", "\\u003c")
    data = DATA.format("words", words) + DATA.format("payload", content)
    return f'{head}{data}<script type="module">{bundled()}</script>{tail}'


def _styles() -> list[str]:
    return [sources()[name] for name in STYLE.findall(sources()[MARKUP])]


def policy(served: bool) -> str:
    """Return what a browser may load: this style, this script, pictures inside; its own server."""
    directives = {
        "default-src": "'none'",
        "script-src": _hash(bundled()),
        "style-src": " ".join(map(_hash, _styles())),
        "img-src": "data: blob:",
        "connect-src": "'self'" if served else "'none'",
        "base-uri": "'none'",
        "form-action": "'none'",
    }
    return "; ".join(f"{name} {value}" for name, value in directives.items())


@cache
def bundled() -> str:
    """Return all modules of the page as one without imports."""
    parts: dict[str, str] = {}
    _add(ENTRY, parts)
    return "\n".join(parts.values())


def _add(name: str, parts: dict[str, str]) -> None:
    if name in parts:
        return
    source = sources()[name]
    for _, module in IMPORT.findall(source):
        _add(module, parts)
    body = EXPORT.sub("", IMPORT.sub(_from_scope, source))
    if name != ENTRY:
        names = ", ".join(EXPORT.findall(source))
        body = f"const {_scope(name)} = (() => {{\n{body}\nreturn {{ {names} }};\n}})();"
    parts[name] = f"// {name}\n{body}"


def _from_scope(found: re.Match[str]) -> str:
    names = re.sub(r"\s+as\s+", ": ", found[1].strip().rstrip(","))
    return f"const {{ {names} }} = {_scope(found[2])};"


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
