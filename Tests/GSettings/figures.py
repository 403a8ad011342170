#!/usr/bin/env python3
"""Compares GSettings with this backend and with dconf, in turn, in one run: `.ci/gsettings --figures [ROUNDS]`.

Prints medians and ratios. It needs a session bus, for dconf.
"""

from __future__ import annotations

import os
import shutil
import statistics
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any

from world import MODULES, Client, World, wait_for

DOMAIN = "org.defaultsd.test"
BURST = """
import sys, time
from gi.repository import Gio
settings = Gio.Settings.new("org.defaultsd.test")
settings.set_int("count", -1)
Gio.Settings.sync()
start = time.monotonic()
for number in range(int(sys.argv[2])):
    settings.set_int("count", number) if sys.argv[1] == "sets" else settings.get_int("count")
Gio.Settings.sync()
print(time.monotonic() - start)
"""
WRITER = """
import sys
from gi.repository import Gio
schema = Gio.SettingsSchemaSource.get_default().lookup("org.defaultsd.test.item", True)
for number in range(50):
    path = f"/org/defaultsd/test/{sys.argv[1]}-{number}/"
    Gio.Settings.new_full(schema, None, path).set_int("count", number + 1)
Gio.Settings.sync()
"""


class Figures(World):
    def runTest(self) -> None:
        rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
        places = {name: os.environ[name] for name in os.environ if name.startswith(("DBUS_", "HOME", "XDG_"))}
        self.kinds = {
            "defaultsd": {**self.environment, "GSETTINGS_BACKEND": "defaultsd"},
            "dconf": {**self.environment, **places, "GSETTINGS_BACKEND": "dconf"},
            "keyfile": {**self.environment, "GSETTINGS_BACKEND": "keyfile"},
        }
        self.compare("get, start to end", self.time_program("gsettings", "get", DOMAIN, "count"), rounds)
        self.compare("set, start to end", self.time_program("gsettings", "set", DOMAIN, "count", "@"), rounds)
        self.compare("list-recursively", self.time_program("gsettings", "list-recursively"), rounds // 4)
        self.compare("20,000 reads", self.time_burst("reads", 20_000), 5)
        self.compare("1,000 sets and sync", self.time_burst("sets", 1_000), 5)
        self.compare_latency(rounds * 5)
        for name in self.kinds:
            print(f"four programs with fifty sets each, {name}: {self.count_kept(name)} of 200 kept")
        self.compare_unselected(rounds * 2)

    def compare(self, what: str, measure: Any, rounds: int) -> None:
        times: dict[str, list[float]] = {"defaultsd": [], "dconf": []}
        for number in range(rounds + 1):
            for name, found in times.items():
                value = measure(self.kinds[name], number)
                if number:
                    found.append(value)
        own, other = (statistics.median(found) * 1000 for found in times.values())
        ratio = statistics.median(a / b for a, b in zip(*times.values()))
        print(f"{what}: {own:.2f} ms, dconf {other:.2f} ms, ratio {ratio:.2f}", flush=True)

    def time_program(self, *command: str) -> Any:
        def measure(environment: dict[str, str], number: int) -> float:
            words = [str(number) if word == "@" else word for word in command]
            start = time.monotonic()
            subprocess.run(words, env=environment, check=True, stdout=subprocess.DEVNULL)
            return time.monotonic() - start

        return measure

    def time_burst(self, kind: str, count: int) -> Any:
        def measure(environment: dict[str, str], number: int) -> float:
            command = ["/usr/bin/python3", "-c", BURST, kind, str(count)]
            return float(subprocess.check_output(command, env=environment))

        return measure

    def compare_latency(self, rounds: int) -> None:
        """Measure the time from setting a key to the handler in another process, which prints the time."""
        pairs = {}
        for name in ("defaultsd", "dconf"):
            writer, reader = (Client(self.kinds[name], DOMAIN) for _ in range(2))
            self.clients += [writer, reader]
            pairs[name] = writer, reader

        def measure(environment: dict[str, str], number: int) -> float:
            writer, reader = pairs[environment["GSETTINGS_BACKEND"]]
            start = float(writer("time-set", "count", number + 1).split()[-1])
            wait_for(lambda: reader("get", "count") == str(number + 1), "the value")
            return float(reader("last-change")) - start

        self.compare("set to handler in another process", measure, rounds)

    def count_kept(self, name: str) -> int:
        environment = self.kinds[name]
        writers = [
            subprocess.Popen(["/usr/bin/python3", "-c", WRITER, str(number)], env=environment)
            for number in range(4)]
        for writer in writers:
            writer.wait()
        code = (
            "from gi.repository import Gio;"
            "schema = Gio.SettingsSchemaSource.get_default().lookup('org.defaultsd.test.item', True);"
            "print(sum(Gio.Settings.new_full(schema, None, f'/org/defaultsd/test/{writer}-{number}/').get_int('count')"
            " == number + 1 for writer in range(4) for number in range(50)))")
        return int(subprocess.check_output(["/usr/bin/python3", "-c", code], env=environment))

    def compare_unselected(self, rounds: int) -> None:
        """Measure a program that uses another backend, with and without the module beside GIO's others."""
        variables = [
            subprocess.check_output(["pkg-config", f"--variable={name}", "gio-2.0"], text=True).strip()
            for name in ("giomoduledir", "libdir")]
        installed = Path(variables[0])
        environments: dict[str, dict[str, str]] = {}
        for name in ("with", "without"):
            directory = self.root / name
            directory.mkdir()
            modules = [*installed.glob("*.so"), *(Path(MODULES).glob("*.so") if name == "with" else [])]
            for module in modules:
                shutil.copy(module, directory)
            subprocess.run([f"{variables[1]}/glib-2.0/gio-querymodules", str(directory)], check=True)
            environments[name] = {
                **self.environment, "GSETTINGS_BACKEND": "memory", "GIO_MODULE_DIR": str(directory)}
            del environments[name]["GIO_EXTRA_MODULES"]
        measure = self.time_program("gsettings", "get", DOMAIN, "count")
        ratios = [measure(environments["with"], 0) / measure(environments["without"], 0) for _ in range(rounds)]
        print(f"get with another backend, with the module installed: ratio {statistics.median(ratios):.3f}")


result = unittest.TextTestRunner().run(Figures())
sys.exit(not result.wasSuccessful())
