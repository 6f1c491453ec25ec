"""A matplotlib figure as inline SVG: text kept as text, ids of its own, colours that follow the page.

Pictures and results are written in few bytes: a report stays small however much it holds.
"""

from __future__ import annotations

import io
import re
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

# The elements come from matplotlib's own SVG, parsed by `svg`.
# The parser reads only what matplotlib has just written.
from xml.etree import ElementTree as ET

import numpy as np

from credibly.plots import BLUE, INK, printable

if TYPE_CHECKING:
    from matplotlib.figure import Figure


LONGEST_SERIES = 128
"""Numbers that stand in a report's results one by one; longer series are summarised."""

SUMMARY_LEVELS = (0.0, 0.005, 0.025, 0.05, 0.25, 0.5, 0.75, 0.95, 0.975, 0.995, 1.0)
"""Quantiles that stand for a long series; all limits of tests in use are among them."""

_NUMBER = re.compile(r"-?\d*\.?\d+(?:[eE][-+]?\d+)?")
_PATH_PART = re.compile(r"([MLCQZmlcqz])([^MLCQZmlcqz]*)")
_INHERITED = ("fill", "stroke", "font", "text-anchor")
_FONT_FAMILY = re.compile(r"font-family:[^;]*;?")
_FONT = re.compile(r"font:\s*([\d.]+px)\s+['\w][^;]*")
"""Size and families in one, as older matplotlib writes them; a weight or slant stands before the size."""
_NO_ROTATION = re.compile(r"\s*rotate\(-?0(?:\.0+)? [^)]*\)")


def summarised(value: Any) -> Any:
    """Return results with six digits, and every long series of numbers as its length, mean and quantiles.

    A thousand replicates or a million instances would fill a page that nobody reads; the seed in the same
    results makes them again, and `to_dict` of the evaluation holds them all.
    """
    if isinstance(value, dict):
        return {name: summarised(item) for name, item in value.items()}
    if isinstance(value, float):
        return float(f"{value:.6g}")
    if not isinstance(value, list):
        return value
    if len(value) <= LONGEST_SERIES or not all(map(_is_number, value)):
        return [summarised(item) for item in value]
    finite = np.array([item for item in value if not isinstance(item, str)], dtype=np.float64)
    summary = {"type": "Summary", "length": len(value), "not_finite": len(value) - int(finite.size)}
    if not finite.size:
        return summary
    quantiles = dict(zip(map(str, SUMMARY_LEVELS), np.quantile(finite, SUMMARY_LEVELS).tolist(), strict=True))
    return summarised({**summary, "mean": float(finite.mean()), "quantiles": quantiles})


def _is_number(value: Any) -> bool:
    """Whether an entry of JSON is a number, also one that JSON has to write as a word."""
    if isinstance(value, str):
        return value in ("NaN", "Infinity", "-Infinity")
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def compact_picture(root: ET.Element) -> None:
    """Write the same picture shorter: tenths of a point, styles once per group, no empty group."""
    _unseen(root)
    for element in root.iter():
        _compact_attributes(element)
    in_definitions = {id(inner) for group in root.iter("defs") for inner in group.iter()}
    for element in root.iter():
        # a marker is a few points wide and drawn many times; everything else is seen at its own size
        digits = 2 if id(element) in in_definitions else 1
        for name in ("x", "y", "width", "height"):
            if name in element.attrib and element is not root:
                element.set(name, _rounded(element.attrib[name], digits))
        if "d" in element.attrib:
            element.set("d", compact_path(element.attrib["d"], digits))
    _own_styles(root)
    _share_styles(root)
    _unwrap(root)


def compact_path(drawn: str, digits: int = 1) -> str:
    """Return a path of M, L, C, Q and Z with shorter numbers, straight lines along an axis as H and V."""
    written: list[str] = []
    x = y = ""
    for command, rest in _PATH_PART.findall(drawn):
        numbers = [_short(float(text), digits) for text in _NUMBER.findall(rest)]
        if command == "L" and len(numbers) == 2 and numbers[1] == y:
            written.append(f"H{numbers[0]}")
        elif command == "L" and len(numbers) == 2 and numbers[0] == x:
            written.append(f"V{numbers[1]}")
        else:
            written.append(f"{command}{' '.join(numbers)}")
        if numbers:
            x, y = numbers[-2:]
    return "".join(written)


def _rounded(text: str, digits: int) -> str:
    return _NUMBER.sub(lambda match: _short(float(match[0]), digits), text)


def _short(number: float, digits: int) -> str:
    text = f"{number:.{digits}f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _compact_attributes(element: ET.Element) -> None:
    turned = _NO_ROTATION.sub("", element.get("transform", ""))
    if turned:
        element.set("transform", _rounded(turned, 1))
    else:
        element.attrib.pop("transform", None)
    style = _FONT.sub(r"font-size:\1", _FONT_FAMILY.sub("", element.get("style", "")))  # the page has its own
    style = ";".join(part.strip().replace(": ", ":") for part in style.split(";") if part.strip())
    if style:
        element.set("style", style)
    else:
        element.attrib.pop("style", None)


def _unseen(root: ET.Element) -> None:
    """Take out what draws nothing: the transparent backgrounds of figure and axes."""
    for parent in list(root.iter()):
        for child in list(parent):
            style = child.get("style", "")
            if (
                child.tag == "path"
                and "fill: none" in style
                and "stroke:" not in style
                and "id" not in child.attrib
            ):
                parent.remove(child)


def _own_styles(root: ET.Element) -> None:
    """Leave out of a use what its marker would inherit but says itself."""
    marks = {f"#{node.get('id')}": node.get("style", "") for node in root.iter() if "id" in node.attrib}
    for node in root.iter("use"):
        names = {part.partition(":")[0] for part in marks.get(node.get("href", ""), "").split(";")}
        names = {name for name in names if name.startswith(_INHERITED)}
        parts = node.attrib.pop("style", "").split(";")
        kept = [part for part in parts if part.partition(":")[0] not in names]
        if any(kept):
            node.set("style", ";".join(kept))


def _share_styles(root: ET.Element) -> None:
    """Say a style once where all children of a group have the same one, and only what children inherit."""
    for group in root.iter("g"):
        styles = {child.get("style", "") for child in group}
        if len(group) < 2 or len(styles) > 1 or "style" in group.attrib:
            continue
        (style,) = styles
        if style and all(part.startswith(_INHERITED) for part in style.split(";")):
            group.set("style", style)
            for child in group:
                child.attrib.pop("style")


def _unwrap(parent: ET.Element) -> None:
    """Replace groups and definitions that say nothing by what they hold."""
    children: list[ET.Element] = []
    for child in list(parent):
        _unwrap(child)
        if child.tag == "g" and not child.attrib:
            children += list(child)
        elif child.tag not in ("g", "defs") or len(child):
            children.append(child)
    parent[:] = children


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
        for child in [element for element in parent if element.tag in _DROPPED]:
            parent.remove(child)
    used = {name: f"{prefix}-{at}" for at, name in enumerate(_references(root))}
    for element in root.iter():
        if element.get("id") not in used:
            element.attrib.pop("id", None)
        for name, value in list(element.attrib.items()):
            element.set(name, _page_value(name, value, used))
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
    return printable(stream.getvalue())


def _plain_names(root: ET.Element) -> None:
    """Take the namespaces off: HTML knows svg without them."""
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        for name in [name for name in element.attrib if name.startswith("{")]:
            element.set(name.rpartition("}")[2], element.attrib.pop(name))


def _references(root: ET.Element) -> list[str]:
    """Return the ids that anything refers to, each once, in their order."""
    names: list[str] = []
    for element in root.iter():
        for name, value in element.attrib.items():
            names += _REFERENCE.findall(value)
            if name == "href":
                names.append(value.removeprefix("#"))
    return list(dict.fromkeys(names))


def _page_value(name: str, value: str, used: Mapping[str, str]) -> str:
    if name == "id":
        return used[value]
    if name == "href":
        return f"#{used[value.removeprefix('#')]}"
    value = _REFERENCE.sub(lambda match: f"url(#{used[match[1]]})", value)
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
