"""A user of defaultsd with GSettings for tests: directories, an agent, and programs."""

from __future__ import annotations

import atexit
import fcntl
import os
import plistlib
import queue
import shutil
import signal
import socket
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


class FakeAgent:
    """An agent's side of a conversation, led by a test; the socket is the one that `environment` names."""

    def __init__(self, world: World) -> None:
        self.world = world
        self.directory, self.path = str(world.agent.directory), str(world.root / "fake-socket")
        # No program finds a real agent to start.
        self.environment = {"DEFAULTSD_SOCKET": self.path, "PATH": "/usr/bin:/bin"}
        self.listener = socket.socket(socket.AF_UNIX)
        world.addCleanup(self.listener.close)
        self.claim = open(world.agent.directory / ".defaultsd.agent", "w+")
        world.addCleanup(self.claim.close)

    def claim_directory(self) -> None:
        self.claim.write(f"{os.getpid()}\nhost\n{self.path}\n")
        self.claim.flush()
        fcntl.flock(self.claim, fcntl.LOCK_EX)

    def listen(self) -> None:
        self.listener.bind(self.path)
        self.listener.listen(100)

    def accept(self, timeout: float = TIMEOUT) -> Conversation:
        self.listener.settimeout(timeout)
        connection, _ = self.listener.accept()
        self.world.addCleanup(connection.close)
        connection.settimeout(TIMEOUT)
        return Conversation(self.directory, connection)


class Conversation:
    def __init__(self, directory: str, connection: socket.socket) -> None:
        self.directory, self.socket, self.received = directory, connection, b""

    def receive(self) -> dict[str, Any]:
        """Return the next message; an empty one if the program has closed the connection."""
        while len(self.received) < 4 or len(self.received) < 4 + int.from_bytes(self.received[:4], "big"):
            part = self.socket.recv(1 << 16)
            if not part:
                return {}
            self.received += part
        size = 4 + int.from_bytes(self.received[:4], "big")
        message, self.received = plistlib.loads(self.received[4:size]), self.received[size:]
        return message

    def send(self, **message: Any) -> None:
        body = plistlib.dumps(message, fmt=plistlib.FMT_BINARY)
        self.socket.sendall(len(body).to_bytes(4, "big") + body)

    def greet(self) -> None:
        self.send(
            type="welcome", request=self.receive()["request"], protocol=2, pid=1, directory=self.directory, system=[],
            cursor="1:1")

    def subscribe(self, **values: Any) -> None:
        """Answer the next request, for the values of domains, all of which are the same."""
        request = self.receive()
        self.stream = request.get("subscription", request["request"])
        answer = "widened" if request["type"] == "widen" else "subscribed"
        self.send(type=answer, request=request["request"], cursor="1:1")
        for domain in request["domains"]:
            self.send(type="initial", request=self.stream, domain=domain, values=values, cursor="1:1")
        self.send(type="bookmark", request=self.stream, cursor="1:1")

    def receive_edit(self) -> dict[str, Any]:
        while (message := self.receive())["type"] != "edit":
            pass
        return message

    def answer(self, edit: dict[str, Any]) -> None:
        self.send(type="edited", request=edit["request"], cursor="1:2")


class World(unittest.TestCase):
    """Tests with an agent, directories, and programs that use the module."""

    starts_agent = True
    # Whether the preferences directory is the one that programs find without a variable.
    is_usual = False

    def setUp(self) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="gsettings."))
        self.addCleanup(shutil.rmtree, self.root, ignore_errors=True)
        self.agent = Agent(self.root)
        self.addCleanup(self.agent.close)
        home = self.root / "home"
        home.mkdir()
        self.agent.environment["XDG_CONFIG_HOME"] = str(self.agent.directory if self.is_usual else home / ".config")
        self.environment = {
            **self.agent.environment, "HOME": str(home),
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

    def wait_until_files_are_later(self) -> None:
        """Wait until a file gets a later time than now: files have the time of the last tick of the kernel's clock."""
        now, path = time.time_ns(), self.root / "tick"

        def is_later() -> bool:
            path.write_text("")
            return path.stat().st_mtime_ns > now

        wait_for(is_later, "a later time")

    def file(self, domain: str = "org.defaultsd.test") -> Path:
        return self.agent.directory / f"{domain}.plist"
