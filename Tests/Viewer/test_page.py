#!/usr/bin/env python3
"""The viewer's page, in Debian's chromium. Run by `.ci/viewer`, which keeps screenshots where SCREENSHOTS says."""

from __future__ import annotations

import contextlib
import json
import os
import plistlib
import re
import signal
import sqlite3
import struct
import subprocess
import sys
import unittest
from datetime import datetime
from pathlib import Path
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from page import LIVE, SAVE, VIEWS, PageCase
from viewer import PROGRAMS, Forward, Session, Squatter, Tunnel, eventually


class PageTests(PageCase):
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
        expect(page.locator(".page .count")).to_have_text("Paused: 1 new change.")
        expect(feed).to_have_count(3)
        page.click("text=Pause")
        expect(feed).to_have_count(4)
        page.fill("#filter", "sepia file")
        expect(feed).to_have_count(1)
        page.fill("#filter", "nothing like this")
        expect(page.locator(".page .count")).to_have_text("No matches.")

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
            expect(page.locator(".detail h2")).to_have_text({"a\u202eb": "a⟨U+202E⟩b", " ": "␣"}.get(key, key))
            expect(page.locator(".detail textarea")).to_have_value(markup)
            expect(page.locator(".layers td").first).to_contain_text("you, any host")
        self.assertIsNone(page.evaluate("window.hit ?? null"))
        self.assertEqual(page.locator("img").count(), 0)
        self.show(page, "org.example.hostile", "__proto__")
        page.fill(".detail textarea", "mine")
        page.click(SAVE)
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
        # A key added while a search is shown is found, too.
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
                if key in ("list", "dictionary"):
                    page.click("text=As JSON")
                page.locator(".control").locator("input, textarea").first.fill(typed)
                page.click(SAVE)
                expect(page.locator("#message")).to_contain_text(f"{key} is")
                read = self.session.run("read", "--json", "org.example.types", key)
                self.assertIn(expected.replace(" ", ""), read.replace(" ", ""))
        self.show(page, "org.example.types", "switch")
        page.check("[role=switch]")
        eventually(lambda: self.session.run("read", "org.example.types", "switch").strip() == "1", "it isn't switched")
        # Invalid text is kept, with an error.
        self.show(page, "org.example.types", "integer")
        page.fill(".control input", "1.5")
        page.press(".control input", "Enter")
        expect(page.locator(".editor .problem")).to_have_text("Type an integer, such as 12.")
        expect(page.locator(".control input")).to_have_value("1.5")
        page.click("text=Revert")
        expect(page.locator(".control input")).to_have_value("18446744073709551615")
        page.select_option("select[aria-label=Type]", "string")
        page.click(SAVE)
        eventually(lambda: "string" in self.session.run("read-type", "org.example.types", "integer"), "another type")

    def test_a_switch_has_no_other_buttons(self) -> None:
        self.session.run("write", "org.example.types", "b", "-bool", "false")
        page = self.open()
        self.show(page, "org.example.types", "b")
        save = page.get_by_role("button", name="Save", exact=True)
        page.check("[role=switch]")
        eventually(lambda: self.session.run("read", "org.example.types", "b").strip() == "1", "it isn't switched")
        expect(save).to_have_count(0)
        # Another type is saved like any other.
        page.get_by_label("Type").select_option("integer")
        save.click()
        eventually(lambda: "integer" in self.session.run("read-type", "org.example.types", "b"), "another type")
        expect(save).to_be_visible()

    def test_adds_renames_and_removes(self) -> None:
        page = self.open()
        page.click("text=New domain…")
        expect(page.get_by_label("Value")).not_to_have_class(re.compile("secret"))
        page.fill("#new-domain", "org.example.new")
        page.get_by_label("Key", exact=True).fill("first")
        page.get_by_label("Value").fill("1")
        page.click(SAVE)
        expect(page.locator(".detail h2")).to_have_text("first")
        self.assertEqual(self.session.run("read", "org.example.new", "first").strip(), "1")
        page.click(".about a")
        expect(page.locator(".removal")).to_be_visible()
        self.session.run("delete", "org.example.new")
        expect(page.locator(".removal")).to_be_hidden()
        self.session.run("write", "org.example.new", "first", "1")
        expect(page.locator(".removal")).to_be_visible()
        page.click("text=Add a key…")
        page.get_by_label("Key", exact=True).fill("first")
        page.get_by_label("Value").fill("2")
        page.click(SAVE)
        expect(page.locator(".conflict")).to_contain_text(
            'first exists already: its value is "1" now. Yours is "2".')
        page.click("text=Keep theirs")
        expect(page.locator(".detail h2")).to_have_text("first")
        self.session.run("write", "org.example.new", "other", "-int", "1")
        expect(page.locator(".row.key")).to_have_count(2)
        page.click("text=Rename…")
        page.fill("dialog input", "other")
        page.click("dialog button.main")
        expect(page.locator("#message")).to_have_text("other exists already.")
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
        expect(page.locator(".editor .note")).to_contain_text('Meanwhile, the value was set to "theirs".')
        expect(page.locator(".detail textarea")).to_have_value("mine")
        page.click(SAVE)
        expect(page.locator(".conflict")).to_contain_text('its value is "theirs" now. Yours is "mine".')
        self.assertEqual(self.session.run("read", "org.example.race", "key").strip(), "theirs")
        self.shoot(page, "conflict")
        page.click("text=Keep theirs")
        expect(page.locator(".detail textarea")).to_have_value("theirs")
        page.fill(".detail textarea", "mine")
        self.session.run("write", "org.example.race", "key", "-string", "others")
        page.click(SAVE)
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

    def test_layers_of_a_domain_stand_together(self) -> None:
        agent = self.session.agent
        (agent.managed / "org.example.b.plist").write_bytes(plistlib.dumps({"n": 1}))
        for domain in ("a", "b", "c"):
            self.session.run("write", f"org.example.{domain}", "n", "-int", "1")
        self.session.run("-currentHost", "write", "org.example.b", "n", "-int", "2")
        self.session.run("sync")
        host = next((agent.directory / "ByHost").glob("org.example.b.*")).name.split(".")[-2]
        page = self.open()
        rows = page.locator(".row.domain")
        expect(rows.locator(".name")).to_have_text([f"org.example.{name}" for name in "abbbc"])
        expect(page.locator(".row.domain.further")).to_have_count(2)
        expect(rows.nth(1)).not_to_have_class(re.compile("further"))
        expect(page.get_by_text("this host", exact=True)).to_have_attribute("title", host)

    def test_paths_begin_at_the_home_directory(self) -> None:
        self.session.run("write", "org.example.a", "n", "-int", "1")
        self.session.environment["HOME"] = str(self.root)
        page = self.open()
        self.show(page, "org.example.a", "n")
        file = page.locator(".layers .file").first
        expect(file).to_have_text(re.compile(r"^~/preferences/org\.example\.a\.plist"))
        expect(file).to_have_attribute("title", f"{self.session.agent.directory}/org.example.a.plist")
        page.click("nav >> text=Health")
        expect(page.locator("dd", has_text=re.compile("^~/preferences$"))).to_be_visible()

    def test_copies(self) -> None:
        self.session.run("write", "org.example.copy", "it's", "-array", "-string", "a b", "-float", "2")
        page = self.open(permissions=["clipboard-read", "clipboard-write"])
        self.show(page, "org.example.copy", "it's")
        copied = {}
        for form in ("a command", "Swift", "Python", "JSON"):
            self.copy(page, form)
            expect(page.locator("#message")).to_contain_text("Copied")
            copied[form] = page.evaluate("navigator.clipboard.readText()")
        self.assertEqual(copied["JSON"], '["a b", 2.0]')
        self.assertEqual(copied["Swift"], 'UserDefaults(suiteName: "org.example.copy")?.set(["a b", 2.0], forKey: "it\'s")')
        self.assertEqual(copied["Python"], 'Defaults("org.example.copy").set("it\'s", ["a b", 2.0])')
        for key, value in {"-k": "C:\\bin", "n": 'a\u202e"b\n'}.items():
            self.session.run("write", "--literal-key", "org.example.copy", key, "-string", value)
            self.show(page, "org.example.copy", key)
            self.copy(page, "Swift")
            page.wait_for_function("(key) => navigator.clipboard.readText().then((text) => text.includes(`forKey: \"${key}\"`))", arg=key)
            copied[key] = page.evaluate("navigator.clipboard.readText()")
            self.copy(page, "a command")
            expect(page.locator("#message")).to_contain_text("defaults write")
            copied["a command"] += "\n" + page.evaluate("navigator.clipboard.readText()")
        self.assertIn(r'.set("C:\\bin", forKey: "-k")', copied["-k"])
        self.assertIn(r'.set("a\u{202e}\"b\n", forKey: "n")', copied["n"])
        self.assertEqual(page.locator("option", has_text="as Swift").count(), 1)
        before = self.session.run("read", "--json", "org.example.copy")
        self.session.run("delete", "org.example.copy")
        subprocess.run(copied["a command"], shell=True, env=self.session.environment, check=True)
        self.assertEqual(self.session.run("read", "--json", "org.example.copy"), before)

    def copy(self, page: Page, form: str) -> None:
        page.select_option("select[aria-label=Form]", f"as {form}")
        page.get_by_role("button", name="Copy", exact=True).click()

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
        self.assertIn("2", re.findall("'n': (.)", str(profile)))
        # Also until a moment.
        page.fill("#compare-until", "2")
        with page.expect_download() as download:
            page.click("text=Save as a profile")
        profile = plistlib.loads(Path(download.value.path()).read_bytes())
        self.assertEqual(re.findall("'n': (.)", str(profile)), ["1"])
        self.shoot(page, "history")
        # Errors have the fields' names, and don't stay.
        page.fill("#compare-until", "foo")
        for name in ("Compare", "Save as a profile"):
            page.get_by_role("button", name=name).click()
            expect(page.locator(".outcome")).to_contain_text("“foo” in To isn't a moment.")
        expect(page.locator(".outcome")).not_to_contain_text("--")
        page.fill("#compare-until", "")
        page.click("text=Compare >> nth=-1")
        expect(page.locator(".outcome")).not_to_contain_text("foo")
        page.fill("#history-domain", "")
        for typed, number in {"FILE": 0, "defa": 4, "nothing": 0}.items():
            page.fill("#history-program", typed)
            page.click("text=Show")
            expect(records).to_have_count(number)
            if number == 0:
                expect(page.locator(".page .count")).to_have_text("No matches.")

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

    def test_shows_the_fleet(self) -> None:
        folder = self.root / "Sync"
        folder.mkdir()
        self.session.run("write", "org.example.editor", "theme", "-string", "dark")
        self.session.run("write", "org.example.editor", "DeviceID", "-string", "<b>7</b>")
        self.session.run("fleet", "join", "--name", "desktop", str(folder))
        self.session.run("fleet", "add", "org.example.editor")
        page = self.open()
        page.click("nav >> text=Health")
        held = page.locator("table", has_text="Held back")
        expect(held.locator("tbody tr")).to_have_text(re.compile("org.example.editor.*DeviceID.*identity or a secret"))
        machines = page.locator("table", has_text="Other machines")
        expect(machines.locator("tbody tr")).to_have_count(0)
        # Another machine joins, whose name is hostile.
        (self.root / "laptop").mkdir()
        other = Session(self.root / "laptop")
        self.addCleanup(other.end)
        command = [str(PROGRAMS / "defaults"), "fleet", "join", "--name", "<i>laptop</i>", str(folder)]
        with subprocess.Popen(command, env=other.environment, stdout=subprocess.PIPE, text=True) as joining:
            assert joining.stdout is not None
            line = next(line for line in joining.stdout if "fleet approve" in line)
            connector = self.connect(self.session)
            self.session.run("fleet", "approve", line.split()[-1])
            joining.stdout.read()
        self.connect(other)
        other.run("write", "org.example.editor", "theme", "-string", "light")
        row = machines.locator("tbody tr")
        expect(row).to_contain_text("<i>laptop</i>")
        expect(row.locator("td").nth(2)).to_have_text("0")
        # The other machine's edit while the connector is away counts as not read yet.
        connector.terminate()
        connector.wait(20)
        other.run("write", "org.example.editor", "theme", "-string", "sepia")
        expect(row.locator("td").nth(2)).to_have_text("1")
        self.shoot(page, "fleet")
        self.session.run("fleet", "leave")
        expect(machines).to_have_count(0)

    def connect(self, session: Session) -> subprocess.Popen[bytes]:
        """Start a connector."""
        connector = subprocess.Popen([PROGRAMS / "defaults", "fleet", "run"], env=session.environment)
        self.addCleanup(lambda: (connector.kill(), connector.wait(20)))
        return connector

    def show_number(self, page: Page) -> None:
        page.evaluate("location.hash = 'domain=org.example.noise&key=n'")
        expect(page.locator("figure svg path.line")).to_be_visible()
        page.click("text=As a table")
        expect(page.locator("figure tbody tr")).to_have_count(8)
        # While the key has no value, there is no line.
        self.session.run("delete", "org.example.noise", "n")
        self.session.run("write", "org.example.noise", "n", "-int", "9")
        expect(page.locator("figure tbody tr")).to_have_count(10)
        self.assertEqual((page.get_attribute("path.line", "d") or "").count("M"), 2)

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
        page.click(SAVE)
        expect(page.locator("#message")).to_contain_text("real is 0.25 now")
        self.show(page, "org.example.mark", "$data")
        page.fill(".detail textarea", "b")
        page.click(SAVE)
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
        expect(page.locator(".editor .note")).to_have_text("Meanwhile, the key was removed.")
        expect(page.locator(".detail textarea")).to_have_value("typed")
        page.click(SAVE)
        expect(page.locator(".conflict")).to_contain_text("its value is (none) now")
        # The question stays up to date, and the answer counts.
        self.session.run("write", "org.example.form", "key", "-string", "third")
        expect(page.locator(".conflict")).to_contain_text('its value is "third" now')
        page.click("text=Set mine")
        eventually(lambda: self.session.run("read", "org.example.form", "key").strip() == "typed", "it isn't set")
        expect(page.locator(".conflict")).to_be_hidden()
        expect(page.locator(".detail textarea")).to_have_value("typed")

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

        def is_asked() -> bool:
            # The change that has the focus may be replaced by newer ones before the key is pressed.
            if page.locator("dialog").count() == 0:
                page.locator(".history button").first.press("Enter")
            return page.locator("dialog").is_visible()

        eventually(is_asked, "the button does nothing")

        def is_closed() -> bool:
            # The key may have been pressed twice, and the second answer may come after the dialog was closed.
            page.keyboard.press("Escape")
            return page.locator("dialog").count() == 0

        eventually(is_closed, "the dialog stays")

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
        # A narrow page lists the keys of a domain.
        page.click(".keys >> text=key")
        expect(page.locator(".detail h2")).to_have_text("key")
        page.click(".back")
        expect(page.locator(".list")).to_be_visible()
        page.click("nav >> text=Changes")
        page.locator(".skip").focus()
        page.keyboard.press("Enter")
        expect(page.locator("nav a[aria-current]")).to_have_text("Changes")
        page.click("text=Pause")
        self.session.run("write", "org.example.a", "key", "-int", "3")
        expect(page.locator(".page .count")).to_have_text("Paused: 1 new change.")
        page.click("nav >> text=Health")
        page.click("nav >> text=Changes")
        expect(page.locator(".feed > li")).to_have_count(0)

    def test_lists_stay_exact(self) -> None:
        self.session.run("write", "--json", "org.example.exact", "state", '{"id": 9223372036854775807, "n": 1}')
        self.session.run("write", "--json", "org.example.exact", "list", "[18446744073709551615, 2.0]")
        page = self.open()
        self.show(page, "org.example.exact", "state")
        page.click("text=As JSON")
        page.fill(".detail textarea", page.input_value(".detail textarea").replace('"n": 1', '"n": 2'))
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator("#message")).to_contain_text('state is {"id": 9223372036854775807, "n": 2} now.')
        state = self.session.run("read", "--json", "org.example.exact", "state")
        self.assertEqual(state.strip(), '{"id":9223372036854775807,"n":2}')
        self.show(page, "org.example.exact", "list")
        page.click("text=As JSON")
        value = page.input_value(".detail textarea")
        page.fill(".detail textarea", value.replace("2.0", "3.0"))
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator("#message")).to_contain_text("list is [18446744073709551615, 3.0] now.")
        before = self.session.run("read", "--json", "org.example.exact", "list")
        self.assertEqual(before.strip(), "[18446744073709551615,3.0]")
        # Invalid text is refused, and the error says where it is.
        for typed, reason in {
            "[1E400]": "line 1, column 2", "[\n  null]": "line 2, column 3", "[1, 2,]": "line 1, column 7",
            "[18446744073709551616]": "doesn't fit in 64 bits", '[{"a": 1, "a": 2}]': '"a\" twice', "": "Type an array",
            '{"a": 1}': "Type an array", "[tru]": "column 2", '[{"$date": "2026-02-30"}]': "isn't a date|not a date",
        }.items():
            with self.subTest(typed=typed):
                page.fill(".detail textarea", typed)
                page.press(".detail textarea", "Control+Enter")
                expect(page.locator(".editor .problem")).to_have_text(re.compile(reason))
        self.assertEqual(self.session.run("read", "--json", "org.example.exact", "list"), before)

    def test_dates_are_in_the_zone_of_the_browser(self) -> None:
        self.session.environment["TZ"] = "Europe/Berlin"
        self.session.run("write", "org.example.dates", "date", "-date", "2026-01-01T00:00:00Z")
        page = self.open(timezone_id="America/New_York")
        # The command is to read what was typed as the browser does.
        self.session.environment["TZ"] = "America/New_York"
        self.show(page, "org.example.dates", "date")
        for typed in ("2026-02-30", "2026-02-30T00:00:00Z", "2026-01-01 24:00", "tomorrow", "10:15"):
            page.fill(".control input", typed)
            page.press(".control input", "Enter")
            expect(page.locator(".editor .problem")).to_contain_text("Type a date, such as")
            expect(page.locator(".control input")).to_have_value(typed)
        for typed in ("2026-07-01 10:15", "2026-01-31", "2026-07-01 10:15:30.5", "2026-07-01T10:15:30.25+0100"):
            self.session.run("write", "org.example.dates", "same", "-date", typed)
            page.fill(".control input", typed)
            page.press(".control input", "Enter")
            expected = self.session.run("read", "--json", "org.example.dates", "same")
            eventually(lambda: self.session.run("read", "--json", "org.example.dates", "date") == expected, typed)
            expect(page.locator(".control input")).to_have_value(re.compile("Z$"))

    def test_other_types_convert_what_was_typed(self) -> None:
        self.session.run("write", "org.example.types", "number", "-float", "2.0")
        self.session.run("write", "org.example.types", "text", "-string", "a\r\nb")
        page = self.open()
        self.show(page, "org.example.types", "number")
        kind, field = page.locator("select[aria-label=Type]"), page.get_by_label("Value")
        texts = {"integer": "2", "string": "2.0", "array": "[\n    2.0\n]", "dictionary": "{}", "real": "2.0"}
        for name, value in texts.items():
            kind.select_option(name)
            if name == "array":
                page.click("text=As JSON")
            expect(field).to_have_value(value)
        kind.select_option("boolean")
        expect(field).to_be_checked()
        kind.select_option("integer")
        page.click(SAVE)
        eventually(lambda: "integer" in self.session.run("read-type", "org.example.types", "number"), "another type")
        # Line ends that a text field can't hold stay.
        self.show(page, "org.example.types", "text")
        field.fill("a\nb\nc")
        field.press("Control+Enter")
        eventually(lambda: self.session.run("read", "--json", "org.example.types", "text").strip() == r'"a\r\nb\r\nc"',
                   "other line ends")

    def test_drafts_are_not_lost(self) -> None:
        for key in ("one", "two"):
            self.session.run("write", "org.example.drafts", key, "-string", key)
        page = self.open(domain="org.example.drafts")
        self.show(page, "org.example.drafts", "one")
        page.fill(".detail textarea", "typed")
        page.click("nav >> text=Changes")
        page.click("nav >> text=Browse")
        expect(page.locator(".detail h2")).to_have_text("one")
        expect(page.locator(".detail textarea")).to_have_value("typed")
        page.locator(".row.key", has_text="two").click()
        expect(page.locator(".detail h2")).to_have_text("two")
        expect(page.locator(".row.key", has_text="one")).to_contain_text("not saved")
        questions: list[str] = []
        page.once("dialog", lambda dialog: (questions.append(dialog.type), dialog.dismiss()))
        page.evaluate("setTimeout(() => location.reload())")
        eventually(lambda: page.evaluate("true") and questions == ["beforeunload"], "it isn't asked")
        page.go_back()
        expect(page.locator(".detail textarea")).to_have_value("typed")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.drafts", "one").strip() == "typed", "it isn't saved")
        expect(page.locator(".row.key", has_text="not saved")).to_have_count(0)

    def test_what_is_saved_later_is_no_draft(self) -> None:
        self.session.run("write", "org.example.later", "one", "-bool", "false")
        self.session.run("write", "org.example.later", "two", "-int", "2")
        page = self.open(domain="org.example.later")
        agent = json.loads(self.session.run("status", "--json"))["pid"]
        self.show(page, "org.example.later", "one")
        os.kill(agent, signal.SIGSTOP)
        self.addCleanup(os.kill, agent, signal.SIGCONT)
        page.check("[role=switch]")
        self.show(page, "org.example.later", "two")
        draft = page.locator(".row.key", has_text="not saved")
        expect(draft).to_have_count(1)
        os.kill(agent, signal.SIGCONT)
        expect(draft).to_have_count(0)
        self.show(page, "org.example.later", "one")
        expect(page.locator("[role=switch]")).to_be_checked()

    def test_changes_are_listed_once_and_counted(self) -> None:
        self.session.run("write", "org.example.feed", "n", "-int", "0")
        page = self.open()
        arrive = """async (count) => {
            const { receive } = await import("./store.js");
            const message = (n) => ({ type: "change", domain: "org.example.feed", revision: 10 + n, time: 1e18,
                source: { kind: "file" }, changes: [{ key: "n", old: n, new: n + 1 }] });
            const batch = Array.from({ length: count }, (_, n) => ({ kind: "event", message: message(n) }));
            receive(batch);
            location.hash = "view=changes";
            // The view is shown before what has arrived is published.
            dispatchEvent(new PopStateEvent("popstate"));
            await new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)));
        }"""
        page.evaluate(arrive, 2)
        expect(page.locator(".feed > li")).to_have_count(2)
        page.evaluate(arrive, 300)
        expect(page.locator(".feed > li")).to_have_count(200)
        expect(page.locator(".page .count")).to_have_text("The newest 200 of 302 are shown.")
        page.evaluate(arrive, 1_000)
        expect(page.locator(".page .count")).to_have_text(
            "The newest 200 of 1,000 are shown. Changes before the newest 1,000 are in the history only.")

    def test_damaged_file_is_visible_before_it_is_replaced(self) -> None:
        self.session.run("write", "org.example.damaged", "n", "-int", "1")
        page = self.open()
        self.show(page, "org.example.damaged", "n")
        file = self.session.agent.directory / "org.example.damaged.plist"
        file.write_text("<plist")
        expect(page.locator(".row.domain")).to_contain_text("damaged")
        expect(page.locator(".facts")).to_contain_text("Saving replaces the file, and keeps a copy beside it.")
        page.fill(".control input", "2")
        page.press(".control input", "Enter")
        expect(page.locator(".control input")).to_be_focused()
        expect(page.locator(".facts")).to_have_text("")
        self.assertEqual((file.parent / f"{file.name}.damaged-1").read_text(), "<plist")
        # Change 1 has been overtaken. A button that is pressed twice asks once.
        page.get_by_role("button", name="Undo change 1…").dblclick()
        expect(page.locator("dialog h2")).to_have_text("Change 1 can't be undone")
        expect(page.locator("dialog button")).to_have_text("Close")

    # Manifests

    def test_opened_form_stays_when_manifests_come(self) -> None:
        self.session.manifests.mkdir(parents=True)
        self.session.run("write", "org.example.a", "Theme", "dark")
        page = self.open(domain="org.example.a")
        page.click("text=Add a key…")
        expect(page.get_by_label("Key", exact=True)).to_be_visible()
        (self.session.manifests / "org.example.a.plist").write_bytes(plistlib.dumps(
            {"pfm_subkeys": [{"pfm_name": "Theme", "pfm_type": "string", "pfm_title": "Colors"}]}))
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.locator(".settings")).to_contain_text("Colors")
        expect(page.get_by_label("Key", exact=True)).to_be_visible()

    def test_manifests(self) -> None:
        keys: list[dict[str, Any]] = [
            {"pfm_name": "FontSize", "pfm_type": "integer", "pfm_title": "Text size", "pfm_default": 14,
             "pfm_description": "Of all windows.", "pfm_range_min": 6, "pfm_range_max": 72, "pfm_value_unit": "points"},
            {"pfm_name": "Theme", "pfm_type": "string", "pfm_range_list": ["light", "dark"],
             "pfm_range_list_titles": ["Light", "Dark"]},
            {"pfm_name": "Style", "pfm_type": "integer", "pfm_flags": True, "pfm_range_list": [1, 2, 4],
             "pfm_range_list_titles": ["bold", "italic", "wide"]},
            {"pfm_name": "Password", "pfm_type": "string", "pfm_sensitive": True},
            {"pfm_name": "Columns", "pfm_type": "integer", "pfm_default": 80, "pfm_range_min": 1},
            {"pfm_name": "Window", "pfm_type": "string", "pfm_scope": "noise"},
        ]
        self.session.manifests.mkdir(parents=True)
        (self.session.manifests / "org.example.*.plist").write_bytes(plistlib.dumps({"pfm_subkeys": keys}))
        self.write_file("org.example.editor", {"FontSize": 99, "Theme": "light", "Style": 13, "Password": "hunter2"})
        page = self.open(domain="org.example.editor")
        settings = page.get_by_role("region", name="Settings", exact=True)
        expect(settings.locator("tbody tr")).to_have_text([
            "FontSizeText size99integer, 6 to 72 points", re.compile("^Theme"), re.compile("^Style13flags"),
            re.compile("^Password••••••"), "Columns(80)integer, at least 1"])
        expect(page.get_by_role("region", name="what the app remembers")).to_contain_text("Window")
        self.shoot(page, "settings")
        page.fill("#search", "text size")
        expect(page.locator(".row.key")).to_have_count(1)
        page.fill("#search", "")
        self.show(page, "org.example.editor", "FontSize")
        detail = page.locator(".detail")
        for text in ["Text size", "Of all windows.", "6 to 72 points", '"FontSize" must be at most 72.']:
            expect(detail).to_contain_text(text)
        expect(detail.locator(".layers tr").last).to_contain_text("14")
        self.shoot(page, "manifest")
        page.get_by_label("Value, as a slider").fill("20")
        expect(page.get_by_label("Value", exact=True)).to_have_value("20")
        page.click(SAVE)
        expect(page.locator(".violations")).to_have_text("")
        self.assertEqual(self.session.run("read", "org.example.editor", "FontSize").strip(), "20")
        self.show(page, "org.example.editor", "Theme")
        page.get_by_label("Value").select_option("Dark")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.editor", "Theme") == "dark\n", "Theme isn't set")
        self.show(page, "org.example.editor", "Style")
        expect(page.get_by_label("italic")).not_to_be_checked()
        page.get_by_label("italic").check()
        page.get_by_label("bold").uncheck()
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.editor", "Style") == "14\n", "Style isn't set")
        self.show(page, "org.example.editor", "Password")
        field = page.get_by_label("Value", exact=True)
        expect(field).to_have_class("secret")
        self.session.run("write", "org.example.editor", "Password", "-string", "hunter3")
        expect(field).to_have_value("hunter3")
        # A secret isn't in the history, so its removal asks.
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.locator("dialog")).to_contain_text("you can't undo this")
        page.click("dialog >> text=Cancel")
        self.session.run("write", "org.example.editor", "FontSize", "-int", "98")
        # The agent needs some seconds to find the new directory of manifests.
        eventually(lambda: json.loads(self.session.run("status", "--json")).get("violations"), "nothing is broken")
        self.session.run("write", "org.example.editor", "FontSize", "-int", "97")
        self.session.run("write", "org.example.editor", "FontSize", "-int", "98")
        page.evaluate("location.hash = 'view=changes'")
        expect(page.locator(".broken").first).to_contain_text('"FontSize"')
        # While its manifest can't be used, no value of a domain is shown.
        manifest = self.session.manifests / "org.example.*.plist"
        whole = manifest.read_bytes()
        manifest.write_bytes(b"torn")
        page.evaluate("location.hash = 'domain=org.example.editor'; window.dispatchEvent(new Event('focus'))")
        expect(page.locator(".row.key", has_text="FontSize")).to_contain_text("••••••")
        self.assertNotIn("hunter", page.locator("#main").inner_text())
        manifest.write_bytes(whole)
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        expect(page.locator(".row.key", has_text="FontSize")).to_contain_text("98")
        # A domain without values is found by what its manifest describes.
        (self.session.manifests / "org.example.unset.plist").write_bytes(plistlib.dumps({"pfm_subkeys": keys}))
        page.evaluate("window.dispatchEvent(new Event('focus'))")
        page.fill("#search", "unset window")
        expect(page.locator(".row.key")).to_have_text(re.compile("^Window"))
        page.press("#search", "Enter")
        expect(page.locator(".detail h2")).to_have_text("Window")
        page.fill("#search", "")
        self.show(page, "org.example.editor", "Password")
        # A key without a value begins with its default.
        self.show(page, "org.example.editor", "Columns")
        expect(field).to_have_value("80")
        page.click(SAVE)
        expect(page.get_by_role("button", name="Remove", exact=True)).to_be_visible()
        expect(field).to_have_value("80")
        self.assertEqual(self.session.run("read", "org.example.editor", "Columns"), "80\n")
        page.get_by_role("button", name="Remove", exact=True).click()
        expect(page.locator(".detail")).to_contain_text("This key has no value here.")
        page.evaluate("location.hash = 'domain=org.example.editor'")
        page.click("text=Add a key…")
        page.get_by_label("Key", exact=True).fill("Window")
        page.get_by_label("Key", exact=True).fill("Columns")
        page.press("[aria-label=Value]", "End")
        expect(page.get_by_label("Type")).to_have_value("integer")
        expect(field).to_have_value("80")
        self.assertEqual(Axe().run(page).violations_count, 0)
        for place, text in [("", "Password"), ("#view=changes", "Password"), ("#view=history", "Theme")]:
            page.evaluate("(place) => { location.hash = place }", place)
            expect(page.locator("#main")).to_contain_text(text)
            self.assertNotIn("hunter", page.locator("#main").inner_text())

    def test_types_have_one_set_of_words(self) -> None:
        types = ["string", "boolean", "integer", "real", "date", "data", "array", "dictionary"]
        self.session.manifests.mkdir(parents=True)
        keys = [{"pfm_name": f"a {type}", "pfm_type": type} for type in types]
        (self.session.manifests / "org.example.a.plist").write_bytes(
            plistlib.dumps({"pfm_domain": "org.example.a", "pfm_subkeys": keys}))
        self.session.run("write", "org.example.a", "n", "-int", "1")
        page = self.open(domain="org.example.a")
        expect(page.locator(".settings td:nth-child(4)")).to_have_text(types)
        self.show(page, "org.example.a", "n")
        expect(page.locator("select[aria-label=Type] option")).to_have_text(types)
        page.get_by_label("Type").select_option("array")
        page.click("text=As JSON")
        page.get_by_label("Value", exact=True).fill("1")
        page.click(SAVE)
        expect(page.locator(".editor .problem")).to_contain_text("Type an array, such as")

    # Connections

    def test_stopped_agent_is_reported(self) -> None:
        self.session.run("write", "org.example.stop", "key", "-string", "zero")
        page = self.open(domain="org.example.stop")
        self.show(page, "org.example.stop", "key")
        agent = json.loads(self.session.run("status", "--json"))["pid"]
        os.kill(agent, signal.SIGSTOP)
        self.addCleanup(os.kill, agent, signal.SIGCONT)
        for typed in ("one", "two"):
            page.fill(".detail textarea", typed)
            page.press(".detail textarea", "Control+Enter")
        expect(page.locator(".editor button.main")).to_have_text("Saving…")
        expect(page.locator("#state")).to_contain_text(
            f"The agent (pid {agent}) has not responded for 5 s.", timeout=40_000)
        expect(page.locator("#state")).to_contain_text(f"kill -CONT {agent}")
        page.click("nav >> text=History")
        expect(page.locator(".page .count")).to_contain_text("has not responded")
        page.click("nav >> text=Health")
        expect(page.locator(".findings")).to_be_visible()
        page.click("nav >> text=Browse")
        os.kill(agent, signal.SIGCONT)
        expect(page.locator(LIVE)).to_be_visible()
        # Each edit follows the former, and none is another program's.
        eventually(lambda: self.session.run("read", "org.example.stop", "key").strip() == "two", "it isn't saved")
        expect(page.locator(".editor button.main")).to_have_text("Save")
        expect(page.locator(".detail textarea")).to_have_value("two")
        expect(page.locator(".conflict")).to_be_hidden()
        expect(page.locator(".history .records > li").first).to_contain_text("for defaults-viewer")

    def test_viewer_that_has_ended_is_reported_once(self) -> None:
        self.session.run("write", "org.example.end", "key", "-string", "one")
        page = self.open()
        self.show(page, "org.example.end", "key")
        expect(page.locator(".history li").first).to_be_visible()
        self.session.viewer.terminate()
        self.session.viewer.wait(10)
        expect(page.locator("#state")).to_contain_text("Not connected. If this lasts, run `defaults view` again.")
        page.fill(".detail textarea", "two")
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator(".editor .problem")).to_have_text("The viewer has ended. Run `defaults view` again.")
        expect(page.get_by_text("Failed to fetch")).to_have_count(0)

    def test_another_program_on_the_port_is_no_viewer(self) -> None:
        self.session.run("write", "org.example.end", "key", "-string", "one")
        page = self.open()
        second = self.watched(page.context)
        second.goto(page.url)
        self.show(page, "org.example.end", "key")
        expect(page.locator(".history li").first).to_be_visible()
        self.session.viewer.terminate()
        self.session.viewer.wait(10)
        squatter = Squatter(int(page.url.split(":")[2].split("/")[0]))
        self.addCleanup(squatter.end)
        for each in (page, second):
            expect(each.locator("#state")).to_have_text("The viewer has ended. Run `defaults view` again.")
        page.fill(".detail textarea", "two")
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator(".editor .problem")).to_have_text("The viewer has ended. Run `defaults view` again.")
        expect(page.locator(".detail textarea")).to_have_value("two")
        self.assertEqual(squatter.received, [])
        # Nothing more is asked, and nothing that was known is left for that program's pages.
        count = squatter.count
        page.wait_for_timeout(3_000)
        self.assertEqual(squatter.count, count)
        known = page.evaluate("""() => new Promise((resolve) => {
            const { port } = new SharedWorker("worker.js", { type: "module", name: "preferences" });
            port.addEventListener("message", ({ data: [first] }) => resolve(first.domains.length));
            port.start();
        })""")
        self.assertEqual(known, 0)

    def test_an_answer_of_another_program_is_not_believed(self) -> None:
        self.session.run("write", "org.example.end", "key", "-string", "one")
        page = self.open()
        self.show(page, "org.example.end", "key")
        page.route("**/ask", lambda route: route.fulfill(json={"type": "edited", "cursor": "0:2"}))
        page.fill(".detail textarea", "two")
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator("#state")).to_have_text("The viewer has ended. Run `defaults view` again.")
        expect(page.locator(".detail textarea")).to_have_value("two")

    def test_other_ports_have_nothing_to_do_with_the_cookie(self) -> None:
        self.session.run("write", "org.example.a", "key", "-string", "one")
        page = self.open()
        other = Squatter(0)
        self.addCleanup(other.end)
        page.context.new_page().goto(f"http://127.0.0.1:{other.port}/")
        # It may get its own.
        self.assertLessEqual(set(other.cookies), {None, "defaults-viewer=other"})
        page.bring_to_front()
        self.show(page, "org.example.a", "key")
        page.fill(".detail textarea", "two")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.a", "key").strip() == "two", "it isn't saved")

    def test_lost_cookie(self) -> None:
        self.session.run("write", "org.example.a", "key", "-string", "one")
        page = self.open()
        self.show(page, "org.example.a", "key")
        page.context.clear_cookies()
        page.fill(".detail textarea", "two")
        page.press(".detail textarea", "Control+Enter")
        expect(page.locator("#state")).to_have_text(
            "The browser has lost this page's cookie. Run `defaults view` again.")
        expect(page.locator("#state")).to_have_attribute("data-state", "lost")
        page.on("dialog", lambda dialog: dialog.accept())
        page.reload()
        expect(page.locator("main p")).to_have_text(
            "Open this page with defaults view: only its browser may see your preferences.")
        self.assertNotEqual(
            page.evaluate("getComputedStyle(document.body).fontFamily"), page.evaluate("'Times New Roman'"))
        self.assertEqual(Axe().run(page).violations_count, 0)
        self.assertIn("403", " ".join(self.problems))
        self.problems.clear()

    def test_forwarded_port(self) -> None:
        self.session.run("write", "org.example.a", "key", "-string", "one")
        address = self.session.start()
        forward = Forward(int(address.split(":")[2].split("/")[0]))
        self.addCleanup(forward.end)
        context = self.browser.new_context()
        self.addCleanup(context.close)
        page = self.watched(context)
        page.goto(f"http://localhost:{forward.port}/{address.split('/', 3)[3]}")
        expect(page.locator(LIVE)).to_be_visible()
        self.show(page, "org.example.a", "key")
        page.fill(".detail textarea", "two")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.a", "key").strip() == "two", "it isn't saved")

    def test_browser_records_no_names(self) -> None:
        self.session.run("write", "org.example.recorded", "secretive", "-string", "one")
        profile = self.root / "profile"
        context = self.playwright.chromium.launch_persistent_context(
            str(profile), executable_path="/usr/bin/chromium", args=["--no-sandbox", "--disable-dev-shm-usage"])
        page = self.watched(context)
        page.goto(self.session.start("--domain=org.example.recorded"))
        page.locator(".row.key", has_text="secretive").click()
        expect(page.locator(".detail h2")).to_have_text("secretive")
        page.click("nav >> text=Changes")
        self.session.run("write", "org.example.recorded", "secretive", "-string", "two")
        page.click(".feed a >> text=secretive")
        expect(page.locator(".detail h2")).to_have_text("secretive")
        # The browser's entry has the place.
        page.reload()
        expect(page.locator(".detail h2")).to_have_text("secretive")
        page.go_back()
        expect(page.locator("#filter")).to_be_visible()
        context.close()
        with contextlib.closing(sqlite3.connect(profile / "Default/History")) as history:
            recorded = list(history.execute("select url, title from urls"))
        self.assertTrue(recorded)
        for url, title in recorded:
            self.assertNotRegex(f"{url} {title}", "recorded|secretive")

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

    # Much

    def test_many_changed_keys_end_no_view(self) -> None:
        page = self.open()
        page.evaluate("""async () => {
            const { receive } = await import("./store.js");
            const changes = Array.from({ length: 150_000 }, (_, n) => ({ key: `key${n}`, new: n }));
            receive([{ kind: "event", message: { type: "change", domain: "org.example.many", revision: 10, time: 1e18,
                source: { kind: "file" }, changes } }]);
        }""")
        expect(page.locator("#count")).to_have_text("150,000 keys in 1 domain")
        self.session.run("write", "org.example.other", "x", "-int", "1")
        expect(page.locator(".row.domain", has_text="org.example.other")).to_be_visible()

    def test_large_change_set_is_shown_in_parts(self) -> None:
        values = self.root / "values.json"
        values.write_text(json.dumps({f"k{number}": number for number in range(3_000)}))
        page = self.open()
        page.click("nav >> text=Changes")
        self.session.run("import", "org.example.set", str(values))
        expect(page.locator(".feed > li")).to_have_count(1)
        expect(page.locator(".feed .change")).to_have_count(20)
        page.click("text=… and 2,980 more")
        expect(page.locator(".feed .change")).to_have_count(1_020)
        page.click("nav >> text=History")
        page.fill("#compare-domain", "org.example.set")
        page.click("text=Compare >> nth=-1")
        expect(page.locator(".outcome tbody tr")).to_have_count(500)
        page.click("text=Show all 3,000")
        expect(page.locator(".outcome tbody tr")).to_have_count(3_000)

    def test_what_is_read_aloud_changes_rarely(self) -> None:
        self.session.run("write", "org.example.a", "n", "-int", "0")
        page = self.open()
        self.show(page, "org.example.a", "n")
        page.locator(".editor [aria-label=Value]").first.press("End")
        page.keyboard.type("1")
        said = page.evaluate("""async () => {
            const said = [];
            new MutationObserver((all) => said.push(...all.map(({ target }) => target.closest?.("[role=status]"))
                .filter(Boolean).map((one) => one.className || one.id)))
                .observe(document.body, { subtree: true, childList: true });
            const { receive } = await import("./store.js");
            for (let n = 10; n < 60; n += 1) {
                receive([{ kind: "event", message: { type: "change", domain: "org.example.a", revision: 1e9 + n,
                    time: 1e18, source: { kind: "file" }, changes: [{ key: "n", old: n - 1, new: n }] } }]);
                await new Promise((resolve) => requestAnimationFrame(() => setTimeout(resolve, 20)));
            }
            return said;
        }""")
        # It says so at once, and then every three seconds.
        self.assertGreater(said.count("note"), 0)
        self.assertLess(len(said), 10, said)
        expect(page.locator(".editor .note")).to_have_text("Meanwhile, the value was set to 59.")

    def test_the_tree_keeps_its_place(self) -> None:
        for number in range(60):
            self.write_file(f"org.example.d{number:02}", {"alpha": number})
        self.session.run("sync")
        page = self.open(domain="org.example.d50")
        seen = """(selector) => {
            const box = document.getElementById("tree").getBoundingClientRect();
            return [...document.querySelectorAll(selector)].some((row) => {
                const { top, bottom } = row.getBoundingClientRect();
                return top >= box.top && bottom <= box.bottom;
            });
        }"""
        # The domain comes with its keys, which are also beside the tree.
        expect(page.locator(".keys")).to_contain_text("alpha")
        self.assertTrue(page.evaluate(seen, ".row.key"))
        page.fill("#search", "d57 alpha")
        page.press("#search", "Enter")
        expect(page.locator(".detail h2")).to_have_text("alpha")
        page.fill("#search", "")
        expect(page.locator("#count")).to_contain_text("60 domains")
        self.assertTrue(page.evaluate(seen, ".row[aria-selected=true]"))
        page.evaluate("document.getElementById('tree').scrollTop = 300")
        page.evaluate("new Promise((resolve) => requestAnimationFrame(() => requestAnimationFrame(resolve)))")
        page.click("nav >> text=Changes")
        page.click("nav >> text=Browse")
        self.assertEqual(page.evaluate("document.getElementById('tree').scrollTop"), 300)

    def test_history_is_a_place(self) -> None:
        for number in range(3):
            self.session.run("write", "org.example.past", "n", "-int", f"{number}")
        self.session.run("write", "org.example.other", "n", "-int", "7")
        page = self.open(domain="org.example.past")
        page.click("text=All its changes")
        expect(page.locator(".page .records > li")).to_have_count(3)
        page.reload()
        expect(page.locator("#history-domain")).to_have_value("org.example.past")
        expect(page.locator(".page .records > li")).to_have_count(3)
        page.go_back()
        page.click("text=Compare two moments…")
        expect(page.locator(".outcome")).to_contain_text("(none) → 2")
        page.focus("#compare-domain")
        expect(page.locator("#domain-names option")).to_have_count(2)
        page.get_by_label("From, in a calendar").fill("2026-11-24T10:15")
        expect(page.locator("#compare-since")).to_have_value("2026-11-24 10:15")

    def test_history_finds_values(self) -> None:
        for value in ("dark", "light", "sepia"):
            self.session.run("write", "org.example.past", "theme", "-string", value)
        self.session.run("write", "org.example.past", "other", "-string", "dark")
        page = self.open()
        page.click("nav >> text=History")
        page.fill("#history-domain", "org.example.past")
        page.focus("#history-key")
        expect(page.locator("#key-names option")).to_have_count(2)
        page.fill("#history-key", "theme")
        page.fill("#history-value", "DARK")
        page.click("text=Show")
        records = page.locator(".page .records > li")
        expect(records).to_have_count(2)
        # Also before the manifests say which keys are secret.
        page.reload()
        expect(page.locator("#history-value")).to_have_value("DARK")
        expect(records).to_have_count(2)
        expect(records.first).to_contain_text('"dark" → "light"')
        page.fill("#history-value", "nothing")
        page.click("text=Show")
        expect(page.locator(".page .count")).to_have_text("No matches.")

    def test_a_long_history_is_read_in_parts(self) -> None:
        for number in range(8):
            self.session.run("write", "org.example.past", "n", "-int", f"{number}")
        page = self.open()
        # The viewer cuts off an output that is too long, within a line.
        page.evaluate("""() => {
            const whole = window.fetch;
            window.fetch = async (path, options) => {
                const answer = await whole(path, options);
                if (path !== "run" || JSON.parse(options.body).verb !== "log") return answer;
                const outcome = await answer.json();
                const text = JSON.stringify({ ...outcome, output: outcome.output.slice(0, 1200) });
                return { ok: true, status: 200, headers: answer.headers, text: async () => text };
            };
        }""")
        page.click("nav >> text=History")
        expect(page.locator(".page .records > li")).to_have_count(8)
        expect(page.locator(".page .count")).to_have_text("")
        expect(page.get_by_role("button", name="Older")).to_have_count(0)

    def test_clock_of_another_machine(self) -> None:
        context = self.browser.new_context()
        self.addCleanup(context.close)
        context.add_init_script("const now = Date.now; Date.now = () => now() + 7_200_000;")
        page = self.watched(context)
        page.goto(self.session.start())
        page.click("nav >> text=Health")
        self.session.run("write", "org.example.clock", "n", "-int", "1")
        expect(page.locator(".columns")).to_contain_text("org.example.clock")

    def test_plots_on_a_narrow_screen(self) -> None:
        for number in range(6):
            self.session.run("write", "org.example.a", "n", "-int", f"{number * number}")
        for width in (380, 800):
            with self.subTest(width=width):
                page = self.open(viewport={"width": width, "height": 1000})
                self.show(page, "org.example.a", "n")
                expect(page.locator("svg .axis").first).to_be_visible()
                scale = page.evaluate("""() => {
                    const svg = document.querySelector("svg");
                    return svg.getBoundingClientRect().width / svg.viewBox.baseVal.width;
                }""")
                self.assertGreater(scale, 0.9)

    def test_plots_have_more_than_the_list(self) -> None:
        for number in range(60):
            self.session.run("write", "org.example.a", "n", "-int", f"{number}")
        page = self.open()
        self.show(page, "org.example.a", "n")
        expect(page.locator(".history .record")).to_have_count(50)
        page.click("text=As a table")
        expect(page.locator("figure tbody tr")).to_have_count(60)
        page.click("text=All its changes")
        expect(page.locator("#history-key")).to_have_value("n")
        expect(page.locator(".page .records > li")).to_have_count(60)

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
        expect(page.locator("[role=treeitem].cursor")).to_contain_text("beta")
        expect(page.locator("[role=treeitem][aria-selected=true]")).to_have_count(0)
        self.assertEqual(
            page.locator("#tree").get_attribute("aria-activedescendant"),
            page.locator("[role=treeitem].cursor").get_attribute("id"))
        page.keyboard.press("Enter")
        expect(page.locator(".detail h2")).to_have_text("beta")
        expect(page.locator("[role=treeitem][aria-selected=true]")).to_contain_text("beta")
        for _ in range(12):
            if page.evaluate("document.activeElement.localName") == "textarea":
                break
            page.keyboard.press("Tab")
        page.keyboard.press("End")
        page.keyboard.type("yz")
        page.keyboard.press("Control+Enter")
        eventually(lambda: self.session.run("read", "org.example.b", "beta").strip() == "xyz", "it isn't saved")
        # The focus stays, after the search, too.
        expect(page.locator(".detail textarea")).to_be_focused()
        page.keyboard.type("!")
        page.get_by_role("button", name="Save", exact=True).press("Space")
        expect(page.locator("#message")).to_contain_text("xyz!")
        expect(page.locator(".detail textarea")).to_be_focused()
        page.fill("#search", "alpha")
        page.press("#search", "Enter")
        expect(page.locator(".detail h2")).to_have_text("alpha")
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
        expect(page.locator(".history li").first).to_be_visible()
        expect(page.get_by_role("button", name=re.compile("Undo change"))).to_have_count(0)


if __name__ == "__main__":
    unittest.main()
