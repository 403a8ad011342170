"""Tests of a fleet: real agents, connectors and folders, with one home for each machine."""

import json
import os
import pathlib
import random
import shutil
import signal
import subprocess
import tempfile
import threading
import unittest

from machines import Machine, Tool, await_true

DOMAIN = "org.example.editor"


class FleetCase(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="fleet-"))
        self.machines = []

    def tearDown(self):
        for machine in self.machines:
            machine.end()
        shutil.rmtree(self.place)

    def machine(self, name, folder=None):
        machine = Machine(self.place, name, folder)
        self.machines.append(machine)
        return machine

    def shared(self, *names):
        """Machines that have one folder, as on a network file system, and are members with running connectors."""
        folder = self.place / "folder"
        folder.mkdir(exist_ok=True)
        machines = [self.machine(name, folder) for name in names]
        machines[0].found()
        machines[0].start()
        for machine in machines[1:]:
            machine.join(machines[0])
            machine.start()
        return machines

    def assert_equal_soon(self, domain, expected, *machines):
        for machine in machines:
            try:
                await_true(lambda: machine.values(domain) == expected, "the values")
            except AssertionError:
                self.fail(f"{machine.name} has {machine.values(domain)}, not {expected}; {machine.complaints}")


class TravelTests(FleetCase):
    def test_edits_travel(self):
        a, b, c = self.shared("a", "b", "c")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b, c)
        b.run("write", "--json", DOMAIN, "Sizes", '{"a": [1, 2.5, true]}')
        c.run("delete", DOMAIN, "Font")
        self.assert_equal_soon(DOMAIN, {"Sizes": {"a": [1, 2.5, True]}}, a, b, c)
        # The history says where an edit comes from.
        self.assertIn("fleet b", a.run("log", DOMAIN, "Sizes").stdout)

    def test_offline_edits_meet(self):
        a, b, c = machines = [self.machine(name) for name in "abc"]
        tool = Tool(*machines)
        with tool:
            a.found()
            a.start()
            a.set(DOMAIN, "Font", "Mono")
            a.fleet("add", DOMAIN)
            for machine in (b, c):
                machine.join(a)
                machine.start()
            self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b, c)
        b.set(DOMAIN, "Font", "Serif")
        # The connector of one isn't even running.
        c.stop()
        c.set(DOMAIN, "Size", "12")
        c.set(DOMAIN, "Font", "Sans")
        a.set(DOMAIN, "Tab", "4")
        with tool:
            self.assert_equal_soon(DOMAIN, {"Font": "Serif", "Tab": "4"}, a, b)
            c.start()
            self.assert_equal_soon(DOMAIN, {"Font": "Sans", "Size": "12", "Tab": "4"}, a, b, c)
            # The losing edit is reported, and can be restored.
            await_true(lambda: "Font: overruled by c" in b.fleet("review").stdout, "the lost edit")
            self.assertIn('"Serif" → "Sans"', b.run("log", DOMAIN, "Font").stdout)
            number = b.run("log", "-n", "1", DOMAIN, "Font").stdout.split()[0]
            b.run("undo", number)
            await_true(lambda: a.value(DOMAIN, "Font") == c.value(DOMAIN, "Font") == "Serif", "the undo")

    def test_older_edits_of_a_machine_without_an_agent_lose(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        b.run("sync")
        b.stop()
        b.stop_agent()
        path, = b.home.glob(f".config/**/{DOMAIN}.plist")
        path.write_bytes(path.read_bytes().replace(b"Mono", b"Sans"))
        a.set(DOMAIN, "Font", "Serif")
        b.start_agent()
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Serif"}, a, b)

    def test_foreign_edits_travel(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        b.run("sync")
        path, = b.home.glob(f".config/**/{DOMAIN}.plist")
        new = path.with_suffix(".new")
        new.write_bytes(path.read_bytes().replace(b"Mono", b"Sans"))
        new.rename(path)
        self.assert_equal_soon(DOMAIN, {"Font": "Sans"}, a)

    def test_added_values_win(self):
        a, b = self.shared("a", "b")
        b.set(DOMAIN, "Font", "Serif")
        b.set(DOMAIN, "Own", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Own": "b"}, a, b)
        # Removed, each has its own; added again, those of the machine where it was added count.
        a.fleet("remove", DOMAIN)
        await_true(lambda: b.status()["added"] == {}, "the removal")
        b.set(DOMAIN, "Font", "Other")
        a.set(DOMAIN, "Own", "a")
        b.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Other", "Own": "b"}, a, b)

    def test_a_change_set_travels_whole(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        document = self.place / "values.json"
        document.write_text(json.dumps({f"k{number}": number for number in range(100)}))
        a.run("import", DOMAIN, str(document))
        self.assert_equal_soon(DOMAIN, {f"k{number}": number for number in range(100)}, b)
        records = [json.loads(line) for line in b.run("log", "--json", DOMAIN).stdout.splitlines()]
        self.assertEqual([len(record["changes"]) for record in records if "changes" in record], [100])


    def test_what_is_added_without_a_connector_travels(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Before", "1")
        b.set(DOMAIN, "Own", "b")
        a.stop()
        b.stop(signal.SIGKILL)
        a.fleet("add", DOMAIN)
        a.start()
        b.start()
        self.assert_equal_soon(DOMAIN, {"Before": "1", "Own": "b"}, a, b)

    def test_a_third_machine_adds_again(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "old")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "old"}, b)
        a.fleet("remove", DOMAIN)
        await_true(lambda: b.status()["added"] == {}, "the removal")
        a.set(DOMAIN, "Font", "a")
        b.set(DOMAIN, "Font", "b")
        c = self.machine("c", self.place / "folder")
        c.join(a)
        c.start()
        c.set(DOMAIN, "Font", "c")
        c.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "c"}, a, b, c)

    def test_large_values(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        a.stop()
        session = a.bridge()
        for number in range(30):
            session.set(DOMAIN, f"k{number}", f"{number}" + "x" * 1_000_000)
        session.close()
        a.start()
        await_true(lambda: b.value(DOMAIN, "k29") is not None, "the values")
        self.assertTrue(b.values(DOMAIN) == a.values(DOMAIN))

    def test_rest_after_simultaneous_edits(self):
        a, b = self.shared("a", "b")
        a.fleet("add", "org.example.*")
        await_true(lambda: b.status()["added"], "the list")
        sessions = [a.bridge(), b.bridge()]
        # Fewer than what makes a key busy.
        for number in range(150):
            for session in sessions:
                session.set(f"org.example.d{number % 10}", "key", f"{session}{number}")
        for session in sessions:
            session.close()
        domains = [f"org.example.d{number}" for number in range(10)]
        await_true(lambda: all(a.values(domain) == b.values(domain) for domain in domains), "equal values")

        def time_used():
            texts = [pathlib.Path(f"/proc/{machine.connector.pid}/stat").read_text() for machine in (a, b)]
            return sum(int(field) for text in texts for field in text.split()[13:15])

        # At rest, they use no processor time at all.
        def rests():
            before = time_used()
            for _ in range(20):
                a.run("sync")
            return time_used() == before

        await_true(rests, "rest")


class HeldBackTests(FleetCase):
    def test_what_belongs_to_a_machine_stays(self):
        a, b = self.shared("a", "b")
        manifests = a.home / ".local/share/defaultsd/manifests"
        manifests.mkdir(parents=True)
        (manifests / f"{DOMAIN}.plist").write_text(
            """<plist version="1.0"><dict><key>pfm_subkeys</key><array>
            <dict><key>pfm_name</key><string>Path</string><key>pfm_type</key><string>string</string>
                <key>pfm_scope</key><string>machine</string></dict>
            <dict><key>pfm_name</key><string>Pin</string><key>pfm_type</key><string>string</string>
                <key>pfm_sensitive</key><true/></dict></array></dict></plist>""")
        held = {
            "NSWindow Frame Main": "noise", "last-folder": "noise", "DeviceID": "identity",
            "ssh_private_key": "identity", "ACCESS_TOKEN": "identity", "Path": "machine", "Pin": "secret",
            "Scratch1": "excepted"}
        for key in [*held, "Font"]:
            a.set(DOMAIN, key, "x")
        a.run("-currentHost", "write", DOMAIN, "Font", "of this host")
        a.set("org.example.other", "Font", "not added")
        a.stop()
        a.start()
        output = a.fleet("add", DOMAIN, "--except", "Scratch*").stdout
        self.assertIn("1 key of org.example.editor travels", output)
        self.assert_equal_soon(DOMAIN, {"Font": "x"}, b)
        lines = [json.loads(line) for line in a.fleet("status", "--json", DOMAIN).stdout.splitlines()]
        self.assertEqual({line["key"]: line["rule"] for line in lines if not line["travels"]}, held)
        self.assertTrue(all(line["reason"] for line in lines if not line["travels"]))
        # A user who names a key knows what it is.
        a.fleet("add", DOMAIN, "DeviceID", "Pin")
        self.assert_equal_soon(DOMAIN, {"Font": "x", "DeviceID": "x", "Pin": "x"}, b)
        a.fleet("remove", DOMAIN, "DeviceID", "Font")
        await_true(lambda: b.status()["added"] == a.status()["added"], "the list")
        a.set(DOMAIN, "Font", "y")
        a.set(DOMAIN, "Size", "1")
        self.assert_equal_soon(DOMAIN, {"Font": "x", "DeviceID": "x", "Pin": "x", "Size": "1"}, b)
        self.assertEqual(b.values("org.example.other"), {})

    def test_busy_keys_wait(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        for number in range(25):
            a.run("write", DOMAIN, "Position", "-int", str(number))
        a.set(DOMAIN, "Font", "Mono")
        await_true(lambda: b.value(DOMAIN, "Font") == "Mono", "the edit")
        self.assertEqual(b.value(DOMAIN, "Position"), 19)
        line, = [line for line in a.fleet("status", DOMAIN).stdout.splitlines() if line.startswith("Position")]
        self.assertIn("has changed 25 times today", line)

    def test_nothing_is_readable(self):
        a, b = self.shared("a", "b")
        a.set("org.example.hidden-name", "HiddenKey", "HiddenValue")
        a.fleet("add", "org.example.hidden-name")
        self.assert_equal_soon("org.example.hidden-name", {"HiddenKey": "HiddenValue"}, b)
        for path in (self.place / "folder").rglob("*"):
            self.assertNotIn("idden", str(path))
            if path.is_file():
                self.assertNotIn(b"idden", path.read_bytes())
                self.assertNotIn(b"example", path.read_bytes())


class JoinTests(FleetCase):
    def prepared(self):
        a, = self.shared("a")
        a.set(DOMAIN, "Font", "Mono")
        a.set(DOMAIN, "Same", "1")
        a.fleet("add", DOMAIN)
        b = self.machine("b", self.place / "folder")
        b.set(DOMAIN, "Font", "Serif")
        b.set(DOMAIN, "Same", "1")
        b.set(DOMAIN, "Own", "b")
        return a, b

    def test_the_fleet_stands(self):
        a, b = self.prepared()
        output = b.join(a)
        self.assertIn("1 value of this machine was replaced by the fleet's", output)
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Same": "1", "Own": "b"}, a, b)
        # Its own value is in the history.
        self.assertIn('"Serif" → "Mono"', b.run("log", DOMAIN, "Font").stdout)

    def test_mine_stands(self):
        a, b = self.prepared()
        b.join(a, "--prefer", "mine")
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Serif", "Same": "1", "Own": "b"}, a, b)

    def test_review(self):
        a, b = self.prepared()
        process, code = b.ask("--review")
        a.fleet("approve", code)
        output, errors = process.communicate("stop\n", 60)
        self.assertIn('org.example.editor Font: "Serif" here, "Mono" in the fleet', output)
        self.assertEqual(process.returncode, 75, errors)
        self.assertEqual(b.values(DOMAIN), {"Font": "Serif", "Same": "1", "Own": "b"})
        self.assertEqual(b.fleet("run", check=False).returncode, 69)
        # It goes on where it stopped, without a code.
        b.fleet("join", str(b.folder), "--review", input="mine\n")
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Serif", "Same": "1", "Own": "b"}, a, b)

    def test_a_machine_without_values_changes_nothing(self):
        a, = self.shared("a")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        before = a.run("log", "--json").stdout
        b = self.machine("b", self.place / "folder")
        b.join(a)
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, a, b)
        changes = [line for line in a.run("log", "--json").stdout.splitlines() if line not in before]
        self.assertEqual([json.loads(line)["domain"] for line in changes if "machines" not in line], [])

    def test_codes(self):
        a, b = self.prepared()
        process, code = b.ask()
        self.assertIn("b (", a.fleet("approve").stdout)
        for wrong, status in (("k3f9-x2ma-7qpd-0hv8", 1), ("short", 64), ("!!!!-!!!!-!!!!-!!!!", 64)):
            self.assertEqual(a.fleet("approve", wrong, check=False).returncode, status)
        # Spaces, capitals and letters that look like digits are understood.
        a.fleet("approve", code.upper().replace("-", " ").replace("0", "O"))
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        await_true(lambda: not list((self.place / "folder").rglob("*.key")), "the end of the answer")
        self.assertEqual(list((self.place / "folder").rglob("join")), [])

    def test_a_second_approval_answers_again(self):
        a, b = self.prepared()
        process, code = b.ask()
        process.send_signal(signal.SIGSTOP)
        for _ in range(2):
            a.fleet("approve", code)
            answer, = (self.place / "folder").rglob("*.key")
            answer.unlink()
        a.fleet("approve", code)
        process.send_signal(signal.SIGCONT)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)
        await_true(lambda: [machine["name"] for machine in a.status()["machines"]] == ["b"], "the machine")

    def test_the_last_machine_leaves_its_files_to_one_that_is_joining(self):
        a, b = self.prepared()
        process, code = b.ask("--review")
        a.fleet("approve", code)
        folder = self.place / "folder"
        await_true(lambda: not list(folder.rglob("*.key")), "the end of the answer")
        a.stop()
        a.fleet("leave")
        output, _ = process.communicate("fleet\n", 60)
        self.assertEqual(process.returncode, 0, output)
        self.assertEqual(b.value(DOMAIN, "Font"), "Mono")

    def test_a_domain_whose_keys_were_all_removed_is_added_again(self):
        a, = self.shared("a")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        a.fleet("remove", DOMAIN, "*")
        a.fleet("add", DOMAIN)
        self.assertEqual(a.values("org.defaultsd.fleet"), {DOMAIN: True})
        # Entries of another version are named.
        a.run("write", "org.defaultsd.fleet", DOMAIN, "{Keys = (Font);}")
        self.assertIn(f"another version, which add nothing: {DOMAIN}.", " ".join(a.status()["problems"]))
        self.assertIn("Nothing has been added yet", a.fleet("status").stdout)

    def test_somebody_with_the_folder_alone_can_answer_nothing(self):
        a, b = self.prepared()
        process, code = b.ask()
        folder = self.place / "folder"
        request, = folder.glob("*/join")
        stranger = folder / "0123456789abcdef"
        stranger.mkdir()
        (stranger / f"{request.parent.name}.key").write_bytes(os.urandom(80))
        # A request with another's key isn't proven by the code that a person has read.
        forged = request.read_bytes().replace(b"<string>b</string>", b"<string>x</string>")
        self.assertNotEqual(forged, request.read_bytes())
        request.write_bytes(forged)
        self.assertEqual(a.fleet("approve", code, check=False).returncode, 1)
        process.terminate()
        process.communicate()
        # The interrupted one asks again with the same code.
        process, again = b.ask()
        self.assertEqual(again, code)
        a.fleet("approve", code)
        process.communicate(timeout=60)
        self.assertEqual(process.returncode, 0)

    def test_an_answer_that_is_quicker_than_the_files(self):
        a, b = machines = [self.machine(name) for name in "ab"]
        tool = Tool(*machines)
        a.found()
        a.start()
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        b.set(DOMAIN, "Font", "Serif")
        own = a.folder / a.identifier
        await_true(lambda: len(list(own.glob("*.env"))) > 1, "the files")
        # Only the first file has arrived.
        (b.folder / own.name).mkdir()
        (b.folder / own.name / ".owner").write_text("a")
        shutil.copy(own / "1-1.env", b.folder / own.name)
        process, code = b.ask("--prefer", "mine")
        request, = b.folder.glob("*/join")
        (a.folder / request.parent.name).mkdir()
        (a.folder / request.parent.name / ".owner").write_text("b")
        shutil.copy(request, a.folder / request.parent.name)
        a.fleet("approve", code)
        answer, = own.glob("*.key")
        shutil.copy(answer, b.folder / own.name)
        while "Waiting for the fleet's values" not in process.stdout.readline():
            self.assertIsNone(process.poll())
        with tool:
            process.communicate(timeout=60)
            b.start()
            self.assert_equal_soon(DOMAIN, {"Font": "Serif"}, a, b)

    def test_another_fleet_gets_nothing_of_the_former(self):
        a, b = self.shared("a", "b")
        b.set("org.example.private", "Key", "private")
        a.fleet("add", "org.example.*")
        await_true(lambda: b.status()["added"], "the list")
        b.stop()
        b.fleet("leave")
        work = self.machine("work")
        work.found()
        work.start()
        b.folder = work.folder
        b.join(work)
        b.start()
        await_true(lambda: len(work.status()["machines"]) == 1, "the machine")
        self.assertEqual(work.status()["added"], {})
        self.assertEqual(b.status()["added"], {})
        self.assertEqual(set(work.values("org.defaultsd.fleet.machines")), {work.identifier, b.identifier})
        self.assertEqual(work.values("org.example.private"), {})

    def test_giving_up(self):
        a, b = self.prepared()
        process, code = b.ask()
        process.terminate()
        process.communicate()
        self.assertIn("hasn't finished joining", b.fleet("status", check=False).stderr)
        b.fleet("leave")
        self.assertEqual(list((self.place / "folder").rglob("join")), [])
        self.assertEqual(b.fleet("status", check=False).returncode, 1)
        # A failed join leaves nothing.
        done = b.fleet("join", str(self.place / "missing"), check=False)
        self.assertEqual(done.returncode, 66)
        b.stop_agent()
        self.assertEqual(b.fleet("join", str(b.folder), check=False).returncode, 69)
        b.start_agent()
        self.assertEqual(b.fleet("status", check=False).returncode, 1)
        self.assertEqual(b.run("--socket", "x", "fleet", "status", check=False).returncode, 64)

    def test_help_names_the_verbs_for_services(self):
        text = " ".join(self.machine("a").fleet("--help").stdout.split())
        for verb in ["`push`", "`rollout`", "`receive`", "Config/install --etcd"]:
            self.assertIn(verb, text)

    def test_approving_while_the_connector_writes(self):
        a, b = self.prepared()
        session = a.bridge()
        ends = threading.Event()

        def edit():
            number = 0
            while not ends.is_set():
                session.set(DOMAIN, f"k{number % 500}", number)
                number += 1

        writer = threading.Thread(target=edit)
        writer.start()
        try:
            b.join(a)
        finally:
            ends.set()
            writer.join()
            session.close()
        b.start()
        await_true(lambda: b.values(DOMAIN) == a.values(DOMAIN), "the values")
        for machine in (a, b):
            self.assertEqual(machine.status()["problems"], [])

    def test_an_interrupted_leave_changes_nothing_for_others(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        b.stop()
        # The key can't be removed, so the machine stays a member.
        home, = b.home.glob(".local/state/defaultsd/*.fleet")
        (home / "problems").mkdir()
        (home / "problems" / "x").touch()
        self.assertNotEqual(b.fleet("leave", check=False).returncode, 0)
        shutil.rmtree(home / "problems")
        b.fleet("leave")
        self.assertEqual(b.fleet("status", check=False).returncode, 1)
        self.assertEqual(a.status()["added"], {DOMAIN: True})
        a.set(DOMAIN, "Font", "Sans")
        b.join(a)
        self.assertEqual(b.values(DOMAIN), {"Font": "Sans"})

    def test_leaving(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        self.assertEqual(b.fleet("leave", check=False).returncode, 75)
        b.stop()
        b.set(DOMAIN, "Last", "words")
        b.fleet("leave")
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Last": "words"}, a, b)
        await_true(lambda: a.status()["machines"][0].get("left"), "the end")
        self.assertEqual(b.fleet("status", check=False).returncode, 1)
        a.set(DOMAIN, "Font", "Sans")
        b.join(a)
        b.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Sans", "Last": "words"}, a, b)


class FailureTests(FleetCase):
    def test_files_in_part(self):
        a, b = machines = [self.machine(name) for name in "ab"]
        tool = Tool(*machines)
        with tool:
            a.found()
            a.start()
            a.fleet("add", DOMAIN)
            b.join(a)
            b.start()
            await_true(lambda: b.status()["added"], "the list")
        a.set(DOMAIN, "Font", "Mono")
        own = a.folder / a.identifier
        name = await_true(
            lambda: [path for path in own.glob("*.env") if not (b.folder / own.name / path.name).exists()],
            "the file")[0].name
        whole = (own / name).read_bytes()
        for size in (0, 10, 40, len(whole) - 1):
            (b.folder / own.name / name).write_bytes(whole[:size])
            a_, = [machine for machine in b.status()["machines"] if machine["machine"] == own.name]
            self.assertEqual(a_["unread"], 1)
        self.assertEqual(b.values(DOMAIN), {})
        (b.folder / own.name / name).write_bytes(whole)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)

    def test_the_folder_goes_and_comes_back(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        away = self.place / "away"
        (self.place / "folder").rename(away)
        a.set(DOMAIN, "Font", "Mono")
        await_true(lambda: "folder" in a.complaints, "the complaint")
        self.assertTrue(any("folder" in problem for problem in a.status()["problems"]))
        away.rename(self.place / "folder")
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        self.assertFalse((self.place / "folder" / ".new").exists())

    def test_a_link_in_place_of_the_subfolder_leads_nowhere(self):
        a, = self.shared("a")
        a.fleet("add", DOMAIN)
        documents = self.place / "documents"
        documents.mkdir()
        for name in ("1-1.env", "thesis"):
            (documents / name).write_text("precious")
        own = self.place / "folder" / a.identifier
        own.rename(self.place / "moved")
        own.symlink_to(documents)
        a.set(DOMAIN, "Font", "Mono")
        await_true(lambda: any("of this user's" in text for text in a.status()["problems"]), "the link")
        a.stop()
        self.assertEqual(a.fleet("leave", check=False).returncode, 74)
        self.assertEqual({path.name: path.read_text() for path in documents.iterdir()},
                         {"1-1.env": "precious", "thesis": "precious"})
        own.unlink()
        (self.place / "moved").rename(own)
        a.fleet("leave")
        self.assertFalse(own.exists())

    def test_the_folder_is_where_its_link_leads(self):
        (self.place / "one").mkdir()
        (self.place / "link").symlink_to("one")
        a = self.machine("a", self.place / "link")
        a.found()
        a.start()
        a.fleet("add", DOMAIN)
        own = pathlib.Path(a.identifier)
        a.stop()
        shutil.copytree(self.place / "one", self.place / "two")
        (self.place / "link").unlink()
        (self.place / "link").symlink_to("two")
        a.start()
        before = set((self.place / "two" / own).iterdir())
        a.set(DOMAIN, "Font", "Mono")
        await_true(lambda: set((self.place / "two" / own).iterdir()) - before, "the file")
        self.assertEqual(a.status()["folder"], str(self.place / "link"))

    def test_preferences_that_go_and_come_back_change_nothing_elsewhere(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        a.run("write", DOMAIN, "{Font = Mono; Size = Small;}")
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Size": "Small"}, b)
        config, away = a.home / ".config", a.home / "away"
        lists = ("org.defaultsd.fleet", "org.defaultsd.fleet.machines", DOMAIN)
        before = [b.values(name) for name in lists]
        config.rename(away)
        config.mkdir(mode=0o700)
        for name in lists:
            await_true(lambda: any(f"The file of {name} is missing" in text for text in a.status()["problems"]), name)
        self.assertEqual([b.values(name) for name in lists], before)
        self.assertEqual(a.status()["added"], {DOMAIN: True})
        b.set(DOMAIN, "Font", "Sans")
        await_true(lambda: a.status()["waiting"] == 1, "the younger edit")
        shutil.rmtree(config)
        away.rename(config)
        self.assert_equal_soon(DOMAIN, {"Font": "Sans", "Size": "Small"}, a, b)
        await_true(lambda: a.status()["problems"] == [], "the end of the problem")

    def test_two_machines_add_different_keys_at_the_same_time(self):
        a, b = machines = [self.machine(name) for name in "ab"]
        tool = Tool(*machines)
        with tool:
            a.found()
            a.start()
            b.join(a)
            b.start()
        a.fleet("add", DOMAIN, "Font")
        b.fleet("add", DOMAIN, "Size")
        with tool:
            both = {f"{DOMAIN}/Font": True, f"{DOMAIN}/Size": True}
            self.assert_equal_soon("org.defaultsd.fleet", both, a, b)
            a.run("write", DOMAIN, "{Font = Mono; Size = Small; Own = 1;}")
            self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Size": "Small"}, b)

    def test_an_empty_mount_point(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        folder, away = self.place / "folder", self.place / "away"
        folder.rename(away)
        folder.mkdir()
        a.set(DOMAIN, "Font", "Mono")
        await_true(lambda: any("disk" in problem for problem in a.status()["problems"]), "the problem")
        folder.rmdir()
        away.rename(folder)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono"}, b)
        await_true(lambda: a.status()["problems"] == [], "the end of the problem")

    def test_a_lost_file(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        b.stop()
        own = self.place / "folder" / a.identifier
        before = set(own.glob("*.env"))
        a.set(DOMAIN, "Lost", "1")
        lost, = await_true(lambda: set(own.glob("*.env")) - before, "the file")
        a.stop()
        lost.unlink()
        a.set(DOMAIN, "Next", "1")
        a.start()
        b.start()
        # Its owner writes a snapshot.
        self.assert_equal_soon(DOMAIN, {"Lost": "1", "Next": "1"}, b)

    def test_what_strangers_put_there(self):
        a, b = self.shared("a", "b")
        a.fleet("add", DOMAIN)
        await_true(lambda: b.status()["added"], "the list")
        folder = self.place / "folder"
        own = folder / a.identifier
        last = max(int(path.stem.split("-")[1]) for path in own.glob("*.env"))
        (own / f"{last + 1}-{last + 1}.env").write_bytes(b"junk")
        (own / "7000-7000.env").write_bytes(b"junk")
        (own / "5-18446744073709551615.env").write_bytes(b"junk")
        for number, act in enumerate([
                lambda path: path.symlink_to("nowhere"), lambda path: path.symlink_to(path), lambda path: path.touch(),
                lambda path: os.mkfifo(path)]):
            act(folder / f"{number:016x}")
        stranger = folder / "00000000000000ff"
        stranger.mkdir()
        (stranger / "1-1.env").symlink_to("1-1.env")
        (stranger / "join").symlink_to("join")
        os.mkfifo(stranger / "2-2.env")
        for machine in (a, b):
            machine.stop()
            machine.start()
        a.set(DOMAIN, "Font", "Mono")
        b.set(DOMAIN, "Size", "12")
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Size": "12"}, a, b)

    def test_a_lost_history_is_a_gap(self):
        a, b = self.shared("a", "b")
        a.set(DOMAIN, "Font", "Mono")
        a.set(DOMAIN, "Gone", "1")
        a.fleet("add", DOMAIN)
        self.assert_equal_soon(DOMAIN, {"Font": "Mono", "Gone": "1"}, b)
        a.run("sync")
        a.stop()
        a.set(DOMAIN, "Font", "Sans")
        a.run("delete", DOMAIN, "Gone")
        a.run("sync")
        a.stop_agent(signal.SIGKILL)
        for path in a.home.glob(".local/state/defaultsd/*.log"):
            path.unlink()
        a.start_agent()
        a.start()
        self.assert_equal_soon(DOMAIN, {"Font": "Sans"}, a, b)

    def test_another_fleet_in_the_folder(self):
        a, = self.shared("a")
        other = self.machine("other")
        other.found()
        own, = other.folder.iterdir()
        shutil.copytree(own, self.place / "folder" / own.name)
        problems = await_true(lambda: a.status()["problems"], "the problem")
        self.assertIn("files of another fleet", problems[0])

    def test_kills_lose_nothing(self):
        seed = random.randrange(1 << 32)
        print(f"seed {seed}")
        chance = random.Random(seed)
        machines = [self.machine(name) for name in "abc"]
        tool = Tool(*machines)
        written = set()
        with tool:
            machines[0].found()
            machines[0].start()
            machines[0].fleet("add", DOMAIN, "*")
            for machine in machines[1:]:
                machine.join(machines[0])
                machine.start()
            for number in range(120):
                machine = chance.choice(machines)
                key = f"k{chance.randrange(40)}"
                machine.set(DOMAIN, key, f"v{number}")
                written.add(f"v{number}")
                act = chance.randrange(10)
                if act == 0:
                    machine.stop(signal.SIGKILL)
                    machine.start()
                elif act == 1:
                    machine.stop_agent(signal.SIGKILL if chance.random() < 0.5 else signal.SIGTERM)
                    machine.start_agent()
                elif act == 2:
                    tool.offline ^= {chance.choice(machines)}
            tool.offline.clear()
            await_true(lambda: all(machine.status()["waiting"] == 0 for machine in machines), "the rest")
            await_true(
                lambda: len({json.dumps(machine.values(DOMAIN), sort_keys=True) for machine in machines}) == 1,
                f"equal values (seed {seed})")
        # Every value is the key's, or in a machine's history.
        known = "".join(machine.run("log", "--json", DOMAIN).stdout for machine in machines)
        lost = {value for value in written if f'"{value}"' not in known}
        self.assertEqual(lost, set(), f"seed {seed}")
        for machine in machines:
            self.assertEqual(machine.status()["problems"], [])
            # A killed connector leaves at most one incomplete file behind.
            own = machine.folder / machine.identifier
            self.assertLessEqual(len([path for path in own.iterdir() if path.name.endswith(".new")]), 1)


class RestoreTests(FleetCase):
    """Homes that are restored with their folders from backups that were made before their last edits."""

    PARTS = (".config", ".local")

    def begin(self, *names):
        """Returns machines with backups, each of which has edited a key since."""
        machines = self.shared(*names)
        machines[0].fleet("add", DOMAIN)
        for machine in machines:
            await_true(lambda: machine.status()["added"], "the list")
        for machine in machines:
            machine.stop()
            machine.stop_agent()
            for part in self.PARTS:
                shutil.copytree(machine.home / part, self.place / f"backup-{machine.name}" / part)
            machine.start_agent()
            shutil.copytree(machine.folder / machine.identifier, self.place / f"backup-{machine.name}" / "own")
            machine.start()
        for machine in machines:
            machine.set(DOMAIN, machine.name, "1")
        self.assert_equal_soon(DOMAIN, {name: "1" for name in names}, *machines)
        return machines

    def restore(self, *machines):
        for machine in machines:
            own = machine.folder / machine.identifier
            machine.stop()
            machine.stop_agent()
            shutil.rmtree(own)
            shutil.copytree(self.place / f"backup-{machine.name}" / "own", own)
            for part in self.PARTS:
                shutil.rmtree(machine.home / part)
                shutil.copytree(self.place / f"backup-{machine.name}" / part, machine.home / part)

    def start(self, *machines):
        for machine in machines:
            machine.start_agent()
            machine.start()

    def assert_unused_soon(self, machine, former):
        text = f"you may remove the subfolder {former}"
        await_true(lambda: any(text in problem for problem in machine.status()["problems"]), "the sentence")

    def assert_travels(self, key, machine, other):
        machine.set(DOMAIN, key, "1")
        await_true(lambda: other.value(DOMAIN, key) == "1", f"the value of {key}")

    def test_a_former_subfolder_that_cannot_be_read_is_named_and_stops_nothing(self):
        a, b = self.begin("a", "b")
        former = a.identifier
        self.restore(a)
        self.start(a)
        self.assert_travels("Font", b, a)
        await_true(lambda: a.identifier != former, "the new identifier")
        self.assert_unused_soon(a, former)
        await_true(
            lambda: any(one["machine"] == former and one.get("left") for one in b.status()["machines"]), "the mark")
        a.stop()
        (a.folder / former).rename(self.place / "away")
        (a.folder / former).touch()
        a.start()
        self.assert_travels("Size", a, b)
        self.assert_travels("Weight", b, a)
        await_true(
            lambda: any(f"{former} can't be read" in text for text in a.status()["problems"]), "the problem")

    def test_machines_that_are_restored_together_need_no_former_subfolders(self):
        a, b, c = self.begin("a", "b", "c")
        former = [machine.identifier for machine in (a, b)]
        self.restore(a, b)
        self.start(a, b)
        for machine in (a, b):
            self.assert_travels(f"of {machine.name}", c, machine)
        for machine, identifier in zip((a, b), former):
            self.assert_unused_soon(machine, identifier)

    def test_a_renewal_that_is_interrupted_goes_on_with_one_identifier(self):
        a, b = self.begin("a", "b")
        former = a.identifier
        self.restore(a)
        # The state can be written, but not the membership.
        member, = a.home.glob(".local/state/defaultsd/**/member")
        (member.parent / "member.new").mkdir()
        self.start(a)
        b.set(DOMAIN, "Font", "1")
        await_true(lambda: "member can't be written" in a.complaints, "the complaint")
        self.assert_travels("Size", a, b)
        self.assertEqual({path.name for path in a.folder.iterdir()}, {former, a.identifier, b.identifier})


class SnapshotTests(FleetCase):
    def test_a_snapshot_stands_for_a_thousand_sets(self):
        a, = self.shared("a")
        a.fleet("add", DOMAIN, "*")
        # Each is a change set of its own.
        for start in range(0, 1_100, 20):
            for number in range(start, start + 20):
                a.set(DOMAIN, f"k{number}", str(number))
        own = self.place / "folder" / a.identifier
        await_true(lambda: list(own.glob("*.snap")), "the snapshot")
        a.run("delete", DOMAIN, "k7")
        self.assertLess(len(list(own.iterdir())), 300)
        b = self.machine("b", self.place / "folder")
        b.join(a)
        b.start()
        expected = {f"k{number}": str(number) for number in range(1_100) if number != 7}
        self.assert_equal_soon(DOMAIN, expected, b)


if __name__ == "__main__":
    unittest.main(verbosity=2)
