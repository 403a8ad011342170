#!/usr/bin/env python3
"""Tests GSettings' backend with a window of GTK, with JavaScript and with git. Run by `.ci/gsettings`."""

from __future__ import annotations

import os
import subprocess
import unittest
from pathlib import Path

from world import HERE, World, wait_for

DOMAIN = "org.defaultsd.test"


class WindowTests(World):
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
        page = Path(HERE / "../../Sources/DefaultsCore/DefaultsCore.docc/GNOMEsSettings.md").read_text()
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
