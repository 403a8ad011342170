"""The requests to a location's agent, across its restarts."""

from __future__ import annotations

import contextlib
import errno
import os
import secrets
import threading
import time
import weakref
from collections.abc import Callable, Generator
from dataclasses import dataclass
from typing import Any

from .absence import no_agent
from .connection import USUAL, Connection, Lost, Message, Timeouts, connect, run
from .errors import AgentUnavailableError, DefaultsError, make
from .location import Location
from .values import find

# The time for which a call waits for an agent that was there and is gone, as during an upgrade.
_RETURN = 5.0
# The number of connections that a call may lose, so that an agent that a request ends doesn't get it forever.
_MAXIMUM_LOSSES = 10


def delays() -> Generator[float, None, None]:
    """Yield the delays between attempts to reach an agent, which grow."""
    delay = 0.01
    while True:
        yield delay
        delay = min(2 * delay, 0.5)


@dataclass
class Edit:
    """An edit of one domain; `domain` has the entries that name it."""

    domain: dict[str, str]
    set: dict[str, Any]
    remove: list[str]
    expected: dict[str, Any] | None = None
    absent: list[str] | None = None
    origin: dict[str, str] | None = None

    def entries(self) -> Message:
        entries: Message = {"type": "edit", **self.domain, "set": self.set, "remove": self.remove}
        optional = {"expected": self.expected, "absent": self.absent, "origin": self.origin}
        return entries | {name: value for name, value in optional.items() if value is not None}


class Channel:
    """Requests to a location's agent, one at a time, across its restarts. Any thread may use it.

    A channel is one session of the protocol: it numbers its edits, and sends an edit that wasn't answered again.
    A child of `fork` begins a session of its own.
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        self._begin()
        _channels.add(self)

    def _begin(self) -> None:
        self._lock = threading.Lock()
        self._connection: Connection | None = None
        self._session, self._edits = secrets.randbits(63), 0

    def call(
        self, requests: Callable[[Message], list[Message]], timeouts: Timeouts = USUAL
    ) -> list[Message] | None:
        """Send requests that change nothing, which are made for the agent's welcome, and return their answers.

        Returns `None` if there is no agent.
        """
        with self._lock:
            for connection in self._connections():
                with self._dropping_lost():
                    numbers = [connection.send(request) for request in requests(connection.welcome)]
                    return [run(connection.answer(number, timeouts)) for number in numbers]
        return None

    def edit(self, edit: Edit, timeouts: Timeouts = USUAL) -> str:
        """Make an edit, and return the cursor at which it is in effect.

        Raises `AgentUnavailableError` if there is no agent; if the edit was sent, the error says that it may have been
        made. Raises the agent's error if it refuses the edit.
        """
        with self._lock:
            attempt = _Attempt(edit, timeouts, {"session": self._session, "edit": self._next_number()})
            try:
                for connection in self._connections():
                    with self._dropping_lost():
                        try:
                            return attempt.make(connection)
                        except DefaultsError as error:
                            if error.code != "late":
                                raise
                        # The agent was stopped for so long that it can't know that this call still waits. Nothing has
                        # changed, so the edit is made now.
                        attempt = _Attempt(edit, timeouts, {"session": self._session, "edit": self._next_number()})
                        attempt.sends_time = False
                        return attempt.make(connection)
                raise run(no_agent(self.location))
            except AgentUnavailableError as error:
                if not attempt.is_sent:
                    raise
                what = f"{error.what} The edit was sent and may have been made."
                remedy = " ".join(filter(None, [error.remedy, "Read the value before you try again."]))
                raise make(error.code, what, remedy=remedy, errno=error.errno) from error

    def _next_number(self) -> int:
        self._edits += 1
        return self._edits

    def _connections(self) -> Generator[Connection, None, None]:
        """Yield connections, the next one if the last one was lost, until no agent answers."""
        for _ in range(_MAXIMUM_LOSSES):
            end = time.monotonic() + _RETURN
            if self._connection is not None and self._connection.is_lost():
                self._drop()
            for delay in delays():
                if self._connection is None and self.location.uses_agent:
                    with self._dropping_lost():
                        self._connection = run(connect(self.location))
                if self._connection is not None:
                    break
                if self.location not in _served or time.monotonic() + delay > end:
                    _served.discard(self.location)
                    return
                time.sleep(delay)
            _served.add(self.location)
            if self._connection is not None:
                yield self._connection

    @contextlib.contextmanager
    def _dropping_lost(self) -> Generator[None, None, None]:
        """Drop a connection that can't be used after an error, and suppress the error if the connection is lost."""
        try:
            yield
        except Lost:
            self._drop()
        except DefaultsError as error:
            if error.code == "protocolViolation" or error.errno == errno.ETIMEDOUT:
                self._drop()
            raise
        except BaseException:
            self._drop()
            raise

    def _drop(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


class _Attempt:
    """The attempts to make one edit, each on another connection."""

    def __init__(self, edit: Edit, timeouts: Timeouts, identity: Message) -> None:
        self.edit, self.timeouts = edit, timeouts
        self.request = {**edit.entries(), **identity}
        self.time = time.time_ns()
        self.sends_time = True
        self.is_sent = False
        self.epoch = ""
        # The values that the edit replaces, without which it can't be sent again.
        self.former: Message | None = None

    def make(self, connection: Connection) -> str:
        epoch = connection.welcome["cursor"].split(":")[0]
        if not self.is_sent:
            self.epoch = epoch
            reading = None if self.edit.expected is not None else self.read(connection)
            number = self.send(connection, {"time": self.time} if self.sends_time else {})
            if reading is not None:
                self.receive(connection, reading)
        else:
            if self.edit.expected is None and self.former is not None:
                number = self.send(connection, {"time": self.time, "replacing": self.former})
            elif epoch != self.epoch:
                # Only the log that had the edit can tell whether it was made.
                raise make("agentUnavailable", "The agent has lost its log.")
            else:
                # If it wasn't made, it is made now: without a time, it can't be late.
                number = self.send(connection, {})
        cursor: str = run(connection.answer(number, self.timeouts))["cursor"]
        return cursor

    def send(self, connection: Connection, entries: Message) -> int:
        number = connection.send({**self.request, **entries})
        self.is_sent = True
        return number

    def read(self, connection: Connection) -> int:
        keys = [*self.edit.set, *self.edit.remove]
        return connection.send({"type": "read", **self.edit.domain, "keys": keys})

    def receive(self, connection: Connection, number: int) -> None:
        """Receive the values that the edit replaces."""
        values = run(connection.answer(number, self.timeouts))["values"]
        found = {key: find(values, key) for key in [*self.edit.set, *self.edit.remove]}
        self.former = {key: value for key, value in found.items() if value is not None}


# The locations whose agent was there when it was last tried.
_served: set[Location] = set()
_channels: weakref.WeakSet[Channel] = weakref.WeakSet()


def _in_child() -> None:
    """Let a child of `fork` begin sessions of its own: the locks may be held by threads that don't exist here."""
    for channel in list(_channels):
        # The socket is only closed here; the parent still has it.
        channel._drop()
        channel._begin()


os.register_at_fork(after_in_child=_in_child)
