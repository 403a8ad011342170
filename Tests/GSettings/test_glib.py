#!/usr/bin/env python3
"""Runs GLib's own tests of GSettings with the backend. `.ci/gsettings` fetches them, and names them in GLIB_TESTS.

The tests are unchanged, except that they leave the variable alone that names the backend, and that the file of GLib's
that they include is looked for beside them.
"""

from __future__ import annotations

import os
import subprocess
import tempfile
import unittest
from pathlib import Path

from world import World

SOURCE = Path(os.environ.get("GLIB_TESTS", "/nonexistent"))


def build(directory: Path) -> Path:
    text = (SOURCE / "gsettings.c").read_text()
    for old, new in (
        ('backend_set = g_getenv ("GSETTINGS_BACKEND") != NULL;', "backend_set = FALSE;"),
        ('g_setenv ("GSETTINGS_BACKEND", "memory", TRUE);', ";"),
    ):
        assert text.count(old) == 1, f"GLib's test has no {old}"
        text = text.replace(old, new)
    source, program = directory / "gsettings.c", directory / "gsettings-test"
    source.write_text(text.replace('"../strinfo.c"', '"strinfo.c"'))
    flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "gio-2.0"], text=True).split()
    glib = next(flag for flag in flags if flag.endswith("glib-2.0"))
    subprocess.run(
        ["cc", "-w", "-g", str(source), "-o", str(program), f"-I{SOURCE}", f"-I{SOURCE.parent}", f"{glib}/glib",
         '-DG_LOG_DOMAIN="GLib-GIO"', f'-DSRCDIR="{SOURCE}"', '-DGLIB_MKENUMS="glib-mkenums"',
         '-DGLIB_COMPILE_SCHEMAS="glib-compile-schemas"', *flags], check=True)
    return program


@unittest.skipUnless(SOURCE.exists(), "GLib's source is missing.")
class GLibTests(World):
    @classmethod
    def setUpClass(cls) -> None:
        super().setUpClass()
        place = tempfile.TemporaryDirectory()
        cls.addClassCleanup(place.cleanup)
        cls.program = build(Path(place.name))

    def setUp(self) -> None:
        super().setUp()
        self.directory = self.root / "glib"
        self.directory.mkdir()

    def run_tests(self, *arguments: str, under: tuple[str, ...] = ()) -> str:
        """Run tests that must succeed, and return what they print."""
        result = subprocess.run(
            [*under, str(self.program), *arguments], env=self.environment, cwd=self.directory, capture_output=True,
            text=True, timeout=600)
        self.assertEqual(result.returncode, 0, (result.stdout + result.stderr)[-3000:])
        return result.stdout

    def count_of_passed(self, output: str) -> int:
        self.assertIn("DefaultsdBackend", output)
        return sum(line.startswith("ok ") for line in output.splitlines())

    def test_each_test_passes_in_a_process_of_its_own(self) -> None:
        names = [name for name in self.run_tests("-l").splitlines() if name[:1] == "/" and "/subprocess" not in name]
        self.assertGreaterEqual(len(names), 49)
        for name in names:
            # A pending edit would write the file again.
            self.defaults("sync")
            for file in self.agent.directory.glob("*.plist"):
                file.unlink()
            self.defaults("sync")
            with self.subTest(name):
                self.assertGreaterEqual(self.count_of_passed(self.run_tests("-p", name)), 1)

    def test_all_tests_pass_in_one_process(self) -> None:
        self.assertGreaterEqual(self.count_of_passed(self.run_tests()), 49)

    def test_all_tests_pass_under_valgrind(self) -> None:
        memcheck = (
            "valgrind", "--quiet", "--error-exitcode=1", "--leak-check=full", "--errors-for-leak-kinds=definite",
            "--show-leak-kinds=definite", "--suppressions=/usr/share/glib-2.0/valgrind/glib.supp")
        self.assertGreaterEqual(self.count_of_passed(self.run_tests(under=memcheck)), 49)


if __name__ == "__main__":
    unittest.main()
