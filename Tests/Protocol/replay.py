#!/usr/bin/env python3
"""Replays conversations with an agent, and compares its messages with the recorded ones.

    replay.py TRANSCRIPT… --program /path/defaultsd     starts an agent in an empty directory for each transcript
    replay.py TRANSCRIPT… --socket PATH                 uses a running agent, whose directory should be empty
    replay.py TRANSCRIPT… --program PATH --record       prints the transcript with what the agent sends now

A transcript is text with one step a line; lines that begin with four spaces continue the line before, and "#" begins a
comment. The steps, in which `a` is the name of a connection, are:

    versions 1 2           replay the transcript once for each version of the protocol
    a> {…}                 connect if `a` isn't connected, and send a message
    a< {…}                 receive a message
    a raw HEX [COUNT]      send bytes, COUNT times
    a closed               the agent closes the connection
    a close                close the connection
    put NAME plist {…}     replace a file in the agent's directory by renaming a new one to its name
    put NAME text "…"      the same with any text
    put NAME link TARGET   the same with a symbolic link
    put NAME directory     make a directory
    kill, stop, start      end the agent with SIGKILL or SIGTERM, or start the next one; with --program only

Messages are JSON, in which {"$data": "00ff"} is data and {"$date": "2026-11-27T12:00:00Z"} a date. In strings, a word
that begins with "$" is a placeholder: the same name stands for the same text everywhere in the transcript. A string
that is nothing but a placeholder may also stand for a number. `$version`, `$session` (a random number), `$mypid`,
`$agent` (the process ID in the welcome), `$directory`, `$old` and `$now` (times in nanoseconds, ten seconds ago and at
the start) are known from the beginning; `$any` stands for something else each time, and `$cursor…`, `$time…` and
`$path…` must look like what they say. An agent may add entries to its messages, but not to `values`, `changes` and
other parts that belong to users.

The messages between two steps of other kinds form a block. All of them must arrive, and nothing else. Messages with the
same request number arrive in the recorded order. An answer arrives after the events that are recorded before it, and
those recorded after it may arrive earlier, as the protocol allows.

This file needs nothing but Python, and its class `Connection` is all that a client needs to talk to an agent.
"""

from __future__ import annotations

import argparse
import datetime
import json
import os
import plistlib
import random
import re
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

EVENTS = {"change", "damaged", "unsaved", "recovered", "unknown", "initial", "gap", "bookmark", "ended"}
FORMS = {
    "cursor": r"[0-9a-f]{16}:[0-9]+",
    "time": r"[0-9]{19}",
    "path": r"/[^\0]+",
}
# The entries that are recorded as placeholders: texts for people, and what differs each time.
VAGUE = {"message", "remedy", "reason", "damage", "version", "system", "managed", "log", "archive"}
NAMED = {"time": "time", "loaded": "time", "revision": "revision", "executable": "executable", "pid": "pid",
         "session": "session", "directory": "path"}  # fmt: skip
TIMEOUT = 30


class Connection:
    """A connection to an agent, which sends and receives messages: dictionaries."""

    def __init__(self, path: str) -> None:
        self.socket = socket.socket(socket.AF_UNIX)
        self.socket.settimeout(TIMEOUT)
        self.socket.connect(path)

    def send(self, message: dict[str, Any]) -> None:
        body = plistlib.dumps(message, fmt=plistlib.FMT_BINARY)
        self.socket.sendall(struct.pack(">I", len(body)) + body)

    def receive(self) -> dict[str, Any]:
        """Receive a message; raise `EOFError` if the agent has closed the connection."""
        (size,) = struct.unpack(">I", self._exactly(4))
        message: dict[str, Any] = plistlib.loads(self._exactly(size))
        return message

    def _exactly(self, count: int) -> bytes:
        data = b""
        while len(data) < count:
            try:
                more = self.socket.recv(count - len(data))
            except ConnectionResetError:
                more = b""
            if not more:
                raise EOFError("The agent has closed the connection.")
            data += more
        return data


class Mismatch(Exception):
    """The agent does something else than recorded."""


class Agent:
    """An agent in an empty directory of its own."""

    def __init__(self, program: str, directory: str) -> None:
        self.program = program
        self.root = Path(directory)
        self.socket = str(self.root / "socket")
        for name in ("preferences", "system", "managed", "run"):
            (self.root / name).mkdir(mode=0o700)
        self.ready = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.ready.bind(str(self.root / "ready"))
        self.ready.settimeout(TIMEOUT)
        self.process: subprocess.Popen[bytes] | None = None

    def start(self) -> None:
        variables = {
            "DEFAULTS_DIRECTORY": self.root / "preferences",
            "DEFAULTSD_SOCKET": self.socket,
            "DEFAULTS_SYSTEM_DIRECTORIES": self.root / "system",
            "DEFAULTS_MANAGED_DIRECTORY": self.root / "managed",
            "XDG_RUNTIME_DIR": self.root / "run",
            "NOTIFY_SOCKET": self.root / "ready",
        }
        self.process = subprocess.Popen(
            [self.program, "--log-level", "error"],
            env={"PATH": os.environ["PATH"], **{name: str(value) for name, value in variables.items()}},
        )
        while b"READY=1" not in self.ready.recv(4096):
            pass

    def end(self, number: int) -> None:
        if self.process is not None:
            self.process.send_signal(number)
            self.process.wait()
            self.process = None


class Transcript:
    """The steps of a transcript, and what its placeholders stand for."""

    def __init__(self, text: str, version: int, socket_path: str, agent: Agent | None, records: bool) -> None:
        self.text, self.steps = text, steps(text, with_comments=records)
        self.socket, self.agent, self.records = socket_path, agent, records
        now = time.time_ns()
        self.names: dict[str, Any] = {
            "version": version,
            "session": random.getrandbits(63),
            "mypid": os.getpid(),
            "old": now - 10_000_000_000,
            "now": now,
        }
        self.connections: dict[str, Connection] = {}
        self.lines: list[str] = []

    def replay(self) -> None:
        position = 0
        while position < len(self.steps):
            block = []
            while position < len(self.steps) and re.match(r"\w+<", self.steps[position]):
                block.append(self.steps[position])
                position += 1
            if block:
                for name in dict.fromkeys(line.split("<")[0] for line in block):
                    messages = [json.loads(line.split("<", 1)[1]) for line in block if line.split("<")[0] == name]
                    self.receive(name, messages)
                continue
            self.record(self.steps[position])
            self.make(self.steps[position])
            position += 1
        for name, connection in self.connections.items():
            # A message sent before the answer to this would arrive before it.
            last = {"type": "domains", "request": 1_000_000}
            try:
                connection.send(last)
                message = connection.receive()
            except (BrokenPipeError, ConnectionResetError, EOFError):
                continue
            if message["request"] not in (last["request"], 0):
                raise Mismatch(f"{name}: The agent has sent more: {message}")

    def make(self, step: str) -> None:
        """Make a step other than receiving a message."""
        name, _, rest = step.partition(" ")
        if name in ("#", "versions"):
            return
        if name in ("kill", "stop", "start"):
            assert self.agent is not None
            if name == "start":
                self.agent.start()
            else:
                self.agent.end(signal.SIGKILL if name == "kill" else signal.SIGTERM)
                self.connections.clear()
        elif name == "put":
            self.put(*rest.split(" ", 2))
        elif name.endswith(">"):
            self.connection(name[:-1]).send(from_json(self.fill(json.loads(rest))))
        elif rest == "close":
            self.connections.pop(name).socket.close()
        elif rest == "closed":
            try:
                raise Mismatch(f"{name}: The connection isn't closed, but has {self.connection(name).receive()}")
            except EOFError:
                del self.connections[name]
        elif rest.startswith("raw "):
            data, _, count = rest[4:].partition(" ")
            self.connection(name).socket.sendall(bytes.fromhex(data) * int(count or 1))
        else:
            raise ValueError(f"Unknown step: {step}")

    def connection(self, name: str) -> Connection:
        if name not in self.connections:
            self.connections[name] = Connection(self.socket)
        return self.connections[name]

    def put(self, name: str, kind: str, contents: str = "") -> None:
        path = Path(self.names["directory"]) / name
        if kind == "directory":
            path.mkdir()
            return
        new = path.with_name(name + ".new")
        if kind == "link":
            new.symlink_to(contents)
        else:
            value = json.loads(contents)
            new.write_bytes(plistlib.dumps(from_json(value)) if kind == "plist" else value.encode())
        new.rename(path)

    # Comparing.

    def receive(self, name: str, expected: list[dict[str, Any]]) -> None:
        """Receive messages on a connection, in an order that the protocol allows."""
        pending = list(expected)
        while pending:
            try:
                message = as_json(self.connection(name).receive())
            except (EOFError, TimeoutError) as error:
                raise Mismatch(f"{name}: {error or 'Nothing arrives.'} Expected {pending[0]}") from error
            if message["type"] == "welcome":
                self.names |= {"agent": message["pid"], "directory": message["directory"]}
            if self.records:
                first = {key: message[key] for key in ("request", "type")}
                self.record(f"{name}< {json.dumps(self.replaced(first | message))}")
                pending.pop(0)
                continue
            position = next((i for i, one in enumerate(pending) if one["request"] == message["request"]), None)
            if position is None or position > 0 and message["type"] not in EVENTS:
                raise Mismatch(f"{name}:\n  expected {json.dumps(pending[0])}\n  received {json.dumps(message)}")
            before = dict(self.names)
            problem = self.difference(pending[position], message, "")
            if problem:
                self.names = before
                raise Mismatch(
                    f"{name}: {problem}\n  expected {json.dumps(pending[position])}\n  received {json.dumps(message)}")
            del pending[position]

    def difference(self, expected: Any, value: Any, path: str) -> str | None:
        """Return where and how a value differs from what is expected."""
        if isinstance(expected, str):
            return self.bind(expected, value, path)
        if type(expected) is not type(value):
            return f"{path} is {value!r}"
        if isinstance(expected, dict):
            belongs_to_user = re.search(r"\.(values|old|new|value)(\.|$)", path) is not None
            for key in expected.keys() - value.keys():
                return f"{path}.{key} is missing"
            if belongs_to_user and expected.keys() != value.keys():
                return f"{path} has other keys"
            differences = (self.difference(expected[key], value[key], f"{path}.{key}") for key in expected)
            # An entry that is omitted must not be there, if the protocol gives its absence a meaning.
            unwanted = next((key for key in ("old", "new", "origin", "overruled", "damage", "host", "user", "remedy",
                                             "errno") if key in value and key not in expected), None)  # fmt: skip
            return next(filter(None, differences), f"{path}.{unwanted} is there" if unwanted else None)
        if isinstance(expected, list):
            if len(expected) != len(value):
                return f"{path} has {len(value)} elements"
            return next(filter(None, map(self.difference, expected, value, [f"{path}[]"] * len(value))), None)
        return None if expected == value else f"{path} is {value!r}"

    def bind(self, expected: str, value: Any, path: str) -> str | None:
        """Compare a string with placeholders, and remember what the new ones stand for."""
        whole = re.fullmatch(r"\$(\w+)", expected)
        if whole and whole[1] == "any":
            return None
        if whole and whole[1] in self.names:
            return None if value == self.names[whole[1]] else f"{path} isn't {self.names[whole[1]]!r}"
        form = next((form for start, form in FORMS.items() if whole and whole[1].startswith(start)), None)
        if whole:
            if form is not None and not re.fullmatch(form, str(value)):
                return f"{path} isn't a {whole[1]}: {value!r}"
            self.names[whole[1]] = value
            return None
        if not isinstance(value, str):
            return f"{path} is {value!r}"
        parts = re.split(r"\$(\w+)", expected)
        pattern = ""
        for index, part in enumerate(parts):
            known = part in self.names
            pattern += re.escape(str(self.names[part]) if known else part) if index % 2 == 0 or known else "(.+)"
        return None if re.fullmatch(pattern, value, re.DOTALL) else f"{path} is {value!r}"

    def fill(self, value: Any) -> Any:
        """Return a message to send, with what its placeholders stand for."""
        if isinstance(value, dict):
            return {key: self.fill(item) for key, item in value.items()}
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if not isinstance(value, str):
            return value
        whole = re.fullmatch(r"\$(\w+)", value)
        return self.names[whole[1]] if whole else re.sub(
            r"\$(\w+)", lambda match: str(self.names.get(match[1], match[0])), value)

    # Recording.

    def record(self, step: str) -> None:
        """Record a step, in lines of at most 120 columns."""
        if step.startswith("#") and self.lines and not self.lines[-1].startswith("#"):
            self.lines.append("")
        words, lines = re.split(r"(?<=[,}\]\"]) ", step) if re.match(r"\w+[<>] ", step) else [step], [""]
        for word in words:
            if lines[-1] and len(lines[-1]) + len(word) > 110:
                lines.append("")
            lines[-1] += (" " if lines[-1] else "") + word
        self.lines.append("\n    ".join(lines))

    def replaced(self, value: Any, key: str = "") -> Any:
        """Return a value with placeholders for what differs each time, and for what is written for people."""
        if isinstance(value, dict):
            return {name: self.replaced(item, name) for name, item in value.items()}
        if key in VAGUE and value != "older-version":
            return "$any"
        if isinstance(value, list):
            return [self.replaced(item, key) for item in value]
        if key == "protocol" and value == self.names["version"]:
            return "$version"
        kind = NAMED.get(key)
        if isinstance(value, str) and re.fullmatch(FORMS["cursor"], value) and value not in self.text:
            kind = None if value.startswith("0" * 16) else "cursor"
        if kind is not None:
            known = next((name for name, known in self.names.items() if known == value and name != "version"), None)
            if known is None:
                known = f"{kind}{1 + sum(name.startswith(kind) for name in self.names)}"
                self.names[known] = value
            return f"${known}"
        return value.replace(self.names["directory"], "$directory") if isinstance(value, str) else value


def steps(text: str, *, with_comments: bool) -> list[str]:
    """Return the steps of a transcript, each in one line."""
    text = re.sub(r"\n    +", " ", text)
    return [line for line in text.split("\n") if line.strip() and (with_comments or not line.startswith("#"))]


def as_json(value: Any) -> Any:
    """Return a value of a message in the form of a transcript."""
    if isinstance(value, dict):
        return {key: as_json(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_json(item) for item in value]
    if isinstance(value, bytes):
        return {"$data": value.hex()}
    if isinstance(value, datetime.datetime):
        return {"$date": value.isoformat() + "Z"}
    return value


def from_json(value: Any) -> Any:
    """Return a value in the form of a transcript as one of a message."""
    if isinstance(value, list):
        return [from_json(item) for item in value]
    if not isinstance(value, dict):
        return value
    if value.keys() == {"$data"}:
        return bytes.fromhex(value["$data"])
    if value.keys() == {"$date"}:
        return datetime.datetime.fromisoformat(value["$date"].rstrip("Z"))
    return {key: from_json(item) for key, item in value.items()}


def main() -> int:
    parser = argparse.ArgumentParser(description="Replays conversations with an agent.")
    parser.add_argument("transcripts", nargs="+", type=Path)
    parser.add_argument("--socket", help="the socket of a running agent")
    parser.add_argument("--program", help="the path of defaultsd")
    parser.add_argument("--record", action="store_true", help="print what the agent sends")
    options = parser.parse_args()
    # The agent ends also if this program is ended.
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    if (options.socket is None) == (options.program is None):
        parser.error("Use one of --socket and --program.")
    failures = 0
    for path in options.transcripts:
        text = path.read_text()
        versions = re.search(r"^versions (.*)$", text, re.MULTILINE)
        needs_agent = re.search(r"^(kill|stop|start)$", text, re.MULTILINE) is not None
        for version in map(int, versions[1].split() if versions else ["1"]):
            if needs_agent and options.program is None:
                print(f"{path.name}, version {version}: skipped, since it needs --program")
                continue
            try:
                replay(text, version, options)
                print(f"{path.name}, version {version}: as recorded")
            except Mismatch as mismatch:
                failures += 1
                print(f"{path.name}, version {version}: {mismatch}")
            if options.record:
                break
    return 1 if failures else 0


def replay(text: str, version: int, options: argparse.Namespace) -> None:
    if options.program is None:
        Transcript(text, version, options.socket, None, options.record).replay()
        return
    with tempfile.TemporaryDirectory(prefix="replay-", ignore_cleanup_errors=True) as directory:
        agent = Agent(options.program, directory)
        try:
            agent.start()
            transcript = Transcript(text, version, agent.socket, agent, options.record)
            try:
                transcript.replay()
            finally:
                if options.record:
                    print("\n".join(transcript.lines))
        finally:
            agent.end(signal.SIGKILL)
            agent.ready.close()


if __name__ == "__main__":
    sys.exit(main())
