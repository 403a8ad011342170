#!/usr/bin/env python3
"""The settings portal, as programs see it through xdg-desktop-portal. Run by `.ci/portal`, in a D-Bus session.

DEFAULTSD_PROGRAMS names the directory of defaultsd, defaults and defaults-portal. Needs python3-gi, and the package in
Sources/python.
"""

from __future__ import annotations

import json
import os
import plistlib
import shutil
import subprocess
import tempfile
import time
import unittest
from pathlib import Path
from typing import Any

from gi.repository import Gio, GLib

from defaultsd.testing import Agent

PORTAL = Path(os.environ["DEFAULTSD_PROGRAMS"]) / "defaults-portal"
CONFIG = Path(__file__).parent.parent.parent / "Config"
APPEARANCE = "org.freedesktop.appearance"
FRONT = ("org.freedesktop.portal.Desktop", "/org/freedesktop/portal/desktop", "org.freedesktop.portal.Settings")
BUS = ("org.freedesktop.DBus", "/org/freedesktop/DBus", "org.freedesktop.DBus")
BACK = ("org.freedesktop.impl.portal.desktop.defaultsd", FRONT[1], "org.freedesktop.impl.portal.Settings")


class Session:
    """A preferences directory, an agent, the backend and the desktop's portal, on the D-Bus session of this test."""

    def __init__(self, root: Path, others: str = "") -> None:
        self.agent, self.processes = Agent(root), dict[str, subprocess.Popen[bytes]]()
        self.agent.start()
        (root / "portals").mkdir()
        # Debian 12's portal chooses by UseIn, and later ones by portals.conf.
        for name in ("defaultsd.portal", "defaultsd-portals.conf"):
            shutil.copy(CONFIG / "portal" / name, root / "portals")
        if others != "":
            text = Path(f"/usr/share/xdg-desktop-portal/portals/{others}.portal").read_text()
            (root / f"portals/{others}.portal").write_text(text.replace("UseIn=", "UseIn=defaultsd;"))
        self.environment = {
            **self.agent.environment,
            "XDG_CONFIG_HOME": str(root / "config"),
            "XDG_CURRENT_DESKTOP": "defaultsd",
            "XDG_DESKTOP_PORTAL_DIR": str(root / "portals"),
        }
        self.bus = Gio.bus_get_sync(Gio.BusType.SESSION)

    def start(self, path: str | Path, owned: str, log: Any = None) -> None:
        command = ["/usr/bin/python3", path] if Path(path).suffix == ".py" else [path]
        self.processes[Path(path).name] = subprocess.Popen(command, env=self.environment, stderr=log)
        eventually(lambda: self.owner(owned) != "", f"{path} doesn't take {owned}")

    def kill(self, name: str) -> None:
        process = self.processes.pop(name)
        process.kill()
        process.wait()

    def owner(self, name: str) -> str:
        try:
            return str(self.call(BUS, "GetNameOwner", "(s)", name)[0])
        except GLib.Error:
            return ""

    def call(self, where: tuple[str, str, str], method: str, signature: str, *arguments: Any) -> Any:
        parameters = GLib.Variant(signature, arguments)
        return self.bus.call_sync(*where, method, parameters, None, 0, 30_000, None).unpack()

    def read(self, key: str, namespace: str = APPEARANCE, where: tuple[str, str, str] = FRONT) -> Any:
        return self.call(where, "Read", "(ss)", namespace, key)[0]


class PortalTests(unittest.TestCase):
    def setUp(self) -> None:
        directory = tempfile.TemporaryDirectory(prefix="portal-", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.session = Session(Path(directory.name))
        self.addCleanup(self.session.agent.close)
        self.addCleanup(lambda: [self.session.kill(name) for name in list(self.session.processes)])
        self.session.start(PORTAL, BACK[0])
        self.session.start("/usr/libexec/xdg-desktop-portal", FRONT[0])
        self.signals: list[tuple[str, str, Any]] = []
        subscription = self.session.bus.signal_subscribe(
            None, FRONT[2], "SettingChanged", FRONT[1], None, 0,
            lambda *arguments: self.signals.append(arguments[5].unpack()))
        self.addCleanup(self.session.bus.signal_unsubscribe, subscription)

    def expect(self, namespace: str, key: str, value: Any) -> None:
        """Wait for a signal, and check that reading gives the same value."""
        self.expect_signal(namespace, key, value)
        self.assertEqual(self.session.read(key, namespace), value)

    def expect_signal(self, namespace: str, key: str, value: Any) -> None:
        """Wait for a signal."""

        def has_come() -> bool:
            while GLib.MainContext.default().iteration(False):
                pass
            return (namespace, key, value) in self.signals

        eventually(has_come, f"{namespace} {key} doesn't become {value}, but {self.signals}")
        self.signals.clear()

    def test_the_standard_settings_follow_their_preferences(self) -> None:
        defaults, read = self.session.agent.run, self.session.read
        self.assertEqual([read("color-scheme"), read("contrast"), read("reduced-motion")], [0, 0, 0])
        self.assertEqual(read("accent-color"), (-1, -1, -1))
        defaults("write", "-g", "AppleInterfaceStyle", "Dark")
        self.expect(APPEARANCE, "color-scheme", 1)
        defaults("write", "-g", "AppleInterfaceStyle", "Light")
        self.expect(APPEARANCE, "color-scheme", 2)
        defaults("delete", "-g", "AppleInterfaceStyle")
        self.expect(APPEARANCE, "color-scheme", 0)
        defaults("write", "-g", "AppleHighlightColor", "-string", "0.5 0.25 1 Other")
        self.expect(APPEARANCE, "accent-color", (0.5, 0.25, 1))
        defaults("write", "-g", "AppleAccentColor", "-int", "5")
        self.expect(APPEARANCE, "accent-color", (0.647, 0.31, 0.655))
        # Without a type, `defaults write` writes strings.
        for text, number in (("1", 1), ("NO", 0), ("YES", 1)):
            defaults("write", "com.apple.universalaccess", "increaseContrast", text)
            self.expect(APPEARANCE, "contrast", number)
        defaults("write", "com.apple.universalaccess", "reduceMotion", "-bool", "YES")
        self.expect(APPEARANCE, "reduced-motion", 1)

    def test_domains_are_settings_if_the_user_lists_them(self) -> None:
        defaults, name = self.session.agent.run, "org.defaultsd.org.example.editor"
        defaults("write", "org.example.editor", "fontSize", "-int", "12")
        with self.assertRaises(GLib.Error):
            self.session.read("fontSize", name)
        defaults("write", "org.defaultsd.portal", "Domains", "-array", "org.example.editor")
        self.expect(name, "fontSize", 12)
        defaults("write", "org.example.editor", "list", "(1, {a = YES;})")
        self.expect(name, "list", ["1", {"a": "YES"}])
        defaults("write", "org.example.editor", "when", "-date", "2026-01-02T03:04:05Z")
        self.expect(name, "when", "2026-01-02T03:04:05Z")
        defaults("write", "org.example.editor", "data", "-data", "00ff")
        self.expect(name, "data", [0, 255])
        # A key of the global domain isn't the domain's.
        defaults("write", "-g", "AppleInterfaceStyle", "Dark")
        self.expect(APPEARANCE, "color-scheme", 1)
        everything = self.session.call(FRONT, "ReadAll", "(as)", ["org.defaultsd.*"])[0]
        self.assertEqual(sorted(everything[name]), ["data", "fontSize", "list", "when"])
        self.assertNotIn(APPEARANCE, everything)
        defaults("delete", "org.defaultsd.portal", "Domains")
        eventually(
            lambda: name not in self.session.call(FRONT, "ReadAll", "(as)", [])[0], "the domain stays a setting")

    def test_users_extend_the_map(self) -> None:
        rule = "{ org.example.toolkit = { density = { Key = Density; Type = s; Values = { 1 = compact; }; }; }; }"
        self.session.agent.run("write", "org.defaultsd.portal", "Settings", rule)
        self.session.agent.run("write", "-g", "Density", "-int", "1")
        self.expect("org.example.toolkit", "density", "compact")
        # The global domain, which every search includes, has no map.
        self.session.agent.run("write", "-g", "Domains", "-array", "org.example.secret")
        self.session.agent.run("write", "org.example.secret", "key", "value")
        self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Dark")
        self.expect(APPEARANCE, "color-scheme", 1)
        self.assertNotIn("org.defaultsd.org.example.secret", self.session.call(FRONT, "ReadAll", "(as)", [])[0])

    def test_a_value_that_doesnt_fit_is_named_and_the_others_stay(self) -> None:
        self.session.kill("defaults-portal")
        with tempfile.TemporaryFile() as log:
            self.session.start(PORTAL, BACK[0], log)
            self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Gloomy")
            self.session.agent.run("write", "com.apple.universalaccess", "reduceMotion", "-bool", "YES")
            self.expect(APPEARANCE, "reduced-motion", 1)
            log.seek(0)
            text = log.read().decode()
        self.assertIn('AppleInterfaceStyle of NSGlobalDomain must be one of "Dark", "Light".', text)
        self.assertEqual(self.session.read("color-scheme"), 0)

    def test_what_d_bus_cant_carry_is_named_and_the_others_stay(self) -> None:
        self.session.kill("defaults-portal")
        defaults, name = self.session.agent.run, "org.example.editor"
        with tempfile.TemporaryFile() as log:
            self.session.start(PORTAL, BACK[0], log)
            defaults("write", "org.defaultsd.portal", "Domains", "-array", "no/name", name)
            defaults("write", name, "deep", "(" * 40 + ")" * 40)
            file = self.session.agent.runtime / "large.plist"
            file.write_bytes(plistlib.dumps({"large": b"x" * (17 << 20), "small": 1}))
            defaults("import", name, str(file))
            defaults("write", name, "deep", "(" * 40 + ")" * 40)
            defaults("write", name, "fits", "(" * 16 + ")" * 16)
            defaults("write", name, "noncharacter", "-string", "\ufdd0")
            domain = self.session.agent.defaults(name)
            for key, value in (("n\0l", "k"), ("nul", "a\0b"), ("nan", float("nan"))):
                domain[key] = value
            defaults("write", name, "last", "-int", "1")
            self.expect("org.defaultsd." + name, "last", 1)
            everything = self.session.call(FRONT, "ReadAll", "(as)", ["org.defaultsd.*"])[0]
            self.assertEqual(sorted(everything["org.defaultsd." + name]), ["fits", "last", "nan", "small"])
            # NaN is equal to itself here.
            defaults("write", name, "last", "-int", "2")
            self.expect_signal("org.defaultsd." + name, "last", 2)
            self.assertEqual([signal for signal in self.signals if signal[1] == "nan"], [])
            log.seek(0)
            text = log.read().decode()
        for problem in ("deep of", "large of", "no/name", "noncharacter of", "nul of", "n?l of"):
            self.assertEqual(text.count(problem), 1, text)

    def test_without_a_preference_the_next_backend_has_the_setting(self) -> None:
        name = "org.freedesktop.impl.portal.desktop.dark"
        portals = Path(self.session.environment["XDG_DESKTOP_PORTAL_DIR"])
        (portals / "gtk.portal").write_text(f"[portal]\nDBusName={name}\nInterfaces={BACK[2]}\nUseIn=defaultsd\n")
        self.session.start(Path(__file__).parent / "dark_backend.py", name)
        for program in ("xdg-desktop-portal", "defaults-portal"):
            self.session.kill(program)
        self.session.start(PORTAL, BACK[0])
        self.session.start("/usr/libexec/xdg-desktop-portal", FRONT[0])
        self.assertEqual(self.session.read("color-scheme"), 1)
        self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Light")
        self.expect(APPEARANCE, "color-scheme", 2)
        self.session.agent.run("delete", "-g", "AppleInterfaceStyle")
        self.expect_signal(APPEARANCE, "color-scheme", 0)
        self.assertEqual(self.session.read("color-scheme"), 1)
        # A namespace of one's own has its default beside other backends.
        rule = "{ org.example.toolkit = { density = { Key = Density; Type = s; Default = normal; }; }; }"
        self.session.agent.run("write", "org.defaultsd.portal", "Settings", rule)
        self.expect("org.example.toolkit", "density", "normal")

    def test_a_backend_that_is_gone_or_has_no_settings_doesnt_count(self) -> None:
        portals = Path(self.session.environment["XDG_DESKTOP_PORTAL_DIR"])
        files = {
            "gone": f"[portal]\nDBusName=org.example.gone\nInterfaces={BACK[2]};\nUseIn=defaultsd\n",
            "other": f"[portal]\nDBusName=org.freedesktop.DBus\nInterfaces={BACK[2]}X\n# Interfaces={BACK[2]}\n",
        }
        for name, text in files.items():
            (portals / f"{name}.portal").write_text(text)
        self.session.kill("defaults-portal")
        self.session.start(PORTAL, BACK[0])
        self.assertEqual(self.session.read("color-scheme", where=BACK), 0)

    def test_it_sleeps_while_nothing_changes(self) -> None:
        def wake_ups() -> int:
            status = Path(f"/proc/{self.session.processes['defaults-portal'].pid}/status").read_text()
            return sum(int(line.split()[1]) for line in status.splitlines() if "ctxt_switches" in line)

        self.session.read("color-scheme")
        before = wake_ups()
        for _ in range(1_000):
            self.session.owner(BACK[0])
        self.assertLess(wake_ups() - before, 20)

    def test_it_ends_with_the_bus(self) -> None:
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address"], stdout=subprocess.PIPE, text=True)
        self.session.processes["bus"] = bus
        assert bus.stdout is not None
        with bus.stdout as lines, tempfile.TemporaryFile() as log:
            environment = {**self.session.environment, "DBUS_SESSION_BUS_ADDRESS": lines.readline().strip()}
            portal = subprocess.Popen([PORTAL], env=environment, stderr=log)
            self.session.processes["portal of the other bus"] = portal
            connection = Gio.DBusConnection.new_for_address_sync(
                environment["DBUS_SESSION_BUS_ADDRESS"],
                Gio.DBusConnectionFlags.AUTHENTICATION_CLIENT | Gio.DBusConnectionFlags.MESSAGE_BUS_CONNECTION)
            connection.set_exit_on_close(False)

            def answers() -> bool:
                parameters = GLib.Variant("(ss)", (APPEARANCE, "contrast"))
                try:
                    return bool(connection.call_sync(*BACK, "Read", parameters, None, 0, 30_000, None))
                except GLib.Error:
                    return False

            eventually(answers, "the portal doesn't answer")
            self.session.kill("bus")
            self.assertEqual(portal.wait(30), 69)
            log.seek(0)
            self.assertIn("The session's D-Bus is gone", log.read().decode())

    def test_settings_survive_the_ends_of_the_agent_and_of_the_portal(self) -> None:
        for ends in ("agent", "portal", "agent"):
            # Each sees what has changed while it wasn't there.
            if ends == "agent":
                self.session.agent.kill()
            else:
                self.session.kill("defaults-portal")
            self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Light")
            if ends == "agent":
                self.session.agent.start()
            else:
                self.session.start(PORTAL, BACK[0])
            self.expect(APPEARANCE, "color-scheme", 2)
            self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Dark")
            self.expect(APPEARANCE, "color-scheme", 1)

    def test_a_window_of_libadwaita_turns_dark(self) -> None:
        environment = {"DISPLAY": start_display(self.session), "GDK_BACKEND": "x11", "GSK_RENDERER": "cairo"}
        window = subprocess.Popen(
            ["/usr/bin/python3", Path(__file__).parent / "window.py"], env={**self.session.environment, **environment},
            stdout=subprocess.PIPE, text=True)
        self.session.processes["window"] = window
        assert window.stdout is not None
        with window.stdout as lines:
            self.assertEqual(lines.readline(), "light\n")
            self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Dark")
            self.assertEqual(lines.readline(), "dark\n")

    def test_it_says_whether_it_is_used(self) -> None:
        def check() -> int:
            return subprocess.run([PORTAL, "--check"], env=self.session.environment).returncode

        def findings() -> list[str]:
            environment = {**self.session.environment, "PATH": str(prefix / "bin")}
            report = subprocess.run(
                [prefix / "bin/defaults", "doctor", "--json"], env=environment, stdout=subprocess.PIPE)
            return [finding["id"] for finding in json.loads(report.stdout)["findings"]]

        prefix = self.session.agent.runtime / "prefix"
        for program in ("bin/defaultsd", "bin/defaults", "libexec/defaults-portal"):
            (prefix / program).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(PORTAL.parent / Path(program).name, prefix / program)
        self.assertEqual(check(), 0)
        self.session.agent.run("write", "org.defaultsd.portal", "settings", "x")
        self.assertEqual(check(), 65)
        self.assertIn("portal-preference", findings())
        self.session.agent.run("delete", "org.defaultsd.portal")
        self.assertEqual([name for name in findings() if name.startswith("portal")], [])
        self.session.kill("defaults-portal")
        # Nothing is wrong without a preference that has a setting.
        self.assertEqual(check(), 0)
        self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Dark")
        self.assertEqual(check(), 1)
        self.assertIn("portal-unused", findings())
        self.session.start(PORTAL, BACK[0])
        eventually(lambda: check() == 0, "the portal doesn't ask the backend")
        self.assertNotIn("portal-unused", findings())
        # Neither starts a portal, which might be that of another session.
        self.session.kill("xdg-desktop-portal")
        self.assertEqual(check(), 69)
        self.assertEqual(self.session.owner(FRONT[0]), "")

    def test_answers_have_the_interfaces_shapes(self) -> None:
        def answer(where: tuple[str, str, str], method: str, signature: str, *arguments: Any) -> str:
            variant = GLib.Variant(signature, arguments)
            return str(self.session.bus.call_sync(*where, method, variant, None, 0, 30_000, None).print_(True))

        self.session.agent.run("write", "-g", "AppleInterfaceStyle", "Dark")
        self.expect(APPEARANCE, "color-scheme", 1)
        setting = (APPEARANCE, "color-scheme")
        self.assertEqual(answer(BACK, "Read", "(ss)", *setting), "(<uint32 1>,)")
        self.assertEqual(answer(FRONT, "Read", "(ss)", *setting), "(<<uint32 1>>,)")
        for where in (BACK, FRONT):
            settings = answer(where, "ReadAll", "(as)", ["org.free*"])
            self.assertTrue(settings.startswith("({'org.freedesktop.appearance': {'accent-color': <("), settings)
            self.assertIn("'color-scheme': <uint32 1>", settings)
        properties = (BACK[0], BACK[1], "org.freedesktop.DBus.Properties")
        self.assertEqual(answer(properties, "Get", "(ss)", BACK[2], "version"), "(<uint32 1>,)")
        with self.assertRaisesRegex(GLib.Error, "NotFound.*There is no setting"):
            self.session.call(BACK, "Read", "(ss)", APPEARANCE, "nothing")


def start_display(session: Session) -> str:
    """Start an X server without a screen, and return its name."""
    number, end = os.pipe()
    server = subprocess.Popen(["Xvfb", "-displayfd", str(end), "-screen", "0", "400x300x24"], pass_fds=[end])
    session.processes["Xvfb"] = server
    os.close(end)
    with os.fdopen(number) as file:
        return ":" + file.readline().strip()


def eventually(condition: Any, complaint: str, seconds: float = 30) -> None:
    end = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > end:
            raise AssertionError(complaint)
        time.sleep(0.01)


if __name__ == "__main__":
    unittest.main(verbosity=2)
