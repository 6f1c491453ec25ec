"""Make the picture of the README: the first screen of the report that `make demo` writes.

    python tools/make_screenshot.py

Needs Chromium on PATH, or named by CREDIBLY_CHROMIUM. The browser is the one of the tests.
"""

from __future__ import annotations

import base64
import io
import sys
import tempfile
from pathlib import Path

from PIL import Image

from credibly.cli import main as credibly

ROOT = Path(__file__).resolve().parent.parent
TARGET = ROOT / "docs" / "report.png"
WIDTH, HEIGHT = 1180, 1010
COLOURS = 160
LARGEST = 150_000  # bytes, as a picture in a README should be


def main() -> int:
    """Write the picture; return 1 where no browser is found or the picture is too large."""
    sys.path.insert(0, str(ROOT / "tests"))
    from browser.chromium import Chromium, find_chromium, without_chromium

    program = find_chromium()
    if program is None:
        sys.stderr.write(f"{without_chromium()}\n")
        return 1
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "demo-report.html"
        credibly(["demo", "--out", str(report), "--quiet"])
        browser = Chromium(program, Path(folder) / "profile")
        try:
            with browser.page(report, width=WIDTH, height=HEIGHT) as page:
                picture = base64.b64decode(page.call("Page.captureScreenshot", format="png")["data"])
        finally:
            browser.close()
    small = io.BytesIO()
    Image.open(io.BytesIO(picture)).convert("RGB").quantize(COLOURS).save(small, "png", optimize=True)
    if small.tell() > LARGEST:
        sys.stderr.write(f"The picture has {small.tell()} bytes, more than {LARGEST}.\n")
        return 1
    TARGET.write_bytes(small.getvalue())
    sys.stdout.write(f"{TARGET}\n")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
