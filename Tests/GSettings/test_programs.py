#!/usr/bin/env python3
"""Tests GSettings' backend with a window of GTK, with JavaScript and with git. Run by `.ci/gsettings`."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

from world import HERE, MODULES, SCHEMAS, Client, World, wait_for

sys.path.append(str(HERE / "../Fleet"))
from machines import Machine  # noqa: E402

DOMAIN = "org.defaultsd.test"


class WindowTests(World):
    """Programs with windows, on a display of their own."""

    def start_display(self) -> str:
        number, end = os.pipe()
        server = subprocess.Popen(
            ["Xvfb", "-displayfd", str(end), "-screen", "0", "400x300x24"], pass_fds=[end], stderr=subprocess.DEVNULL)
        self.addCleanup(server.wait)
        self.addCleanup(server.kill)
        os.close(end)
        with os.fdopen(number) as file:
            return ":" + file.readline().strip()

    def test_a_window_and_the_file_follow_each_other(self) -> None:
        environment = {
            **self.environment, "DISPLAY": self.start_display(), "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo"}
        self.run_program("git", "init", "--quiet", str(self.agent.directory))
        git = ["git", "-C", str(self.agent.directory), "-c", "user.name=ada", "-c", "user.email=ada@example.org"]
        self.gsettings("set", DOMAIN, "name", "ada")
        self.defaults("sync")
        self.run_program(*git, "add", self.file().name)
        self.run_program(*git, "commit", "--quiet", "-m", "Begin")
        window = subprocess.Popen(
            ["/usr/bin/python3", str(HERE / "window.py")], env=environment, text=True, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        with window, window.stdout as lines:
            self.assertEqual(lines.readline(), "False 0\n")
            self.defaults("write", DOMAIN, "count", "-int", "7")
            self.assertEqual(lines.readline(), "False 7\n")
            window.stdin.write("flip\n")
            window.stdin.flush()
            self.assertEqual(lines.readline(), "True 7\n")
            wait_for(lambda: self.agent.defaults(DOMAIN).read("flag"), "the switch's value")
            self.assertIn("settings-window", self.defaults("log", DOMAIN).splitlines()[0])
            self.defaults("sync")
            difference = self.run_program(*git, "diff").stdout
            self.assertIn("+\t<key>flag</key>\n+\t<true/>\n", difference)
            self.defaults("undo", DOMAIN)
            self.assertEqual(lines.readline(), "False 7\n")
            window.stdin.close()
        self.assertEqual(window.returncode, 0)


    def test_an_editor_of_debian_follows_and_is_named(self) -> None:
        domain, key = "org.xfce.mousepad.preferences.window", "menubar-visible"
        environment = {**self.environment, "DISPLAY": self.start_display(), "GDK_BACKEND": "x11", "NO_AT_BRIDGE": "1"}
        editor = subprocess.Popen(["mousepad", "--disable-server"], env=environment, stderr=subprocess.DEVNULL)
        self.addCleanup(editor.wait)
        self.addCleanup(editor.kill)
        window = subprocess.check_output(
            ["xdotool", "search", "--sync", "--onlyvisible", "--class", "mousepad"], env=environment, text=True,
            timeout=60).split()[0]

        def toggle() -> None:
            subprocess.run(
                ["xdotool", "windowfocus", "--sync", window, "key", "ctrl+m"], env=environment, check=True, timeout=60)

        defaults = self.agent.defaults(domain)
        toggle()
        wait_for(lambda: defaults.read(key) is False, "a menu bar that is hidden")
        self.assertIn("(mousepad", self.defaults("log", domain).splitlines()[0])
        self.defaults("undo", domain)
        self.assertIsNone(defaults.read(key))
        # The editor hides its menu bar only if the undo has shown it.
        wait_for(lambda: toggle() or defaults.read(key) is False, "a menu bar that is hidden again", timeout=60)
        self.assertIsNone(editor.poll())


class FleetTests(unittest.TestCase):
    def test_programs_on_another_machine_follow(self) -> None:
        place = tempfile.mkdtemp(prefix="gsettings-fleet.")
        self.addCleanup(shutil.rmtree, place, ignore_errors=True)
        folder = Path(place) / "folder"
        folder.mkdir()
        machines = []
        for name in ("here", "there"):
            machine = Machine(place, name, folder)
            self.addCleanup(machine.end)
            machine.environment |= {
                "GIO_EXTRA_MODULES": MODULES, "GSETTINGS_BACKEND": "defaultsd", "GSETTINGS_SCHEMA_DIR": SCHEMAS}
            machines.append(machine)
        here, there = machines
        here.found()
        here.start()
        there.join(here)
        there.start()
        subprocess.run(["gsettings", "set", DOMAIN, "name", "ada"], env=here.environment, check=True)
        client = Client(there.environment, DOMAIN)
        self.addCleanup(client.close)
        here.fleet("add", DOMAIN)
        self.assertEqual(client.take_signals(1), ["changed name 'ada'"])
        client("set", "count", "5")
        wait_for(lambda: here.value(DOMAIN, "count") == 5, "the value of the other machine")


class LanguageTests(World):
    def test_javascript_follows_and_sets(self) -> None:
        self.gsettings("set", DOMAIN, "count", "1")
        program = subprocess.Popen(
            ["gjs", str(HERE / "follow.js")], env=self.environment, text=True, stdout=subprocess.PIPE)
        with program, program.stdout as lines:
            self.assertEqual(lines.readline(), "1\n")
            self.gsettings("set", DOMAIN, "count", "2")
            self.assertEqual(lines.readline(), "2\n")
        self.assertEqual(self.agent.defaults(DOMAIN).read("name"), "gjs")
        self.assertEqual(next(self.agent.defaults(DOMAIN).history()).origin["program"], "gjs")

    def test_the_examples_of_the_page_run(self) -> None:
        page = Path(HERE / "../../Sources/DefaultsKit/DefaultsKit.docc/GNOMEsSettings.md").read_text()
        example = page.split("```python\n")[1].split("```")[0]
        program = subprocess.Popen(
            ["/usr/bin/python3", "-u", "-c", example], env=self.environment, text=True, stdout=subprocess.PIPE)
        with program, program.stdout as lines:
            self.assertEqual(lines.readline(), "default\n")
            self.gsettings("set", "org.gnome.desktop.interface", "color-scheme", "prefer-dark")
            self.assertEqual(lines.readline(), "prefer-dark\n")
            program.kill()


if __name__ == "__main__":
    unittest.main()
