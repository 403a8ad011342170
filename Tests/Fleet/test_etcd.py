"""Fleets on etcd, on the real thing."""

import contextlib
import json
import os
import pathlib
import plistlib
import random
import signal
import subprocess
import tempfile
import threading
import time
import unittest

from cluster import NETWORK, Cluster, Receiver, command, enter_namespace, make_network
from machines import PROGRAMS, Machine, await_true

LONG = "FLEET_LONG" in os.environ
DOMAIN = "org.example.web"


class EtcdCase(unittest.TestCase):
    members = 3
    configuration = {}

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="etcd-", ignore_cleanup_errors=True)
        self.addCleanup(directory.cleanup)
        self.place = pathlib.Path(directory.name)
        self.cluster = Cluster(self.place, self.members)
        self.addCleanup(self.cluster.end)
        self.cluster.configure(**self.configuration)
        self.cluster.begin()
        self.receivers = []

    def add(self, name, groups="web", **options):
        receiver = Receiver(self.cluster, name, groups, **options)
        receiver.start()
        self.receivers.append(receiver)
        self.addCleanup(receiver.stop, signal.SIGKILL)
        return receiver

    def add_many(self, count, groups="web"):
        for number in range(count):
            self.add(f"{groups}-{number:03}", groups)
        self.await_reports(count)
        return self.receivers[-count:]

    def await_reports(self, count):
        await_true(lambda: len(self.cluster.machines()) >= count, f"{count} reports")

    def states(self, number):
        """Returns how many machines are in each state."""
        machines = self.cluster.rollout(number)["machines"]
        return {state: sum(machine["state"] == state for machine in machines) for state in
                {machine["state"] for machine in machines}}

    def assert_values(self, receivers, key, value):
        for receiver in receivers:
            self.assertEqual(receiver.values(DOMAIN).get(key), value, f"{receiver.name}: {receiver.complaints}")


class RolloutTests(EtcdCase):
    def test_rollout_to_some_then_all_then_undone_while_a_member_is_killed(self):
        count = 100 if LONG else 20
        receivers = self.add_many(count)
        first = self.cluster.push("--to", "web", DOMAIN, "Workers", "-int", "4")
        self.cluster.rollout(first, "--wait", "60")
        self.assert_values(receivers, "Workers", 4)
        second = self.cluster.push("--to", "web", "--canary", "5%", DOMAIN, "Workers", "-int", "8")
        self.cluster.rollout(second, "--wait", "60")
        canaries = count // 20
        self.assertEqual(self.states(second), {"has": canaries, "former": count - canaries})
        self.assertEqual(sum(receiver.values(DOMAIN)["Workers"] == 8 for receiver in receivers), canaries)
        leader = self.cluster.leader()
        self.cluster.stop(leader)
        self.cluster.rollout(second, "--share", "all", "--wait", "60")
        self.assert_values(receivers, "Workers", 8)
        self.cluster.start(leader)
        self.cluster.rollout(second, "--undo", "--wait", "60")
        self.assert_values(receivers, "Workers", 4)
        self.assertEqual("", "".join(receiver.complaints for receiver in receivers))

    def test_groups_layers_kinds_and_removal(self):
        web, both = self.add("w"), self.add("b", "web,db")
        self.await_reports(2)
        dry = command("push", "--to", "db", "--dry-run", DOMAIN, "{ Size = 5; }", environment=self.cluster.operator)
        self.assertIn("1 of 1 machine", dry.stdout)
        self.assertIn("(none) -> ", dry.stdout)
        self.assertEqual(self.cluster.machines()[0]["problems"], [])
        number = self.cluster.push("--to", "db", "--layer", "system", DOMAIN, "List", "-array", "a", "-int", "2")
        self.cluster.rollout(number, "--wait", "30")
        self.assertEqual(both.values(DOMAIN, "system"), {"List": ["a", 2]})
        self.assertEqual(web.values(DOMAIN, "system"), {})
        # A key that a user of the machine has set, and no operator has pushed, stays.
        subprocess.run(
            [PROGRAMS / "defaults", "write", both.system / f"{DOMAIN}.plist", "Own", "x"], check=True,
            env=os.environ | {"DEFAULTS_NO_AGENT": "1", "DEFAULTS_DIRECTORY": str(both.home)})
        number = self.cluster.push("--to", "db", "--layer", "system", "--delete", DOMAIN, "List")
        self.cluster.rollout(number, "--wait", "30")
        self.assertEqual(both.values(DOMAIN, "system"), {"Own": "x"})
        # The last part of this is for a group in which neither machine is.
        keys = " ".join(f"k{index} = v;" for index in range(150))
        pushed = command("push", "--to", "web,www", "--ahead", DOMAIN, "{" + keys + "}", environment=self.cluster.operator)
        self.assertIn("Writing rollout 3 in parts. If this is interrupted, run", pushed.stderr)
        self.assertEqual(pushed.stdout.count(" -> "), 20)
        self.cluster.rollout(3, "--wait", "30")
        self.assertEqual([len(machine.values(DOMAIN)) for machine in (web, both)], [150, 150])

    def test_what_somebody_changes_on_a_machine_is_reported_at_once(self):
        receiver = self.add("w")
        self.await_reports(1)
        number = self.cluster.push("--to", "web", DOMAIN, "k", "v")
        self.cluster.rollout(number, "--wait", "30")
        path = receiver.managed / f"{DOMAIN}.plist"
        def replace(contents):
            (receiver.home / "new").write_bytes(contents)
            os.replace(receiver.home / "new", path)
        replace(plistlib.dumps({"k": "own"}))
        await_true(lambda: self.states(number) == {"changed": 1}, "the report")
        replace(b"damage")
        await_true(lambda: self.states(number) == {"failed": 1}, "the report")
        replace(plistlib.dumps({"k": "v"}))
        await_true(lambda: self.states(number) == {"has": 1}, "the report")
        # Programs ignore managed values that others may have written.
        for writable, mode in [(path, 0o644), (receiver.managed, 0o755)]:
            writable.chmod(0o777)
            await_true(lambda: self.states(number) == {"failed": 1}, "the report")
            machine, = self.cluster.rollout(number)["machines"]
            self.assertIn(f"chmod go-w {writable}", machine["problems"][0])
            writable.chmod(mode)
            await_true(lambda: self.states(number) == {"has": 1}, "the report")

    def test_a_lost_file_comes_back_when_it_is_asked_for(self):
        receiver = self.add("w")
        self.await_reports(1)
        number = self.cluster.push("--to", "web", DOMAIN, "{k = v; l = w;}")
        self.cluster.rollout(number, "--wait", "30")
        (receiver.managed / f"{DOMAIN}.plist").unlink()
        await_true(lambda: self.states(number) == {"changed": 1}, "the report")
        restore = ["receive", "--restore", "--state", str(receiver.home / "state")]
        running = command(*restore, check=False)
        self.assertEqual((running.returncode, "Stop it first" in running.stderr), (75, True), running.stderr)
        receiver.stop()
        command(*restore)
        receiver.start()
        self.cluster.rollout(number, "--wait", "30")
        self.assertEqual(receiver.values(DOMAIN), {"k": "v", "l": "w"})
        self.assertIn("w receives what is pushed to all, web", (receiver.home / "log").read_text())

    def test_an_interrupted_push_of_many_keys_is_listed(self):
        receiver = self.add("w")
        self.await_reports(1)
        words = ["push", "--to", "web", DOMAIN, "{" + " ".join(f"k{index} = v;" for index in range(2_000)) + "}"]
        # It can't go on when it says that the first part is written.
        full = os.pipe()
        os.set_blocking(full[1], False)
        with contextlib.suppress(BlockingIOError):
            while os.write(full[1], b"x"):
                pass
        os.set_blocking(full[1], True)
        process = subprocess.Popen(
            [PROGRAMS / "defaults-fleet", *words], env=os.environ | self.cluster.operator, stdout=subprocess.PIPE,
            stderr=full[1], text=True)
        await_true(lambda: self.cluster.rollout(1, check=False), "the first part")
        process.kill()
        self.assertEqual(process.communicate()[0], "")
        os.close(full[1])
        with os.fdopen(full[0]) as said:
            self.assertEqual(said.read().strip("x"), "")
        # It is listed however many come later.
        for number in range(21):
            self.cluster.push("--to", "web", DOMAIN, "other", "-int", str(number))
        listed = command("rollout", environment=self.cluster.operator).stdout.splitlines()
        self.assertTrue(listed[0].startswith("1 ") and listed[0].endswith("incomplete"), listed)
        self.assertEqual((len(listed), listed[-1]), (22, "1 earlier rollout not listed; --json lists all."))
        self.assertEqual(self.cluster.rollout(1)["unfinished"], "push")
        waiting = command("rollout", "1", "--wait", "1", environment=self.cluster.operator, check=False)
        self.assertEqual((waiting.returncode, "is still running or was interrupted" in waiting.stdout), (124, True))
        shared = command("rollout", "1", "--share", "all", environment=self.cluster.operator, check=False)
        self.assertEqual((shared.returncode, "Only a part of rollout 1" in shared.stderr), (75, True), shared.stderr)
        self.cluster.rollout(1, "--undo", "--wait", "30")
        self.assertEqual(receiver.values(DOMAIN), {"other": 20})

    def test_mistakes_of_operators_change_nothing(self):
        receiver = self.add("w")
        self.await_reports(1)
        for status, text, words in [
                (1, "No machine in the group wbe", ["--to", "wbe", DOMAIN, "k", "v"]),
                (64, "Only 1 machine", ["--to", "web", "--canary", "2", DOMAIN, "k", "v"]),
                (64, "up to 100%", ["--to", "web", "--canary", "150%", DOMAIN, "k", "v"]),
                (64, "1 or more", ["--to", "web", "--canary", "0", DOMAIN, "k", "v"]),
                (64, "isn't a list of groups", ["--to", "web,", DOMAIN, "k", "v"]),
                (64, "Put --delete before the domain", ["--to", "web", DOMAIN, "--delete", "k"]),
                (64, "Put --json before the domain", ["--to", "web", "--delete", DOMAIN, "k", "--json"]),
                (64, "A key has no name", ["--to", "web", DOMAIN, "", "v"]),
                (1, "Nothing is pushed to these groups", ["--to", "web", "--delete", DOMAIN, "k"])]:
            done = command("push", *words, environment=self.cluster.operator, check=False)
            self.assertEqual((done.returncode, text in done.stderr), (status, True), done.stderr)
        self.assertEqual(command("rollout", "--json", environment=self.cluster.operator).stdout, "")
        ahead = command("push", "--to", "db", "--ahead", "--json", DOMAIN, "k", "v", environment=self.cluster.operator)
        self.assertEqual((json.loads(ahead.stdout)["number"], json.loads(ahead.stdout)["machines"]), (1, []))
        # A later rollout's values aren't the former ones.
        first = self.cluster.push("--to", "web", "--canary", "all", DOMAIN, "k", "1")
        self.cluster.rollout(self.cluster.push("--to", "web", DOMAIN, "k", "2"), "--wait", "30")
        self.cluster.rollout(first, "--undo", "--wait", "30")
        self.assertEqual(self.states(first), {"replaced": 1})
        receiver.stop()
        receiver.start("operator.fleet")
        await_true(lambda: "the credentials of an operator" in receiver.complaints, "the refusal")
        self.assertEqual(receiver.process.wait(30), 64)
        receiver.process = None

    def test_a_machine_that_is_gone_is_forgotten(self):
        first, second = self.add("one"), self.add("two")
        self.await_reports(2)
        second.stop(signal.SIGKILL)
        number = self.cluster.push("--to", "web", DOMAIN, "k", "v")
        waiting = self.cluster.rollout(number, "--wait", "2", check=False)
        self.assertEqual({machine["name"] for machine in waiting["machines"]}, {"one", "two"})
        wrong = command("rollout", "--forget", "three", environment=self.cluster.operator, check=False)
        self.assertEqual((wrong.returncode, "No machine" in wrong.stderr), (1, True), wrong.stderr)
        command("rollout", "--forget", "two", environment=self.cluster.operator)
        self.cluster.rollout(number, "--wait", "30")
        self.assert_values([first], "k", "v")
        second.start()
        self.await_reports(2)

    def test_apps_see_it_live(self):
        receiver = self.add("w")
        (self.place / "prefs").mkdir()
        (self.place / "run").mkdir(mode=0o700)
        environment = os.environ | {
            "DEFAULTS_DIRECTORY": f"{self.place}/prefs", "XDG_RUNTIME_DIR": f"{self.place}/run",
            "XDG_STATE_HOME": f"{self.place}/state", "DEFAULTS_MANAGED_DIRECTORY": str(receiver.managed),
            "DEFAULTS_SYSTEM_DIRECTORIES": str(receiver.system)}
        agent = subprocess.Popen([PROGRAMS / "defaultsd"], env=environment, stderr=subprocess.DEVNULL)
        self.addCleanup(lambda: (agent.kill(), agent.wait()))
        run = lambda *words: subprocess.run(
            [PROGRAMS / "defaults", *words], env=environment, capture_output=True, text=True)
        await_true(lambda: run("status").returncode == 0, "the agent")
        self.cluster.push("--to", "all", DOMAIN, "Mode", "fast")
        await_true(lambda: run("read", "--effective", DOMAIN, "Mode").stdout == "fast\n", "the value")

    def test_nobody_without_the_key_can_read_or_push(self):
        self.add("secret-machine")
        self.await_reports(1)
        self.cluster.push("--to", "web", DOMAIN, "SecretKey", "SecretValue")
        found = self.cluster.etcdctl("get", "--prefix", "/", certificate="root").stdout
        self.assertGreater(found.count("/defaultsd/"), 2)
        for text in [DOMAIN, "SecretKey", "SecretValue", "secret-machine"]:
            self.assertNotIn(text, found)
        prefix = next(line for line in found.splitlines() if "/pushed/" in line)
        receiver = self.cluster.extract("receivers")
        self.assertEqual(self.cluster.etcdctl("get", prefix, certificate=receiver, check=False).returncode, 0)
        denied = self.cluster.etcdctl("put", prefix, "x", certificate=receiver, check=False)
        self.assertIn("permission denied", denied.stderr)
        with_theirs = {"DEFAULTS_FLEET_CREDENTIALS": f"{self.cluster.place}/receivers.fleet"}
        refused = command("push", "--to", "web", DOMAIN, "k", "v", environment=with_theirs, check=False)
        self.assertEqual(refused.returncode, 64)
        # Without a certificate, nothing is answered.
        gate = subprocess.run(
            ["curl", "-sk", f"https://{NETWORK}.1:2379/v3/kv/range"], capture_output=True, text=True)
        self.assertNotEqual(gate.returncode, 0)


class FaultTests(EtcdCase):
    def test_partition_of_the_member_in_use(self):
        receivers = self.add_many(6)
        for number in self.cluster.numbers if LONG else [random.choice(self.cluster.numbers)]:
            self.cluster.isolate(number)
            rollout = self.cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
            self.cluster.rollout(rollout, "--wait", "90")
            self.assert_values(receivers, "k", number)
            self.cluster.rejoin(number)

    def test_members_are_paused_and_the_leader_changes(self):
        receivers = self.add_many(4)
        for number in range(3 if LONG else 1):
            leader = await_true(self.cluster.leader, "a leader")
            self.cluster.pause(leader)
            rollout = self.cluster.push("--to", "web", DOMAIN, "k", "-int", str(number))
            self.cluster.rollout(rollout, "--wait", "90")
            self.assert_values(receivers, "k", number)
            self.cluster.resume(leader)

    def test_apps_see_whole_pushes_in_order_while_leaders_and_machines_end(self):
        receivers = self.add_many(3)
        seen = {receiver: [] for receiver in receivers}
        ended = threading.Event()

        def look(receiver):
            path = receiver.managed / f"{DOMAIN}.plist"
            while not ended.wait(0.002):
                if path.exists():
                    values = sorted(set(plistlib.loads(path.read_bytes()).values()))
                    if seen[receiver][-1:] != [values]:
                        seen[receiver].append(values)

        threads = [threading.Thread(target=look, args=[receiver]) for receiver in receivers]
        for thread in threads:
            thread.start()
        self.addCleanup(ended.set)
        chance = random.Random(1)
        rounds = 100 if LONG else 20
        for number in range(rounds):
            keys = " ".join(f"key{index} = <*I{number}>;" for index in range(100))
            push = lambda: self.cluster.push("--to", "web", DOMAIN, "{" + keys + "}", check=False)
            if number % 10 == 4:
                # In the middle of a push, whose outcome may then be unknown.
                leader = await_true(self.cluster.leader, "a leader")
                timer = threading.Timer(chance.random() * 0.06, self.cluster.stop, [leader])
                timer.start()
                outcome = push()
                timer.join()
                if not isinstance(outcome, int):
                    self.assertIn(outcome.returncode, (69, 75), outcome.stderr)
                    await_true(lambda: isinstance(push(), int), "a push")
                self.cluster.start(leader)
            else:
                await_true(lambda: isinstance(push(), int), "a push")
            if number % 10 == 7:
                receivers[0].stop(signal.SIGKILL)
                receivers[0].start()
        await_true(lambda: all(seen[receiver][-1:] == [[rounds - 1]] for receiver in receivers), "the last push")
        ended.set()
        for thread in threads:
            thread.join()
        for receiver in receivers:
            # Each push at once, none after a later one, and the last one at the end.
            self.assertEqual([values for values in seen[receiver] if len(values) != 1], [])
            numbers = [values[0] for values in seen[receiver]]
            self.assertEqual(numbers, sorted(set(numbers)))

    def test_a_full_disk_of_a_member_or_of_a_machine_is_survived(self):
        managed = self.place / "w/managed"
        data = self.place / "fleet/m3/data"
        self.cluster.stop(3)
        subprocess.run(["mv", data, f"{data}.old"], check=True)
        for path, size in [(managed, "1m"), (data, "200m")]:
            path.mkdir(parents=True)
            subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={size},mode=755", "tmpfs", path], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", path], check=True)
        subprocess.run(["cp", "-a", f"{data}.old/member", data], check=True)
        self.cluster.start(3)

        def fill(path):
            subprocess.run(["dd", "if=/dev/zero", f"of={path}/filler", "bs=4k"], capture_output=True)

        receiver = self.add("w")
        self.await_reports(1)
        self.cluster.rollout(self.cluster.push("--to", "web", DOMAIN, "k", "1"), "--wait", "30")
        fill(managed)
        rollout = self.cluster.push("--to", "web", DOMAIN, "k", "2" * 5_000)
        await_true(lambda: self.states(rollout) == {"failed": 1}, "the report")
        machine, = self.cluster.rollout(rollout)["machines"]
        self.assertIn("No space left", machine["problems"][0])
        self.assertEqual(receiver.values(DOMAIN), {"k": "1"})
        (managed / "filler").unlink()
        self.cluster.rollout(rollout, "--wait", "60")
        self.assertEqual(receiver.values(DOMAIN), {"k": "2" * 5_000})
        fill(data)
        number = 0
        while self.cluster.members[3].poll() is None and number < 200:
            number += 1
            self.cluster.push("--to", "web", DOMAIN, "large", f"{number} " + "x" * 100_000)
        self.assertIn("no space left", (self.place / "fleet/m3.log").read_text())
        (data / "filler").unlink()
        self.cluster.members.pop(3).wait()
        self.cluster.start(3)
        self.cluster.rollout(self.cluster.push("--to", "web", DOMAIN, "k", "3"), "--wait", "60")
        self.assertEqual(receiver.values(DOMAIN)["k"], "3")
        await_true(lambda: self.cluster.etcdctl("endpoint", "health", number=3, check=False).returncode == 0, "member 3")

    def test_a_lost_member_is_not_missed(self):
        receivers = self.add_many(3)
        self.cluster.stop(2)
        subprocess.run(["rm", "-rf", self.cluster.place / "m2/data"], check=True)
        rollout = self.cluster.push("--to", "web", DOMAIN, "k", "v")
        self.cluster.rollout(rollout, "--wait", "60")
        self.assert_values(receivers, "k", "v")

    def test_receivers_are_killed_at_any_moment(self):
        receivers = self.add_many(3)
        seed = random.randrange(1 << 30)
        chance = random.Random(seed)
        for number in range(200 if LONG else 15):
            victim = chance.choice(receivers)
            rollout = self.cluster.push("--to", "web", DOMAIN, f"k{number % 5}", "-int", str(number))
            time.sleep(chance.random() * 0.05)
            victim.stop(signal.SIGKILL)
            victim.start()
        self.cluster.rollout(rollout, "--wait", "60")
        expected = receivers[0].values(DOMAIN)
        self.assertEqual(expected[f"k{number % 5}"], number, f"seed {seed}")
        self.assertEqual([receiver.values(DOMAIN) for receiver in receivers], [expected] * 3, f"seed {seed}")

    def test_compaction_while_a_receiver_is_away_is_a_gap_and_loses_nothing(self):
        receiver, other = self.add_many(2)
        self.cluster.push("--to", "web", DOMAIN, "gone", "1")
        self.cluster.rollout(self.cluster.push("--to", "web", DOMAIN, "first", "1"), "--wait", "30")
        receiver.stop(signal.SIGKILL)
        for number in range(5):
            self.cluster.push("--to", "web", DOMAIN, f"k{number}", "-int", str(number))
        self.cluster.push("--to", "web", "--delete", DOMAIN, "gone")
        status = self.cluster.etcdctl("get", "/", "--write-out=json", certificate="root").stdout
        revision = status.split('"revision":')[1].split(",")[0].rstrip("}\n")
        self.cluster.etcdctl("compact", revision, certificate="root")
        rollout = self.cluster.push("--to", "web", DOMAIN, "last", "1")
        receiver.start()
        self.cluster.rollout(rollout, "--wait", "60")
        expected = {"first": "1", "last": "1"} | {f"k{number}": number for number in range(5)}
        self.assertEqual(receiver.values(DOMAIN), expected)
        self.assertEqual(other.values(DOMAIN), expected)
        self.assertIn("Some changes arrived late", receiver.complaints)

    def test_what_is_pushed_at_once_after_a_restore_is_not_taken_for_something_else(self):
        receivers = self.add_many(2)
        push = lambda value: self.cluster.push("--to", "web", DOMAIN, "k", value)
        self.cluster.rollout(push("start"), "--wait", "30")
        backup = self.place / "backup"
        self.cluster.etcdctl("snapshot", "save", str(backup), certificate="root")
        self.cluster.rollout(push("lost"), "--wait", "30")
        for number in self.cluster.numbers:
            self.cluster.stop(number)
        self.cluster.restore(backup)
        for number in self.cluster.numbers:
            self.cluster.start(number)
        # It may have the revision of what is lost.
        self.cluster.rollout(push("new"), "--wait", "90")
        self.assert_values(receivers, "k", "new")

    def test_two_operators_push_at_the_same_time(self):
        receivers = self.add_many(2)
        numbers = []

        def push(name):
            for value in range(10):
                numbers.append(self.cluster.push("--to", "web", DOMAIN, name, "-int", str(value)))

        threads = [threading.Thread(target=push, args=[name]) for name in ["same", "same", "other"]]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(numbers), list(range(1, 31)))
        self.cluster.rollout(30, "--wait", "60")
        self.assertEqual(receivers[0].values(DOMAIN), receivers[1].values(DOMAIN))

    def test_a_stream_of_ten_thousand_edits(self):
        receivers = self.add_many(3)
        rounds = 100 if LONG else 20
        for number in range(rounds):
            keys = " ".join(f"key{index} = <*I{number}>;" for index in range(100))
            rollout = self.cluster.push("--to", "web", DOMAIN, "{" + keys + "}")
        self.cluster.rollout(rollout, "--wait", "120")
        for receiver in receivers:
            values = receiver.values(DOMAIN)
            self.assertEqual((len(values), set(values.values())), (100, {rounds - 1}))


class TimeTests(EtcdCase):
    members = 1

    def test_an_expired_certificate_is_named_and_a_new_one_taken_without_a_restart(self):
        directory = self.place / "expired"
        directory.mkdir()
        place = self.cluster.place
        for name in ["members.plist", "authority.pem", "authority-key.pem"]:
            (directory / name).write_bytes((place / name).read_bytes())
        subprocess.run(
            ["faketime", "5 days ago", PROGRAMS / "defaults-fleet", "init", "etcd", str(directory), "--days", "1"],
            capture_output=True)
        (place / "machine.fleet").write_bytes((directory / "receivers.fleet").read_bytes())
        (place / "machine.fleet").chmod(0o600)
        receiver = Receiver(self.cluster, "late", "web")
        receiver.start("machine.fleet")
        self.addCleanup(receiver.stop, signal.SIGKILL)
        await_true(lambda: receiver.complaints, "a complaint")
        self.assertRegex(receiver.complaints, "(?i)expired")
        (place / "machine.fleet").write_bytes((place / "receivers.fleet").read_bytes())
        self.await_reports(1)

    def test_clocks_a_day_off_change_nothing(self):
        ahead = self.add("ahead", wrapper=["faketime", "-f", "+1d"])
        behind = self.add("behind", wrapper=["faketime", "-f", "-20h"])
        self.await_reports(2)
        rollout = self.cluster.push("--to", "web", DOMAIN, "k", "v")
        await_true(lambda: ahead.values(DOMAIN) == behind.values(DOMAIN) == {"k": "v"}, "the value")


class SpaceTests(EtcdCase):
    members = 1
    configuration = {"quota_backend_bytes": 4 << 20}

    def test_a_full_etcd_refuses_a_push_with_the_reason_and_nothing_is_half_done(self):
        receiver = self.add("w")
        self.await_reports(1)
        text = "x" * 100_000
        done = None
        for number in range(100):
            done = self.cluster.push("--to", "web", DOMAIN, f"k{number}", text, check=False)
            if not isinstance(done, int):
                break
        self.assertNotIsInstance(done, int)
        self.assertIn("space", done.stderr)
        self.assertEqual(done.returncode, 69)
        await_true(lambda: len(receiver.values(DOMAIN)) == number, "the values before")


class WrongInputTests(unittest.TestCase):
    def test_mistakes_are_named(self):
        with tempfile.TemporaryDirectory() as place:
            for words, status, text in [
                (["init", "etcd", f"{place}/new"], 64, "--members"),
                (["init", "etcd", f"{place}/new", "--members", "a"], 64, "isn't a member"),
                (["init", "etcd", f"{place}/new", "--members", "a=h,a=i"], 64, "different name"),
                (["push", "--to", "web", "d", "k", "v"], 64, "--credentials"),
                (["push", "--credentials", f"{place}/none", "--to", "web", "d", "k", "v"], 66, "can't be read"),
                (["push", "--to", "we b", "d", "k", "v"], 64, "isn't a list of groups"),
                (["push", "--to", "web", "--canary", "0%", "d", "k", "v"], 64, "canary"),
                (["rollout", "--undo"], 64, "number"),
                (["rollout", "7", "--undo", "--share", "all"], 64, "only one"),
                (["receive", "--groups", "x/y"], 64, "isn't a list of groups"),
                (["receive", "--state", ""], 64, "--state"),
                (["receive", "--name", ""], 64, "--name"),
                (["receive", "--restore", "--state", f"{place}/none"], 66, "isn't the state"),
                (["init", "etcd", ""], 64, "Name a directory"),
                (["push", "--two", "web", "d", "k", "v"], 64, "See `defaults fleet push --help`"),
            ]:
                done = command(*words, check=False)
                self.assertEqual((done.returncode, text in done.stderr), (status, True), f"{words}: {done.stderr}")
            members = "a=127.0.0.1:1"
            command("init", "etcd", f"{place}/fleet", "--members", members)
            operator = {"DEFAULTS_FLEET_CREDENTIALS": f"{place}/fleet/operator.fleet"}
            done = command("push", "--to", "web", "d", "k", "v", environment=operator, check=False)
            self.assertEqual(done.returncode, 69)
            self.assertIn("can't be reached: ", done.stderr)
            self.assertIn(": Connection refused. Check", done.stderr)
            os.chmod(f"{place}/fleet/operator.fleet", 0o644)
            done = command("push", "--to", "web", "d", "k", "v", environment=operator, check=False)
            self.assertIn("chmod 600", done.stderr)
            other = command("init", "etcd", f"{place}/fleet", "--members", "b=127.0.0.1:1", check=False)
            self.assertIn("other members", other.stderr)

    def test_two_members_are_warned_of_and_a_renewal_says_what_to_copy(self):
        with tempfile.TemporaryDirectory() as place:
            words = ["init", "etcd", f"{place}/fleet", "--members", "a=127.0.0.1:1,b=127.0.0.1:3"]
            self.assertIn("With two members, neither may fail", command(*words).stderr)
            renewed = command(*words, "--renew", "--days", "9").stdout
            self.assertIn("Signed new certificates, valid for 9 days.", renewed)
            self.assertIn("To check that access is limited, run this again", renewed)

    def test_a_missing_authority_is_not_replaced(self):
        with tempfile.TemporaryDirectory() as place:
            words = ["init", "etcd", f"{place}/fleet", "--members", "a=127.0.0.1:1"]
            command(*words)
            key = pathlib.Path(f"{place}/fleet/authority-key.pem").read_bytes()
            for name in ("authority.pem", "authority-key.pem", "peer-authority.pem"):
                file = pathlib.Path(f"{place}/fleet/{name}")
                contents = file.read_bytes()
                file.unlink()
                done = command(*words, check=False)
                self.assertEqual((done.returncode, f"{name} is missing" in done.stderr), (66, True), done.stderr)
                file.write_bytes(contents)
            self.assertEqual(pathlib.Path(f"{place}/fleet/authority-key.pem").read_bytes(), key)

    def test_an_interrupted_renewal_leaves_no_key_beside_another_certificate(self):
        with tempfile.TemporaryDirectory() as place:
            words = ["init", "etcd", f"{place}/fleet", "--members", "a=127.0.0.1:1"]
            command(*words)
            # The first files are authority, key and certificate for clients, the same for members, then root's.
            for number in (2, 3, 6, 8):
                renames = "rename,renameat,renameat2"
                interrupted = subprocess.run(
                    ["strace", "-f", "-o", "/dev/null", "-e", f"trace={renames}",
                     "-e", f"inject={renames}:signal=KILL:when={number}", PROGRAMS / "defaults", "fleet", *words,
                     "--renew"])
                self.assertNotEqual(interrupted.returncode, 0)
                self.assertIn("Wrote", command(*words).stdout, f"interrupted at file {number}")
                for name in ("a/member", "a/peer", "root"):
                    keys = [
                        subprocess.run(["openssl", *arguments], check=True, capture_output=True).stdout
                        for arguments in (["x509", "-noout", "-pubkey", "-in", f"{place}/fleet/{name}.pem"],
                                          ["pkey", "-pubout", "-in", f"{place}/fleet/{name}-key.pem"])]
                    self.assertEqual(*keys, f"{name} after an interruption at file {number}")


class GuideTests(unittest.TestCase):
    def test_the_recipe_makes_a_fleet_of_this_machine(self):
        guide = "Sources/DefaultsKit/DefaultsKit.docc/PushToServers.md"
        text = (pathlib.Path(__file__).parents[2] / guide).read_text()
        lines = text.split("### Try it on one machine")[1].split("```")[1].splitlines()
        script = [line[2:] for line in lines if line.startswith("# ")]
        self.assertEqual(len(script), 10)
        with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as home:
            environment = os.environ | {
                "HOME": home, "PATH": f"{PROGRAMS}:{os.environ['PATH']}",
                "DEFAULTS_MANAGED_DIRECTORY": f"{home}/managed", "DEFAULTS_SYSTEM_DIRECTORIES": f"{home}/system"}
            # The machine's state is below /var/lib.
            subprocess.run(["mount", "-t", "tmpfs", "tmpfs", "/var/lib"], check=True)
            self.addCleanup(subprocess.run, ["umount", "/var/lib"], check=True)
            done = subprocess.run(
                ["unshare", "--net", "--pid", "--fork", "--kill-child", "--mount-proc", "bash", "-c",
                 "mount -t tmpfs tmpfs /run; ip link set lo up; set -e\n" + "\n".join(script)],
                env=environment, capture_output=True, text=True, timeout=120)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertIn("have it: 1", done.stdout)
            self.assertIn("org.example.web.plist", os.listdir(f"{home}/managed"))


if __name__ == "__main__":
    enter_namespace()
    make_network()
    unittest.main()
