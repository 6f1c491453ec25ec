"""A headless Chromium, driven through its DevTools protocol over a pipe: no driver, no port, no package."""

from __future__ import annotations

import base64
import contextlib
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
TIMEOUT = 60.0
FLAGS = (
    "--headless=new",
    "--remote-debugging-pipe",
    "--no-sandbox",  # containers have none, and the page is our own
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-extensions",
    "--disable-background-networking",
    "--disable-component-update",
    "--no-first-run",
    "--hide-scrollbars",
    # No name resolves: with the page's network switched off as well, nothing outside can be reached.
    "--host-resolver-rules=MAP * ~NOTFOUND",
)


def find_chromium() -> str | None:
    """The browser named by CREDIBLY_CHROMIUM, or the first one on PATH."""
    named = os.environ.get("CREDIBLY_CHROMIUM")
    return shutil.which(named) if named else next(filter(None, map(shutil.which, NAMES)), None)


def without_chromium() -> str:
    """Say what was looked for in vain, and how to get it."""
    named = os.environ.get("CREDIBLY_CHROMIUM")
    looked = f"CREDIBLY_CHROMIUM={named} is no program" if named else f"none of {', '.join(NAMES)} is on PATH"
    return (
        f"needs Chromium, and {looked}. Debian: apt install chromium; Ubuntu: snap install chromium; "
        "macOS: brew install --cask chromium. A browser elsewhere is named by CREDIBLY_CHROMIUM, such as "
        "'/Applications/Google Chrome.app/Contents/MacOS/Google Chrome'"
    )


def _high(descriptor: int) -> int:
    """Move a file descriptor out of the way of 3 and 4."""
    moved = fcntl.fcntl(descriptor, fcntl.F_DUPFD_CLOEXEC, 10)
    os.close(descriptor)
    return moved


class Chromium:
    """One browser process; `page` opens a fresh tab."""

    def __init__(self, program: str, profile: Path) -> None:
        to_browser, self._write = map(_high, os.pipe())
        self._read, from_browser = map(_high, os.pipe())
        # The protocol is spoken on file descriptors 3 and 4.
        shell = f'exec "$0" "$@" 3<&{to_browser} 4>&{from_browser}'
        self._process = subprocess.Popen(
            ["/bin/bash", "-c", shell, program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            pass_fds=(to_browser, from_browser),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(to_browser)
        os.close(from_browser)
        self._unread = b""
        self._number = 0
        self.events: list[dict[str, Any]] = []

    def close(self) -> None:
        """End the browser."""
        with contextlib.suppress(OSError, TimeoutError, RuntimeError):
            self.call("Browser.close")
        try:
            self._process.wait(timeout=10)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        os.close(self._read)
        os.close(self._write)

    def call(self, method: str, session: str | None = None, **parameters: Any) -> dict[str, Any]:
        """Call a method of the protocol and wait for its answer; events on the way are kept."""
        self._number += 1
        message: dict[str, Any] = {"id": self._number, "method": method, "params": parameters}
        if session is not None:
            message["sessionId"] = session
        os.write(self._write, json.dumps(message).encode() + b"\0")
        deadline = time.monotonic() + TIMEOUT
        while True:
            answer = self._next(deadline)
            if answer.get("id") != self._number:
                self.events.append(answer)
                continue
            if "error" in answer:
                raise RuntimeError(f"{method}: {answer['error']['message']}")
            return dict(answer["result"])

    def wait_for(self, method: str, session: str) -> None:
        """Wait until an event of this page has come."""
        deadline = time.monotonic() + TIMEOUT
        while not any(
            event["method"] == method and event.get("sessionId") == session for event in self.events
        ):
            self.events.append(self._next(deadline))

    def _next(self, deadline: float) -> dict[str, Any]:
        while b"\0" not in self._unread:
            left = deadline - time.monotonic()
            if left <= 0 or not select.select([self._read], [], [], left)[0]:
                raise TimeoutError("the browser does not answer")
            part = os.read(self._read, 1 << 16)
            if not part:
                raise RuntimeError("the browser has ended")
            self._unread += part
        text, _, self._unread = self._unread.partition(b"\0")
        return dict(json.loads(text))

    @contextlib.contextmanager
    def page(self, file: Path, **look: Any) -> Iterator[Page]:
        """Open a file from disk with the network off; see `Page.look` for how it is looked at."""
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        page = Page(self, session)
        page.open(file, **look)
        try:
            yield page
        finally:
            self.call("Target.closeTarget", targetId=target)


class Page:
    """One tab with one file in it."""

    def __init__(self, browser: Chromium, session: str) -> None:
        self._browser, self._session = browser, session

    def call(self, method: str, **parameters: Any) -> dict[str, Any]:
        return self._browser.call(method, self._session, **parameters)

    def open(self, file: Path, *, javascript: bool = True, **look: Any) -> None:
        for domain in ("Page", "Runtime", "Log", "Network"):
            self.call(f"{domain}.enable")
        self.call(
            "Network.emulateNetworkConditions",
            offline=True,
            latency=0,
            downloadThroughput=-1,
            uploadThroughput=-1,
        )
        self.call("Emulation.setScriptExecutionDisabled", value=not javascript)
        self.look(**look)
        self.call("Page.navigate", url=file.resolve().as_uri())
        self._browser.wait_for("Page.loadEventFired", self._session)
        # a second round trip: what the page said while it loaded has come by then
        self.evaluate("1")

    def look(
        self, *, width: int = 1280, height: int = 800, dark: bool = False, media: str = "screen"
    ) -> None:
        """Bring the tab to the front; set the size of the window, light or dark, screen or print."""
        self.call("Page.bringToFront")  # a tab behind another draws no pictures and has no keyboard
        self.call(
            "Emulation.setDeviceMetricsOverride",
            width=width,
            height=height,
            deviceScaleFactor=1,
            mobile=width < 600,
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", media=media, features=[scheme])

    def evaluate(self, expression: str) -> Any:
        """Value of a JavaScript expression; the tests' own scripts run also where the page's may not."""
        done = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in done:
            raise RuntimeError(done["exceptionDetails"]["exception"]["description"])
        return done["result"].get("value")

    def press(self, key: str, text: str = "") -> None:
        """Press and release a key."""
        codes = {"Tab": 9, "Enter": 13, " ": 32}
        common = {"key": key, "code": "Space" if key == " " else key, "windowsVirtualKeyCode": codes[key]}
        self.call("Input.dispatchKeyEvent", type="keyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def screenshot(self) -> bytes:
        """The whole page as PNG."""
        taken = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        return base64.b64decode(taken["data"])

    def pdf(self) -> bytes:
        """The page as it is printed on A4."""
        printed = self.call(
            "Page.printToPDF",
            paperWidth=8.27,
            paperHeight=11.69,
            preferCSSPageSize=True,
            printBackground=False,
        )
        return base64.b64decode(printed["data"])

    @property
    def events(self) -> list[dict[str, Any]]:
        return [event for event in self._browser.events if event.get("sessionId") == self._session]

    def complaints(self) -> list[str]:
        """Errors and warnings of the console, exceptions, and what the content policy refused."""
        texts = []
        for event in self.events:
            details = event["params"]
            if event["method"] == "Runtime.exceptionThrown":
                texts.append(str(details["exceptionDetails"]["text"]))
            elif event["method"] == "Runtime.consoleAPICalled" and details["type"] in ("error", "warning"):
                texts.append(str(details["args"]))
            elif event["method"] == "Log.entryAdded" and details["entry"]["level"] in ("error", "warning"):
                texts.append(str(details["entry"]["text"]))
        return texts

    def requests(self) -> list[str]:
        """Addresses the page asked for."""
        return [
            str(event["params"]["request"]["url"])
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]
