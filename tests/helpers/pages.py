"""Read a report as a reader sees it: facts, numbers on cards, tables under their captions, sentences."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from html.parser import HTMLParser

_EMPTY = ("meta", "br", "input", "link", "hr", "img")
_HIDDEN = ("svg", "script", "style", "head")
_SENTENCES = ("h1", "h2", "h3", "p", "li", "figcaption", "dt", "dd", "summary", "label", "output", "a")


@dataclasses.dataclass
class Node:
    """An element with what stands inside."""

    tag: str
    attributes: dict[str, str]
    children: list[Node | str] = dataclasses.field(default_factory=list)

    @property
    def text(self) -> str:
        """What is read: no pictures or scripts, one space where there is any, "^1" for a footnote."""
        return re.sub(r"\s+", " ", self._text()).strip()

    def _text(self) -> str:
        if self.tag in _HIDDEN:
            return ""
        inner = "".join(child if isinstance(child, str) else child._text() for child in self.children)
        return {"sup": f"^{inner} ", "br": " "}.get(self.tag, inner)

    def all(self, tag: str, class_: str = "") -> list[Node]:
        """Return all elements of a tag, and of a class, in their order."""
        inside = [child for child in self.children if isinstance(child, Node)]
        found = [deep for one in inside for deep in one.all(tag, class_)]
        own = self.tag == tag and class_ in ("", *self.attributes.get("class", "").split())
        return [self, *found] if own else found


class _Tree(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.path = [Node("page", {})]

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        node = Node(tag, {name: value or "" for name, value in attrs})
        self.path[-1].children.append(node)
        if tag not in _EMPTY:
            self.path.append(node)

    def handle_startendtag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.path[-1].children.append(Node(tag, {name: value or "" for name, value in attrs}))

    def handle_endtag(self, tag: str) -> None:
        assert self.path.pop().tag == tag, f"</{tag}> closes another element"

    def handle_data(self, data: str) -> None:
        self.path[-1].children.append(data)


@dataclasses.dataclass(frozen=True)
class ShownTable:
    """A table: cells as text, under the names of their columns."""

    caption: str
    columns: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]

    @property
    def name(self) -> tuple[str, tuple[str, ...]]:
        """What tells it from the other tables of a page."""
        return self.caption, self.columns


@dataclasses.dataclass(frozen=True)
class Card:
    """A number with its name and what stands below it."""

    name: str
    value: str
    below: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Sentence:
    """A piece of text, and the part of the page that it stands in."""

    part: str
    text: str


class ShownPage:
    """What a page shows.

    Attributes
    ----------
    facts : dict of str to str
        Header of the page.
    cards : list of Card
        Key numbers.
    tables : list of ShownTable
        All tables, those behind figures too.
    sentences : list of Sentence
        All other text, but for methods, whose text is the same on every page, and commands.
    commands : list of str
        Lines to be typed.
    """

    def __init__(self, html: str) -> None:
        tree = _Tree()
        tree.feed(html)
        (self.root,) = tree.path
        (header,) = self.root.all("dl", "facts")
        self.facts = {
            name.text: value.text for name, value in zip(header.all("dt"), header.all("dd"), strict=True)
        }
        self.cards = [
            Card(
                one.all("span", "name")[0].text,
                one.all("span", "value")[0].text,
                tuple(below.text for below in one.all("span", "interval")),
            )
            for cards in self.root.all("ul", "cards")
            for one in cards.all("li")
        ]
        self.tables = [_table(one) for one in self.root.all("table")]
        self.commands = [one.text for one in self.root.all("pre")]
        self.sentences = list(_sentences(self.root, ""))

    def table(self, caption: str) -> ShownTable:
        """Return the only table of this caption."""
        (found,) = (table for table in self.tables if table.caption == caption)
        return found


def _table(node: Node) -> ShownTable:
    (head,), (body,) = node.all("thead"), node.all("tbody")
    cells = [[child for child in row.children if isinstance(child, Node)] for row in body.all("tr")]
    return ShownTable(
        "".join(one.text for one in node.all("caption")),
        tuple(one.text for one in head.all("th")),
        tuple(tuple(one.text for one in row) for row in cells),
    )


def _sentences(node: Node, part: str) -> Iterator[Sentence]:
    if node.tag in (*_HIDDEN, "table", "pre") or node.attributes.get("class") in ("cards", "facts"):
        return
    if node.attributes.get("id") == "methods":
        return
    if node.tag in ("section", "details") and {"id", "aria-labelledby"} & node.attributes.keys():
        part = node.attributes.get("id") or node.attributes["aria-labelledby"]
    if node.tag in _SENTENCES and not any(node.all(tag) for tag in ("h2", "p") if tag != node.tag):
        if node.text:
            yield Sentence(part, node.text)
        return
    for child in node.children:
        if isinstance(child, Node):
            yield from _sentences(child, part)
        elif child.strip():
            yield Sentence(part, " ".join(child.split()))
