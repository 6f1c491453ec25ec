"""Sphinx settings; the pages of the API are written from the package itself."""

from __future__ import annotations

import inspect
import sys
from importlib.metadata import version as installed_version
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent
sys.path.insert(0, str(DOCS.parent / "tools"))

project = "credibly"
author = "The credibly developers"
copyright = author
release = version = installed_version("credibly")

extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 3
exclude_patterns = ["_build"]
html_theme = "furo"
html_title = f"credibly {release}"
html_static_path: list[str] = []

autodoc_default_options = {"members": True, "undoc-members": False}
autodoc_typehints = "none"
autodoc_member_order = "bysource"
numpydoc_show_class_members = False

# Links to files of the repository outside docs/ are for readers of the repository.
suppress_warnings = ["myst.xref_missing"]

ROOMS = {
    "predictions": "Predictions and labels",
    "statistics": "Statistics",
    "hypotests": "Tests and checks",
    "credal": "Credal sets",
    "learners": "Learned weights",
    "monitor": "Monitor",
    "raters": "Several labels per instance",
    "recalibrate": "Recalibration",
    "diagnosis": "What is wrong, and what repairs it",
    "selection": "The unified score and the choice between models",
    "scale": "Larger than memory",
    "evaluation": "Everything at once",
    "io": "Files",
    "results": "Results",
    "_arrays": "Errors and settings",
}
STUDIES = ("credibly_studies.simulate", "credibly_studies.simplex_maps", "credibly_studies.p21")
"""Modules of the package credibly-studies that are called from elsewhere too; the first is a room."""
PICTURES = ("bins", "curves", "groups", "hypotests", "raters", "scores", "simplex")


def setup(app: Any) -> None:
    """Write the pages of the API before Sphinx looks for documents."""
    app.connect("builder-inited", lambda _: write_api(DOCS / "api"))


def write_api(folder: Path) -> None:
    """Write one page per room with every public name, and their index."""
    import credibly
    from surface import public_objects

    rooms: dict[str, list[tuple[str, Any]]] = {}
    for dotted, value in public_objects(credibly):
        room = value.__module__.split(".")[1]
        rooms.setdefault(room, []).append((dotted, value))
    unknown = rooms.keys() - ROOMS.keys()
    if unknown:
        raise RuntimeError(f"docs/conf.py has no title for {sorted(unknown)}: add them to ROOMS")
    folder.mkdir(exist_ok=True)
    listed = []
    for room, title in ROOMS.items():
        if room in rooms:
            page = folder / f"{room.strip('_')}.rst"
            _write(page, _page(title, rooms[room]))
            listed.append(page.stem)
    # kinds of pictures and their options are documented where they are made, which are not names of the room
    pictures = [f"credibly.plots.{name}" for name in PICTURES]
    for page_name, title, homes in (
        ("plots", "Plots", ["credibly.plots", *pictures]),
        ("studies", "What the studies need", list(STUDIES)),
    ):
        lines = [_heading(title), f".. automodule:: {homes[0]}", "   :imported-members:", ""]
        lines += [f".. automodule:: {home}\n" for home in homes[1:]]
        _write(folder / f"{page_name}.rst", "\n".join(lines))
        listed.append(page_name)
    toctree = "\n".join([".. toctree::", "", *(f"   {name}" for name in listed), ""])
    _write(folder / "index.rst", _heading("API") + "\n" + toctree)


def _page(title: str, named: list[tuple[str, Any]]) -> str:
    parts = [_heading(title)]
    for name, value in named:
        if inspect.isclass(value):
            parts += [f".. autoclass:: {name}", ""]
        elif inspect.isfunction(inspect.unwrap(value)):
            parts += [f".. autofunction:: {name}", ""]
        else:
            parts += [_statistic(name, value), ""]
    return "\n".join(parts)


def _statistic(name: str, value: Any) -> str:
    """Return a statistic, which is an object, as the function that people call."""
    from numpydoc.docscrape_sphinx import get_doc_object

    call, _, documented = inspect.getdoc(value).partition("\n\n")
    text = str(get_doc_object(value, what="object", doc=documented))
    body = "\n".join(f"   {line}" if line else "" for line in text.splitlines())
    return f".. py:function:: credibly.{call}\n\n{body}\n"


def _heading(title: str) -> str:
    return f"{title}\n{'=' * len(title)}\n"


def _write(path: Path, text: str) -> None:
    """Write only what changed: Sphinx then reads only that again."""
    if not path.exists() or path.read_text(encoding="utf-8") != text:
        path.write_text(text, encoding="utf-8")
