"""Replays the conversations through the bridge and the package, and checks that the replay finds differences.

`.ci/python` replays all of them with the agent itself.
"""

from __future__ import annotations

import argparse
import base64
import datetime
import json
import os
import socket
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, ClassVar

import pytest

from defaultsd.connection import Connection, Lost, run
from defaultsd.plist import Date
from defaultsd.testing import program

REFERENCE = datetime.datetime(2001, 1, 1)
PROTOCOL = Path(__file__).parent.parent / "Protocol"
sys.path.insert(0, str(PROTOCOL))
import replay  # noqa: E402


def options() -> argparse.Namespace:
    return argparse.Namespace(program=program("defaultsd"), socket=None, record=False)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ('"new": 6, "old": 5', '"new": 6, "old": 4'),  # another value
        ('"new": 6, "old": 5', '"new": 6'),  # no value
        ('"values": {"c": 4}', '"values": {}'),  # a value too many
        ('"values": {"c": 4}', '"values": {"c": 4.0}'),  # another type
        ('"type": "edited", "cursor": "$cursor2"', '"type": "edited", "cursor": "$cursor1"'),  # another cursor
        ('a< {"request": 9, "type": "synchronized"', 'a< {"request": 8, "type": "synchronized"'),
        ('a< {"request": 12, "type": "bookmark", "cursor": "$cursor5"}\n', ""),  # a message too many
        ('kill\nstart\n', 'a< {"request": 12, "type": "ended"}\nkill\nstart\n'),  # a message too few
    ],
)
def test_a_difference_is_found(monkeypatch: pytest.MonkeyPatch, old: str, new: str) -> None:
    monkeypatch.setattr(replay, "TIMEOUT", 1)
    text = (PROTOCOL / "edit.txt").read_text()
    assert old in text
    with pytest.raises((replay.Mismatch, AssertionError)):
        replay.replay(text.replace(old, new, 1), 2, options())


def test_an_answer_before_its_event_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """The event that an answer covers must come first, while events of other requests may come in any order."""
    messages: list[dict[str, object]] = []
    monkeypatch.setattr(replay.Connection, "receive", lambda self: messages.pop(0))
    event = {"request": 2, "type": "bookmark", "cursor": "00f1e2d3c4b5a697:1"}
    answer = {"request": 3, "type": "edited", "cursor": "00f1e2d3c4b5a697:1"}
    transcript = replay.Transcript("", 2, "", None, False)
    transcript.connections["a"] = object.__new__(replay.Connection)
    messages[:] = [event, answer]
    transcript.receive("a", [event, answer])
    messages[:] = [event, answer]
    transcript.receive("a", [answer, event])
    messages[:] = [answer, event]
    with pytest.raises(replay.Mismatch):
        transcript.receive("a", [event, answer])


class PackageConnection(replay.Connection):
    """A connection of the package, which numbers requests by itself. It is its own socket for the replay."""

    def __init__(self, path: str) -> None:
        self.client, self.limit = Connection(path), float(replay.TIMEOUT)
        self.socket = self  # type: ignore[assignment]
        # The transcript's number of each request, and the other way round.
        self.recorded: dict[int, int] = {}
        self.sent: dict[int, int] = {}

    def settimeout(self, seconds: float) -> None:
        self.limit = seconds

    def close(self) -> None:
        self.client.close()

    def send(self, message: dict[str, Any]) -> None:
        if "subscription" in message:
            number = message["subscription"]
            message = {**message, "subscription": self.sent.get(number, number)}
        number = self.client.send(each(message, to_package))
        self.recorded[number], self.sent[message["request"]] = message["request"], number
        run(self.client.progress(0))

    def receive(self) -> dict[str, Any]:
        try:
            while (message := self.client.next()) is None:
                if not run(self.client.progress(self.limit)):
                    raise BlockingIOError if self.limit == 0 else TimeoutError
        except Lost as error:
            raise EOFError from error
        message["request"] = self.recorded.get(message["request"], 0)
        result: dict[str, Any] = each(message, from_package)
        return result


class BridgedConnection(replay.Connection):
    """A connection through `defaults bridge`, which greets the agent by itself."""

    processes: ClassVar[set[int]] = set()
    sockets: ClassVar[list[socket.socket]] = []

    def __init__(self, path: str) -> None:
        self.socket, end = socket.socketpair()
        self.socket.settimeout(replay.TIMEOUT)
        environment = {"DEFAULTSD_SOCKET": path, "DEFAULTS_DIRECTORY": str(Path(path).parent / "preferences")}
        self.process = subprocess.Popen(
            [program("defaults"), "bridge"], stdin=end, stdout=end, env={**os.environ, **environment}  # type: ignore[call-overload]
        )
        self.processes.add(self.process.pid)
        self.sockets.append(self.socket)
        end.close()
        self.unread = b""

    def send(self, message: dict[str, Any]) -> None:
        if message["type"] == "hello":
            self.hello = message["request"]
        else:
            self.socket.sendall(json.dumps(each(message, to_bridge)).encode() + b"\n")

    def receive(self) -> dict[str, Any]:
        while b"\n" not in self.unread:
            data = self.socket.recv(1 << 16)
            if not data:
                raise EOFError("The bridge has ended.")
            self.unread += data
        line, _, self.unread = self.unread.partition(b"\n")
        message: dict[str, Any] = json.loads(line, object_hook=from_bridge)
        if message["type"] == "welcome":
            message["request"] = self.hello
        return message


def each(value: Any, change: Callable[[Any], Any]) -> Any:
    """Return a value with each value in it changed."""
    if isinstance(value, dict):
        return {key: each(item, change) for key, item in value.items()}
    return [each(item, change) for item in value] if isinstance(value, list) else change(value)


def to_package(value: Any) -> Any:
    """Return a single value as the package has it in messages."""
    return Date((value - REFERENCE).total_seconds()) if isinstance(value, datetime.datetime) else value


def from_package(value: Any) -> Any:
    return REFERENCE + datetime.timedelta(seconds=value) if isinstance(value, Date) else value


def to_bridge(value: Any) -> Any:
    """Return a single value as the bridge reads it."""
    if isinstance(value, bytes):
        return {"$data": base64.b64encode(value).decode()}
    return {"$date": value.isoformat() + "Z"} if isinstance(value, datetime.datetime) else value


def from_bridge(value: dict[str, Any]) -> Any:
    """Return an object of the bridge as a value of a message."""
    # The writer is the bridge, which the transcript doesn't know.
    if value.get("pid") in BridgedConnection.processes:
        value["pid"] = os.getpid()
    match list(value.items()):
        case [("$data", str(text))]:
            return base64.b64decode(text)
        case [("$date", str(text))]:
            return datetime.datetime.fromisoformat(text.rstrip("Z"))
        case [("$integer", str(text))]:
            return int(text)
        case [("$real", str(text))]:
            return float(text)
    return value


# These are about bytes, versions and numbers that clients of the bridge and the package can't send.
LOWER = {"equivalent-keys.txt", "hello.txt", "same-number.txt", "violations.txt"}


@pytest.mark.parametrize("name", sorted({path.name for path in PROTOCOL.glob("*.txt")} - LOWER))
@pytest.mark.parametrize("connection", [PackageConnection, BridgedConnection])
def test_a_conversation_goes_as_recorded(
    monkeypatch: pytest.MonkeyPatch, connection: type[replay.Connection], name: str
) -> None:
    if connection is BridgedConnection and name == "hand-over.txt":
        pytest.skip("The bridge takes no handOver.")
    monkeypatch.setattr(replay, "Connection", connection)
    try:
        replay.replay((PROTOCOL / name).read_text(), 2, options())
    finally:
        # A bridge that ran on would start an agent.
        while BridgedConnection.sockets:
            BridgedConnection.sockets.pop().close()
