"""A headless Chromium, driven by selenium."""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
from pathlib import Path
from types import TracebackType
from typing import Any

_SWITCHES = (
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)


@functools.cache
def why_no_browser() -> str | None:
    """The reason for skipping; None where a browser can be driven."""
    if importlib.util.find_spec("selenium") is None:
        return "no selenium"
    missing = [name for name in ("chromium", "chromedriver") if shutil.which(name) is None]
    return f"no {missing[0]}" if missing else None


class Chromium:
    """A context manager around the driver."""

    def __init__(self, profile: Path) -> None:
        from selenium import webdriver

        options = webdriver.ChromeOptions()
        options.binary_location = shutil.which("chromium") or ""
        for switch in (*_SWITCHES, f"--user-data-dir={profile}"):
            options.add_argument(switch)
        options.set_capability("goog:loggingPrefs", {"browser": "ALL", "performance": "ALL"})
        service = webdriver.ChromeService(shutil.which("chromedriver") or "")
        self.driver = webdriver.Chrome(options=options, service=service)

    def __enter__(self) -> Chromium:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.driver.quit()

    def open(self, page: Path, width: int = 1280, dark: bool = False, anchor: str = "") -> None:
        """A fresh load of the page in a window of this width, with empty logs."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        metrics = {"width": width, "height": 900, "deviceScaleFactor": 1, "mobile": width < 600}
        self.driver.execute_cdp_cmd("Emulation.setEmulatedMedia", {"features": [scheme]})
        self.driver.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", metrics)
        self.driver.get("about:blank")
        self.driver.get_log("browser")
        self.driver.get_log("performance")
        self.driver.get(page.as_uri() + (f"#{anchor}" if anchor else ""))

    def run(self, script: str, *arguments: Any) -> Any:
        """The value of a JavaScript function's body."""
        return self.driver.execute_script(script, *arguments)

    def press(self, *keys: str) -> None:
        """Keys for whatever has the focus."""
        self.driver.switch_to.active_element.send_keys(*keys)

    def find(self, selector: str) -> Any:
        return self.driver.find_element("css selector", selector)

    def complaints(self) -> list[str]:
        """What the console has said since the page was opened."""
        return [entry["message"] for entry in self.driver.get_log("browser")]

    def requests(self) -> list[str]:
        """The addresses that were asked for since the page was opened."""
        messages = [json.loads(entry["message"])["message"] for entry in self.driver.get_log("performance")]
        sent = [m["params"]["request"]["url"] for m in messages if m["method"] == "Network.requestWillBeSent"]
        return [url for url in sent if not url.startswith("data:")]
