"""A home directory with an agent of its own, and a client of the agent's protocol."""

import collections
import os
import pathlib
import plistlib
import signal
import socket
import struct
import subprocess
import time

PROGRAMS = pathlib.Path(os.environ["DEFAULTSD_PROGRAMS"])
TIMEOUT = 60
SETTINGS = "org.defaultsd.agent"


class Failure(Exception):
    """A broken promise, or a program that doesn't do its work."""


class Home:
    """A home directory, the agent that serves it, and the files in it as other programs see them."""

    def __init__(self, place):
        self.place = pathlib.Path(place)
        self.directory = self.place / "config"
        self.state = self.place / "state"
        self.manifests = self.place / "data/defaultsd/manifests"
        runtime = self.place / "run"
        for directory in (self.directory, self.state, self.place / "system"):
            directory.mkdir(parents=True)
        runtime.mkdir(mode=0o700)
        self.socket = runtime / "defaultsd/socket"
        self.environment = {
            "PATH": os.environ["PATH"], "LANG": "C.UTF-8", "TZ": "UTC", "HOME": str(self.place),
            "XDG_CONFIG_HOME": str(self.directory), "XDG_STATE_HOME": str(self.state),
            "XDG_DATA_HOME": str(self.place / "data"), "XDG_DATA_DIRS": str(self.place / "none"),
            "XDG_RUNTIME_DIR": str(runtime), "DEFAULTS_SYSTEM_DIRECTORIES": str(self.place / "system"),
            "DEFAULTS_MANAGED_DIRECTORY": str(self.place / "managed")}
        self.agent = None
        # The writes by other programs, by domain.
        self.writes = collections.Counter()

    # --- Programs

    def start(self):
        with open(self.place / "agent.log", "ab") as log:
            self.agent = subprocess.Popen(
                [PROGRAMS / "defaultsd"], env=self.environment, stdin=subprocess.DEVNULL, stdout=log, stderr=log,
                cwd=self.place)

    def signal(self, number):
        agent = self.agent
        if agent is not None:
            agent.send_signal(number)

    def wait(self):
        """Waits until the agent has ended."""
        try:
            status = self.agent.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            raise Failure(f"The agent doesn't end. {self.last_words()}") from None
        self.agent = None
        if status not in (0, -signal.SIGKILL):
            raise Failure(f"The agent ended with status {status}. {self.last_words()}")

    def discard(self):
        """Kills the agent if it is running."""
        if self.agent is not None:
            self.agent.kill()
            self.agent.wait()
            self.agent = None

    def command(self, *arguments, text=None):
        """Runs `defaults`; returns the finished process."""
        try:
            return subprocess.run(
                [PROGRAMS / "defaults", *arguments], env=self.environment, input=text, capture_output=True, text=True,
                timeout=TIMEOUT, cwd=self.place, check=False)
        except subprocess.TimeoutExpired:
            raise Failure(f"defaults {' '.join(arguments)} doesn't end.") from None

    def last_words(self):
        try:
            return "The agent's log ends with: " + (self.place / "agent.log").read_text(errors="replace")[-1500:]
        except FileNotFoundError:
            return "The agent has no log."

    # --- Files

    def path(self, domain):
        return self.directory / f"{domain}.plist"

    def read(self, domain):
        """Returns the file's bytes like any program, which moves the access time; none if there is no file."""
        try:
            return self.path(domain).read_bytes()
        except FileNotFoundError:
            return None

    def copy_unnoticed(self, domain):
        """Returns the file's bytes without moving its access time, like a snapshot of the block device."""
        try:
            descriptor = os.open(self.path(domain), os.O_RDONLY | os.O_NOATIME)
        except FileNotFoundError:
            return None
        with os.fdopen(descriptor, "rb") as file:
            return file.read()

    def replace(self, domain, data):
        """Writes another file and renames it over the domain's."""
        self.writes[domain] += 1
        new = self.directory / f".new-{domain}"
        new.write_bytes(data)
        new.rename(self.path(domain))

    def write_in_place(self, domain, data):
        self.writes[domain] += 1
        self.path(domain).write_bytes(data)

    def put(self, domain, values):
        self.replace(domain, plistlib.dumps(values))

    def install_manifest(self, domain, keys):
        """Installs a manifest that declares keys as sensitive."""
        self.manifests.mkdir(parents=True, exist_ok=True)
        subkeys = [{"pfm_name": key, "pfm_type": "string", "pfm_sensitive": True} for key in keys]
        new = self.manifests.parent / "new"
        new.write_bytes(plistlib.dumps({"pfm_format_version": 1, "pfm_domain": domain, "pfm_subkeys": subkeys}))
        new.rename(self.manifests / f"{domain}.plist")


def parse(data):
    """Returns the values in a file's bytes."""
    if data is None:
        return {}
    try:
        return plistlib.loads(data)
    except (ValueError, plistlib.InvalidFileException) as error:
        raise Failure(f"A file doesn't parse: {error}: {data[:200]!r}") from None


class Client:
    """A connection to the agent. Its methods raise `ConnectionError` if the agent has ended."""

    def __init__(self, home):
        self.requests = 0
        self.answers = {}
        deadline = time.monotonic() + TIMEOUT
        while True:
            self.socket = socket.socket(socket.AF_UNIX)
            self.socket.settimeout(TIMEOUT)
            try:
                self.socket.connect(str(home.socket))
                self.ask(type="hello", protocol=1, newest=2, client="model")
                return
            except OSError:
                self.socket.close()
                if home.agent.poll() is not None or time.monotonic() > deadline:
                    raise Failure(f"The agent doesn't start. {home.last_words()}") from None
                time.sleep(0.005)

    def close(self):
        self.socket.close()

    def send(self, **message):
        """Sends a request; returns its number."""
        self.requests += 1
        body = plistlib.dumps(dict(message, request=self.requests), fmt=plistlib.FMT_BINARY)
        self.socket.sendall(struct.pack(">I", len(body)) + body)
        return self.requests

    def answer(self, number):
        """Waits for the answer to a request."""
        while number not in self.answers:
            length, = struct.unpack(">I", self._receive(4))
            message = plistlib.loads(self._receive(length))
            self.answers[message["request"]] = message
        return self.answers.pop(number)

    def ask(self, **message):
        return self.answer(self.send(**message))

    def wait_for_end(self):
        """Waits until the agent has closed the connection."""
        try:
            while self.socket.recv(65536):
                pass
        except TimeoutError:
            raise Failure("The agent doesn't close its connections.") from None
        except ConnectionError:
            pass
        self.close()

    def _receive(self, count):
        data = bytearray()
        while len(data) < count:
            try:
                part = self.socket.recv(count - len(data))
            except TimeoutError:
                raise Failure(f"The agent doesn't answer within {TIMEOUT} s.") from None
            if not part:
                raise ConnectionResetError("The agent has closed the connection.")
            data += part
        return bytes(data)
