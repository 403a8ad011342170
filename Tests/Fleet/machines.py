"""Machines of a fleet: each has a home, an agent and a connector of its own, and its copy of the folder."""

import json
import os
import pathlib
import shutil
import signal
import subprocess
import threading
import time

PROGRAMS = pathlib.Path(os.environ["DEFAULTSD_PROGRAMS"])
TIMEOUT = 60


def await_true(condition, what, timeout=TIMEOUT):
    """Waits until a condition holds; returns its value."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"{what} didn't come within {timeout} s")
        time.sleep(0.02)


class Machine:
    def __init__(self, place, name, folder=None):
        self.name = name
        self.home = pathlib.Path(place) / name
        self.runtime = self.home / "run"
        self.runtime.mkdir(parents=True, mode=0o700)
        self.folder = pathlib.Path(folder) if folder else self.home / "Sync"
        self.folder.mkdir(exist_ok=True)
        self.environment = {
            "HOME": str(self.home), "XDG_RUNTIME_DIR": str(self.runtime), "PATH": os.environ["PATH"],
            "LANG": "C.UTF-8"}
        self.agent = self.connector = None
        self.start_agent()

    # --- Processes

    def start_agent(self):
        self.agent = subprocess.Popen(
            [PROGRAMS / "defaultsd"], env=self.environment, stderr=open(self.home / "agent.log", "a"))
        await_true(lambda: self.run("status", "--json", check=False).returncode == 0, "the agent")

    def stop_agent(self, with_signal=signal.SIGTERM):
        self.agent.send_signal(with_signal)
        self.agent.wait(TIMEOUT)

    def start(self):
        """Starts the connector."""
        self.connector = subprocess.Popen(
            [PROGRAMS / "defaults", "fleet", "run"], env=self.environment,
            stderr=open(self.home / "connector.log", "a"))
        await_true(lambda: self.status()["running"], "the connector")

    def stop(self, with_signal=signal.SIGTERM):
        if self.connector:
            self.connector.send_signal(with_signal)
            self.connector.wait(TIMEOUT)
            self.connector = None

    def end(self):
        self.stop(signal.SIGKILL)
        if self.agent.poll() is None:
            self.stop_agent()

    @property
    def complaints(self):
        path = self.home / "connector.log"
        return path.read_text() if path.exists() else ""

    # --- The command

    def run(self, *arguments, check=True, **options):
        done = subprocess.run(
            [PROGRAMS / "defaults", *arguments], env=self.environment, capture_output=True, text=True,
            timeout=TIMEOUT, **options)
        if check and done.returncode != 0:
            raise AssertionError(f"{self.name}: {arguments}: {done.returncode}: {done.stderr}")
        return done

    def begin(self, *arguments):
        """Starts a command, and returns its process."""
        return subprocess.Popen([PROGRAMS / "defaults", *arguments], env=self.environment)

    def status_of_agent(self):
        return json.loads(self.run("status", "--json").stdout)

    def fleet(self, *arguments, **options):
        return self.run("fleet", *arguments, **options)

    def status(self):
        return json.loads(self.fleet("status", "--json").stdout)

    def set(self, domain, key, value):
        self.run("write", domain, key, value)

    def values(self, domain):
        done = self.run("read", "--json", domain, check=False)
        return json.loads(done.stdout) if done.returncode == 0 else {}

    def value(self, domain, key):
        return self.values(domain).get(key)

    def follow(self, domain):
        """Follows a domain; returns the process, once it does."""
        follower = subprocess.Popen(
            [PROGRAMS / "defaults", "tail", "--json", "--initial", domain], env=self.environment,
            stdout=subprocess.PIPE, text=True)
        # The bookmark after the first values says that every later change follows.
        while "bookmark" not in follower.stdout.readline():
            pass
        return follower

    def bridge(self):
        return Bridge(self)

    @property
    def identifier(self):
        return self.status()["machine"]

    # --- Joining

    def found(self):
        """Begins a fleet."""
        self.fleet("join", str(self.folder), "--name", self.name)

    def ask(self, *options):
        """Asks to join; returns the process and the code."""
        process = subprocess.Popen(
            [PROGRAMS / "defaults", "fleet", "join", str(self.folder), "--name", self.name, *options],
            env=self.environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        for line in process.stdout:
            if "approve" in line:
                return process, line.split()[-1]
        raise AssertionError(f"no code: {process.stderr.read()}")

    def join(self, other, *options, answer=None):
        """Joins the fleet of another machine; returns the output."""
        process, code = self.ask(*options)
        # The tool may not have brought the request yet.
        await_true(lambda: other.fleet("approve", code, check=False).returncode == 0, "the request")
        output, errors = process.communicate(answer, TIMEOUT)
        if process.returncode != 0:
            raise AssertionError(f"{self.name} can't join: {errors}")
        return output


class Bridge:
    """A program that sets values one by one, much faster than commands do."""

    def __init__(self, machine):
        self.process = subprocess.Popen(
            [PROGRAMS / "defaults", "bridge"], env=machine.environment, stdin=subprocess.PIPE,
            stdout=subprocess.PIPE, text=True)
        self.count = 0

    def set(self, domain, key, value):
        self.count += 1
        request = {"type": "edit", "request": self.count, "domain": domain, "set": {key: value}}
        self.process.stdin.write(json.dumps(request) + "\n")
        self.process.stdin.flush()
        while True:
            answer = json.loads(self.process.stdout.readline())
            if answer.get("request") == self.count:
                if answer["type"] == "failure":
                    raise AssertionError(answer)
                return

    def close(self):
        self.process.stdin.close()
        self.process.wait(TIMEOUT)


class Tool:
    """A tool that carries files between the folders of machines, as Syncthing does: whole subfolders, one way."""

    def __init__(self, *machines):
        self.machines = machines
        self.offline = set()

    def carry(self):
        """Brings every machine's own files to all others that are online, removals, too."""
        for source in self.machines:
            if source in self.offline:
                continue
            for target in self.machines:
                if target is source or target in self.offline:
                    continue
                for folder in source.folder.iterdir():
                    # It belongs to the machine that has written in it first.
                    owner = (folder / ".owner").read_text() if (folder / ".owner").exists() else source.name
                    if owner != source.name:
                        continue
                    copy = target.folder / folder.name
                    copy.mkdir(exist_ok=True)
                    (copy / ".owner").write_text(source.name)
                    names = {path.name for path in folder.iterdir() if not path.name.startswith(".")}
                    for name in names:
                        if not (copy / name).exists():
                            temporary = copy / f".tool.{name}"
                            try:
                                shutil.copyfile(folder / name, temporary)
                            except FileNotFoundError:
                                continue
                            temporary.rename(copy / name)
                    for path in copy.iterdir():
                        if not path.name.startswith(".") and path.name not in names:
                            path.unlink()

    def __enter__(self):
        self.ends = threading.Event()
        self.thread = threading.Thread(target=self.work, daemon=True)
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ends.set()
        self.thread.join()

    def work(self):
        while not self.ends.wait(0.02):
            self.carry()
