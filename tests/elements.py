"""What a page of HTML consists of."""

from __future__ import annotations

from html.parser import HTMLParser

VOID = ("meta", "img", "br", "link", "input", "hr")
Attributes = dict[str, str | None]


class Elements(HTMLParser):
    """All elements with their attributes, all text, and the text in each script and style."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[tuple[str, Attributes]] = []
        self.texts: list[tuple[str, Attributes, str]] = []
        self.words: list[str] = []
        self.open: list[str] = []
        self.nested = True
        self.feed(text)

    def attributes(self, tag: str) -> list[Attributes]:
        return [attributes for name, attributes in self.found if name == tag]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))
        if tag in ("script", "style"):
            self.texts.append((tag, dict(attrs), ""))
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        if tag not in VOID:
            self.nested &= bool(self.open) and self.open.pop() == tag

    def handle_data(self, data: str) -> None:
        self.words.append(data)
        if self.open and self.open[-1] in ("script", "style"):
            tag, attributes, text = self.texts.pop()
            self.texts.append((tag, attributes, text + data))
