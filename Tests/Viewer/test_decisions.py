#!/usr/bin/env python3
"""Values on the page, shown so that a person can decide. Run by `.ci/viewer`."""

from __future__ import annotations

import json
import os
import plistlib
import re
import resource
import signal
import unittest

from playwright.sync_api import expect

from page import LIVE, SAVE, PageCase
from viewer import eventually


class DecisionTests(PageCase):
    # Differences

    def put(self, key: str, value: object) -> None:
        self.session.run("write", "--json", "org.example.a", key, json.dumps(value))

    def test_history_shows_the_part_that_differs(self) -> None:
        begin = {f"key{number:03}": number for number in range(60)}
        self.put("window", {**begin, "zoom": {"now": 1}, "list": [1, 2, 3]})
        self.put("window", {**begin, "zoom": {"now": 2}, "list": [1, 9, 2, 3]})
        self.put("text", "x" * 300 + " one end")
        self.put("text", "x" * 300 + " two end")
        self.put("data", {"a": {"$data": "AAAA" * 20}})
        self.put("data", {"a": {"$data": "AAAA" * 19 + "AAEA"}})
        page = self.open()
        self.show(page, "org.example.a", "window")
        change = page.locator(".history .change").first
        expect(change.locator(".part")).to_have_text([re.compile(r"list\.2: \(none\) → 9"), re.compile(r"zoom\.now: 1 → 2")])
        change.locator("summary").click()
        expect(change.locator("pre")).to_have_count(2)
        expect(change.locator("pre").last).to_contain_text('"zoom": {\n        "now": 2')
        # Open values stay open when the history is read again.
        self.put("window", {**begin, "zoom": {"now": 3}, "list": [1, 9, 2, 3]})
        expect(change).to_contain_text("zoom.now: 2 → 3")
        expect(page.locator(".history details[open]")).to_have_count(1)
        self.show(page, "org.example.a", "text")
        expect(change).to_contain_text(re.compile(r'…"x+ one end" → …"x+ two end"'))
        self.show(page, "org.example.a", "data")
        expect(change.locator(".part .old")).not_to_have_text(change.locator(".part .new").inner_text())

    def test_changes_and_comparisons_show_the_part_that_differs(self) -> None:
        begin = {f"key{number:03}": "x" * 100 for number in range(60)}
        self.put("window", {**begin, "zoom": 1})
        page = self.open()
        page.click("nav >> text=Changes")
        self.put("window", {**begin, "zoom": 2})
        expect(page.locator(".feed .change")).to_have_text("zoom: 1 → 2")
        page.fill("#filter", "window")
        page.click("nav >> text=History")
        page.fill("#compare-domain", "org.example.a")
        page.fill("#compare-since", "1")
        page.get_by_role("button", name="Compare", exact=True).click()
        expect(page.locator(".outcome .part")).to_have_text("zoom: 1 → 2")

    def test_conflict_shows_what_differs_and_offers_both(self) -> None:
        begin = {f"key{number:03}": number for number in range(60)}
        self.put("k", {**begin, "zoom": 1, "size": 1})
        page = self.open()
        self.show(page, "org.example.a", "k")
        page.click("text=As JSON")
        page.fill(".editor textarea", json.dumps({**begin, "zoom": 3, "size": 1}))
        self.put("k", {**begin, "zoom": 4, "size": 1})
        expect(page.locator(".editor .note[role=status]")).to_have_text("Meanwhile, zoom was set to 4.")
        page.click(SAVE)
        conflict = page.locator(".conflict")
        expect(conflict.locator("tbody tr")).to_have_count(1)
        expect(conflict.locator("tbody td")).to_have_text(["zoom", "4", "3"])
        # Both changed the same part.
        expect(conflict.get_by_role("button", name="Both")).to_be_hidden()
        self.put("k", {**begin, "zoom": 1, "size": 7})
        expect(conflict.locator("tbody tr")).to_have_count(2)
        # It would discard what is typed now.
        expect(conflict.get_by_role("button", name="Both")).to_be_visible()
        page.fill(".editor textarea", json.dumps({**begin, "zoom": 5, "size": 1}))
        expect(conflict.get_by_role("button", name="Both")).to_be_hidden()
        page.fill(".editor textarea", json.dumps({**begin, "zoom": 3, "size": 1}))
        conflict.locator("summary").click()
        expect(conflict.locator("pre")).to_have_count(2)
        conflict.get_by_role("button", name="Both").click()
        expect(conflict).to_be_hidden()
        expected = {**begin, "zoom": 3, "size": 7}
        eventually(lambda: json.loads(self.session.run("read", "--json", "org.example.a", "k")) == expected, "not both")

    def test_an_older_value_comes_back(self) -> None:
        old = "old " + "x" * 400 + " end"
        for value in (old, "second", "third"):
            self.session.run("write", "org.example.a", "k", "-string", value)
        page = self.open()
        self.show(page, "org.example.a", "k")
        page.get_by_role("button", name=re.compile("^Use .*after change 1$")).click()
        expect(page.locator(".editor textarea")).to_have_value(old)
        expect(page.locator(".editor textarea")).to_be_focused()
        self.assertEqual(self.session.run("read", "org.example.a", "k").strip(), "third")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.a", "k").strip() == old, "it isn't back")
        # Also after the key was removed, and with another type.
        self.session.run("write", "org.example.a", "k", "-int", "5")
        self.session.run("delete", "org.example.a", "k")
        expect(page.locator(".detail")).to_contain_text("This key has no value here.")
        page.get_by_role("button", name=re.compile("^Use 5, the value before")).click()
        page.click(SAVE)
        eventually(lambda: "integer" in self.session.run("read-type", "org.example.a", "k"), "it isn't back")

    # Hosts and layers

    def test_each_host_has_its_history(self) -> None:
        self.session.run("-currentHost", "write", "org.example.t", "k", "-int", "1")
        self.session.run("write", "org.example.t", "any", "-int", "1")
        host = next((self.session.agent.directory / "ByHost").glob("org.example.t.*")).name.split(".")[-2]
        for number in range(52):
            self.session.run("write", "org.example.t", "k", "-int", f"{number}")
            self.session.run("-currentHost", "write", "org.example.t", "any", "-int", f"{number}")
        page = self.open()
        for place, key in (f"host={host}&", "k"), ("", "any"):
            page.evaluate(f"location.hash = 'domain=org.example.t&{place}key={key}'")
            expect(page.locator(".history .record")).to_have_count(1)
            expect(page.locator(".history .change")).to_have_text("(none) → 1")
        expect(page.locator(".row.domain .place").first).to_have_text("this host")

    def test_value_in_effect(self) -> None:
        agent = self.session.agent
        self.session.manifests.mkdir(parents=True)
        keys = [{"pfm_name": name, "pfm_type": "real"} for name in ("Ratio", "Size")]
        (self.session.manifests / "org.example.a.plist").write_bytes(
            plistlib.dumps({"pfm_domain": "org.example.a", "pfm_subkeys": keys}))
        (agent.managed / "org.example.a.plist").write_bytes(plistlib.dumps({"Ratio": 0.25}))
        self.write_file("org.example.a", {"Ratio": 0.5, "Size": 99.5})
        self.session.run("-currentHost", "write", "org.example.a", "Size", "-float", "33.5")
        page = self.open(domain="org.example.a")
        settings = page.locator(".settings tbody tr")
        expect(settings).to_have_text([re.compile("0.25"), re.compile("33.5")])
        self.show(page, "org.example.a", "Size")
        expect(page.locator(".effect")).to_contain_text("Another value is in effect: 33.5, for this host.")
        row = page.locator(".row.key[aria-selected=true]")
        expect(row).to_contain_text("for this host")
        expect(row).to_contain_text("33.5")
        self.session.run("-currentHost", "write", "org.example.a", "Size", "-float", "34.5")
        expect(page.locator(".effect")).to_contain_text("34.5")
        self.session.run("-currentHost", "delete", "org.example.a", "Size")
        expect(page.locator(".effect")).to_have_text("")
        expect(row).to_contain_text("99.5")

    # Failures

    def test_top_says_what_cannot_be_saved(self) -> None:
        self.session.run("write", "org.example.full", "n", "-int", "1")
        self.session.run("sync")
        page = self.open()
        self.show(page, "org.example.full", "n")
        # No file can become larger than this, as on a full disk.
        pid = json.loads(self.session.run("status", "--json"))["pid"]
        former = resource.prlimit(pid, resource.RLIMIT_FSIZE, (0, resource.RLIM_INFINITY))
        self.addCleanup(lambda: resource.prlimit(pid, resource.RLIMIT_FSIZE, former))
        page.fill(".control input", "2")
        page.press(".control input", "Enter")
        state = page.locator("#state")
        expect(state).to_contain_text("Not saved: org.example.full.")
        page.fill(".control input", "3")
        page.press(".control input", "Enter")
        expect(page.locator("#message")).to_have_text("n is 3 now, but can't be saved yet.")
        page.click("nav >> text=Health")
        expect(state).to_contain_text("Not saved: org.example.full.")
        page.reload()
        expect(state).to_contain_text("Not saved: org.example.full.")
        resource.prlimit(pid, resource.RLIMIT_FSIZE, former)
        expect(page.locator(LIVE)).to_be_visible()
        self.session.run("sync")
        data = plistlib.loads((self.session.agent.directory / "org.example.full.plist").read_bytes())
        self.assertEqual(data["n"], 3)

    def test_a_viewer_that_hangs_is_not_called_an_agent_that_hangs(self) -> None:
        page = self.open()
        viewer = self.session.viewer.pid
        os.kill(viewer, signal.SIGSTOP)
        self.addCleanup(os.kill, viewer, signal.SIGCONT)
        expect(page.locator("#state")).to_have_text(f"The viewer is not answering (process {viewer}).")
        os.kill(viewer, signal.SIGCONT)
        expect(page.locator(LIVE)).to_be_visible()


if __name__ == "__main__":
    unittest.main()
