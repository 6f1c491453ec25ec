"""Write what the examples of the docs print, and the pictures they draw, beside them.

    python tools/make_outputs.py                    # first pages, gallery and tutorials
    python tools/make_outputs.py docs/gallery.md
    python tools/make_outputs.py --check            # exit 1 where a page is not what would be written

The ``python`` blocks of a page run from top to bottom in one namespace and one empty folder. What a block
prints follows it as text; a line that is an expression and gives axes or a figure becomes a picture in the
folder `pictures` beside the page. Both stand between two marks and are replaced when the tool runs again.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import io
import os
import re
import sys
import tempfile
import warnings
from pathlib import Path
from typing import Any

from run_examples import blocks

ROOT = Path(__file__).resolve().parent.parent
PAGES = (
    *(
        ROOT / "docs" / f"{name}.md"
        for name in ("start", "predict-proba", "regression", "notebook", "refusals", "gallery")
    ),
    *sorted((ROOT / "docs" / "tutorials").glob("*.md")),
)
BEGIN, END = "<!-- output -->", "<!-- end of output -->"
WRITTEN = re.compile(rf"\n{BEGIN}\n.*?{END}\n", re.DOTALL)
MOST_LINES = 40


def main() -> int:
    """Write the pages, or compare them."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("pages", nargs="*", type=Path)
    parser.add_argument("--check", action="store_true")
    arguments = parser.parse_args()
    os.environ.setdefault("MPLBACKEND", "agg")
    stale = []
    for page in map(Path.resolve, arguments.pages or PAGES):
        text, pictures = made(page)
        folder = page.parent / "pictures"
        old = {path for path in folder.glob(f"{page.stem}-*.svg") if path.name not in pictures}
        if arguments.check:
            same = page.read_text(encoding="utf-8") == text and not old
            same = same and all((folder / name).is_file() for name in pictures)
            stale += [] if same else [page.name]
            continue
        page.write_text(text, encoding="utf-8")
        for path in old:
            path.unlink()
        for name, picture in pictures.items():
            folder.mkdir(exist_ok=True)
            (folder / name).write_text(picture, encoding="utf-8")
    if stale:
        sys.stderr.write(f"not what would be written: {', '.join(stale)}; run python tools/make_outputs.py\n")
    return int(bool(stale))


def made(page: Path) -> tuple[str, dict[str, str]]:
    """Return the text of a page with its outputs, and its pictures by name."""
    text = WRITTEN.sub("", page.read_text(encoding="utf-8"))
    lines = text.splitlines()
    namespace: dict[str, Any] = {"__name__": "__main__"}
    pictures: dict[str, str] = {}
    outputs: dict[int, list[str]] = {}
    with tempfile.TemporaryDirectory() as folder, contextlib.chdir(folder):
        for block in blocks(text):
            if block.language != "python" or block.not_run or ">>>" in block.text:
                continue
            printed, drawn = run(block.text, namespace, f"{page.name}:{block.line}")
            said = ["```text", *shortened(printed), "```"] if printed.strip() else []
            for words, picture in drawn:
                name = f"{page.stem}-{len(pictures) + 1}.svg"
                pictures[name] = picture
                said += [*([""] if said else []), f"![{words}](pictures/{name})"]
            if said:
                closing = block.line - 1 + block.text.count("\n")  # index of the closing fence
                outputs[closing] = ["", BEGIN, *said, END]
    written = [row for at, line in enumerate(lines) for row in (line, *outputs.get(at, ()))]
    return "\n".join(written) + "\n", pictures


def run(code: str, namespace: dict[str, Any], where: str) -> tuple[str, list[tuple[str, str]]]:
    """Run a block; return what it prints, and its pictures with the words that stand for them."""
    printed = io.StringIO()
    drawn = []
    with contextlib.redirect_stdout(printed), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for statement in ast.parse(code, where).body:
            if isinstance(statement, ast.Expr):
                value = eval(compile(ast.Expression(statement.value), where, "eval"), namespace)
                drawn += [_picture(value)] if hasattr(value, "savefig") or hasattr(value, "figure") else []
            else:
                exec(compile(ast.Module([statement], []), where, "exec"), namespace)
    return printed.getvalue(), drawn


def _picture(value: Any) -> tuple[str, str]:
    """Return the title and the SVG of axes or of a figure, the same every time, on white paper."""
    import matplotlib as mpl

    figure = value if hasattr(value, "savefig") else value.figure
    axes = figure.axes[0]
    words = " ".join(filter(None, (axes.get_title(loc="left") or axes.get_title(), _against(axes))))
    stream = io.StringIO()
    settings = {"svg.fonttype": "none", "svg.hashsalt": "credibly"}
    with mpl.rc_context(settings):
        figure.savefig(
            stream,
            format="svg",
            facecolor="white",
            bbox_inches="tight",
            metadata={"Date": None, "Creator": None},
        )
    # hundredths of a point are enough; text keeps its digits
    rounded = re.sub(
        r' (?:d|x|y|transform)="[^"]*"',
        lambda found: re.sub(r"(?<=\d\.\d{2})\d+", "", found[0]),
        stream.getvalue(),
    )
    return words.replace("\n", " ").replace("[", "(").replace("]", ")"), rounded


def _against(axes: Any) -> str:
    labels = [axes.get_ylabel(), axes.get_xlabel()]
    return f"({' against '.join(labels)})" if all(labels) else ""


def shortened(printed: str) -> list[str]:
    """Return the lines of what was printed, the first of very many."""
    lines = [line.rstrip() for line in printed.rstrip("\n").splitlines()]
    return (
        lines
        if len(lines) <= MOST_LINES
        else [*lines[:MOST_LINES], f"... {len(lines) - MOST_LINES} more lines"]
    )


if __name__ == "__main__":
    sys.exit(main())
