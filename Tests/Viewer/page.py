"""The page in a browser, for the tests."""

from __future__ import annotations

import os
import plistlib
import re
import tempfile
import unittest
from pathlib import Path
from typing import Any

from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from viewer import Session

LIVE = "#state[data-state=live]"
SAVE = "button:text-is('Save') >> nth=0"
VIEWS = ["browse", "changes", "history", "health"]


class PageCase(unittest.TestCase):
    """Tests of the page, each with an agent of its own."""

    @classmethod
    def setUpClass(cls) -> None:
        cls.playwright = sync_playwright().start()
        cls.addClassCleanup(cls.playwright.stop)
        cls.browser = cls.playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        cls.addClassCleanup(cls.browser.close)
        expect.set_options(timeout=20_000)

    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="viewer-", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.root = Path(directory.name)
        self.session = Session(self.root)
        self.addCleanup(self.session.end)
        self.problems: list[str] = []
        self.addCleanup(lambda: self.assertEqual(self.problems, []))

    def open(self, *options: str, domain: str | None = None, **settings: Any) -> Page:
        """Open the page in a browser of its own."""
        context = self.browser.new_context(**{"viewport": {"width": 1100, "height": 750}} | settings)
        self.addCleanup(context.close)
        page = self.watched(context)
        page.goto(self.session.start(*options, *([f"--domain={domain}"] if domain else [])))
        expect(page.locator(LIVE)).to_be_visible()
        return page

    def watched(self, context: BrowserContext) -> Page:
        # With PAGE, the files of that directory are tried without a build.
        if directory := os.environ.get("PAGE"):
            context.route(re.compile(r"/\w+\.(js|css)$"), lambda route: route.fulfill(
                path=f"{directory}/{route.request.url.rpartition('/')[2]}"))
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: line.type == "error" and self.is_fault(line.text) and self.problems.append(line.text))
        return page

    def is_fault(self, text: str) -> bool:
        # Errors that a test causes at the connection or the agent don't count.
        return not re.search(r"ERR_(CONNECTION|INCOMPLETE|SOCKS|PROXY|EMPTY|NETWORK)|status of 50[24]", text)

    def shoot(self, page: Page, name: str) -> None:
        if directory := os.environ.get("SCREENSHOTS"):
            page.screenshot(path=f"{directory}/{name}.png")

    def show(self, page: Page, domain: str, key: str) -> None:
        page.evaluate("([domain, key]) => { location.hash = new URLSearchParams({domain, key}) }", [domain, key])
        expect(page.locator(".detail h2")).to_have_text(key)

    def write_file(self, domain: str, values: dict[str, Any]) -> Path:
        path = self.session.agent.directory / f"{domain}.plist"
        path.write_bytes(plistlib.dumps(values))
        return path
