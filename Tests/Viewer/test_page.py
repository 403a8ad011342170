#!/usr/bin/env python3
"""The viewer's page, in Debian's chromium. Run by `.ci/viewer`, which keeps screenshots where SCREENSHOTS says."""

from __future__ import annotations

import os
import plistlib
import re
import struct
import subprocess
import sys
import tempfile
import unittest
from datetime import datetime
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect, sync_playwright

from viewer import Session, Tunnel, eventually

LIVE = "#state[data-state=live]"
VIEWS = ["browse", "changes", "history", "health"]


class PageTests(unittest.TestCase):
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
        page = context.new_page()
        page.set_default_timeout(20_000)
        page.on("pageerror", lambda error: self.problems.append(str(error)))
        page.on("console", lambda line: line.type == "error" and self.is_fault(line.text) and self.problems.append(line.text))
        return page

    def is_fault(self, text: str) -> bool:
        # What a test does to the connection.
        return not re.search(r"ERR_(CONNECTION|INCOMPLETE|SOCKS|PROXY|EMPTY|NETWORK)", text)

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

    # Following

    def test_follows_commands_and_editors(self) -> None:
        self.session.run("write", "org.example.editor", "theme", "-string", "light")
        page = self.open(domain="org.example.editor")
        row = page.locator(".row.key", has_text="theme")
        expect(row).to_contain_text('"light"')
        self.session.run("write", "org.example.editor", "theme", "-string", "dark")
        expect(row).to_contain_text('"dark"')
        expect(row).to_have_class(re.compile("lit"))
        file = self.session.agent.directory / "org.example.editor.plist"
        file.write_bytes(plistlib.dumps(plistlib.loads(file.read_bytes())))
        subprocess.run(["sed", "-i", "s/dark/sepia/", file], check=True)
        expect(row).to_contain_text('"sepia"')
        self.session.run("delete", "org.example.editor", "theme")
        expect(row).to_have_count(0)
        page.click("nav >> text=Changes")
        feed = page.locator(".feed > li")
        expect(feed.nth(0)).to_contain_text("theme")
        expect(feed.nth(0)).to_contain_text('"sepia" → (none)')
        expect(feed.nth(1)).to_contain_text("a program that wrote the file")
        expect(feed.nth(2)).to_contain_text('"light" → "dark"')
        self.shoot(page, "changes")
        page.click("text=Pause")
        self.session.run("write", "org.example.editor", "size", "-int", "1")
        expect(page.locator(".page .count")).to_have_text("Paused. 1 more since.")
        expect(feed).to_have_count(3)
        page.click("text=Pause")
        expect(feed).to_have_count(4)
        page.fill("#filter", "sepia file")
        expect(feed).to_have_count(1)

    def test_hostile_names_stay_text(self) -> None:
        markup = "<img src=x onerror='window.hit = 1'><script>window.hit = 1</script>"
        keys = [markup, "__proto__", "constructor", "a\u202eb", "\"'&", "$data", " ", "🙂" * 30]
        self.write_file("org.example.hostile", {key: markup for key in keys} | {"nested": {"__proto__": {"$data": markup}}})
        self.write_file("org.example.<b>bold", {"__proto__": 1})
        page = self.open(domain="org.example.hostile")
        page.fill("#search", "onerror")
        expect(page.locator(".row.key")).to_have_count(len(keys) + 1)
        for key in keys:
            page.evaluate("(key) => { location.hash = new URLSearchParams({domain: 'org.example.hostile', key}) }", key)
            expect(page.locator(".detail h2")).to_have_text(key.strip() or "")
            expect(page.locator(".detail textarea")).to_have_value(markup)
            expect(page.locator(".layers td").first).to_contain_text("you, any host")
        self.assertIsNone(page.evaluate("window.hit ?? null"))
        self.assertEqual(page.locator("img").count(), 0)
        self.show(page, "org.example.hostile", "__proto__")
        page.fill(".detail textarea", "mine")
        page.click("text=Save >> nth=0")
        eventually(lambda: b"<string>mine" in (self.session.agent.directory / "org.example.hostile.plist").read_bytes()
                   or "mine" in self.session.run("read", "org.example.hostile"), "the key isn't set")
        page.fill("#search", "bold")
        expect(page.locator(".row .name", has_text="org.example.<b>bold")).to_be_visible()

    def test_search(self) -> None:
        for number in range(5_000):
            self.write_file(f"org.example.d{number}", {"name": f"value {number}", "common": True})
        self.session.run("sync")
        page = self.open()
        expect(page.locator("#count")).to_have_text("10,000 keys in 5,000 domains")
        page.fill("#search", "value 4711")
        expect(page.locator("#count")).to_have_text("1 key in 1 domain")
        expect(page.locator(".row.key")).to_contain_text('"value 4711"')
        page.fill("#search", "D47 common")
        expect(page.locator("#count")).to_have_text("111 keys in 111 domains")
        page.fill("#search", "nothing like this")
        expect(page.locator("#count")).to_have_text("No matches.")
        page.fill("#search", "d4999")
        page.press("#search", "Enter")
        expect(page.locator(".detail h2")).to_have_text("org.example.d4999")
        # What is added while a search is shown is found, too.
        page.fill("#search", "fresh")
        self.session.run("write", "org.example.d1", "fresh", "-int", "1")
        expect(page.locator("#count")).to_have_text("1 key in 1 domain")

    # Editing

    def test_edits_every_type(self) -> None:
        values: dict[str, tuple[list[str], str, str]] = {
            "text": (["-string", "a"], "b\nc", "b\\nc"),
            "integer": (["-int", "1"], "18446744073709551615", "18446744073709551615"),
            "number": (["-float", "2.0"], "2.5", "2.5"),
            "date": (["-date", "2026-01-01"], "2026-11-27T10:15:00Z", "2026-11-27T10:15:00Z"),
            "data": (["-data", "00ff"], "cafe", "yv4="),
            "list": (["-array", "-int", "1"], "[1, 2.0, true]", "[1,2.0,true]"),
            "dictionary": (["-dict", "a", "-float", "1"], '{"a": 1.0, "b": {"$date": "2026-01-01T00:00:00Z"}}', '"b"'),
        }
        for key, (written, _, _) in values.items():
            self.session.run("write", "org.example.types", key, *written)
        self.session.run("write", "org.example.types", "switch", "-bool", "false")
        page = self.open()
        for key, (_, typed, expected) in values.items():
            with self.subTest(key=key):
                self.show(page, "org.example.types", key)
                page.fill(".control >> css=input, textarea", typed)
                page.click("text=Save >> nth=0")
                expect(page.locator("#message")).to_contain_text(f"{key} is")
                read = self.session.run("read", "--json", "org.example.types", key)
                self.assertIn(expected.replace(" ", ""), read.replace(" ", ""))
        self.show(page, "org.example.types", "switch")
        page.check("[role=switch]")
        eventually(lambda: self.session.run("read", "org.example.types", "switch").strip() == "1", "it isn't switched")
        # What isn't a value says so, and is kept.
        self.show(page, "org.example.types", "integer")
        page.fill(".control input", "1.5")
        page.press(".control input", "Enter")
        expect(page.locator(".editor .problem")).to_have_text("Type an integer, such as 12.")
        expect(page.locator(".control input")).to_have_value("1.5")
        page.click("text=Revert")
        expect(page.locator(".control input")).to_have_value("18446744073709551615")
        page.select_option("select[aria-label=Type]", "string")
        page.click("text=Save >> nth=0")
        eventually(lambda: "string" in self.session.run("read-type", "org.example.types", "integer"), "another type")

    def test_adds_renames_and_removes(self) -> None:
        page = self.open()
        page.click("text=New domain…")
        page.fill("#new-domain", "org.example.new")
        page.get_by_label("Key", exact=True).fill("first")
        page.get_by_label("Value").fill("1")
        page.click("text=Save >> nth=0")
        expect(page.locator(".detail h2")).to_have_text("first")
        self.assertEqual(self.session.run("read", "org.example.new", "first").strip(), "1")
        page.click(".about a")
        page.click("text=Add a key…")
        page.get_by_label("Key", exact=True).fill("first")
        page.get_by_label("Value").fill("2")
        page.click("text=Save >> nth=0")
        expect(page.locator(".conflict")).to_contain_text("its value is \"1\" now")
        page.click("text=Keep theirs")
        expect(page.locator(".detail h2")).to_have_text("first")
        page.click("text=Rename…")
        page.fill("dialog input", "second")
        page.click("dialog button.main")
        expect(page.locator(".detail h2")).to_have_text("second")
        self.assertEqual(self.session.run("read", "org.example.new", "second").strip(), "1")
        page.click(".detail >> text=Remove")
        expect(page.locator(".detail")).to_contain_text("This key has no value here.")
        page.get_by_role("button", name=re.compile("Undo change")).first.click()
        expect(page.locator("dialog pre")).to_contain_text('second (none) → "1"')
        page.click("dialog button.main")
        expect(page.locator(".detail textarea")).to_have_value("1")
        self.assertEqual(self.session.run("read", "org.example.new", "second").strip(), "1")

    def test_somebody_is_quicker(self) -> None:
        self.session.run("write", "org.example.race", "key", "-string", "shown")
        page = self.open()
        self.show(page, "org.example.race", "key")
        page.fill(".detail textarea", "mine")
        self.session.run("write", "org.example.race", "key", "-string", "theirs")
        expect(page.locator(".editor .problem")).to_contain_text('Meanwhile, the value was set to "theirs".')
        expect(page.locator(".detail textarea")).to_have_value("mine")
        page.click("text=Save >> nth=0")
        expect(page.locator(".conflict")).to_contain_text('its value is "theirs" now. Yours is "mine".')
        self.assertEqual(self.session.run("read", "org.example.race", "key").strip(), "theirs")
        self.shoot(page, "conflict")
        page.click("text=Keep theirs")
        expect(page.locator(".detail textarea")).to_have_value("theirs")
        page.fill(".detail textarea", "mine")
        self.session.run("write", "org.example.race", "key", "-string", "others")
        page.click("text=Save >> nth=0")
        page.click("text=Set mine")
        eventually(lambda: self.session.run("read", "org.example.race", "key").strip() == "mine", "it isn't set")

    def test_layers_and_forced_keys(self) -> None:
        agent = self.session.agent
        (agent.system / "org.example.app.plist").write_bytes(plistlib.dumps({"size": 1, "color": "red"}))
        (agent.managed / "org.example.app.plist").write_bytes(plistlib.dumps({"color": "blue"}))
        self.session.run("write", "org.example.app", "size", "-int", "2")
        self.session.run("write", "org.example.app", "color", "-string", "green")
        page = self.open()
        self.show(page, "org.example.app", "color")
        expect(page.locator(".detail .lock")).to_contain_text('An administrator forces the value "blue"')
        expect(page.locator(".editor")).to_have_count(0)
        rows = page.locator(".layers tbody tr")
        expect(rows).to_have_count(3)
        expect(rows.nth(0)).to_contain_text("in effect")
        expect(rows.nth(0)).to_contain_text('"blue"')
        self.show(page, "org.example.app", "size")
        expect(rows).to_have_count(2)
        expect(rows.nth(0)).to_contain_text(f"{agent.directory}/org.example.app.plist")
        expect(page.locator(".history p").first).to_contain_text("by defaults")
        self.shoot(page, "browse")

    def test_copies(self) -> None:
        self.session.run("write", "org.example.copy", "it's", "-array", "-string", "a b", "-float", "2")
        page = self.open(permissions=["clipboard-read", "clipboard-write"])
        self.show(page, "org.example.copy", "it's")
        copied = {}
        for form in ("command", "swift", "python", "json"):
            page.select_option("select[aria-label=Copy]", form)
            expect(page.locator("#message")).to_contain_text("Copied")
            copied[form] = page.evaluate("navigator.clipboard.readText()")
        self.assertEqual(copied["json"], '["a b", 2.0]')
        self.assertEqual(copied["swift"], 'UserDefaults(suiteName: "org.example.copy")?.set(["a b", 2.0], forKey: "it\'s")')
        self.assertEqual(copied["python"], 'Defaults("org.example.copy").set("it\'s", ["a b", 2.0])')
        for key, value in {"-k": "C:\\bin", "n": 'a\u202e"b\n'}.items():
            self.session.run("write", "--literal-key", "org.example.copy", key, "-string", value)
            self.show(page, "org.example.copy", key)
            page.select_option("select[aria-label=Copy]", "swift")
            page.wait_for_function("(key) => navigator.clipboard.readText().then((text) => text.includes(`forKey: \"${key}\"`))", arg=key)
            copied[key] = page.evaluate("navigator.clipboard.readText()")
            page.select_option("select[aria-label=Copy]", "command")
            expect(page.locator("#message")).to_contain_text("defaults write")
            copied["command"] += "\n" + page.evaluate("navigator.clipboard.readText()")
        self.assertIn(r'.set("C:\\bin", forKey: "-k")', copied["-k"])
        self.assertIn(r'.set("a\u{202e}\"b\n", forKey: "n")', copied["n"])
        self.assertEqual(page.locator("option[value=swift]").count(), 1)
        before = self.session.run("read", "--json", "org.example.copy")
        self.session.run("delete", "org.example.copy")
        subprocess.run(copied["command"], shell=True, env=self.session.environment, check=True)
        self.assertEqual(self.session.run("read", "--json", "org.example.copy"), before)

    def test_history(self) -> None:
        for number in range(3):
            self.session.run("write", "org.example.past", "n", "-int", f"{number}")
        self.session.run("write", "org.example.other", "n", "-int", "7")
        page = self.open()
        page.click("nav >> text=History")
        records = page.locator(".records > li")
        expect(records).to_have_count(4)
        page.fill("#history-domain", "*.past")
        page.click("text=Show")
        expect(records).to_have_count(3)
        page.fill("#compare-domain", "org.example.past")
        page.fill("#compare-since", "1")
        page.click("text=Compare >> nth=-1")
        expect(page.locator(".outcome")).to_contain_text("0 → 2")
        page.click("text=Values then")
        expect(page.locator(".outcome td").nth(1)).to_have_text("0")
        with page.expect_download() as download:
            page.click("text=Save as a profile")
        profile = plistlib.loads(Path(download.value.path()).read_bytes())
        self.assertIn("org.example.past", str(profile))
        self.shoot(page, "history")

    def test_finds_the_noisy_program(self) -> None:
        noisy = self.root / "noisy.sh"
        noisy.write_text("#!/bin/sh\nfor n in 1 2 3 4 5 6 7 8; do defaults write org.example.noise n -int $n; done\n")
        noisy.chmod(0o755)
        self.session.run("write", "org.example.quiet", "n", "-int", "1")
        subprocess.run([noisy], env=self.session.environment, check=True)
        page = self.open()
        page.click("nav >> text=Health")
        programs = page.locator("table", has_text="By program").locator("tbody tr")
        expect(programs.first).to_contain_text("noisy.sh")
        expect(programs.first).to_contain_text("8")
        expect(page.locator("table", has_text="By domain").locator("tbody tr").first).to_contain_text("org.example.noise")
        expect(page.locator("dl")).to_contain_text(str(self.session.agent.directory))
        expect(page.locator(".findings").or_(page.get_by_text("Nothing needs attention")).first).to_be_visible()
        self.shoot(page, "health")
        self.show_number(page)

    def show_number(self, page: Page) -> None:
        page.evaluate("location.hash = 'domain=org.example.noise&key=n'")
        expect(page.locator("figure svg path.line")).to_be_visible()
        page.click("text=As a table")
        expect(page.locator("figure tbody tr")).to_have_count(8)

    def test_edits_what_looks_like_something_else(self) -> None:
        path = self.write_file("org.example.float", {"real": 0.5})
        # A real of 32 bits, which looks like one of 64 in JSON, and a date that no calendar has.
        data = plistlib.dumps({"real": 0.1}, fmt=plistlib.FMT_BINARY)
        where = data.index(b"\x23")
        data = data[:where] + b"\x22\x3d\xcc\xcc\xcd" + data[where + 9 :]
        trailer = bytearray(data[-32:])
        trailer[24:] = (int.from_bytes(trailer[24:], "big") - 4).to_bytes(8, "big")
        path.write_bytes(data[:-32] + bytes(trailer))
        far = bytearray(plistlib.dumps({"far": datetime(2020, 1, 1)}, fmt=plistlib.FMT_BINARY))
        where = far.index(b"\x33")
        far[where + 1 : where + 9] = struct.pack(">d", 1e12)
        (self.session.agent.directory / "org.example.far.plist").write_bytes(far)
        self.write_file("org.example.mark", {"$data": "a"})
        self.write_file("org.example.large", {"large": "x" * (9 << 20)})
        self.session.run("sync")
        page = self.open()
        expect(page.locator("#count")).to_have_text("4 keys in 4 domains")
        self.show(page, "org.example.far", "far")
        expect(page.locator(".control input")).to_have_value("2001-01-01T00:00:00Z + 1000000000000.0 s")
        self.show(page, "org.example.float", "real")
        page.fill(".control input", "0.25")
        page.click("text=Save >> nth=0")
        expect(page.locator("#message")).to_contain_text("real is 0.25 now")
        self.show(page, "org.example.mark", "$data")
        page.fill(".detail textarea", "b")
        page.click("text=Save >> nth=0")
        expect(page.locator("#message")).to_contain_text('$data is "b" now')
        self.assertEqual(self.session.run("read", "org.example.mark", "$data").strip(), "b")
        page.click(".detail >> text=Remove")
        expect(page.locator(".detail")).to_contain_text("This key has no value here.")

    def test_keeps_what_is_typed(self) -> None:
        self.session.run("write", "org.example.form", "key", "-string", "one")
        page = self.open(domain="org.example.form")
        page.click("text=Add a key…")
        page.get_by_label("Key", exact=True).fill("half")
        self.session.run("write", "org.example.form", "other", "-int", "1")
        expect(page.locator(".facts")).to_contain_text("2 keys")
        expect(page.get_by_label("Key", exact=True)).to_have_value("half")
        self.show(page, "org.example.form", "key")
        page.fill(".detail textarea", "typed")
        self.session.run("delete", "org.example.form", "key")
        expect(page.locator(".editor .problem")).to_have_text("Meanwhile, the key was removed.")
        expect(page.locator(".detail textarea")).to_have_value("typed")
        page.click("text=Save >> nth=0")
        expect(page.locator(".conflict")).to_contain_text("its value is (none) now")
        # "Set mine" applies to what is shown, and nothing newer.
        self.session.run("write", "org.example.form", "key", "-string", "third")
        page.click("text=Set mine")
        expect(page.locator(".conflict")).to_contain_text('its value is "third" now')
        self.assertEqual(self.session.run("read", "org.example.form", "key").strip(), "third")
        page.click("text=Keep theirs")
        expect(page.locator(".detail textarea")).to_have_value("third")

    def test_usable_while_everything_changes(self) -> None:
        for number in range(20):
            self.session.run("write", "org.example.busy", f"key{number}", "-int", "1")
        page = self.open(domain="org.example.busy")
        expect(page.locator(".row.key")).to_have_count(20)
        code = (
            "from defaultsd import Defaults\n"
            "d = Defaults('org.example.busy')\n"
            "n = 0\n"
            "while True:\n n += 1\n d.set(f'key{n % 20}', n)"
        )
        noise = subprocess.Popen([sys.executable, "-c", code], env=self.session.environment | {
            "PYTHONPATH": os.environ["PYTHONPATH"]})
        self.addCleanup(noise.wait)
        self.addCleanup(noise.kill)
        for number in range(5):
            page.locator(".row.key", has=page.get_by_text(f"key{number}", exact=True)).click(delay=100)
            expect(page.locator(".detail h2")).to_have_text(f"key{number}")
        page.locator(".history button").first.focus()
        page.locator(".history button").first.press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        page.keyboard.press("Escape")
        expect(page.locator("dialog")).to_have_count(0)

    def test_places(self) -> None:
        self.session.run("write", "org.example.a", "key", "-int", "1")
        self.session.run("-host", "abc-1", "write", "org.example.a", "hosted", "-int", "2")
        page = self.open("--host=abc-1", domain="org.example.a", viewport={"width": 400, "height": 700})
        expect(page.locator(".about")).to_contain_text("host abc-1")
        expect(page.locator(".facts")).to_contain_text("1 key.")
        for _ in range(2):
            page.click(".back")
            page.locator(".row.domain", has_text="org.example.a").first.click()
            expect(page.locator(".detail h2")).to_be_visible()
        page.go_back()
        expect(page.locator(".list")).to_be_visible()
        page.click("nav >> text=Changes")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("nav a[aria-current]")).to_have_text("Changes")
        page.click("text=Pause")
        self.session.run("write", "org.example.a", "key", "-int", "3")
        expect(page.locator(".page .count")).to_have_text("Paused. 1 more since.")
        page.click("nav >> text=Health")
        page.click("nav >> text=Changes")
        expect(page.locator(".feed > li")).to_have_count(0)

    # Connections

    def test_resumes_after_the_agent(self) -> None:
        self.session.run("write", "org.example.a", "n", "-int", "1")
        page = self.open(domain="org.example.a")
        row = page.locator(".row.key", has_text="n")
        expect(row).to_contain_text("1")
        for number in (2, 3):
            self.session.agent.kill()
            self.session.agent.start()
            self.session.run("write", "org.example.a", "n", "-int", f"{number}")
            expect(row).to_contain_text(f"{number}")
        # So does the page if the bridge ends.
        bridge = eventually(self.session.bridge, "no bridge")
        os.kill(bridge, 9)
        self.session.run("write", "org.example.a", "n", "-int", "4")
        expect(row).to_contain_text("4")
        page.click("nav >> text=Changes")
        expect(page.locator(".feed > li")).to_have_count(3)

    def test_resumes_after_a_cut(self) -> None:
        tunnel = Tunnel()
        self.addCleanup(tunnel.listener.close)
        page = self.open(proxy={"server": f"socks5://127.0.0.1:{tunnel.port}", "bypass": "<-loopback>"})
        page.click("nav >> text=Changes")
        count = 0
        for _ in range(3):
            self.assertTrue(tunnel.sockets)
            tunnel.cut()
            for _ in range(5):
                count += 1
                self.session.run("write", "org.example.cut", "n", "-int", f"{count}")
            expect(page.locator(".feed > li").first).to_contain_text(f"→ {count}")
            expect(page.locator(LIVE)).to_be_visible()
        # Every change is there once.
        shown = page.locator(".feed > li .new").all_inner_texts()
        self.assertEqual(shown, [f"{number}" for number in range(count, 0, -1)])

    def test_resumes_after_sleep(self) -> None:
        page = self.open()
        page.click("nav >> text=Changes")
        tools = page.context.new_cdp_session(page)
        tools.send("Page.setWebLifecycleState", {"state": "frozen"})
        for number in range(20):
            self.session.run("write", "org.example.sleep", "n", "-int", f"{number}")
        tools.send("Page.setWebLifecycleState", {"state": "active"})
        expect(page.locator(".feed > li")).to_have_count(20)

    def test_ten_tabs(self) -> None:
        first = self.open(domain="org.example.tabs")
        pages = [first]
        for _ in range(9):
            page = self.watched(first.context)
            page.goto(first.url)
            pages.append(page)
        self.session.run("write", "org.example.tabs", "n", "-int", "1")
        for page in pages:
            expect(page.locator(LIVE)).to_be_visible()
            expect(page.locator(".row.domain", has_text="org.example.tabs")).to_be_visible()
        # One stream serves them all, also after the first tab is gone.
        self.assertEqual(self.session.run("status", "--json").count('"mode"') - 1, 1)
        first.close()
        self.session.run("write", "org.example.second", "n", "-int", "1")
        expect(pages[9].locator(".row.domain", has_text="org.example.second")).to_be_visible()

    # People

    def test_keyboard_alone(self) -> None:
        self.session.run("write", "org.example.a", "alpha", "-int", "1")
        self.session.run("write", "org.example.b", "beta", "-string", "x")
        page = self.open()
        focused = lambda: page.evaluate("document.activeElement.id || document.activeElement.textContent")
        page.keyboard.press("Tab")
        self.assertEqual(focused(), "Skip to the contents")
        for _ in range(12):
            if focused() == "search":
                break
            page.keyboard.press("Tab")
        page.keyboard.type("beta")
        expect(page.locator("#count")).to_have_text("1 key in 1 domain")
        page.keyboard.press("ArrowDown")
        page.keyboard.press("ArrowDown")
        expect(page.locator("[role=treeitem][aria-selected=true]")).to_contain_text("beta")
        self.assertEqual(
            page.locator("#tree").get_attribute("aria-activedescendant"),
            page.locator("[role=treeitem][aria-selected=true]").get_attribute("id"))
        page.keyboard.press("Enter")
        expect(page.locator(".detail h2")).to_have_text("beta")
        for _ in range(12):
            if page.evaluate("document.activeElement.localName") == "textarea":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("End")
        page.keyboard.type("yz")
        page.keyboard.press("Control+Enter")
        eventually(lambda: self.session.run("read", "org.example.b", "beta").strip() == "xyz", "it isn't saved")
        page.keyboard.press("Alt+ArrowLeft")

    def test_accessible_everywhere(self) -> None:
        self.session.run("write", "org.example.a", "n", "-int", "1")
        self.session.run("write", "org.example.a", "n", "-int", "2")
        self.session.run("write", "org.example.a", "n", "-int", "3")
        (self.session.agent.directory / "org.example.damaged.plist").write_text("<plist")
        for scheme in ("light", "dark"):
            for width in (1100, 400):
                page = self.open(
                    color_scheme=scheme, viewport={"width": width, "height": 750}, reduced_motion="reduce")
                self.session.run("write", "org.example.a", "lit", "-int", f"{width}")
                places = [*(f"view={view}" for view in VIEWS), "domain=org.example.a", "domain=org.example.a&key=n"]
                for place in places:
                    with self.subTest(scheme=scheme, width=width, place=place):
                        page.evaluate(f"location.hash = '{place}'")
                        page.wait_for_timeout(300)
                        for summary in page.locator("summary").all():
                            if summary.is_visible():
                                summary.click()
                        results = Axe().run(page)
                        self.assertEqual(results.violations_count, 0, results.generate_report())
                        overflow = page.evaluate("document.documentElement.scrollWidth - innerWidth")
                        self.assertLessEqual(overflow, 0, "the page is wider than the window")
                        self.shoot(page, f"{scheme}-{width}-{re.sub('[^a-z]+', '-', place)}")
                page.context.close()

    def test_read_only(self) -> None:
        self.session.run("write", "org.example.a", "n", "-int", "1")
        page = self.open("--read-only")
        expect(page.locator("#state")).to_have_text("Live, read-only")
        self.show(page, "org.example.a", "n")
        expect(page.locator(".shown")).to_have_text("1")
        expect(page.locator(".editor")).to_have_count(0)
        page.get_by_role("button", name=re.compile("Undo change")).first.click()
        expect(page.locator("dialog button.main")).to_have_count(0)


if __name__ == "__main__":
    unittest.main()
