"""Tests of a fleet with tools that people have: Syncthing carries the folder, and ssh the agent's socket."""

import json
import os
import pathlib
import pwd
import shutil
import socket
import subprocess
import tempfile
import unittest
import urllib.request
import xml.etree.ElementTree as ElementTree

from machines import Machine, await_true

DOMAIN = "org.example.editor"


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


class Syncthing:
    """Debian's Syncthing of a machine, which only knows the other one, on the loopback interface."""

    def __init__(self, machine):
        self.machine = machine
        self.home = machine.home / "syncthing"
        subprocess.run(
            ["syncthing", "generate", "--no-default-folder", f"--home={self.home}"], env=machine.environment,
            check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        self.configuration = ElementTree.parse(self.home / "config.xml")
        root = self.configuration.getroot()
        self.identifier = root.find("device").get("id")
        self.port, self.gui = free_port(), free_port()
        self.key = root.find("gui/apikey").text
        root.find("gui/address").text = f"127.0.0.1:{self.gui}"
        options = root.find("options")
        for name, value in {
            "listenAddress": f"tcp://127.0.0.1:{self.port}", "globalAnnounceEnabled": "false",
            "localAnnounceEnabled": "false", "relaysEnabled": "false", "natEnabled": "false", "urAccepted": "-1",
            "startBrowser": "false", "crashReportingEnabled": "false", "autoUpgradeIntervalH": "0"}.items():
            element = options.find(name)
            if element is None:
                element = ElementTree.SubElement(options, name)
            element.text = value
        self.process = None

    def pair(self, other):
        root = self.configuration.getroot()
        device = ElementTree.SubElement(root, "device", id=other.identifier, name=other.machine.name)
        ElementTree.SubElement(device, "address").text = f"tcp://127.0.0.1:{other.port}"
        folder = ElementTree.SubElement(
            root, "folder", id="prefs", path=str(self.machine.folder), type="sendreceive", fsWatcherEnabled="true",
            fsWatcherDelayS="1", rescanIntervalS="60")
        for identifier in (self.identifier, other.identifier):
            ElementTree.SubElement(folder, "device", id=identifier)
        self.configuration.write(self.home / "config.xml")

    def start(self):
        self.process = subprocess.Popen(
            ["syncthing", "serve", f"--home={self.home}", "--no-browser", "--no-restart", "--no-upgrade"],
            env=self.machine.environment, stdout=open(self.home / "log", "a"), stderr=subprocess.STDOUT)

    def is_connected(self):
        request = urllib.request.Request(
            f"http://127.0.0.1:{self.gui}/rest/system/connections", headers={"X-API-Key": self.key})
        try:
            with urllib.request.urlopen(request, timeout=5) as answer:
                return any(each["connected"] for each in json.load(answer)["connections"].values())
        except OSError:
            return False

    def stop(self):
        if self.process:
            self.process.terminate()
            self.process.wait(60)
            self.process = None


class ToolCase(unittest.TestCase):
    def setUp(self):
        self.place = pathlib.Path(tempfile.mkdtemp(prefix="fleet-"))
        self.machines = []
        self.processes = []

    def tearDown(self):
        for process in self.processes:
            process.stop()
        for machine in self.machines:
            machine.end()
        shutil.rmtree(self.place)

    def machine(self, name):
        machine = Machine(self.place, name)
        self.machines.append(machine)
        return machine


@unittest.skipUnless(shutil.which("syncthing"), "Syncthing isn't installed")
class SyncthingTests(ToolCase):
    def test_two_machines(self):
        a, b = self.machine("a"), self.machine("b")
        tools = [Syncthing(a), Syncthing(b)]
        self.processes = tools
        tools[0].pair(tools[1])
        tools[1].pair(tools[0])
        for tool in tools:
            tool.start()
        await_true(lambda: all(tool.is_connected() for tool in tools), "the connection")
        a.found()
        a.start()
        a.set(DOMAIN, "Font", "Mono")
        a.fleet("add", DOMAIN)
        b.set(DOMAIN, "Own", "b")
        await_true(lambda: list(b.folder.glob("*/*.env")), "the folder")
        b.join(a)
        b.start()
        await_true(lambda: a.values(DOMAIN) == b.values(DOMAIN) == {"Font": "Mono", "Own": "b"}, "the values")
        # Both edit while nothing carries the folder.
        for tool in tools:
            tool.stop()
        a.set(DOMAIN, "Font", "Serif")
        b.set(DOMAIN, "Size", "12")
        b.set(DOMAIN, "Font", "Sans")
        a.run("delete", DOMAIN, "Own")
        for tool in tools:
            tool.start()
        await_true(lambda: a.values(DOMAIN) == b.values(DOMAIN) == {"Font": "Sans", "Size": "12"}, "the values")
        conflicts = [path for machine in (a, b) for path in machine.folder.rglob("*sync-conflict*")]
        self.assertEqual(conflicts, [])
        self.assertEqual(a.status()["problems"] + b.status()["problems"], [])


@unittest.skipUnless(os.path.exists("/usr/sbin/sshd"), "sshd isn't installed")
class ForwardingTests(ToolCase):
    """The recipe "Follow another machine over ssh" of the page "Keep machines the same"."""

    def test_the_socket_over_ssh(self):
        here, there = self.machine("here"), self.machine("there")
        keys = self.place / "keys"
        keys.mkdir(mode=0o700)
        for name in ("host", "user"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", keys / name], check=True)
        port = free_port()
        user = pwd.getpwuid(os.getuid()).pw_name
        (keys / "config").write_text(
            f"Port {port}\nListenAddress 127.0.0.1\nHostKey {keys}/host\nAuthorizedKeysFile {keys}/user.pub\n"
            f"StrictModes no\nUsePAM no\nPidFile none\nPermitRootLogin prohibit-password\n")
        if os.getuid() == 0:
            os.makedirs("/run/sshd", mode=0o755, exist_ok=True)
        server = Stopped(
            subprocess.Popen(["/usr/sbin/sshd", "-D", "-e", "-f", keys / "config"], stderr=subprocess.DEVNULL))
        local = here.runtime / "there.sock"
        remote = there.run("socket").stdout.strip()
        options = [
            "-o", "StrictHostKeyChecking=no", "-o", "UserKnownHostsFile=/dev/null", "-o", "ExitOnForwardFailure=yes",
            "-o", "LogLevel=ERROR", "-F", "none", "-i", str(keys / "user"), "-p", str(port)]

        def forward():
            client = subprocess.Popen(["ssh", *options, "-N", "-L", f"{local}:{remote}", f"{user}@127.0.0.1"])
            self.processes.append(Stopped(client))
            await_true(lambda: local.exists() or client.poll() is not None, "the forwarding")
            return local.exists()

        self.processes.append(server)
        await_true(forward, "the connection")
        directory = json.loads(there.run("status", "--json").stdout)["directory"]
        other = ["--socket", str(local), "--directory", directory]
        here.run(*other, "write", DOMAIN, "Font", "Mono")
        self.assertEqual(there.value(DOMAIN, "Font"), "Mono")
        self.assertEqual(here.values(DOMAIN), {})
        tail = subprocess.Popen(
            [os.path.join(os.environ["DEFAULTSD_PROGRAMS"], "defaults"), *other, "tail", "--json", "-n", "1", DOMAIN],
            env=here.environment, stdout=subprocess.PIPE, text=True)

        def has_followed():
            there.run("write", DOMAIN, "Count", "-int", str(int(there.value(DOMAIN, "Count") or 0) + 1))
            return tail.poll() is not None

        await_true(has_followed, "the follower's change")
        self.assertIn('"key":"Count"', tail.stdout.read())


class Stopped:
    """A process that is ended after the test."""

    def __init__(self, process):
        self.process = process

    def stop(self):
        self.process.terminate()
        self.process.wait(60)


if __name__ == "__main__":
    unittest.main(verbosity=2)
