"""A user of defaultsd with GSettings for tests: directories, an agent, and programs."""

from __future__ import annotations

import atexit
import os
import plistlib
import queue
import shutil
import signal
import subprocess
import tempfile
import threading
import time
import unittest
from pathlib import Path
from typing import Any

from defaultsd.testing import Agent, program

HERE = Path(__file__).parent
MODULES = os.environ["GSETTINGS_MODULES"]
TIMEOUT = 20.0


def compile_schemas(**files: str) -> None:
    """Compile the schemas of the tests, and others."""
    for name, text in files.items():
        (Path(SCHEMAS) / f"{name}.gschema.xml").write_text(text)
    subprocess.run(["glib-compile-schemas", "--strict", SCHEMAS], check=True)


SCHEMAS = tempfile.mkdtemp(prefix="gsettings-schemas.")
atexit.register(shutil.rmtree, SCHEMAS)
for schema_file in HERE.glob("*.xml"):
    shutil.copy(schema_file, Path(SCHEMAS) / (schema_file.stem + ".gschema.xml"))
compile_schemas()


def build(source: str, directory: Path, *options: str) -> str:
    """Build a program of the tests, and return its path."""
    program = str(directory / Path(source).stem)
    flags = subprocess.check_output(["pkg-config", "--cflags", "--libs", "gio-2.0"], text=True).split()
    subprocess.run(
        ["cc", "-std=gnu11", "-Wall", "-Wextra", "-Werror", str(HERE / source), *options, "-o", program, *flags],
        check=True)
    return program


def wait_for(condition: Any, what: Any, timeout: float = TIMEOUT) -> Any:
    """Wait until a condition holds, and return its value."""
    end = time.monotonic() + timeout
    while True:
        value = condition()
        if value:
            return value
        if time.monotonic() > end:
            raise AssertionError(f"Timeout: {what() if callable(what) else what}")
        time.sleep(0.005)


class Client:
    """A running `client.py`."""

    def __init__(self, environment: dict[str, str], schema: str, *path: str) -> None:
        self.process = subprocess.Popen(
            ["/usr/bin/python3", str(HERE / "client.py"), schema, *path], env=environment, text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines: queue.Queue[str] = queue.Queue()
        self.errors: list[str] = []
        self.signals: list[str] = []
        self._readers = [threading.Thread(target=self._read), threading.Thread(target=self._read_errors)]
        for reader in self._readers:
            reader.start()
        self._answer()

    def _read(self) -> None:
        for line in self.process.stdout:
            self.lines.put(line.rstrip("\n"))
        self.lines.put("= end")

    def _read_errors(self) -> None:
        self.errors += [line for line in self.process.stderr]

    def _answer(self, timeout: float = TIMEOUT) -> str:
        while True:
            line = self.lines.get(timeout=timeout)
            if line.startswith("= "):
                return line[2:]
            self.signals.append(line)

    def __call__(self, *words: object, timeout: float = TIMEOUT) -> str:
        """Run a command, and return its answer."""
        self.process.stdin.write("\t".join(map(str, words)) + "\n")
        self.process.stdin.flush()
        return self._answer(timeout)

    def take_signals(self, count: int = 0) -> list[str]:
        """Return the signals that have arrived since the last call, once there are so many of them."""
        wait_for(lambda: self._drain() or len(self.signals) >= count, lambda: f"{count} signals, not {self.signals}")
        # Signals that were sent before this command have arrived after it.
        self("threads")
        result, self.signals = self.signals, []
        return result

    def _drain(self) -> None:
        while not self.lines.empty():
            self.signals.append(self.lines.get())

    def close(self) -> int:
        if self.process.stdout.closed:
            return self.process.returncode
        self.process.stdin.close()
        status = self.process.wait(TIMEOUT)
        for reader in self._readers:
            reader.join()
        self.process.stdout.close()
        self.process.stderr.close()
        return status


class World(unittest.TestCase):
    """Tests with an agent, directories, and programs that use the module."""

    starts_agent = True

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="gsettings."))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.agent = Agent(self.root)
        self.addCleanup(self.agent.close)
        home = self.root / "home"
        home.mkdir()
        self.environment = {
            **self.agent.environment, "HOME": str(home), "XDG_CONFIG_HOME": str(home / ".config"),
            "XDG_CACHE_HOME": str(home / ".cache"), "XDG_DATA_HOME": str(home / ".local"),
            "GIO_EXTRA_MODULES": MODULES, "GSETTINGS_SCHEMA_DIR": SCHEMAS, "GSETTINGS_BACKEND": "defaultsd",
            "PATH": f"{os.path.dirname(program('defaultsd'))}:{os.environ['PATH']}", "LC_ALL": "C.UTF-8",
        }
        self.environment.pop("DBUS_SESSION_BUS_ADDRESS", None)
        (self.agent.directory / "org.defaultsd.agent.plist").write_bytes(plistlib.dumps({"LogLevel": "error"}))
        if self.starts_agent:
            self.agent.start()
        self.clients: list[Client] = []
        self.addCleanup(self._close_clients)
        # An agent that a program has started belongs to no one else.
        self.addCleanup(self.end_started_agent)

    def _close_clients(self) -> None:
        for client in self.clients:
            client.close()

    def claimed_pid(self) -> int:
        """Return the agent that has claimed the directory; 0 if there is none."""
        try:
            pid = int((self.agent.directory / ".defaultsd.agent").read_text().split("\n")[0])
            return pid if b"defaultsd" in Path(f"/proc/{pid}/cmdline").read_bytes() else 0
        except (OSError, ValueError):
            return 0

    def end_started_agent(self) -> None:
        pid = self.claimed_pid()
        if pid and (self.agent._process is None or pid != self.agent.pid):
            os.kill(pid, signal.SIGKILL)
            wait_for(lambda: not self.claimed_pid(), "the end of the agent")

    def client(self, schema: str = "org.defaultsd.test", *path: str, **variables: str) -> Client:
        client = Client({**self.environment, **variables}, schema, *path)
        self.clients.append(client)
        return client

    def run_program(self, *command: str, check: bool = True, **variables: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            command, env={**self.environment, **variables}, check=check, text=True, capture_output=True, timeout=120)

    def gsettings(self, *arguments: str, **variables: str) -> str:
        return self.run_program("gsettings", *arguments, **variables).stdout.strip()

    def defaults(self, *arguments: str) -> str:
        return self.run_program("defaults", *arguments).stdout.strip()

    def stop_agent(self) -> None:
        """Stop the agent's threads, all of which must be stopped before this returns, or one may still answer."""
        self.agent.signal(signal.SIGSTOP)
        tasks = Path(f"/proc/{self.agent.pid}/task")
        wait_for(lambda: all(" T " in (task / "stat").read_text() for task in tasks.iterdir()), "a stopped agent")

    def file(self, domain: str = "org.defaultsd.test") -> Path:
        return self.agent.directory / f"{domain}.plist"
