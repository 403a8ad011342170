#!/usr/bin/env python3
"""Tests GSettings' backend with real programs and a real agent. Run by `.ci/gsettings`."""

from __future__ import annotations

import os
import plistlib
import random
import re
import shutil
import signal
import socket
import subprocess
import threading
import time
import unittest
from pathlib import Path

from defaultsd.location import this_host
from defaultsd.testing import program
from world import HERE, MODULES, Client, FakeAgent, World, build, compile_schemas, wait_for

DOMAIN = "org.defaultsd.test"


class SignalTests(World):
    def test_an_own_set_emits_one_signal(self) -> None:
        client = self.client()
        client("set", "count", "3")
        self.assertEqual(client.take_signals(1), ["changed count 3"])
        client("sync")
        self.assertEqual(client.take_signals(), [])
        client("set", "count", "3")
        self.assertEqual(client("get", "count"), "3")
        client("sync")
        self.assertEqual(client.take_signals(), [])
        client("reset", "count")
        client("sync")
        self.assertEqual(client.take_signals(1), ["changed count 0"])

    def test_an_unsorted_dictionary_emits_one_signal(self) -> None:
        client = self.client()
        client("set", "table", "{'b': '1', 'a': '2'}")
        client("sync")
        self.assertEqual(client.take_signals(1), ["changed table {'a': '2', 'b': '1'}"])

    def test_changes_of_another_program_arrive_in_order(self) -> None:
        client, other = self.client(), self.client()
        for value in range(1, 6):
            other("set", "count", value)
            other("sync")
        signals = client.take_signals(1)
        wait_for(lambda: client("get", "count") == "5", "the last value")
        values = [int(line.split()[-1]) for line in signals + client.take_signals()]
        self.assertEqual(values, sorted(values))
        self.assertEqual(values[-1], 5)

    def test_every_kind_of_writer_is_followed(self) -> None:
        client = self.client()
        self.defaults("write", DOMAIN, "count", "-int", "1")
        self.assertEqual(client.take_signals(1), ["changed count 1"])
        self.gsettings("set", DOMAIN, "count", "2")
        self.assertEqual(client.take_signals(1), ["changed count 2"])
        self.defaults("sync")
        self.run_program("sed", "-i", "s/<integer>2</<integer>3</", str(self.file()))
        self.assertEqual(client.take_signals(1), ["changed count 3"])
        self.defaults("undo", DOMAIN)
        self.assertEqual(client.take_signals(1), ["changed count 2"])
        self.gsettings("reset", DOMAIN, "count")
        self.assertEqual(client.take_signals(1), ["changed count 0"])
        self.defaults("write", DOMAIN, "pairs", "-string", "[('xkb','fr')]")
        self.assertEqual(client.take_signals(1), ["changed pairs [('xkb', 'fr')]"])

    def test_a_value_that_does_not_fit_is_the_default_and_stays(self) -> None:
        client = self.client()
        self.defaults("write", DOMAIN, "count", "-int", "1")
        client.take_signals(1)
        self.defaults("write", DOMAIN, "count", "many")
        self.assertEqual(client.take_signals(1), ["changed count 0"])
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "many")
        self.defaults("write", DOMAIN, "small", "-int", "11")
        self.assertEqual(client.take_signals(1), ["changed small 5"])

    def test_after_a_restart_only_keys_that_changed_emit(self) -> None:
        client = self.client()
        self.gsettings("set", DOMAIN, "count", "1")
        self.gsettings("set", DOMAIN, "name", "ada")
        self.gsettings("set", DOMAIN, "flag", "true")
        client.take_signals(3)
        self.agent.stop()
        text = self.file().read_text().replace("ada", "bob")
        self.file().write_text(re.sub(r"<key>count</key>\s*<integer>1</integer>", "", text))
        self.agent.start()
        self.assertEqual(sorted(client.take_signals(2)), ["changed count 0", "changed name 'bob'"])
        self.assertEqual(client("get", "flag"), "true")

    def test_keys_that_the_history_excludes_are_followed(self) -> None:
        self.defaults("write", "org.defaultsd.agent", "HistoryExcludes", "-array", f"{DOMAIN}/name")
        client = self.client()
        for name in ("ada", "bob"):
            self.gsettings("set", DOMAIN, "name", name)
            self.assertEqual(client.take_signals(1), [f"changed name '{name}'"])
        client("set", "name", "'eve'")
        client("sync")
        self.assertEqual(client.take_signals(1), ["changed name 'eve'"])

    def test_programs_in_a_relocatable_path_follow_it(self) -> None:
        first = self.client("org.defaultsd.test.item", "/org/defaultsd/test/items/a.b/")
        second = self.client("org.defaultsd.test.item", "/org/defaultsd/test/items/a/b/")
        first("set", "count", "1")
        first("sync")
        self.assertEqual(second("get", "count"), "0")
        self.assertEqual(self.defaults("read", "org.defaultsd.test.items.a%2Eb", "count"), "1")

    def test_paths_of_all_shapes_are_domains_of_their_own(self) -> None:
        paths = [
            "/", "/%/", "/a b/ü/", "/x.y/", "/x/y/", "/NSGlobalDomain/", "/a*?\\/", f"/{'long/' * 60}",
            f"/{'ü' * 150}/"]
        clients = [self.client("org.defaultsd.test.item", path) for path in paths]
        for number, client in enumerate(clients, 1):
            self.assertEqual(client("set", "count", number), "True")
            client("sync")
        for number, (path, client) in enumerate(zip(paths, clients), 1):
            self.assertEqual(client.take_signals(1), [f"changed count {number}"], path)
            self.assertEqual(self.client("org.defaultsd.test.item", path)("get", "count"), str(number), path)
            client.close()
            self.assertEqual(client.errors, [])
        self.assertEqual(self.defaults("read", "x%2Ey", "count"), "4")


class LayerTests(World):
    def write(self, path: Path, **values: object) -> None:
        path.parent.mkdir(exist_ok=True)
        temporary = path.with_suffix(".new")
        temporary.write_bytes(plistlib.dumps(values))
        temporary.rename(path)

    def test_managed_values_are_forced(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client.take_signals(1)
        managed = self.agent.managed / f"{DOMAIN}.plist"
        self.write(managed, count=7)
        self.assertEqual(sorted(client.take_signals(2)), ["changed count 7", "writable count False"])
        self.assertEqual(client("writable", "count"), "False")
        self.assertEqual(client("writable", "name"), "True")
        self.assertEqual(client("user", "count"), "1")
        self.assertEqual(client("default", "count"), "7")
        self.assertEqual(client("set", "count", "9"), "False")
        self.assertEqual(client("get", "count"), "7")
        # The forced key is one of a change set.
        client("delay")
        client("set", "count", "9")
        client("set", "name", "'ada'")
        client("apply")
        self.assertEqual(self.client()("get", "name"), "'nobody'")
        self.write(managed, count="no number")
        self.assertEqual(self.client()("get", "count"), "0")
        managed.unlink()
        other = self.client()
        wait_for(lambda: other("get", "count") == "1", "the user's value")
        self.assertEqual(other("writable", "count"), "True")

    def test_system_values_are_defaults(self) -> None:
        client = self.client()
        self.write(self.agent.system / f"{DOMAIN}.plist", count=7)
        self.assertEqual(client.take_signals(1), ["changed count 7"])
        self.assertEqual(client("default", "count"), "7")
        self.assertEqual(client("user", "count"), "nothing")
        client("set", "count", "1")
        self.assertEqual(client("default", "count"), "7")
        client("reset", "count")
        self.assertEqual(client("get", "count"), "7")
        self.assertEqual(client.take_signals(2), ["changed count 1", "changed count 7"])

    def test_a_value_of_this_host_comes_first_and_is_the_one_to_set(self) -> None:
        if this_host() is None:
            self.skipTest("This machine has no ID.")
        client = self.client()
        client("set", "count", "1")
        self.defaults("-currentHost", "write", DOMAIN, "count", "-int", "2")
        self.assertEqual(client.take_signals(2), ["changed count 1", "changed count 2"])
        client("set", "count", "3")
        self.assertEqual(client("get", "count"), "3")
        client("sync")
        self.assertEqual(client.take_signals(1), ["changed count 3"])
        self.assertEqual(self.defaults("-currentHost", "read", DOMAIN, "count"), "3")
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "1")
        client("reset", "count")
        client("sync")
        self.assertEqual(client("get", "count"), "0")
        self.assertEqual(client.take_signals(1), ["changed count 0"])


class ChangeSetTests(World):
    def records(self, domain: str) -> list[str]:
        return self.defaults("log", domain).splitlines()

    def test_apply_is_one_change_set_for_a_path(self) -> None:
        client = self.client()
        client("delay")
        client("set", "count", "1")
        client("set", "name", "'ada'")
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "0")
        client("apply")
        client("sync")
        history = self.agent.defaults(DOMAIN).history()
        self.assertEqual(sorted(change.key for change in next(history).changes), ["count", "name"])
        self.assertIsNone(next(history, None))

    def test_a_recursive_reset_can_be_undone(self) -> None:
        client = self.client()
        for key, value in (("count", "1"), ("name", "'ada'"), ("flag", "true")):
            client("set", key, value)
        client("sync")
        client.take_signals(3)
        self.gsettings("reset-recursively", DOMAIN)
        self.assertEqual(
            sorted(client.take_signals(3)), ["changed count 0", "changed flag false", "changed name 'nobody'"])
        self.defaults("undo", DOMAIN)
        self.assertEqual(
            sorted(client.take_signals(3)), ["changed count 1", "changed flag true", "changed name 'ada'"])

    def test_the_history_names_the_program(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        change = next(self.agent.defaults(DOMAIN).history())
        self.assertEqual(change.origin["program"], "test-client")
        self.assertIn("python", change.source.executable)
        # The executable's own name says nothing more.
        plain = self.client(PROGRAM_NAME=os.path.basename(os.path.realpath("/usr/bin/python3")))
        plain("set", "count", "2")
        plain("sync")
        self.assertEqual(next(self.agent.defaults(DOMAIN).history()).origin, {})

    def test_a_dictionary_whose_keys_unicode_takes_for_the_same_is_refused(self) -> None:
        client = self.client()
        client("set", "table", "{'\u00e9': '1', 'e\u0301': '2'}")
        client("sync")
        self.assertEqual(client("get", "table"), "{}")
        client.close()
        self.assertIn("table in org.defaultsd.test can't be set: ", "".join(client.errors))

    def test_a_burst_becomes_few_change_sets(self) -> None:
        client = self.client()
        self.stop_agent()
        client("set-many", "count", 1000)
        self.agent.signal(signal.SIGCONT)
        client("sync")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 999)
        self.assertLess(len(list(self.agent.defaults(DOMAIN).history())), 40)


class AgentTests(World):
    def test_a_stopped_agent_delays_no_program_longer_than_the_bound(self) -> None:
        self.gsettings("set", DOMAIN, "count", "1")
        self.defaults("sync")
        client = self.client()
        self.stop_agent()
        self.addCleanup(self.agent.signal, signal.SIGCONT)
        start = time.monotonic()
        self.assertEqual(client("get", "count"), "1")
        client("set", "count", "2")
        self.assertEqual(client("get", "count"), "2")
        self.assertLess(time.monotonic() - start, 0.4)
        # A program that begins now reads the files.
        start = time.monotonic()
        late = self.client()
        self.assertEqual(late("get", "count"), "1")
        for number in range(10):
            late("open", "org.defaultsd.test.item", f"/org/defaultsd/test/{number}/", "count")
        late("set", "name", "'late'")
        self.assertLess(time.monotonic() - start, 2)
        self.agent.signal(signal.SIGCONT)
        self.assertEqual(client.take_signals(2)[:2], ["changed count 2", "changed name 'late'"])
        self.assertEqual(late.take_signals(2), ["changed name 'late'", "changed count 2"])

    def test_a_set_while_the_agent_is_stopped_is_made_when_it_continues(self) -> None:
        self.stop_agent()
        setting = subprocess.Popen(
            ["gsettings", "set", DOMAIN, "count", "5"], env=self.environment, text=True, stderr=subprocess.PIPE)
        # Some edits wait for the agent's disk, so more than five seconds are no reason for a warning.
        deadline = time.monotonic() + 6
        wait_for(lambda: time.monotonic() > deadline, "a patient program")
        self.assertIsNone(setting.poll())
        self.agent.signal(signal.SIGCONT)
        self.assertEqual(setting.communicate(timeout=20)[1], "")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 5)

    def test_a_set_that_a_stopped_agent_does_not_confirm_is_reported(self) -> None:
        self.stop_agent()
        result = self.run_program("gsettings", "set", DOMAIN, "count", "5")
        self.assertIn("No agent has confirmed recent changes", result.stderr)
        self.agent.signal(signal.SIGCONT)
        wait_for(lambda: self.agent.defaults(DOMAIN).read("count") == 5, "the value")

    def test_a_program_whose_socket_is_full_waits_without_work(self) -> None:
        client = self.client()
        self.stop_agent()
        client("set", "name", f"'{'x' * 1_000_000}'")

        def cpu_time() -> float:
            fields = Path(f"/proc/{client.process.pid}/stat").read_text().rsplit(")", 1)[1].split()
            return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")

        before, deadline = cpu_time(), time.monotonic() + 1
        wait_for(lambda: time.monotonic() > deadline, "a second")
        self.assertLess(cpu_time() - before, 0.3)
        self.agent.signal(signal.SIGCONT)
        client("sync")
        self.assertEqual(len(self.agent.defaults(DOMAIN).read("name")), 1_000_000)

    def test_sets_of_many_paths_reach_a_stopped_agent_before_their_program_ends(self) -> None:
        client = self.client()
        self.stop_agent()
        client.process.stdin.write("set-paths-and-exit\torg.defaultsd.test.item\t/org/defaultsd/test/\t50\n")
        client.process.stdin.flush()
        client.process.wait(20)
        self.agent.signal(signal.SIGCONT)
        for number in range(1, 50):
            value = self.agent.defaults(f"{DOMAIN}.{number}").read
            wait_for(lambda: value("count") == number, f"the value of path {number}")

    def test_an_edit_without_an_answer_survives_a_killed_agent(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        self.stop_agent()
        client("set", "count", "2")
        client("set", "name", "'ada'")
        self.agent.kill()
        self.agent.start()
        client("sync")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 2)
        self.assertEqual(client.take_signals(3), ["changed count 1", "changed count 2", "changed name 'ada'"])
        self.assertEqual(len(list(self.agent.defaults(DOMAIN).history("count"))), 2)

    def test_a_resent_edit_yields_to_a_later_one(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        self.stop_agent()
        client("set", "count", "2")
        self.agent.kill()
        self.file().write_bytes(plistlib.dumps({"count": 3}))
        self.agent.start()
        client("sync")
        wait_for(lambda: client("get", "count") == "3", "the later value")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 3)

    def test_a_resent_edit_of_a_program_that_has_only_read_files_yields_to_a_later_one(self) -> None:
        self.gsettings("set", DOMAIN, "count", "1")
        self.defaults("sync")
        self.stop_agent()
        client = self.client()
        client("set", "count", "2")
        self.agent.kill()
        self.wait_until_files_are_later()
        self.file().write_bytes(plistlib.dumps({"count": 3}))
        self.agent.start()
        client("sync")
        wait_for(lambda: client("get", "count") == "3", "the later value")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 3)

    def test_a_resent_edit_that_replaces_a_value_without_a_form_in_messages_yields_to_a_later_one(self) -> None:
        self.agent.stop()
        self.file().write_bytes(plistlib.dumps({"count": "a\0b"}, fmt=plistlib.FMT_BINARY))
        self.agent.start()
        client = self.client()
        self.stop_agent()
        client("set", "count", "2")
        self.agent.kill()
        self.wait_until_files_are_later()
        self.file().write_bytes(plistlib.dumps({"count": 3}))
        self.agent.start()
        client("sync")
        wait_for(lambda: client("get", "count") == "3", "the later value")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 3)

    def test_an_edit_without_an_agent_yields_key_by_key_to_what_other_programs_write_later(self) -> None:
        client = self.client(PATH="/usr/bin:/bin")
        client("set", "count", "1")
        client("sync")
        client.take_signals(1)
        self.agent.kill()
        client("set", "name", "'ada'")
        self.wait_until_files_are_later()
        self.file().write_bytes(plistlib.dumps({"count": 1, "name": "bob"}))
        client("set", "count", "2")
        self.agent.start()
        client("sync")
        self.assertEqual(self.agent.defaults(DOMAIN).dictionary(), {"count": 2, "name": "bob"})
        wait_for(lambda: client("get", "name") == "'bob'", "the later value")

    def test_a_service_manager_starts_the_agent_for_the_first_program(self) -> None:
        self.agent.stop()
        self.file().write_bytes(plistlib.dumps({"count": 4}))
        path = self.defaults("socket")
        variables = [
            word for name, value in self.environment.items() if name.startswith(("DEFAULTS", "XDG_"))
            for word in ("-E", f"{name}={value}")]
        manager = subprocess.Popen(
            ["systemd-socket-activate", "-l", path, *variables, program("defaultsd")], env=self.environment,
            stderr=subprocess.DEVNULL)
        self.addCleanup(manager.wait)
        self.addCleanup(manager.kill)
        wait_for(lambda: os.path.exists(path), "the socket")
        client = self.client()
        self.assertEqual(client("get", "count"), "4")
        client("set", "count", "5")
        client("sync")
        self.assertEqual(self.claimed_pid(), manager.pid)
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 5)

    def test_an_edit_that_comes_late_yields_only_to_later_ones(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        self.defaults("sync")
        self.stop_agent()
        client("set", "count", "2")
        client("set", "name", "'ada'")
        # The file is written after the edits, which are in the socket for longer than a client waits.
        deadline = time.monotonic() + 4.5
        wait_for(lambda: time.monotonic() > deadline, "a late edit")
        self.file().write_bytes(plistlib.dumps({"count": 3}))
        self.agent.signal(signal.SIGCONT)
        client("sync")
        wait_for(lambda: client("get", "count") == "3", "the later value")
        self.assertEqual(client("get", "name"), "'ada'")
        self.assertEqual(self.agent.defaults(DOMAIN).read("name"), "ada")

    def test_set_and_exit_at_once_is_kept(self) -> None:
        client = self.client()
        client("exit-at-once", "count", "5")
        client.process.wait(20)
        wait_for(lambda: self.agent.defaults(DOMAIN).read("count") == 5, "the value")

    def test_an_agent_that_returns_is_followed(self) -> None:
        client = self.client()
        for value in (1, 2, 3):
            self.agent.kill()
            self.agent.start()
            self.gsettings("set", DOMAIN, "count", str(value))
            self.assertEqual(client.take_signals(1), [f"changed count {value}"])

    def test_a_refused_edit_is_taken_back_with_a_warning(self) -> None:
        self.file().symlink_to(self.root / "elsewhere")
        (self.root / "elsewhere").write_text("no property list")
        self.defaults("sync")
        client = self.client()
        client("set", "count", "5")
        client("sync")
        wait_for(lambda: client("get", "count") == "0", "the former value")
        # The first handler may already read the former value again.
        self.assertEqual(client.take_signals(2)[1:], ["changed count 0"])
        client.close()
        self.assertIn("count in org.defaultsd.test can't be set: ", "".join(client.errors))

    def test_a_forked_child_reads_and_sets(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        client.take_signals(1)
        self.assertEqual(client("fork", "count", "2"), "0")
        self.assertEqual(sorted(client.take_signals(3)), ["changed count 2", "changed count 2", "child 1 2"])
        client("set", "count", "3")
        client("sync")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 3)

    def test_a_forked_child_keeps_the_files_that_it_has_opened(self) -> None:
        client = self.client()
        client("set", "count", "1")
        client("sync")
        self.assertEqual(client("fork-with-new-files", "count"), "0")
        client("set", "count", "2")
        client("sync")
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 2)

    def test_an_agent_that_a_waiting_program_starts_gets_no_signal_mask(self) -> None:
        def mask(pid: int) -> str:
            return re.search("SigBlk:\\s*(.*)", Path(f"/proc/{pid}/status").read_text())[1]

        client, usual = self.client(), mask(self.agent.pid)
        self.agent.kill()
        client("set", "count", "5")
        wait_for(self.claimed_pid, "an agent")
        client("sync")
        self.assertEqual(mask(self.claimed_pid()), usual)

    def test_a_thousand_paths_in_one_process(self) -> None:
        client = self.client()
        for number in range(1000):
            client("open", "org.defaultsd.test.item", f"/org/defaultsd/test/{number}/", "count")
        self.assertEqual(client("threads"), "2")
        client("set", "count", "5")
        client("sync")
        self.assertEqual(client.take_signals(1), ["changed count 5"])

    def test_values_are_kept_while_eight_programs_set_keys_and_the_agent_is_killed(self) -> None:
        # These programs find no agent to start: the test does that.
        path = "/usr/bin:/bin"
        clients = [
            self.client("org.defaultsd.test.item", f"/org/defaultsd/test/{number}/", PATH=path) for number in range(8)]
        shared = [self.client(PATH=path) for _ in range(2)]

        def write(client: object, key: str) -> None:
            for value in range(1, 401):
                client("set", key, value if key == "count" else f"'{value}'", timeout=60)
                client("set", key, value if key == "count" else f"'{value}'", timeout=60)

        threads = [threading.Thread(target=write, args=(client, "count")) for client in clients]
        pairs = zip(shared, ("count", "name"))
        threads += [threading.Thread(target=write, args=pair) for pair in pairs]
        for thread in threads:
            thread.start()
        kills, pause = 0, threading.Event()
        while any(thread.is_alive() for thread in threads):
            start = time.monotonic()
            self.agent.kill()
            self.agent.start()
            kills += 1
            pause.wait(0.02 + time.monotonic() - start)
        for thread in threads:
            thread.join()
        self.assertGreater(kills, 1)
        for number, client in enumerate(clients):
            client("sync", timeout=60)
            self.assertEqual(self.agent.defaults(f"{DOMAIN}.{number}").read("count"), 400)
            self.assertEqual(client("get", "count"), "400")
            values = [int(line.split()[-1]) for line in client.take_signals(1)]
            self.assertEqual(values, list(range(1, 401)), "each value once")
        for client in shared:
            client("sync", timeout=60)
        self.assertEqual(self.agent.defaults(DOMAIN).read("count"), 400)
        self.assertEqual(self.agent.defaults(DOMAIN).read("name"), "400")


class LoadTests(World):
    """Many programs and threads at once."""

    def run_all(self, *commands: list[str]) -> None:
        """Run programs, and kill and start the agent at random times until they are done."""
        programs = [subprocess.Popen(command, env=self.environment) for command in commands]
        restarts, needed, pause = 0, 0.0, threading.Event()
        while any(program.poll() is None for program in programs):
            # An agent lives as long as its start has taken, or a busy machine would have none most of the time.
            pause.wait(random.uniform(0.01, 0.15) + needed)
            start = time.monotonic()
            self.agent.kill()
            self.agent.start()
            needed = time.monotonic() - start
            restarts += 1
        self.assertEqual([program.returncode for program in programs], [0] * len(commands))
        self.assertGreater(restarts, 1)

    def test_thousands_of_sets_survive_agents_that_are_killed(self) -> None:
        # The programs find no agent to start: the test does that.
        self.environment["PATH"] = "/usr/bin:/bin"
        writer, count = build("writer.c", self.root), 4000
        self.run_all(*([writer, f"/org/defaultsd/test/{number}/", str(count)] for number in range(8)))
        for number in range(8):
            defaults = self.agent.defaults(f"{DOMAIN}.{number}")
            wait_for(lambda: defaults.read("count") == count, lambda: f"{count}, not {defaults.read('count')}")
            values = [change.new for record in defaults.history() for change in record.changes]
            self.assertEqual(values, sorted(set(values), reverse=True), "No value comes back.")

    def test_threads_that_share_a_client_do_not_race(self) -> None:
        sources = [f"../../Sources/GSettingsBackend/{name}.c" for name in (
            "agent", "state", "plist", "mapping", "files", "location")]
        program = build(
            "stress.c", self.root, *(str(HERE / source) for source in sources),
            f"-I{HERE}/../../Sources/GSettingsBackend", "-g", "-O1", "-fsanitize=thread", "-include",
            str(HERE / "threads.h"))
        # GLib's own counting of references, and its log's clock, are unknown to the sanitizer. It needs addresses that
        # aren't random.
        (self.root / "known").write_text(
            "race:g_bytes_unref\nrace:^free$\nrace:tzset_internal\nrace:g_log_writer_format_fields\n")
        self.environment |= {
            "PATH": "/usr/bin:/bin", "G_SLICE": "always-malloc", "TSAN_OPTIONS": f"suppressions={self.root}/known"}
        if self.run_program("setarch", "-R", program, "0", check=False).returncode:
            self.skipTest("The thread sanitizer doesn't run here.")
        self.run_all(["setarch", "-R", program, "2000"])

    def test_sets_of_programs_that_exit_at_once_are_all_kept_by_the_agent_that_they_start(self) -> None:
        self.agent.stop()
        writer = build("writer.c", self.root)
        writers = [
            subprocess.Popen([writer, f"/org/defaultsd/test/{number}/", "100", "exit"], env=self.environment)
            for number in range(8)]
        self.assertEqual([writer.wait(60) for writer in writers], [0] * 8)
        for number in range(8):
            defaults = self.agent.defaults(f"{DOMAIN}.{number}")
            wait_for(lambda: defaults.read("count") == 100, lambda: f"100, not {defaults.read('count')}")
            values = [change.new for record in defaults.history() for change in record.changes]
            self.assertEqual(values, list(range(100, 0, -1)))


class ThreadTests(World):
    def test_a_handler_runs_in_the_context_where_its_settings_were_made(self) -> None:
        result = self.run_program("/usr/bin/python3", str(HERE / "contexts.py"))
        self.assertEqual(result.stdout, "in time\nmain waits\nmain: main thread\nother: other thread\n")

    def test_no_signal_is_handled_and_no_descriptor_is_inherited(self) -> None:
        code = """
import fcntl, os, re
from gi.repository import Gio

def handled():
    return re.search("SigCgt:\\\\s*(.*)", open("/proc/self/status").read())[1]

def descriptors():
    with os.scandir("/proc/self/fd") as entries:
        return {int(entry.name) for entry in entries}

settings = Gio.Settings.new("org.defaultsd.test")
before = handled()
settings.set_int("count", 5)
Gio.Settings.sync()
inherited = [one for one in descriptors() if one > 2 and os.path.exists(f"/proc/self/fd/{one}")
             and not fcntl.fcntl(one, fcntl.F_GETFD) & fcntl.FD_CLOEXEC]
blocked = [re.search("SigBlk:\\\\s*(.*)", open(f"/proc/self/task/{task}/status").read())[1]
           for task in os.listdir("/proc/self/task") if task != str(os.getpid())]
print(before == handled(), inherited, blocked)
""".replace("\\\\", "\\")
        output = self.run_program("/usr/bin/python3", "-c", code).stdout
        # All signals but those that can't be blocked, and those that the C library uses itself.
        self.assertRegex(output, r"^True \[\] \['fffffff[ce]7ffbfeff'\]\n$")

    def test_a_broken_conversation_neither_ends_a_program_nor_occupies_it(self) -> None:
        self.agent.stop()
        self.file().write_bytes(plistlib.dumps({"count": 4}))
        welcome = {"type": "welcome", "request": 1, "protocol": 2, "pid": 1, "directory": str(self.agent.directory),
                   "system": [], "cursor": "1:1"}
        body = plistlib.dumps(welcome, fmt=plistlib.FMT_BINARY)
        frames = [
            b"", b"\0", b"\xff" * 8, b"\0\0\0\0", b"\0\0\0\x04oops", b"{}", (1 << 31).to_bytes(4, "big"),
            len(body).to_bytes(4, "big") + body + b"\0\0\0\x08bplist00",
            len(body).to_bytes(4, "big") + body + b"\x7f\xff\xff\xff",
        ]
        for number, frame in enumerate(frames):
            path = self.root / f"socket-{number}"
            with self.subTest(frame), socket.socket(socket.AF_UNIX) as listener:
                listener.bind(str(path))
                listener.listen()
                listener.settimeout(20)
                client = subprocess.Popen(
                    ["/usr/bin/python3", str(HERE / "client.py"), DOMAIN], text=True, stdin=subprocess.PIPE,
                    stdout=subprocess.PIPE, env={**self.environment, "DEFAULTSD_SOCKET": str(path)})
                connection, _ = listener.accept()
                connection.recv(1 << 16)
                connection.sendall(frame)
                # One of the conversations breaks in the middle, and another one ends.
                if number % 2:
                    connection.close()
                output, _ = client.communicate("get\tcount\nset\tcount\t5\nget\tcount\n", timeout=20)
                connection.close()
                self.assertEqual(output, "= ready\n= 4\nchanged count 5\n= True\n= 5\n")
                self.assertEqual(client.returncode, 0)


class ConversationTests(World):
    """Programs with an agent whose part a test plays."""

    starts_agent = False

    def test_an_agent_that_listens_long_after_its_claim_is_found(self) -> None:
        self.file().write_bytes(plistlib.dumps({"count": 4}))
        agent = FakeAgent(self)
        agent.claim_directory()
        client = self.client(**agent.environment)
        self.assertEqual(client("get", "count"), "4")
        deadline = time.monotonic() + 2
        wait_for(lambda: time.monotonic() > deadline, "a slow start")
        agent.listen()
        self.begin(agent, count=7)
        self.assertEqual(client.take_signals(1), ["changed count 7"])

    def test_no_agent_is_started_beside_one_that_is_starting(self) -> None:
        agent = FakeAgent(self)
        agent.claim_directory()
        programs, started = self.root / "programs", self.root / "started"
        programs.mkdir()
        (programs / "defaultsd").write_text(f"#!/bin/sh\necho >>{started}\n")
        (programs / "defaultsd").chmod(0o755)
        client = self.client(**agent.environment | {"PATH": f"{programs}:/usr/bin:/bin"})
        client("set", "count", "5")
        self.assertFalse(started.exists())
        # The same program starts one when none is there.
        agent.claim.close()
        client("set", "count", "6")
        wait_for(started.exists, "a started agent")

    def test_a_conversation_that_always_ends_is_begun_again_with_delays(self) -> None:
        agent = FakeAgent(self)
        agent.listen()
        client = self.client(**agent.environment)
        count, end = 0, time.monotonic() + 2
        while (left := end - time.monotonic()) > 0:
            try:
                conversation = agent.accept(left)
            except TimeoutError:
                break
            conversation.greet()
            conversation.socket.close()
            count += 1
        self.assertGreater(count, 3)
        self.assertLess(count, 15)
        self.assertEqual(client("get", "count"), "0")

    def test_short_waits_are_limited_in_total(self) -> None:
        agent = FakeAgent(self)
        agent.listen()
        client = self.client_of(agent)

        def answer_slowly() -> None:
            for _ in range(200):
                time.sleep(0.015)
                try:
                    self.conversation.subscribe(count=1)
                except (OSError, KeyError):
                    return

        thread = threading.Thread(target=answer_slowly)
        thread.start()
        spent = float(client("open-many-and-time", "org.defaultsd.test.item", "/org/defaultsd/test/", 200))
        client.process.kill()
        thread.join()
        self.assertLess(spent, 2.3)

    def begin(self, agent: FakeAgent, **values: object) -> None:
        self.conversation = agent.accept()
        self.conversation.greet()
        self.conversation.subscribe(**values)

    def client_of(self, agent: FakeAgent) -> Client:
        """Return a program whose first values have come from an agent, in `conversation`."""
        thread = threading.Thread(target=self.begin, args=(agent,))
        thread.start()
        client = self.client(**agent.environment)
        thread.join()
        return client

    def test_a_sync_waits_only_for_earlier_edits(self) -> None:
        agent = FakeAgent(self)
        agent.listen()
        client = self.client_of(agent)
        client("set", "count", "1")
        client("sync-in-thread")
        unanswered, numbers = [], iter(range(1_000_000))

        def is_synchronized() -> bool:
            # One edit is always unanswered.
            client("set", "name", f"'{next(numbers)}'")
            unanswered.append(self.conversation.receive_edit())
            self.conversation.answer(unanswered.pop(0))
            return "synced" in client.take_signals()

        wait_for(is_synchronized, "the end of the sync")
        self.conversation.answer(self.conversation.receive_edit())

    def test_an_agent_that_is_ending_answers_what_it_has_received(self) -> None:
        agent = FakeAgent(self)
        agent.listen()
        client = self.client_of(agent)
        client("set", "count", "1")
        first = self.conversation.receive_edit()
        self.assertEqual((first["edit"], first["set"]), (1, {"count": 1}))
        self.conversation.socket.shutdown(socket.SHUT_RD)
        setting = threading.Thread(target=client, args=("set", "name", "'ada'"))
        setting.start()
        # A program that can't send waits for the answers, not for nothing.
        with self.assertRaises(TimeoutError):
            agent.accept(0.5)
        self.assertTrue(setting.is_alive(), "The set waits for the next agent.")
        self.conversation.answer(first)
        self.conversation.socket.close()
        self.begin(agent, count=1)
        setting.join()
        second = self.conversation.receive_edit()
        self.assertEqual((second["edit"], second["set"]), (2, {"name": "ada"}))
        self.conversation.answer(second)
        client("sync")


class WithoutAgentTests(World):
    starts_agent = False

    def test_files_are_read_in_all_formats(self) -> None:
        for form in (plistlib.FMT_XML, plistlib.FMT_BINARY):
            self.file().write_bytes(plistlib.dumps({"count": 4, "name": "grüße"}, fmt=form))
            self.assertEqual(self.gsettings("get", DOMAIN, "count"), "4")
            self.assertEqual(self.gsettings("get", DOMAIN, "name"), "'grüße'")
        self.assertFalse((self.agent.directory / ".defaultsd.agent").exists(), "No agent was started.")

    def test_a_damaged_file_is_reported_and_is_no_value(self) -> None:
        self.file().write_text("<plist><dict><key>count</key>")
        result = self.run_program("gsettings", "get", DOMAIN, "count")
        self.assertEqual(result.stdout, "0\n")
        self.assertIn(f"{self.file()} isn't a property list", result.stderr)

    def test_a_program_without_an_agent_watches_nothing(self) -> None:
        self.assertNotIn("inotify", self.client()("files"))

    @unittest.skipUnless(os.geteuid() == 0, "Only root can use the directory of another user.")
    def test_no_key_can_be_set_in_the_directory_of_another_user(self) -> None:
        os.chown(self.agent.directory, 65534, 65534)
        client = self.client()
        self.assertEqual(client("writable", "count"), "False")
        self.assertEqual(client("set", "count", "5"), "False")
        client.close()
        self.assertIn("isn't a directory of this user's", "".join(client.errors))

    def test_a_managed_file_that_another_user_may_have_written_does_not_count(self) -> None:
        managed = self.agent.managed / f"{DOMAIN}.plist"
        managed.write_bytes(plistlib.dumps({"count": 7}))
        managed.chmod(0o666)
        result = self.run_program("gsettings", "get", DOMAIN, "count")
        self.assertEqual(result.stdout, "0\n")
        self.assertIn(f"{managed} is ignored", result.stderr)

    def test_layers_are_read_from_files(self) -> None:
        (self.agent.managed / f"{DOMAIN}.plist").write_bytes(plistlib.dumps({"count": 7}))
        (self.agent.system / f"{DOMAIN}.plist").write_bytes(plistlib.dumps({"count": 1, "name": "system"}))
        self.file().write_bytes(plistlib.dumps({"count": 2}))
        client = self.client()
        self.assertEqual(client("get", "count"), "7")
        self.assertEqual(client("writable", "count"), "False")
        self.assertEqual(client("user", "count"), "2")
        self.assertEqual(client("get", "name"), "'system'")

    def test_a_set_starts_an_agent_and_other_programs_follow(self) -> None:
        follower = self.client()
        self.gsettings("set", DOMAIN, "count", "5")
        self.assertTrue(self.claimed_pid())
        self.assertEqual(follower.take_signals(1), ["changed count 5"])
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "5")
        # The agent isn't a child of the program that started it, nor in its session.
        self.assertNotEqual(os.getsid(self.claimed_pid()), os.getsid(0))

    def test_the_default_directory_is_used_and_may_name_another(self) -> None:
        home = Path(self.environment["XDG_CONFIG_HOME"])
        home.mkdir()
        other = self.agent.directory
        del self.environment["DEFAULTS_DIRECTORY"]
        self.agent.directory = home
        self.gsettings("set", DOMAIN, "count", "5")
        self.assertTrue(self.claimed_pid())
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "5")
        self.defaults("sync")
        self.assertEqual(plistlib.loads((home / f"{DOMAIN}.plist").read_bytes()), {"count": 5})
        self.end_started_agent()
        (home / "org.defaultsd.agent.plist").write_bytes(plistlib.dumps({"Directory": str(other)}))
        self.agent.directory = other
        self.assertEqual(self.gsettings("get", DOMAIN, "count"), "0")
        self.gsettings("set", DOMAIN, "count", "6")
        self.assertTrue(self.claimed_pid())
        self.defaults("sync")
        # A damaged settings file must not count as a missing one, if it may name the directory.
        self.end_started_agent()
        settings = home / "org.defaultsd.agent.plist"
        whole = settings.read_bytes()
        settings.write_bytes(whole[:whole.index(b"</string>")])
        client = self.client()
        self.assertEqual(client("get", "count"), "0")
        self.assertEqual(client("set", "count", "7"), "False")
        # The program notices that it has been repaired.
        settings.write_bytes(whole)
        self.assertEqual(client("get", "count"), "6")
        self.assertEqual(client("set", "count", "7"), "True")
        client("sync")
        self.assertEqual(self.defaults("read", DOMAIN, "count"), "7")
        client.close()
        self.assertIn("org.defaultsd.agent.plist isn't a property list", "".join(client.errors))
        self.end_started_agent()
        self.agent.directory = home
        for text in ("<plist>", "{ LogLevel = error; }"):
            settings.write_text(text)
            self.assertEqual(self.gsettings("get", DOMAIN, "count"), "5")

    def test_set_and_exit_at_once_is_kept_by_the_agent_that_it_starts(self) -> None:
        client = self.client()
        client("exit-at-once", "count", "5")
        client.process.wait(20)
        wait_for(lambda: self.gsettings("get", DOMAIN, "count") == "5", "the value")

    def test_without_a_program_to_start_a_change_is_reported_as_lost(self) -> None:
        start = time.monotonic()
        result = self.run_program("gsettings", "set", DOMAIN, "count", "5", PATH="/usr/bin:/bin")
        self.assertIn("No agent is running, and none can be started", result.stderr)
        self.assertIn("No agent has confirmed recent changes", result.stderr)
        # Nothing will come, so nothing waits for it.
        self.assertLess(time.monotonic() - start, 2)

    def test_a_user_who_wants_no_agent_can_only_read(self) -> None:
        self.file().write_bytes(plistlib.dumps({"count": 4}))
        client = self.client(DEFAULTS_NO_AGENT="1")
        self.assertEqual(client("get", "count"), "4")
        self.assertEqual(client("writable", "count"), "False")
        self.assertEqual(client("set", "count", "5"), "False")
        self.assertEqual(client("threads"), "1")

    def test_another_program_at_the_socket_is_not_the_agent(self) -> None:
        self.file().write_bytes(plistlib.dumps({"count": 4}))
        runtime = self.agent.runtime / "defaultsd"
        path = Path(self.defaults("socket"))
        for directory in (runtime, path.parent):
            directory.mkdir(mode=0o700, exist_ok=True)
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(str(path))
            listener.listen()
            start = time.monotonic()
            self.assertEqual(self.gsettings("get", DOMAIN, "count"), "4")
            self.assertLess(time.monotonic() - start, 2)


class SwitchTests(World):
    def setUp(self) -> None:
        super().setUp()
        self.home = Path(self.environment["XDG_CONFIG_HOME"])
        self.home.mkdir()
        del self.environment["GSETTINGS_BACKEND"]

    def backend(self, **variables: str) -> str:
        """Return the type of the backend that a program gets."""
        code = "from gi.repository import Gio; print(Gio.SettingsBackend.get_default().__gtype__.name)"
        return self.run_program("/usr/bin/python3", "-c", code, **variables).stdout.strip()

    def test_the_switch_selects_the_backend_and_the_environment_overrides_it(self) -> None:
        self.assertNotEqual(self.backend(), "DefaultsdBackend")
        self.assertEqual(self.backend(GSETTINGS_BACKEND="defaultsd"), "DefaultsdBackend")
        switch = self.home / ".defaultsd.gsettings"
        switch.touch()
        self.assertEqual(self.backend(), "DefaultsdBackend")
        self.assertEqual(self.backend(GSETTINGS_BACKEND="memory"), "GMemorySettingsBackend")
        switch.unlink()
        switch.mkdir()
        self.assertNotEqual(self.backend(), "DefaultsdBackend")

    def test_it_is_no_default_where_dconf_is_missing(self) -> None:
        empty = self.root / "empty"
        empty.mkdir()
        self.assertNotEqual(self.backend(GIO_MODULE_DIR=str(empty)), "DefaultsdBackend")

    def test_unselected_it_opens_nothing_but_the_switch(self) -> None:
        trace = self.root / "trace"
        self.run_program(
            "strace", "-f", "-o", str(trace), "gsettings", "get", DOMAIN, "count", GSETTINGS_BACKEND="memory")
        calls = trace.read_text()
        self.assertIn("libgsettingsdefaultsd.so", calls)
        self.assertEqual(
            len([line for line in calls.splitlines() if "defaultsd" in line and "libgsettings" not in line
                 and ".defaultsd.gsettings" not in line and "execve" not in line and "gsettings-schemas" not in line
                 and "schema" not in line]), 0, calls)
        self.assertNotRegex(calls, r"connect\(.*defaultsd")
        # GLib itself has a thread and an eventfd.
        without = self.root / "without"
        self.run_program(
            "strace", "-f", "-o", str(without), "gsettings", "get", DOMAIN, "count", GSETTINGS_BACKEND="memory",
            GIO_EXTRA_MODULES="/nonexistent")
        for call in ("clone", "eventfd2", "socket", "inotify_init"):
            pattern = rf"\b{call}\w*\("
            self.assertEqual(len(re.findall(pattern, calls)), len(re.findall(pattern, without.read_text())), call)

    @unittest.skipUnless(os.geteuid() == 0, "Only root can make a program of another user.")
    def test_a_program_with_more_rights_than_its_user_does_not_use_it(self) -> None:
        program = build("secure.c", self.root)
        self.assertEqual(self.run_program(program, MODULES).stdout, "0 1\n")
        other = str(self.root / "other")
        shutil.copy(program, other)
        os.chown(other, 65534, 65534)
        os.chmod(other, 0o4755)
        # Its user must be able to load the module.
        os.chmod(self.root, 0o755)
        modules = self.root / "modules"
        shutil.copytree(MODULES, modules)
        for path in (modules, *modules.iterdir()):
            path.chmod(0o755)
        result = self.run_program(other, str(modules)).stdout
        if result.startswith("0"):
            self.skipTest("The file system ignores the bit for another user's rights.")
        self.assertEqual(result, "1 0\n")


class ValueTests(World):
    def setUp(self) -> None:
        super().setUp()
        section = (HERE / "vectors.txt").read_text().split("[values]\n")[1].split("[readings]")[0]
        self.vectors = [[field.strip() for field in line.split("|")] for line in section.splitlines() if line]
        keys = "".join(
            f'<key name="k{number}" type="{fields[0]}"><default>{escaped(initial(fields[0]))}</default></key>'
            for number, fields in enumerate(self.vectors))
        schema = f'<schema id="org.defaultsd.vectors" path="/org/defaultsd/vectors/">{keys}</schema>'
        compile_schemas(vectors=f"<schemalist>{schema}</schemalist>")

    def test_each_value_survives_the_agent_and_the_file(self) -> None:
        client = self.client("org.defaultsd.vectors")
        for number, (type_name, value, *_) in enumerate(self.vectors):
            self.assertEqual(client("set", f"k{number}", value.replace("\t", "\\t")), "True", value)
        client("sync")
        before = [client("get", f"k{number}") for number in range(len(self.vectors))]
        self.defaults("sync")
        through_agent = self.client("org.defaultsd.vectors")
        for number, value in enumerate(before):
            self.assertEqual(through_agent("get", f"k{number}"), value)
        # The same in the other format of files.
        path = self.file("org.defaultsd.vectors")
        for form in ("xml", "binary"):
            self.defaults("convert", "--to", form, str(path), str(path))
            reader = self.client("org.defaultsd.vectors", DEFAULTS_NO_AGENT="1")
            for number, value in enumerate(before):
                self.assertEqual(reader("get", f"k{number}"), value, f"{form}: {self.vectors[number]}")


class DconfTests(World):
    def test_dconfs_values_come_and_go_unchanged(self) -> None:
        program, dump = build("transfer.c", self.root), HERE / "dump.txt"
        # dconf's service must have the directories of its clients.
        script = """set -e
            dconf load / <"$2"
            dconf dump / >dump
            GSETTINGS_BACKEND=dconf gsettings list-recursively >listed
            "$1" in dump
            gsettings list-recursively >listed.now
            "$1" out dump >dump.now
            dconf reset -f /
            dconf load / <dump.now
            dconf dump / >dump.again
        """
        self.run_program(
            "dbus-run-session", "--", "bash", "-c", f"cd {self.root}; {script}", "bash", program, str(dump))
        read = lambda name: (self.root / name).read_text()  # noqa: E731
        self.assertEqual(read("dump"), read("dump.again"))
        self.assertGreater(len(read("dump").splitlines()), 60)
        ours = [line for line in read("listed.now").splitlines() if not line.startswith("org.defaultsd")]
        self.assertEqual([line for line in read("listed").splitlines() if not line.startswith("org.defaultsd")], ours)
        self.assertIn("org.gnome.desktop.interface cursor-size 48", ours)
        # They are text that can be read, under the names of their paths.
        domain = "org.gnome.settings-daemon.plugins.media-keys.custom-keybindings.custom0"
        self.assertEqual(self.defaults("read", domain, "binding"), "<Super>t")
        self.assertEqual(self.defaults("read", "system.proxy", "mode"), "none")
        self.assertEqual(self.defaults("read", "org.gnome.desktop.input-sources", "sources.1.1"), "de+nodeadkeys")


def initial(type_name: str) -> str:
    """Return some value of a type that is no vector."""
    from gi.repository import GLib

    value = GLib.Variant.new_from_bytes(GLib.VariantType(type_name), GLib.Bytes.new(b""), False)
    return value.print_(True)


def escaped(text: str) -> str:
    return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")


if __name__ == "__main__":
    unittest.main()
