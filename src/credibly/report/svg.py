"""A matplotlib figure as inline SVG: text kept as text, ids of its own, colours that follow the page."""

from __future__ import annotations

import io
import re
import warnings
from typing import TYPE_CHECKING

# The parser reads only what matplotlib has just written.
from xml.etree import ElementTree as ET

from credibly.plots import BLUE, INK, printable
from credibly.report.compact import compact_picture

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_PAGE_COLOURS = {INK: "currentColor", BLUE: "var(--blue)"}
_REFERENCE = re.compile(r"url\(#([^)]+)\)")
_TEXT = frozenset({"text", "tspan"})
_DROPPED = frozenset({"metadata", "style"})


def inline_svg(figure: Figure, prefix: str, title: str, finding: str) -> str:
    """Return `figure` as an `<svg>` element for an HTML page.

    Parameters
    ----------
    figure : Figure
        What to draw.
    prefix : str
        Put before every id, so that several figures share a page.
    title, finding : str
        Name of the figure and the sentence it says, read aloud in place of the picture.

    Returns
    -------
    str
        The element, without namespaces and without any address.
    """
    root = ET.fromstring(svg_text(figure))
    _plain_names(root)
    for parent in list(root.iter()):
        for child in [one for one in parent if one.tag in _DROPPED]:
            parent.remove(child)
    used = _references(root)
    for element in root.iter():
        for name, value in list(element.attrib.items()):
            element.set(name, _page_value(name, value, prefix))
        if element.get("id", "").removeprefix(f"{prefix}-") not in used:
            element.attrib.pop("id", None)
        if element.tag not in _TEXT:
            element.text = None
        element.tail = None
    compact_picture(root)
    _announce(root, prefix, title, finding)
    return ET.tostring(root, encoding="unicode")


def svg_text(figure: Figure) -> str:
    """Return a whole SVG document, text kept as text; the salt makes its ids the same every time."""
    import matplotlib as mpl

    stream = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": "credibly", "font.family": ["DejaVu Sans"]}
    with mpl.rc_context(settings), warnings.catch_warnings():  # type: ignore[arg-type]
        # the reader's browser has the glyphs; here only widths are estimated
        warnings.filterwarnings("ignore", message="Glyph .* missing from")
        figure.savefig(stream, format="svg", metadata={"Date": None, "Creator": None})
    return stream.getvalue()


def _plain_names(root: ET.Element) -> None:
    """Take the namespaces off: HTML knows svg without them."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if name.startswith("{")]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))


def _references(root: ET.Element) -> set[str]:
    found: set[str] = set()
    for element in root.iter():
        for name, value in element.attrib.items():
            found.update(_REFERENCE.findall(value))
            if name == "href":
                found.add(value.removeprefix("#"))
    return found


def _page_value(name: str, value: str, prefix: str) -> str:
    if name == "id":
        return f"{prefix}-{value}"
    if name == "href":
        return f"#{prefix}-{value.removeprefix('#')}"
    value = _REFERENCE.sub(rf"url(#{prefix}-\1)", value)
    for colour, word in _PAGE_COLOURS.items():
        value = value.replace(colour, word)
    return value


def _announce(root: ET.Element, prefix: str, title: str, finding: str) -> None:
    """Make one picture of it for those who do not see it: a role, a title and a sentence."""
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-finding")
    for place, (tag, suffix, text) in enumerate([("title", "title", title), ("desc", "finding", finding)]):
        element = ET.Element(tag, {"id": f"{prefix}-{suffix}"})
        element.text = printable(text)
        root.insert(place, element)
