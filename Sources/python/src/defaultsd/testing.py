"""A real agent for tests, on a temporary directory. With pytest, the fixture `defaults_agent` is simpler.

The programs are those in the directory that `DEFAULTSD_PROGRAMS` names, or else on `PATH`.
"""

from __future__ import annotations

import os
import shutil
import signal
import socket
import subprocess
from pathlib import Path

from .defaults import Defaults


class Agent:
    """An agent that serves a temporary directory, and ends with the thread that starts it, whatever happens.

    `environment` has the variables with which other programs find it. It isn't for several threads at once.
    """

    def __init__(self, directory: str | os.PathLike[str]) -> None:
        """Prepare an agent in an empty directory; `start` starts it."""
        root = Path(directory)
        self.directory, self.runtime = root / "preferences", root / "run"
        self.system, self.managed = root / "system", root / "managed"
        for path in (self.directory, self.runtime, self.system, self.managed):
            path.mkdir(mode=0o700)
        self.environment = {
            **{name: value for name, value in os.environ.items() if not name.startswith("DEFAULTS")},
            "DEFAULTS_DIRECTORY": str(self.directory),
            "XDG_RUNTIME_DIR": str(self.runtime),
            "DEFAULTS_SYSTEM_DIRECTORIES": str(self.system),
            "DEFAULTS_MANAGED_DIRECTORY": str(self.managed),
        }
        self._process: subprocess.Popen[bytes] | None = None
        self._ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self._ready.bind(str(self.runtime / "ready"))

    @property
    def pid(self) -> int:
        """The process ID of the running agent."""
        assert self._process is not None, "The agent isn't running."
        return self._process.pid

    def start(self) -> None:
        """Start the agent, and wait until it is ready."""
        self._process = subprocess.Popen(
            [program("defaultsd"), "--end-with-parent", str(os.getpid())],
            env={**self.environment, "NOTIFY_SOCKET": str(self.runtime / "ready")},
        )
        self.wait_until_ready()

    def wait_until_ready(self, timeout: float = 30) -> None:
        """Wait until the agent that starts, or that continues as another version, is ready."""
        self._ready.settimeout(timeout)
        while b"READY=1" not in self._ready.recv(4096):
            pass

    def signal(self, number: int) -> None:
        """Send a signal to the agent, such as `SIGUSR2`, with which it continues as the installed version."""
        os.kill(self.pid, number)

    def kill(self) -> None:
        """End the agent as a crash does."""
        self._end(signal.SIGKILL)

    def stop(self) -> None:
        """End the agent; it saves everything."""
        self._end(signal.SIGTERM)

    def _end(self, number: int) -> None:
        if self._process is not None:
            self._process.send_signal(number)
            self._process.send_signal(signal.SIGCONT)
            self._process.wait(30)
            self._process = None

    def close(self) -> None:
        """End the agent without delay, and forget its sockets."""
        self.kill()
        self._ready.close()

    def run(self, *arguments: str, check: bool = True) -> str:
        """Run the command `defaults` with some arguments, and return what it prints."""
        command = [program("defaults"), *arguments]
        result = subprocess.run(command, env=self.environment, check=check, stdout=subprocess.PIPE, text=True)
        return result.stdout

    def defaults(self, domain: str, *, host: str | None = None) -> Defaults:
        """Return the preferences of a domain in the agent's directory."""
        return Defaults(domain, host=host, environment=self.environment)


def program(name: str) -> str:
    """Return the path of one of the programs of defaultsd."""
    directory = os.environ.get("DEFAULTSD_PROGRAMS")
    found = shutil.which(name, path=directory) if directory else shutil.which(name)
    if found is None:
        raise FileNotFoundError(f"There is no {name}. Install defaultsd, or set DEFAULTSD_PROGRAMS to its directory.")
    return found
