#!/usr/bin/env python3
"""The outline of dictionaries and lists, and values too large for a field. Run by `.ci/viewer`."""

from __future__ import annotations

import json
import re
import unittest
from typing import Any

from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import Page, expect

from page import SAVE, PageCase
from viewer import eventually


class OutlineTests(PageCase):
    def begin(self, value: Any) -> Page:
        self.session.run("write", "--json", "org.example.a", "k", json.dumps(value))
        page = self.open()
        self.show(page, "org.example.a", "k")
        expect(page.locator(".outline")).to_be_visible()
        return page

    def value(self) -> Any:
        return json.loads(self.session.run("read", "--json", "org.example.a", "k"))

    def becomes(self, expected: Any) -> None:
        eventually(lambda: json.dumps(self.value()) == json.dumps(expected), f"it isn't {expected}, but {self.value()}")

    def test_edits_a_number_in_a_dictionary(self) -> None:
        begin = {f"key{number:02}": number for number in range(60)}
        page = self.begin({**begin, "real": 2.0, "when": {"$date": "2026-01-01T00:00:00Z"}})
        page.get_by_label("Value of key41").fill("7")
        page.get_by_label("Value of key41").press("Control+Enter")
        self.becomes({**begin, "key41": 7, "real": 2.0, "when": {"$date": "2026-01-01T00:00:00Z"}})
        expect(page.get_by_label("Value of key41")).to_be_focused()
        # Invalid text stays, and the error says where it is.
        page.get_by_label("Value of key41").fill("x")
        page.click(SAVE)
        expect(page.locator(".editor .problem")).to_have_text("key41: Type an integer, such as 12.")
        expect(page.get_by_label("Value of key41")).to_have_value("x")
        # JSON is one click away.
        page.get_by_label("Value of key41").fill("8")
        page.click("text=As JSON")
        expect(page.get_by_label("Value", exact=True)).to_have_value(re.compile('"key41": 8,'))
        page.click("text=As an outline")
        expect(page.get_by_label("Value of key41")).to_have_value("8")
        page.click("text=Revert")
        expect(page.get_by_label("Value of key41")).to_have_value("7")

    def test_adds_removes_renames_and_changes_types(self) -> None:
        page = self.begin({"a": {"b": [1]}, "gone": 1})
        page.get_by_role("button", name="Remove gone").click()
        page.get_by_role("button", name="Open a", exact=True).click()
        page.get_by_role("button", name="Add to a").click()
        expect(page.get_by_label("Key new")).to_be_focused()
        page.keyboard.type("c")
        page.get_by_label("Type of new").select_option("boolean")
        page.get_by_label("Value of c").check()
        page.get_by_role("button", name="Open b", exact=True).click()
        page.get_by_role("button", name="Add to b").click()
        page.get_by_label("Value of Element 2").fill("two")
        page.click(SAVE)
        self.becomes({"a": {"b": [1, "two"], "c": True}})
        # An open element stays open.
        expect(page.get_by_label("Value of Element 2")).to_have_value("two")
        page.get_by_role("button", name="Add to a").click()
        page.keyboard.type("b")
        page.click(SAVE)
        expect(page.locator(".editor .problem")).to_have_text("b: The key “b” is there twice.")
        self.assertEqual(Axe().run(page).violations_count, 0)
        self.shoot(page, "outline")

    def test_keyboard_and_undo(self) -> None:
        page = self.begin(["one", "two", "three"])
        page.get_by_label("Value of Element 1").focus()
        page.keyboard.press("ArrowDown")
        expect(page.get_by_label("Value of Element 2")).to_be_focused()
        page.keyboard.type("!")
        page.keyboard.press("Alt+ArrowUp")
        expect(page.get_by_label("Value of Element 1")).to_have_value("two!")
        page.keyboard.press("Control+z")
        expect(page.get_by_label("Value of Element 2")).to_have_value("two!")
        page.keyboard.press("Control+z")
        expect(page.get_by_label("Value of Element 2")).to_have_value("two")
        page.keyboard.press("Control+Shift+z")
        page.keyboard.press("Control+Shift+z")
        expect(page.get_by_label("Value of Element 1")).to_have_value("two!")
        page.keyboard.press("Control+Enter")
        self.becomes(["two!", "one", "three"])
        # Only one row is in the order of Tab.
        self.assertLessEqual(page.locator(".entry [tabindex='0']").count(), 6)

    def test_says_what_is_wrong_and_focuses_it(self) -> None:
        self.session.run("write", "--json", "org.example.a", "k", '{"a": 1}')
        page = self.open()
        self.show(page, "org.example.a", "k")
        problem = page.locator(".editor .problem")
        page.click("text=As JSON")
        page.fill(".editor textarea", '{"a": null}')
        page.click("text=As an outline")
        expect(problem).to_contain_text("null")
        page.fill(".editor textarea", '{"a": 1, "b": "x"}')
        page.click("text=As an outline")
        page.get_by_label("Type of b").select_option("date")
        page.get_by_label("Value of b").fill("nonsense")
        page.click(SAVE)
        expect(problem).to_contain_text("b: Type a date")
        expect(page.get_by_label("Value of b")).to_be_focused()
        page.get_by_label("Value of b").fill("2026-11-27T10:15:00Z")
        page.get_by_label("Key a").fill("b")
        page.click(SAVE)
        expect(problem).to_contain_text("is there twice")
        expect(page.get_by_label("Key b").last).to_be_focused()

    def test_values_stay_exact(self) -> None:
        exact = '{"far":18446744073709551615,"real":2.0,"n":1,"in":{"$$data":"AP8="},"__proto__":{"a":1}}'
        self.session.run("write", "--json", "org.example.a", "k", exact)
        before = json.loads(self.session.run("read", "--json", "org.example.a", "k"))
        page = self.open()
        self.show(page, "org.example.a", "k")
        page.get_by_label("Value of n", exact=True).fill("2")
        page.click(SAVE)
        self.becomes({**before, "n": 2})
        self.assertIn("2.0", self.session.run("read", "--json", "org.example.a", "k"))

    def test_large_values_are_no_text_in_a_field(self) -> None:
        (self.root / "v.json").write_text(json.dumps({"v": "y" * 2_000_000}))
        self.session.run("import", "org.example.big", str(self.root / "v.json"))
        page = self.open()
        self.show(page, "org.example.big", "v")
        expect(page.locator(".large .note")).to_contain_text("2,000,000 characters")
        self.assertLess(page.evaluate("document.querySelector('.editor').textContent.length"), 10_000)
        with page.expect_download() as download:
            page.click("text=Save as a file")
        self.assertEqual(download.value.path().read_text(), "y" * 2_000_000)
        (self.root / "new.txt").write_text("z" * 1_500_000)
        page.get_by_label("Replace by a file").set_input_files(self.root / "new.txt")
        expect(page.locator(".large .note")).to_contain_text("1,500,000 characters")
        page.click(SAVE)
        eventually(lambda: self.session.run("read", "org.example.big", "v").strip() == "z" * 1_500_000, "not replaced")


if __name__ == "__main__":
    unittest.main()
