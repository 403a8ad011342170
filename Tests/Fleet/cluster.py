"""A cluster of etcd's members, each in a network namespace of its own, and machines that receive from it."""

import json
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

from machines import PROGRAMS, TIMEOUT, await_true

NETWORK = "10.77.0"


def enter_namespace():
    """Runs this program again in a network of its own, where it may make others and is alone."""
    if os.environ.get("FLEET_NAMESPACE"):
        return
    command = ["unshare", "--net", "--mount", "--propagation", "private", sys.executable, *sys.argv]
    os.execvpe("unshare", command, os.environ | {"FLEET_NAMESPACE": "1"})


def make_network():
    run = lambda *words: subprocess.run(words, check=True)
    run("mount", "-t", "tmpfs", "tmpfs", "/run")
    run("ip", "link", "set", "lo", "up")
    run("ip", "link", "add", "bridge", "type", "bridge")
    run("ip", "address", "add", f"{NETWORK}.254/24", "dev", "bridge")
    run("ip", "link", "set", "bridge", "up")
    for number in range(1, 4):
        run("ip", "netns", "add", f"host{number}")
        run("ip", "link", "add", f"port{number}", "type", "veth", "peer", "name", "eth0", "netns", f"host{number}")
        run("ip", "link", "set", f"port{number}", "master", "bridge", "up")
        inside = ["ip", "-n", f"host{number}"]
        run(*inside, "address", "add", f"{NETWORK}.{number}/24", "dev", "eth0")
        run(*inside, "link", "set", "eth0", "up")
        run(*inside, "link", "set", "lo", "up")


def command(*words, check=True, environment=None, **options):
    done = subprocess.run(
        [PROGRAMS / "defaults", "fleet", *words], env=os.environ | (environment or {}), capture_output=True, text=True,
        timeout=3 * TIMEOUT, **options)
    if check and done.returncode != 0:
        raise AssertionError(f"{words}: {done.returncode}: {done.stdout}{done.stderr}")
    return done


class Cluster:
    def __init__(self, place, count=3):
        self.place = pathlib.Path(place) / "fleet"
        self.numbers = list(range(1, count + 1))
        self.members = {}
        self.logs = {}
        members = ",".join(f"m{number}={NETWORK}.{number}" for number in self.numbers)
        self.output = command("init", "etcd", str(self.place), "--members", members).stdout
        self.operator = {"DEFAULTS_FLEET_CREDENTIALS": f"{self.place}/operator.fleet"}

    def configure(self, **changes):
        """Changes every member's configuration, before it starts."""
        for number in self.numbers:
            path = self.place / f"m{number}/etcd.yml"
            lines = path.read_text().splitlines()
            for name, value in changes.items():
                name = name.replace("_", "-")
                lines = [line for line in lines if not line.startswith(f"{name}:")] + [f"{name}: {value}"]
            path.write_text("\n".join(lines) + "\n")

    def begin(self):
        """Starts all members, and limits the access."""
        for number in self.numbers:
            self.start(number)
        await_true(lambda: "limited" in command("init", "etcd", str(self.place), check=False).stdout, "etcd")

    def start(self, number):
        log = open(self.place / f"m{number}.log", "a")
        self.members[number] = subprocess.Popen(
            ["ip", "netns", "exec", f"host{number}", "etcd", "--config-file", f"{self.place}/m{number}/etcd.yml"],
            stdout=log, stderr=log)

    def stop(self, number, with_signal=signal.SIGKILL):
        self.members[number].send_signal(with_signal)
        self.members.pop(number).wait(TIMEOUT)

    def pause(self, number):
        self.members[number].send_signal(signal.SIGSTOP)

    def resume(self, number):
        self.members[number].send_signal(signal.SIGCONT)

    def isolate(self, number):
        subprocess.run(["ip", "link", "set", f"port{number}", "down"], check=True)

    def rejoin(self, number):
        subprocess.run(["ip", "link", "set", f"port{number}", "up"], check=True)

    def end(self):
        for number in list(self.members):
            self.rejoin(number)
            self.resume(number)
            self.stop(number)

    def etcdctl(self, *words, number=None, certificate="m1/member", check=True):
        """Runs etcdctl with a certificate; a member's isn't any user's, but may see the status."""
        number = number or next(iter(self.members))
        return subprocess.run(
            ["etcdctl", f"--endpoints=https://{NETWORK}.{number}:2379", f"--cacert={self.place}/authority.pem",
             f"--cert={self.place}/{certificate}.pem", f"--key={self.place}/{certificate}-key.pem", *words],
            check=check, capture_output=True, text=True, errors="replace", timeout=TIMEOUT, env=os.environ | {"ETCDCTL_API": "3"})

    def extract(self, name):
        """Writes the certificate that is in a credentials file as files for etcdctl; returns their name."""
        import plistlib
        values = plistlib.loads((self.place / f"{name}.fleet").read_bytes())
        (self.place / f"{name}.pem").write_text(values["Certificate"])
        (self.place / f"{name}-key.pem").write_text(values["PrivateKey"])
        return name

    def restore(self, backup):
        """Restores a backup, as the page says, with all members stopped."""
        cluster = ",".join(f"m{number}=https://{NETWORK}.{number}:2380" for number in self.numbers)
        for number in self.numbers:
            place = self.place / f"m{number}"
            subprocess.run(["rm", "-rf", place / "data"], check=True)
            subprocess.run(
                ["etcdctl", "snapshot", "restore", backup, "--name", f"m{number}", "--data-dir", place / "data",
                 "--initial-cluster", cluster, "--initial-cluster-token", "restored",
                 "--initial-advertise-peer-urls", f"https://{NETWORK}.{number}:2380"],
                check=True, capture_output=True, env=os.environ | {"ETCDCTL_API": "3"})

    def leader(self):
        for number in self.members:
            done = self.etcdctl("endpoint", "status", "--write-out=json", number=number, check=False)
            if done.returncode == 0:
                status = json.loads(done.stdout)[0]["Status"]
                if status["leader"] == status["header"]["member_id"]:
                    return number
        return None

    # --- The operator

    def push(self, *words, check=True):
        """Pushes values; returns the number of the rollout."""
        done = command("push", *words, environment=self.operator, check=check)
        return int(done.stdout.split("Rollout ")[1].split()[0]) if done.returncode == 0 else done

    def rollout(self, number, *words, check=True):
        done = command("rollout", str(number), "--json", *words, environment=self.operator, check=check)
        return json.loads(done.stdout or "{}")

    def machines(self):
        done = command("rollout", "--machines", "--json", environment=self.operator)
        return [json.loads(line) for line in done.stdout.splitlines()]


class Receiver:
    def __init__(self, cluster, name, groups, wrapper=()):
        self.cluster, self.name, self.groups, self.wrapper = cluster, name, groups, list(wrapper)
        self.home = cluster.place.parent / name
        self.managed, self.system = self.home / "managed", self.home / "system"
        self.home.mkdir(exist_ok=True)
        self.process = None

    def start(self, credentials="receivers.fleet"):
        environment = os.environ | {
            "DEFAULTS_MANAGED_DIRECTORY": str(self.managed), "DEFAULTS_SYSTEM_DIRECTORIES": str(self.system),
            "DEFAULTS_FLEET_CREDENTIALS": f"{self.cluster.place}/{credentials}"}
        self.process = subprocess.Popen(
            [*self.wrapper, PROGRAMS / "defaults-fleet", "receive", "--groups", self.groups, "--name", self.name,
             "--state", self.home / "state"],
            env=environment, stderr=open(self.home / "log", "a"), start_new_session=True)

    def stop(self, with_signal=signal.SIGTERM):
        if self.process:
            # A wrapper has a child.
            os.killpg(self.process.pid, with_signal)
            self.process.wait(TIMEOUT)
            self.process = None

    def values(self, domain, layer="managed"):
        path = (self.managed if layer == "managed" else self.system) / f"{domain}.plist"
        if not path.exists():
            return {}
        done = subprocess.run(
            [PROGRAMS / "defaults", "read", "--json", str(path)], capture_output=True, text=True, timeout=TIMEOUT,
            env=os.environ | {"DEFAULTS_NO_AGENT": "1", "DEFAULTS_DIRECTORY": str(self.home)})
        return json.loads(done.stdout) if done.returncode == 0 else {}

    @property
    def complaints(self):
        """Returns what the log has, except for the line at each start."""
        path = self.home / "log"
        lines = path.read_text().splitlines(keepends=True) if path.exists() else []
        return "".join(line for line in lines if "receives what is pushed to" not in line)
