#!/usr/bin/env python3
"""The page for everybody: other colors, fonts and input methods, keyboards, and names and numbers that are hard to see
or to type. Run by `.ci/viewer`."""

from __future__ import annotations

import json
import plistlib
import unittest

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Locator, Page, expect

from page import SAVE, PageCase
from viewer import eventually


class EverybodyTests(PageCase):
    def picture(self, page: Page, locator: Locator, width: int | None = None) -> bytes:
        page.mouse.move(5, 5)
        page.evaluate("document.activeElement.blur()")
        box = locator.bounding_box()
        assert box is not None
        return page.screenshot(clip={"x": box["x"], "y": box["y"], "width": width or box["width"], "height": box["height"]})

    # Looks

    def test_forced_colors(self) -> None:
        self.session.run("write", "org.example.a", "b", "-bool", "true")
        self.session.run("write", "org.example.a", "c", "-int", "1")
        page = self.open(forced_colors="active", reduced_motion="reduce")
        self.show(page, "org.example.a", "b")
        switch = page.locator("[role=switch]")
        on = self.picture(page, switch)
        self.session.run("write", "org.example.a", "b", "-bool", "false")
        expect(switch).not_to_be_checked()
        self.assertNotEqual(on, self.picture(page, switch))
        links = page.locator("nav a")
        self.assertNotEqual(self.picture(page, links.nth(0), 7), self.picture(page, links.nth(1), 7))
        rows = [page.locator(f".row.key[aria-selected={selected}]").first for selected in ("true", "false")]
        self.assertNotEqual(*(self.picture(page, row, 7) for row in rows))
        self.shoot(page, "forced-colors")
        self.assertEqual(Axe().run(page).violations_count, 0)

    def test_light_ends_without_motion(self) -> None:
        page = self.open(reduced_motion="reduce")
        page.click("nav >> text=Changes")
        for number in range(3):
            self.session.run("write", "org.example.a", "k", "-int", f"{number}")
        expect(page.locator(".feed > li")).to_have_count(3)
        expect(page.locator(".feed > .lit")).to_have_count(0)

    def test_long_names_leave_room_for_values(self) -> None:
        self.session.run("write", "org.example.a", "k" * 120, "-int", "12345")
        page = self.open(domain="org.example.a")
        box = page.locator(".row.key .value").bounding_box()
        assert box is not None
        self.assertGreater(box["width"], 60)

    def test_minimum_font_size(self) -> None:
        browser = self.playwright.chromium.launch(executable_path="/usr/bin/chromium", args=[
            "--no-sandbox", "--disable-dev-shm-usage", "--blink-settings=minimumFontSize=28"])
        self.addCleanup(browser.close)
        for number in range(40):
            self.session.run("write", "org.example.a", f"key{number}", "-int", "1")
        page = self.watched(browser.new_context(viewport={"width": 1100, "height": 750}))
        page.goto(self.session.start("--domain=org.example.a"))
        rows = page.locator(".row.key")
        expect(rows.first).to_be_visible()
        boxes = [rows.nth(number).bounding_box() for number in (0, 1)]
        name = rows.first.locator(".name").bounding_box()
        assert boxes[0] and boxes[1] and name
        self.assertLessEqual(name["height"], boxes[0]["height"] + 1)
        self.assertAlmostEqual(boxes[1]["y"] - boxes[0]["y"], boxes[0]["height"], delta=1)
        self.assertLessEqual(page.evaluate("document.documentElement.scrollWidth - innerWidth"), 0)

    # Keyboards

    def test_input_methods(self) -> None:
        self.session.run("write", "org.example.a", "k", "-string", "x")
        page = self.open()
        self.show(page, "org.example.a", "k")
        press = """(element, options) => element.dispatchEvent(new KeyboardEvent("keydown",
            { bubbles: true, cancelable: true, isComposing: true, ...options }))"""
        page.fill("#search", "org")
        page.locator("#search").evaluate(press, {"key": "ArrowDown"})
        expect(page.locator("#search")).to_be_focused()
        page.locator("#search").evaluate(press, {"key": "Enter"})
        expect(page.locator(".detail h2")).to_have_text("k")
        page.fill(".editor textarea", "half")
        page.locator(".editor textarea").evaluate(press, {"key": "Enter", "ctrlKey": True})
        self.session.run("write", "org.example.a", "other", "-int", "1")
        expect(page.locator("#count")).to_contain_text("2 keys")
        self.assertEqual(self.session.run("read", "org.example.a", "k").strip(), "x")

    def test_tree_drawn_in_part(self) -> None:
        (self.root / "v.json").write_text(json.dumps({f"k{number}": number for number in range(300)}))
        for name in ("a", "b"):
            self.session.run("import", f"org.example.{name}", str(self.root / "v.json"))
        page = self.open(domain="org.example.a")
        expect(page.locator(".row.key").first).to_be_visible()
        page.locator("#tree").evaluate("(tree) => { tree.scrollTop = 6000; }")
        expect(page.locator(".row.key", has_text="k200")).to_be_visible()
        named = "document.getElementById(document.getElementById('tree').getAttribute('aria-activedescendant'))"
        self.assertTrue(page.evaluate(f"{named} !== null"))
        self.assertEqual(Axe().run(page).violations_count, 0)
        page.locator("#tree").focus()
        page.keyboard.press("Home")
        first = page.locator(".row.domain").first
        self.assertEqual([first.get_attribute(f"aria-{name}") for name in ("posinset", "setsize")], ["1", "2"])
        # Letters select what begins with them.
        page.keyboard.type("k29")
        expect(page.locator(".row.cursor .name")).to_have_text("k29")

    def test_focus_returns_after_a_dialog(self) -> None:
        for number in range(3):
            self.session.run("write", "org.example.a", "k", "-int", f"{number}")
        page = self.open()
        self.show(page, "org.example.a", "k")
        page.get_by_role("button", name="Undo change 2…").press("Enter")
        expect(page.locator("dialog")).to_be_visible()
        self.session.run("write", "org.example.a", "k", "-int", "7")
        expect(page.locator(".history .record")).to_have_count(4)
        page.keyboard.press("Escape")
        expect(page.get_by_role("button", name="Undo change 2…")).to_be_focused()
        # The focused entry of Changes stays, whatever follows.
        page.click("nav >> text=Changes")
        self.session.run("write", "org.example.a", "k", "-int", "8")
        link = page.locator(".feed a").first
        link.focus()
        page.evaluate("""async () => {
            const { receive } = await import("./store.js");
            receive(Array.from({ length: 300 }, (_, n) => ({ kind: "event", message: { type: "change",
                domain: "org.example.a", revision: 100 + n, time: 1e18, source: { kind: "file" },
                changes: [{ key: "k", old: n, new: n + 1 }] } })));
        }""")
        expect(page.locator(".feed > li")).to_have_count(201)
        self.assertEqual(page.evaluate("document.activeElement.localName"), "a")

    # Names and numbers

    def test_numbers(self) -> None:
        self.session.run("write", "org.example.a", "k", "-float", "1.5")
        page = self.open()
        self.show(page, "org.example.a", "k")
        for typed, value in {"-0.0": "-0.0", "nan": '{"$real":"nan"}', "inf": '{"$real":"inf"}',
                             "-inf": '{"$real":"-inf"}', "+2": "2.0"}.items():
            with self.subTest(typed=typed):
                page.fill(".editor input[aria-label=Value]", typed)
                page.click(SAVE)
                read = lambda: self.session.run("read", "--json", "org.example.a", "k").strip()
                eventually(lambda: read() == value, typed, 10)
        for typed, problem in {"1e-400": "at least 5e-324", "1e999": "at most 1.797", "12,5": "such as 2.5"}.items():
            page.fill(".editor input[aria-label=Value]", typed)
            page.click(SAVE)
            expect(page.locator(".editor .problem")).to_contain_text(problem)

    def test_names_that_cannot_be_seen(self) -> None:
        names = {"": "(empty key)", " ": "␣", "ab": "ab", "a\u202eb": "a⟨U+202E⟩b", "c\nd": "c␊d", "c d": "c d"}
        path = self.session.agent.directory / "org.example.a.plist"
        path.write_bytes(plistlib.dumps(dict.fromkeys(names, "old"), fmt=plistlib.FMT_BINARY))
        page = self.open(domain="org.example.a")
        expect(page.locator(".row.key")).to_have_count(len(names))
        self.assertEqual(set(page.locator(".row.key .name").all_inner_texts()), set(names.values()))
        for key, name in names.items():
            page.evaluate("(key) => { location.hash = new URLSearchParams({domain: 'org.example.a', key}) }", key)
            expect(page.locator(".detail h2")).to_have_text(name)
            page.fill(".editor textarea", f"new {name}")
            page.click(SAVE)
            expect(page.locator("#message")).to_contain_text(f"{name} is")
            if not key:
                self.assertEqual(Axe().run(page).violations_count, 0)
        values = json.loads(self.session.run("read", "--json", "org.example.a"))
        self.assertEqual(values, {key: f"new {name}" for key, name in names.items()})
        # A name doesn't change by itself.
        page.evaluate("(key) => { location.hash = new URLSearchParams({domain: 'org.example.a', key}) }", "c\nd")
        page.click("text=Rename…")
        page.click("dialog button.main")
        expect(page.locator("dialog")).to_have_count(0)
        page.click("text=Rename…")
        expect(page.get_by_label("New name")).to_have_value("c\\nd")
        page.get_by_label("New name").fill("c\\ne")
        page.click("dialog button.main")
        expect(page.locator(".detail h2")).to_have_text("c␊e")
        self.assertEqual(set(json.loads(self.session.run("read", "--json", "org.example.a"))), {*names, "c\ne"} - {"c\nd"})

    def test_search_finds_accents_and_digits_of_data(self) -> None:
        self.session.run("write", "org.example.a", "café", "-string", "naïve")
        self.session.run("write", "org.example.a", "d", "-data", "cafe00")
        page = self.open()
        for sought, name in {"naive": "café", "CAFE naï": "café", "fe00": "d"}.items():
            page.fill("#search", sought)
            expect(page.locator(".row.key .name")).to_have_text([name])

    # Secrets

    def test_secrets_leave_the_page_only_when_asked(self) -> None:
        self.session.manifests.mkdir(parents=True)
        keys = [{"pfm_name": "Password", "pfm_type": "string", "pfm_sensitive": True}]
        (self.session.manifests / "org.example.a.plist").write_bytes(
            plistlib.dumps({"pfm_domain": "org.example.a", "pfm_subkeys": keys}))
        self.write_file("org.example.a", {"Password": "hunter2", "Theme": "dark"})
        page = self.open(domain="org.example.a", permissions=["clipboard-read", "clipboard-write"])
        expect(page.locator(".row.key", has_text="Theme")).to_contain_text("dark")
        for answer, isThere in {"Leave out secrets": False, "Save secrets, too": True}.items():
            page.click("text=Save as a profile")
            expect(page.locator("dialog")).to_contain_text("This domain has 1 secret")
            with page.expect_download() as download:
                page.click(f"dialog >> text={answer}")
            profile = download.value.path().read_text()
            self.assertEqual(("hunter2" in profile, "dark" in profile), (isThere, True))
        self.show(page, "org.example.a", "Password")
        page.get_by_role("button", name="Copy", exact=True).click()
        expect(page.locator("dialog")).to_contain_text("The text has the secret.")
        page.click("dialog >> text=Cancel")
        self.assertEqual(page.evaluate("navigator.clipboard.readText()"), "")
        page.get_by_role("button", name="Copy", exact=True).click()
        page.click("dialog button.main")
        expect(page.locator("#message")).to_have_text("Copied.")
        self.assertIn("hunter2", page.evaluate("navigator.clipboard.readText()"))


if __name__ == "__main__":
    unittest.main()
