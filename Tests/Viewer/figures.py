#!/usr/bin/env python3
"""Measures the viewer: `.ci/viewer --figures`. Publish the worst of three runs on a quiet machine."""

from __future__ import annotations

import plistlib
import statistics
import tempfile
import time
from pathlib import Path

from playwright.sync_api import Page, expect, sync_playwright

from viewer import Session, eventually

# Notes when a number is on the screen.
WATCH = """() => {
    window.seen = {};
    const look = () => {
        const text = document.querySelector(".row.key .value")?.textContent;
        if (text && !(text in seen)) seen[text] = Date.now();
    };
    new MutationObserver(look).observe(document.getElementById("tree"), { childList: true, subtree: true });
}"""

SEARCH = """(text) => {
    const field = document.getElementById("search");
    field.value = text;
    const begin = performance.now();
    field.dispatchEvent(new Event("input"));
    return performance.now() - begin;
}"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="viewer-") as directory, sync_playwright() as playwright:
        session = Session(Path(directory))
        browser = playwright.chromium.launch(
            executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        try:
            for domain in range(1_000):
                values = {f"key{key}": f"value {domain} {key}" for key in range(100)}
                path = session.agent.directory / f"org.example.d{domain}.plist"
                path.write_bytes(plistlib.dumps(values))
            session.run("sync")
            page = browser.new_page()
            sizes: list[int] = []
            page.on("response", lambda answer: sizes.append(int(answer.headers.get("content-length", 0))))
            address = session.start()
            begin = time.monotonic()
            page.goto(address)
            expect(page.locator("#count")).to_have_text("100,000 keys in 1,000 domains", timeout=60_000)
            print(f"100,000 keys in 1,000 domains are shown after {time.monotonic() - begin:.1f} s")
            print(f"the page has {sum(sizes) / 1000:.0f} kB in {len(sizes)} files")
            measure_search(page)
            measure_changes(session, page)
        finally:
            browser.close()
            session.end()


def measure_search(page: Page) -> None:
    words = ["v", "va", "value 7", "value 777 77", "nothing", "key99 value", "d5 key5", ""]
    page.evaluate(SEARCH, "first")
    times = [page.evaluate(SEARCH, word) for _ in range(5) for word in words]
    print(f"a search in 100,000 keys takes {statistics.median(times):.0f} ms, at most {max(times):.0f} ms")


def measure_changes(session: Session, page: Page) -> None:
    defaults = session.agent.defaults("org.example.figures")
    defaults.set("number", 0)
    page.evaluate("location.hash = 'domain=org.example.figures'")
    page.fill("#search", "org.example.figures number")
    expect(page.locator(".row.key .value")).to_have_text("0")
    page.evaluate(WATCH)
    sent = {}
    for number in range(1, 201):
        sent[str(number)] = time.time()
        defaults.set("number", number)
        eventually(lambda: page.evaluate(f"'{number}' in seen"), "a change isn't shown")
    seen = page.evaluate("seen")
    delays = sorted(seen[number] - sent[number] * 1000 for number in sent)
    print(f"a change is on the screen after {statistics.median(delays):.0f} ms, p99 {delays[197]:.0f} ms")
    page.fill("#search", "")
    page.evaluate("location.hash = 'view=changes'")
    before = memory(session)
    begin = time.monotonic()
    for number in range(10_000):
        defaults.set("number", 1_000 + number)
        time.sleep(max(0, begin + (number + 1) * 0.006 - time.monotonic()))
    last = time.monotonic()
    expect(page.locator(".feed > li").first).to_contain_text("→ 10999", timeout=60_000)
    print(f"10,000 changes took {last - begin:.0f} s; the page was {time.monotonic() - last:.2f} s behind")
    print(f"memory before: {before}; after: {memory(session)}")


def memory(session: Session) -> str:
    """Return the resident memory of the viewer and of its bridge, and the part of it that isn't files."""
    found = []
    for name, process in (("viewer", session.viewer.pid), ("bridge", session.bridge())):
        status = Path(f"/proc/{process}/status").read_text()
        resident, own = (int(status.split(field)[1].split()[0]) / 1000 for field in ("VmRSS:", "RssAnon:"))
        found.append(f"{name} {resident:.1f} MB ({own:.1f} MB of its own)")
    return ", ".join(found)


if __name__ == "__main__":
    main()
