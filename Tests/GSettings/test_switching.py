#!/usr/bin/env python3
"""Tests `defaults gsettings`, with a real dconf on a session bus of its own. Run by `.ci/gsettings`."""

from __future__ import annotations

import fcntl
import json
import os
import random
import shutil
import subprocess
import unittest
from pathlib import Path

from world import HERE, World, wait_for

DOMAIN = "org.defaultsd.test"
KEY = "/org/defaultsd/test"
CUSTOM = "org.gnome.settings-daemon.plugins.media-keys.custom-keybindings.custom0"


class DconfWorld(World):
    """A user who has dconf, and GSettings' backend, which isn't selected."""

    is_usual = True

    def setUp(self) -> None:
        super().setUp()
        del self.environment["GSETTINGS_BACKEND"]
        self.config = Path(self.environment["XDG_CONFIG_HOME"])
        self.switch = self.config / ".defaultsd.gsettings"
        bus = subprocess.Popen(
            ["dbus-daemon", "--session", "--nofork", "--print-address=1"], env=self.environment, text=True,
            stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        self.addCleanup(bus.stdout.close)
        self.addCleanup(bus.wait)
        self.addCleanup(bus.terminate)
        self.environment["DBUS_SESSION_BUS_ADDRESS"] = bus.stdout.readline().strip()

    def dconf(self, *arguments: str, **options: str) -> str:
        return self.run_program("dconf", *arguments, **options).stdout.strip()

    def load(self, text: str) -> None:
        subprocess.run(["dconf", "load", "/"], env=self.environment, input=text, text=True, check=True)

    def switching(self, *arguments: str, status: int = 0, **variables: str) -> subprocess.CompletedProcess[str]:
        outcome = self.run_program("defaults", "gsettings", *arguments, check=False, **variables)
        self.assertEqual(outcome.returncode, status, outcome.stdout + outcome.stderr)
        return outcome

    def listed(self, **variables: str) -> list[str]:
        """Return all settings that programs see."""
        return self.gsettings("list-recursively", **variables).splitlines()

    def damage(self, domain: str) -> None:
        self.file(domain).write_text("oops")
        wait_for(
            lambda: self.run_program("defaults", "read", domain, check=False).returncode == 65, "the damage")

    def dumps(self) -> list[Path]:
        state = Path(self.environment.get("XDG_STATE_HOME", self.environment["HOME"] + "/.local/state"))
        return sorted(state.glob("defaultsd/*.gsettings/before-*.dconf"))


class SwitchingTests(DconfWorld):
    def test_values_become_preferences_and_return(self) -> None:
        self.load((HERE / "dump.txt").read_text())
        dump, listed = self.dconf("dump", "/"), self.listed()
        outcome = self.switching("enable")
        self.assertIn("keys changed in the preferences", outcome.stdout)
        self.assertTrue(self.switch.is_file())
        self.assertEqual(self.listed(), listed)
        self.assertEqual(self.dconf("dump", "/"), dump)
        self.assertEqual([path.read_text().strip() for path in self.dumps()], [dump])
        self.assertEqual(self.defaults("read", CUSTOM, "binding"), "<Super>t")
        self.assertEqual(self.defaults("read", "%", "at-the-root"), "a key without a group")

        # Programs change settings, and so do people, also in paths of relocatable schemas.
        self.gsettings("set", "org.gnome.desktop.interface", "cursor-size", "32")
        self.gsettings("set", f"org.defaultsd.test.item:{KEY}/items/new/", "count", "3")
        self.defaults("write", CUSTOM, "binding", "-string", "<Super>u")
        self.defaults("delete", "org.gnome.desktop.interface", "color-scheme")
        self.defaults("write", "org.example.editor", "theme", "-string", "dark")
        listed = self.listed()
        outcome = self.switching("disable")
        self.assertIn("4 keys changed in dconf", outcome.stdout)
        self.assertFalse(self.switch.exists())
        self.assertEqual(self.listed(), listed)
        self.assertEqual(self.dconf("read", "/" + CUSTOM.replace(".", "/") + "/binding"), "'<Super>u'")
        self.assertEqual(self.dconf("read", f"{KEY}/items/new/count"), "3")
        self.assertEqual(self.dconf("read", "/org/gnome/desktop/interface/color-scheme"), "")
        # Another program's preferences aren't settings of GSettings.
        self.assertNotIn("editor", self.dconf("dump", "/"))
        # All other values, also without a schema, have the types that they had.
        before = {line for line in dump.splitlines() if "=" in line}
        after = {line for line in self.dconf("dump", "/").splitlines() if "=" in line}
        self.assertEqual(
            sorted(before - after), ["binding='<Super>t'", "color-scheme='prefer-dark'", "cursor-size=48"])
        self.assertEqual(sorted(after - before), ["binding='<Super>u'", "count=3", "cursor-size=32"])
        # Again, without conflicts.
        self.switching("enable")
        self.assertEqual(self.listed(), listed)

    def test_running_it_twice_changes_nothing(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        self.defaults("write", DOMAIN, "count", "-int", "2")
        self.assertIn("already", self.switching("enable").stdout)
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "2")
        self.switching("disable")
        self.assertIn("doesn't use defaultsd", self.switching("disable").stdout)
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "2")

    def test_a_key_that_both_sides_have_needs_a_decision(self) -> None:
        for prefer, value in (("dconf", "1"), ("defaultsd", "2")):
            self.load("[org/defaultsd/test]\ncount=1\nname='ada'\n")
            self.defaults("write", DOMAIN, "count", "-int", "2")
            outcome = self.switching("enable", status=65)
            self.assertIn(
                f"{DOMAIN} count has different values: 1 in dconf, and 2 in the preferences", outcome.stderr)
            self.assertIn("nothing was changed", outcome.stderr)
            self.assertFalse(self.switch.exists())
            self.assertEqual(self.defaults("read", DOMAIN), "{\n    count = 2;\n}")
            self.switching("enable", "--prefer", prefer)
            self.assertEqual(self.gsettings("get", DOMAIN, "count"), value)
            self.assertEqual(self.gsettings("get", DOMAIN, "name"), "'ada'")
            # The same on the way back.
            self.defaults("write", DOMAIN, "name", "-string", "eve")
            self.dconf("write", f"{KEY}/name", "'joe'")
            outcome = self.switching("disable", status=65)
            self.assertIn("name has different values: \"eve\" in the preferences, and \"joe\"", outcome.stderr)
            self.assertTrue(self.switch.exists())
            self.assertEqual(self.dconf("read", f"{KEY}/name"), "'joe'")
            self.switching("disable", "--prefer", "defaultsd")
            self.assertEqual(self.dconf("read", f"{KEY}/name"), "'eve'")
            self.defaults("delete", DOMAIN)
            for path in self.dumps():
                path.with_name("agreed.dconf").unlink(missing_ok=True)

    def test_a_value_that_is_the_same_in_another_form_is_none(self) -> None:
        self.load("[org/defaultsd/test]\nflag=true\ncount=7\n")
        self.defaults("write", DOMAIN, "flag", "-string", "YES")
        self.defaults("write", DOMAIN, "count", "-string", "7")
        self.switching("enable")
        self.assertEqual(self.defaults("read-type", DOMAIN, "flag"), "Type is string")

    def test_the_newer_value_is_used_and_named(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\nname='a'\nflag=true\n")
        self.switching("enable")
        self.switching("disable")
        self.dconf("write", f"{KEY}/name", "'b'")
        self.dconf("reset", f"{KEY}/flag")
        self.defaults("write", DOMAIN, "count", "-int", "5")
        outcome = self.switching("enable")
        self.assertIn(f"{DOMAIN} count keeps 5, which is newer; dconf has 1.", outcome.stderr)
        self.assertEqual(self.defaults("read", DOMAIN), "{\n    count = 5;\n    name = b;\n}")
        # A program that still uses dconf changes a setting.
        self.dconf("write", f"{KEY}/name", "'c'")
        self.assertIn("name keeps \"c\"", self.switching("disable").stderr)
        self.assertEqual(self.dconf("dump", "/"), "[org/defaultsd/test]\ncount=5\nname='c'")
        # The user has had this value since, so it is newer than the one that lost.
        self.assertNotIn("name", self.switching("enable").stderr)
        self.assertEqual(self.defaults("read", DOMAIN, "name"), "c")
        self.switching("disable")
        self.assertEqual(self.dconf("read", f"{KEY}/name"), "'c'")

    def test_a_decision_lasts(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        self.defaults("write", DOMAIN, "count", "-int", "2")
        self.dconf("write", f"{KEY}/count", "3")
        self.assertIn("as --prefer says", self.switching("disable", "--prefer", "dconf").stderr)
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "3")
        self.switching("enable")
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "3")

    def test_what_programs_set_after_a_switch_is_carried_when_it_is_run_again(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\nname='a'\n")
        self.switching("enable")
        self.dconf("write", f"{KEY}/count", "2")
        self.dconf("reset", f"{KEY}/name")
        self.defaults("write", DOMAIN, "flag", "-bool", "true")
        outcome = self.switching("enable")
        self.assertIn("2 keys changed", outcome.stdout)
        self.assertEqual(outcome.stderr, "")
        self.assertEqual(self.defaults("read", DOMAIN), "{\n    count = 2;\n    flag = 1;\n}")
        # The settings in use are newer than what was there before.
        self.defaults("write", DOMAIN, "count", "-int", "3")
        self.assertIn("0 keys changed", self.switching("enable").stdout)
        self.switching("disable")
        self.defaults("write", DOMAIN, "count", "-int", "4")
        self.dconf("write", f"{KEY}/flag", "false")
        outcome = self.switching("disable")
        self.assertIn("1 key changed in dconf", outcome.stdout)
        self.assertEqual(outcome.stderr, "")
        self.assertEqual(self.dconf("dump", "/"), "[org/defaultsd/test]\ncount=4\nflag=false")

    def test_a_file_of_dconf_that_cannot_be_read_is_not_taken_for_an_empty_one(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        self.switching("disable")
        file = self.config / "dconf/user"
        database = file.read_bytes()
        for damaged in (b"", b"oops", b"GVariant", database[:20] + b"\xff\xff\xff\x7f" + database[24:], None):
            file.unlink()
            if damaged is None:
                file.mkdir()
            else:
                file.write_bytes(damaged)
            self.assertEqual(self.dconf("dump", "/"), "")
            outcome = self.switching("enable", status=66 if damaged is None else 65)
            self.assertIn(str(file), outcome.stderr)
            self.assertEqual(self.defaults("read", DOMAIN, "count"), "1")
            self.assertFalse(self.switch.exists())
        file.rmdir()
        file.write_bytes(database)
        self.switching("enable")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "1")

    def test_a_side_that_has_lost_all_values_needs_a_decision(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        self.switching("disable")
        self.dconf("reset", "-f", "/")
        self.assertIn("dconf has no value of GSettings anymore", self.switching("enable", status=65).stderr)
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "1")
        self.switching("enable", "--prefer", "defaultsd")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "1")
        self.switching("disable")
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "1")
        self.switching("enable")
        self.dconf("reset", "-f", "/")
        self.assertIn("dconf has no value", self.switching("disable", status=65).stderr)
        self.switching("disable", "--prefer", "defaultsd")
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "1")
        self.dconf("reset", "-f", "/")
        self.switching("enable", "--prefer", "dconf")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "0")

    def test_another_database_than_at_the_last_switch_is_refused(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        profile = self.root / "profile"
        profile.write_text("user-db:other\n")
        self.switching("enable")
        self.assertIn("another one at the last switch", self.switching("disable", status=69, DCONF_PROFILE=str(profile)).stderr)
        self.switching("disable")

    def test_types_come_from_schemas_and_earlier_values(self) -> None:
        schemas = Path(self.environment["XDG_DATA_HOME"]) / "gnome-shell/extensions/x@y.z/schemas"
        schemas.mkdir(parents=True)
        (schemas / "x.gschema.xml").write_text(
            "<schemalist><schema id='org.gnome.shell.extensions.x' path='/org/gnome/shell/extensions/x/'>"
            "<key name='size' type='u'><default>1</default></key>"
            "<key name='names' type='as'><default>[]</default></key></schema></schemalist>")
        subprocess.run(["glib-compile-schemas", str(schemas)], check=True)
        self.load("[org/defaultsd/test]\nunknown=1\n")
        self.switching("enable")
        # A program has another type than before.
        self.dconf("write", f"{KEY}/unknown", "uint32 1")
        extension, item = "org.gnome.shell.extensions.x", f"{DOMAIN}.items.i"
        self.defaults("write", extension, "size", "-int", "3")
        self.defaults("write", extension, "names", "-array")
        self.defaults("write", item, "count", "-string", "7")
        self.defaults("write", item, "stale", "-string", "of an earlier version")
        self.defaults("write", DOMAIN, "unknown", "-int", "6")
        self.defaults("write", DOMAIN, "guessed", "-int", "6")
        outcome = self.switching("disable")
        self.assertEqual(
            self.dconf("dump", "/"),
            "[org/defaultsd/test]\nguessed=6\nunknown=uint32 6\n\n"
            "[org/defaultsd/test/items/i]\ncount=7\nstale='of an earlier version'\n\n"
            "[org/gnome/shell/extensions/x]\nnames=@as []\nsize=uint32 3")
        self.assertIn(f"{KEY}/guessed in dconf is a guess", outcome.stderr)
        self.assertEqual(outcome.stderr.count("guess,"), 1)

    def test_only_the_directory_of_all_programs_is_switched(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        for action in ("enable", "disable"):
            outcome = self.switching(action, status=64, DEFAULTS_DIRECTORY=str(self.root / "other"))
            self.assertIn("Run this without the variable", outcome.stderr)
        self.assertFalse(self.switch.exists())

    def test_a_value_that_gsettings_ignores_stays_where_it_is(self) -> None:
        self.load("[org/defaultsd/test]\ncount='of an older schema'\nname=5\nflag=true\n")
        outcome = self.switching("enable")
        self.assertIn(f"{KEY}/count isn't imported", outcome.stderr)
        self.assertEqual(self.defaults("read", DOMAIN), "{\n    flag = 1;\n}")
        self.defaults("write", DOMAIN, "name", "-string", "ada")
        self.switching("disable")
        self.assertEqual(
            self.dconf("dump", "/"), "[org/defaultsd/test]\ncount='of an older schema'\nflag=true\nname='ada'")

    def test_preferences_that_are_no_settings_stay_out_of_dconf(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        # A relocatable schema has this key.
        self.defaults("write", "com.example.app", "name", "-string", "x")
        # The file of another program is damaged.
        self.damage("com.example.other")
        long = "org.defaultsd.test." + "x" * 150 + "%-0123456789abcdef"
        self.defaults("write", long, "count", "-int", "2")
        # It would be a comment in a dump.
        self.defaults("write", DOMAIN, "#key", "-int", "2")
        self.defaults("write", DOMAIN, "count", "-int", "3")
        outcome = self.switching("disable")
        for name in (f"{KEY}/#key", long):
            self.assertIn(f"{name}", outcome.stderr)
        self.assertEqual(self.dconf("dump", "/"), "[org/defaultsd/test]\ncount=3")
        self.switching("enable")
        self.assertEqual(self.defaults("read", "com.example.app", "name"), "x")

    def test_two_switches_at_once_are_refused(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        with open(self.dumps()[0].with_name("switch.lock"), "w") as lock:
            os.chmod(lock.name, 0o600)
            fcntl.flock(lock, fcntl.LOCK_EX)
            for action in ("enable", "disable"):
                self.assertIn("being switched already", self.switching(action, status=75).stderr)
        self.switching("disable")

    def test_a_value_of_this_host_is_the_one_that_is_set(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.defaults("-currentHost", "write", DOMAIN, "count", "-int", "2")
        self.switching("enable", status=65)
        self.switching("enable", "--prefer", "dconf")
        self.assertEqual(self.defaults("-currentHost", "read", DOMAIN, "count"), "1")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "1")
        # A removed value doesn't bring back the one for any host.
        self.switching("disable")
        self.defaults("write", DOMAIN, "count", "-int", "5")
        self.dconf("reset", f"{KEY}/count")
        self.dconf("write", f"{KEY}/name", "'a'")
        self.switching("enable")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "0")
        self.assertEqual(self.defaults("read", DOMAIN), "{\n    name = a;\n}")

    def test_without_the_backend_nothing_is_changed(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        outcome = self.switching("enable", status=69, GIO_EXTRA_MODULES="")
        self.assertIn("Install the package defaultsd-gsettings-backend", outcome.stderr)
        self.assertFalse(self.switch.exists())
        self.assertEqual(self.run_program("defaults", "read", DOMAIN, check=False).returncode, 1)

    def test_without_dconf_there_is_nothing_to_import(self) -> None:
        path = os.path.dirname(shutil.which("defaults", path=self.environment["PATH"]))
        self.switching("enable", PATH=path)
        self.assertTrue(self.switch.is_file())
        # dconf's backend is installed here, so its program is missing.
        self.assertIn("dconf-cli", self.switching("disable", status=69, PATH=path).stderr)
        self.assertTrue(self.switch.is_file())
        self.switching("disable")
        # Values that can't be read must not be left behind.
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.assertIn("dconf-cli", self.switching("enable", status=69, PATH=path).stderr)
        self.assertFalse(self.switch.exists())

    def test_values_of_system_databases_are_not_imported(self) -> None:
        settings = self.root / "system.d"
        settings.mkdir()
        (settings / "values").write_text("[org/defaultsd/test]\ncount=9\nname='system'\n")
        self.run_program("dconf", "compile", str(self.root / "sysdb"), str(settings))
        profile = self.root / "profile"
        profile.write_text(f"user-db:mine\nfile-db:{self.root}/sysdb\n")
        self.environment["DCONF_PROFILE"] = str(profile)
        self.dconf("write", f"{KEY}/count", "1")
        self.assertEqual(self.gsettings("get", DOMAIN, "name"), "'system'")
        self.switching("enable")
        self.assertEqual(self.defaults("read", DOMAIN), "{\n    count = 1;\n}")
        self.defaults("write", DOMAIN, "count", "-int", "2")
        self.switching("disable")
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "2")

    def test_an_export_that_fails_leaves_the_switch_on(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        self.switching("enable")
        self.defaults("write", DOMAIN, "count", "-int", "2")
        outcome = self.switching("disable", status=69, DBUS_SESSION_BUS_ADDRESS="unix:path=/nonexistent")
        self.assertIn("GSettings still uses defaultsd", outcome.stderr)
        self.assertTrue(self.switch.is_file())
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "2")
        self.switching("disable")
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "2")

    def test_a_damaged_file_stops_the_import(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n[org/defaultsd/test/part]\ncount=2\n")
        self.damage(f"{DOMAIN}.part")
        outcome = self.switching("enable", status=65)
        self.assertIn("Nothing was changed", outcome.stderr)
        self.assertEqual(self.run_program("defaults", "read", DOMAIN, check=False).returncode, 1)
        self.file(f"{DOMAIN}.part").unlink()
        wait_for(
            lambda: "oops" not in self.run_program("defaults", "read", f"{DOMAIN}.part", check=False).stderr, "repair")
        self.switching("enable")
        self.assertEqual(self.gsettings("get", f"{DOMAIN}.part", "count"), "2")

    def test_a_switch_that_is_killed_can_be_run_again(self) -> None:
        self.load("".join(f"[org/defaultsd/test/items/i{number}]\ncount={number + 1}\n" for number in range(150)))
        seed = 66
        generator = random.Random(seed)
        expected = {number: number + 1 for number in range(150)}
        for attempt in range(16):
            action = "disable" if self.switch.exists() else "enable"
            process = subprocess.Popen(
                ["defaults", "gsettings", action], env=self.environment, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE)
            try:
                process.communicate(timeout=generator.uniform(0.01, 0.6))
            except subprocess.TimeoutExpired:
                process.kill()
                process.communicate()
            # Between two attempts, a program changes a setting on the side that is in use.
            path = f"org.defaultsd.test.item:{KEY}/items/i{attempt}/"
            self.gsettings("set", path, "count", str(1000 + attempt))
            expected[attempt] = 1000 + attempt
        for action in ("disable", "enable") if self.switch.exists() else ("enable",):
            outcome = self.switching(action)
        for number, count in expected.items():
            self.assertEqual(
                self.defaults("read", f"{DOMAIN}.items.i{number}", "count"), str(count),
                f"seed {seed}: {outcome.stderr}")

    def test_an_import_that_ends_halfway_yields_to_what_is_set_in_between(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n[org/defaultsd/test/part]\ncount=1\n")
        # The switch can't be made, so the command fails after the last value was carried.
        self.switch.mkdir()
        self.switching("enable", status=73)
        self.switch.rmdir()
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "1")
        self.dconf("write", f"{KEY}/count", "2")
        self.dconf("reset", f"{KEY}/part/count")
        self.switching("enable")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "2")
        self.assertEqual(self.gsettings("get", f"{DOMAIN}.part", "count"), "0")

    def test_programs_and_what_they_use_are_listed(self) -> None:
        self.load("[org/defaultsd/test]\ncount=1\n")
        before = self.client()
        self.assertEqual(before("get", "count"), "1")
        self.assertIn("not defaultsd", self.switching("status").stdout)
        self.switching("enable")
        after = self.client()
        self.assertEqual(after("get", "count"), "1")
        named = self.client(GSETTINGS_BACKEND="dconf")
        named("get", "count")
        status = json.loads(self.switching("status", "--json").stdout)
        self.assertTrue(status["isEnabled"] and status["isInstalled"])
        programs = {program["pid"]: program for program in status["programs"]}
        self.assertEqual(
            (programs[before.process.pid]["dconf"], programs[before.process.pid]["usesDefaultsd"]), ("started", False))
        self.assertEqual(
            (programs[after.process.pid]["dconf"], programs[after.process.pid]["usesDefaultsd"]), (None, True))
        self.assertEqual(programs[named.process.pid]["dconf"], "variable")
        self.assertRegex(self.switching("status").stdout, rf"dconf +python.* \(pid {before.process.pid}\), since it was")
        findings = json.loads(self.run_program("defaults", "doctor", "--json", check=False).stdout)["findings"]
        messages = [finding["message"] for finding in findings if finding["id"] == "gsettings-dconf"]
        self.assertTrue(any(f"(pid {before.process.pid})" in message for message in messages), findings)
        self.assertFalse(any(f"(pid {after.process.pid})" in message for message in messages), findings)
        findings = json.loads(
            self.run_program("defaults", "doctor", "--json", check=False, GIO_EXTRA_MODULES="").stdout)["findings"]
        self.assertIn("gsettings-module", [finding["id"] for finding in findings])

    def test_keys_that_are_no_settings_stay_out_of_the_history(self) -> None:
        script = "defaults gsettings noise | xargs defaults write org.defaultsd.agent HistoryExcludes -array-add"
        self.run_program("bash", "-c", script)
        patterns = self.switching("noise").stdout.split()
        self.assertEqual(self.agent.defaults("org.defaultsd.agent").read("HistoryExcludes"), patterns)
        domain = "org.gtk.gtk4.settings.emoji-chooser"
        self.defaults("write", domain, "recent-emoji", "-array", "x")
        self.defaults("write", domain, "other", "-string", "secret-free")
        log = wait_for(lambda: self.defaults("log", domain), "the log")
        self.assertNotIn("\"x\"", log)
        self.assertIn("secret-free", log)


class WithoutAgentTests(DconfWorld):
    starts_agent = False

    def test_values_become_files_and_return(self) -> None:
        self.environment["DEFAULTS_NO_AGENT"] = "1"
        self.load((HERE / "dump.txt").read_text())
        dump, listed = self.dconf("dump", "/"), self.listed()
        self.switching("enable")
        self.assertEqual(self.listed(), listed)
        self.assertTrue(self.file(CUSTOM).is_file())
        self.defaults("write", DOMAIN, "count", "-int", "5")
        self.switching("disable")
        self.assertEqual(self.dconf("read", f"{KEY}/count"), "5")
        self.dconf("reset", f"{KEY}/count")
        self.assertEqual(self.dconf("dump", "/"), dump)


if __name__ == "__main__":
    unittest.main()
