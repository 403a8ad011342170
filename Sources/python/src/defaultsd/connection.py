"""The connection to an agent.

Everything that waits is a generator, which yields a `Wait` and is sent whether the awaited event has come. So the same
code serves threads (`run`) and asyncio (in `streams`).
"""

from __future__ import annotations

import errno
import os
import select
import socket
import struct
import sys
import time
from collections.abc import Generator
from typing import Any, NamedTuple, TypeVar

from . import plist
from .errors import AgentUnavailableError, DefaultsError, make, of_failure
from .location import Location, is_locked

T = TypeVar("T")
Message = dict[str, Any]

_FRAME_LIMIT = 64 << 20
_GREETING_LIMIT = 1 << 20


class Wait(NamedTuple):
    """A wait for events on a descriptor; only for time, if the descriptor is -1."""

    descriptor: int
    events: int
    timeout: float | None


Steps = Generator[Wait, bool, T]


class Timeouts(NamedTuple):
    """The silence, in seconds, after which an agent that is stopped, or one that is only busy, counts as hung."""

    stopped: float
    busy: float


USUAL = Timeouts(5, 60)
DISK = Timeouts(30, 60)
_STARTING = Timeouts(5, 10)
OTHER_AGENT = Timeouts(0.25, 0.25)


def run(steps: Steps[T]) -> T:
    """Make the waits of some steps on this thread, and return their result."""
    try:
        wait = next(steps)
        while True:
            wait = steps.send(poll(wait))
    except StopIteration as stop:
        result: T = stop.value
        return result


def poll(wait: Wait) -> bool:
    """Wait on this thread; return whether an event has come."""
    if wait.descriptor < 0:
        time.sleep(wait.timeout or 0)
        return False
    return poll_all([(wait.descriptor, wait.events)], wait.timeout)


def poll_all(waits: list[tuple[int, int]], timeout: float | None) -> bool:
    """Wait for one of several descriptors, each with its events; return whether an event has come."""
    limit = None if timeout is None else max(0, timeout)
    if hasattr(select, "poll"):
        poller = select.poll()
        for descriptor, events in waits:
            poller.register(descriptor, events)
        return bool(poller.poll(None if limit is None else limit * 1000))
    # eventlet removes `poll`, which would block all green threads, and replaces `select`, for any descriptors.
    reading = [descriptor for descriptor, events in waits if events & select.POLLIN]
    writing = [descriptor for descriptor, events in waits if events & select.POLLOUT]
    return any(select.select(reading, writing, [], limit))


class Lost(AgentUnavailableError):
    """The connection to the agent was lost; another attempt may reach the agent or the next one."""

    def __init__(self, number: int | None) -> None:
        reason = os.strerror(number or errno.ECONNRESET)
        super().__init__("agentUnavailable", f"The connection to the agent was lost: {reason}.", errno=number)


class Connection:
    """A connection to an agent, for one thread at a time."""

    def __init__(self, path: str) -> None:
        """Begin to connect to the program at a path.

        Raises `OSError` if it can't be reached, or `PermissionError` if it is neither this user's nor root's.
        """
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM | socket.SOCK_NONBLOCK | socket.SOCK_CLOEXEC)
        # gevent and eventlet replace the class, and make calls of the replacement block unless this one is made.
        self.socket.setblocking(False)
        self._incoming, self._outgoing, self._number = bytearray(), bytearray(), 0
        self.welcome: Message = {}
        try:
            self.socket.connect(path)
            # Any program that can replace the file can listen there, so this is checked before anything is sent.
            credentials = self.socket.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, 12)
            self.pid, user, _ = struct.unpack("3i", credentials)
            if user not in (os.geteuid(), 0):
                raise PermissionError(errno.EPERM, "The program at the socket belongs to another user.")
            self.starts_agent = _is_service_manager(self.pid)
        except BaseException:
            self.close()
            raise

    def close(self) -> None:
        self.socket.close()

    def __del__(self) -> None:
        self.close()

    def is_lost(self) -> bool:
        """Return whether the agent has closed the connection."""
        try:
            return not self.socket.recv(1, socket.MSG_PEEK)
        except BlockingIOError:
            return False
        except OSError:
            return True

    def send(self, message: Message) -> int:
        """Put a request into the buffer that the next wait sends, and return its number."""
        body = plist.encode({**message, "request": self._number + 1})
        if len(body) > _FRAME_LIMIT:
            what = f"The values are too large to set at once: {len(body)} bytes, and the agent accepts {_FRAME_LIMIT}."
            raise make("invalidValue", what, remedy="Store large data in a file of its own.")
        self._number += 1
        self._outgoing += struct.pack(">I", len(body)) + body
        return self._number

    def next(self) -> Message | None:
        """Return the next message that has arrived completely."""
        size = int.from_bytes(self._incoming[:4], "big")
        # Another program than an agent may send anything.
        if len(self._incoming) >= 4 and not self.welcome and size > _GREETING_LIMIT:
            raise make("protocolViolation", "The program at the socket isn't an agent.")
        if len(self._incoming) < 4 + size or len(self._incoming) < 4:
            return None
        body = bytes(self._incoming[4 : 4 + size])
        del self._incoming[: 4 + size]
        try:
            message = plist.decode(body)
        except ValueError as error:
            raise make("protocolViolation", f"A message of the agent is damaged: {error}") from error
        if not isinstance(message, dict) or not {"type", "request"} <= message.keys():
            raise make("protocolViolation", "A message of the agent has no type or no request.")
        return message

    def has_message(self) -> bool:
        """Return whether a complete message has arrived."""
        return len(self._incoming) >= 4 and len(self._incoming) - 4 >= int.from_bytes(self._incoming[:4], "big")

    def progress(self, timeout: float | None) -> Steps[bool]:
        """Wait until bytes can be sent or received, and do so; return `False` after the timeout.

        Raises `Lost` if the connection is lost.
        """
        # Sending alone must not block: the agent may be blocked while it sends to this client.
        try:
            self._flush()
            events = select.POLLIN | (select.POLLOUT if self._outgoing else 0)
            if not (yield Wait(self.socket.fileno(), events, timeout)):
                return False
            self._flush()
            try:
                data = self.socket.recv(1 << 16)
            except BlockingIOError:
                return True
        except OSError as error:
            raise Lost(error.errno) from error
        if not data:
            raise Lost(errno.ECONNRESET)
        self._incoming += data
        return True

    def _flush(self) -> None:
        while self._outgoing:
            try:
                sent = self.socket.send(self._outgoing[: 1 << 20], socket.MSG_NOSIGNAL)
            except BlockingIOError:
                return
            except OSError as error:
                # An agent that refuses a connection sends the reason and closes it, perhaps before the first request.
                if error.errno not in (errno.EPIPE, errno.ECONNRESET):
                    raise
                self._outgoing.clear()
                return
            del self._outgoing[:sent]

    def answer(self, number: int, timeouts: Timeouts) -> Steps[Message]:
        """Wait for the answer to a request; events and other answers before it are dropped.

        Raises the error with which the agent refuses the request, or `AgentUnavailableError`.
        """
        start = time.monotonic()
        while True:
            message = self.next()
            if message is None:
                if not (yield from self.progress(timeouts.stopped)):
                    elapsed = time.monotonic() - start
                    if elapsed >= timeouts.busy or _state(self.pid) != "running":
                        raise self._silence(elapsed)
            # The number 0 is that of an error after which the agent closes the connection.
            elif message["request"] in (number, 0):
                if message["type"] == "failure":
                    raise of_failure(message)
                return message

    def greet(self, location: Location, timeouts: Timeouts) -> Steps[bool]:
        """Greet the agent; return whether it serves the location's directory."""
        if self.starts_agent:
            timeouts = _STARTING
        hello = {"type": "hello", "protocol": 1, "newest": 2, "client": sys.argv[0] or sys.executable or "python"}
        self.welcome = yield from self.answer(self.send(hello), timeouts)
        if not {"pid", "directory", "system", "cursor"} <= self.welcome.keys():
            raise make("protocolViolation", f"The agent at {location.socket} sends an incomplete welcome.")
        if self.starts_agent:
            self.pid, self.starts_agent = self.welcome["pid"], False
        directory = self.welcome["directory"]
        if _is_same(directory, location.directory):
            return True
        if location.is_explicit:
            what = f"The agent at {location.socket} serves {directory}, not {location.directory}."
            raise make("agentRefused", what, remedy="Name another socket with DEFAULTSD_SOCKET, or another directory.")
        return False

    def _silence(self, elapsed: float) -> DefaultsError:
        if self.starts_agent:
            what = f"The service manager has not started the agent within {elapsed:.0f} s."
            remedy = "To see why, run `systemctl --user status defaultsd`."
        else:
            name = f"pid {self.pid}" if self.pid > 0 else "in another namespace"
            what = f"The agent ({name}) has not responded for {elapsed:.0f} s."
            state = _state(self.pid)
            remedy = f"To continue without it, run `kill -KILL {self.pid}`." if state != "unknown" else ""
            if state == "stopped":
                what += " It is stopped."
                remedy = f"To resume it, run `kill -CONT {self.pid}`. " + remedy
        return make("agentUnavailable", what, remedy=remedy or None, errno=errno.ETIMEDOUT)


def connect(location: Location) -> Steps[Connection | None]:
    """Connect to a location's agent and greet it; return `None` if there is none.

    If the user didn't name the socket, the agent may also listen on the socket that the directory's lock file names.

    Raises `DefaultsError` if the agent can't be used, or doesn't answer.
    """
    is_held = location.is_explicit or is_locked(location.socket + ".lock")
    try:
        connection = yield from _try(location, USUAL if is_held else OTHER_AGENT)
    except DefaultsError:
        # Any other program that listens at the default path is ignored.
        if is_held:
            raise
        connection = None
    claimed = None if connection is not None or location.is_explicit else location.claimed()
    if claimed is None:
        return connection
    try:
        return (yield from _try(claimed, USUAL))
    except DefaultsError as error:
        if error.errno == errno.ETIMEDOUT:
            raise
        return None


def _try(location: Location, timeouts: Timeouts) -> Steps[Connection | None]:
    if not location.may_have_agent():
        return None
    end = time.monotonic() + timeouts.stopped
    while True:
        try:
            connection = Connection(location.socket)
            break
        except (ConnectionRefusedError, FileNotFoundError):
            return None
        except OSError as error:
            # EAGAIN: the queue of the listening socket is full.
            if error.errno != errno.EAGAIN or time.monotonic() > end:
                what = f"The agent's socket {location.socket} can't be reached"
                raise make("agentUnavailable", what, errno=error.errno) from error
        yield Wait(-1, 0, 0.01)
    try:
        if (yield from connection.greet(location, timeouts)):
            return connection
        connection.close()
        return None
    except BaseException:
        connection.close()
        raise


def _is_same(first: str, second: str) -> bool:
    try:
        return os.path.realpath(first) == os.path.realpath(second) or os.path.samefile(first, second)
    except OSError:
        return False


def _is_service_manager(pid: int) -> bool:
    """Return whether the listening process starts the agent when a client connects.

    A program that inherits the socket and listens becomes the peer, even after its end. So if the peer no longer
    exists, a service manager is listening. A peer in another namespace has the ID 0.
    """
    if pid <= 0:
        return False
    try:
        with open(f"/proc/{pid}/comm", "rb") as file:
            return file.read(64).startswith((b"systemd", b"dinit"))
    except (FileNotFoundError, ProcessLookupError):
        return True
    except OSError:
        return False


def _state(pid: int) -> str:
    """Return whether a process is `running` or `stopped`; `unknown` if it has ended or is in another namespace."""
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            # The name before the state may contain anything.
            letter = file.read(1024).rpartition(b") ")[2][:1]
    except OSError:
        return "unknown"
    return {b"T": "stopped", b"t": "stopped", b"Z": "unknown", b"X": "unknown", b"": "unknown"}.get(letter, "running")
