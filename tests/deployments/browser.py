"""A real headless browser for tests, driven over its own debugging protocol: all it needs is chromium."""

from __future__ import annotations

import base64
import json
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from websockets.sync.client import ClientConnection, connect

from tests.waiting import until

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run",
    "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-dev-shm-usage", "--remote-debugging-port=0",
]  # fmt: skip
WAIT_S = 120
SERIOUS = """async () => (await axe.run()).violations
.filter(v => ["serious", "critical"].includes(v.impact)).map(v => v.id + ": " + v.nodes[0].html)"""
"""What axe-core finds, once ``axe`` has run on the page."""
TOO_WIDE = "document.documentElement.scrollWidth > document.documentElement.clientWidth"


def axe(folder: Path) -> str:
    """Return the script of axe-core, fetched from npm; without it the test is skipped."""
    npm = shutil.which("npm")
    if npm is None or subprocess.run([npm, "i", "axe-core@4"], cwd=folder, capture_output=True).returncode:
        pytest.skip("axe-core cannot be fetched from npm")
    return (folder / "node_modules" / "axe-core" / "axe.min.js").read_text(encoding="utf-8")


class Browser:
    """One tab."""

    def __init__(self, socket: ClientConnection) -> None:
        self._socket, self._sent = socket, 0

    def open(self, address: str) -> str:
        """Open an address and return the text of the page that loads."""
        self._command("Page.navigate", url=address)
        return self.text()

    def text(self, start: str = "http") -> str:
        """Return the page's text, once a page whose address begins with this is open."""
        there = f'document.readyState === "complete" && location.href.startsWith("{start}")'
        until(lambda: self.run(there), every=0.05)
        return str(self.run("document.documentElement.innerText"))

    def run(self, script: str) -> Any:
        """Return an expression's value on the page, awaited if it is a promise; None if the page was left."""
        result = self._command("Runtime.evaluate", expression=script, awaitPromise=True, returnByValue=True)
        assert "exceptionDetails" not in result, result
        return result.get("result", {}).get("value")

    def resize(self, width: int, height: int = 900, scheme: str = "light") -> None:
        """Set the width and height of the page in pixels, and a light or dark scheme."""
        size = {"width": width, "height": height, "deviceScaleFactor": 1, "mobile": False}
        self._command("Emulation.setDeviceMetricsOverride", **size)
        features = [{"name": "prefers-color-scheme", "value": scheme}]
        self._command("Emulation.setEmulatedMedia", features=features)

    def screenshot(self, path: Path) -> None:
        """Save a picture of the visible page."""
        path.write_bytes(base64.b64decode(self._command("Page.captureScreenshot", format="png")["data"]))

    def _command(self, method: str, **params: Any) -> dict[str, Any]:
        self._sent += 1
        self._socket.send(json.dumps({"id": self._sent, "method": method, "params": params}))
        while True:  # events that the browser sends by itself have no id
            answer = json.loads(self._socket.recv(timeout=WAIT_S))
            if answer.get("id") == self._sent:
                return dict(answer.get("result", {}))


@contextmanager
def browser(profile: Path, hosts: str) -> Iterator[Browser]:
    """Yield a browser with a profile of its own. hosts: a rule such as ``MAP evil.example 127.0.0.1``."""
    assert CHROMIUM
    process = subprocess.Popen(
        [CHROMIUM, *FLAGS, f"--user-data-dir={profile}", f"--host-resolver-rules={hosts}", "about:blank"],
        stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
    )  # fmt: skip
    try:
        port_file = profile / "DevToolsActivePort"
        until(lambda: port_file.is_file() and port_file.read_text().count("\n"), process)
        tabs = httpx.get(f"http://127.0.0.1:{port_file.read_text().split()[0]}/json/list", timeout=60).json()
        address = next(tab["webSocketDebuggerUrl"] for tab in tabs if tab["type"] == "page")
        with connect(address, max_size=None) as socket:
            yield Browser(socket)
    finally:
        process.terminate()
        process.wait()
