"""Streams of events, for `for` and for `async for`."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import select
import threading
import time
from collections.abc import AsyncIterator, Callable, Generator, Iterator
from typing import Any, TypeVar

from .channel import delays, no_agent
from .connection import Connection, Lost, Message, Wait, connect
from .errors import DefaultsError, of_failure
from .events import Event, Place, parse
from .layers import search_list
from .location import GLOBAL, Location
from .plist import encode
from .values import find, public, same_key

T = TypeVar("T")
_log = logging.getLogger("defaultsd")


class Stream(Iterator[T], AsyncIterator[T]):
    """An endless stream, which one thread or one task reads with `for` or `async for`.

    One class serves both, since a stream has the same position and the same promises either way. It begins with the
    first item that is asked for, or with `with` (or `async with`), which returns as soon as the agent has subscribed
    it: from there on, no change is missed. `with` also closes the stream at its end.

    If the agent ends, is restarted or upgraded, the stream continues from its cursor with the next agent, for which it
    waits without limit. Only the first attempt raises `AgentUnavailableError` if there is no agent.

    A slow reader costs the agent no memory: what isn't read yet stays in the agent's log. Canceling the task that waits
    for the next item loses nothing. Any thread may call `close`, which ends the iteration.

    After `fork`, the child must create a stream of its own: the parent's raises `DefaultsError` there.
    """

    def __init__(self, location: Location, subscription: Message) -> None:
        self._location, self._subscription = location, subscription
        self._cursor: str | None = subscription["from"] if ":" in subscription["from"] else None
        self._has_begun = self._is_closed = False
        self._steps = self._run()
        # The wait that the steps are in, and the outcome of the last one.
        self._waiting: Wait | None = None
        self._outcome: Any = None
        self._reading = threading.Lock()
        self._process = os.getpid()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def cursor(self) -> str | None:
        """The position after the last item, from which `changes(since=…)` continues; `None` if it isn't known yet."""
        return self._cursor

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        if (item := self._block(None)) is None:
            raise StopIteration
        return item[0]

    def wait(self, timeout: float) -> tuple[T] | None:
        """Wait for the next item, and return a tuple of it; `None` after the timeout, or if the stream is closed."""
        return self._block(time.monotonic() + timeout)

    def __aiter__(self) -> Stream[T]:
        return self

    async def __anext__(self) -> T:
        if (item := await self._suspend()) is None:
            raise StopAsyncIteration
        return item[0]

    def __enter__(self) -> Stream[T]:
        self._block(None, until_begun=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream[T]:
        await self._suspend(until_begun=True)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stream. Any thread may call this, also while another one waits for an item."""
        self._is_closed = True
        if self._reading.acquire(blocking=False):
            self._dispose()
            self._reading.release()
        else:
            os.eventfd_write(self._wake, 1)

    def __del__(self) -> None:
        self._dispose()

    def _dispose(self) -> None:
        wake, self._wake = self._wake, -1
        if wake >= 0:
            self._steps.close()
            os.close(wake)

    # The steps of the stream, and the two ways to wait for them.

    def _items(self, message: Message, connection: Connection) -> Iterator[T]:
        """Return the items of an event."""
        raise NotImplementedError

    def _run(self) -> Generator[Wait | tuple[T] | tuple[()], bool, None]:
        """Yield waits, items in tuples, and an empty tuple as soon as the stream has begun."""
        pauses, reported = delays(), ""
        while True:
            connection: Connection | None = None
            try:
                connection = (yield from connect(self._location)) if self._location.uses_agent else None
                if connection is None and not self._has_begun:
                    raise no_agent(self._location)
                if connection is not None:
                    pauses = delays()
                    yield from self._follow(connection)
            except Lost:
                pass
            except DefaultsError as error:
                if not self._has_begun:
                    raise
                if str(error) != reported:
                    _log.warning("The agent can't be reached, and will be tried again: %s", error)
                reported = str(error)
            finally:
                if connection is not None:
                    connection.close()
            yield Wait(-1, 0, next(pauses))

    def _follow(self, connection: Connection) -> Generator[Wait | tuple[T] | tuple[()], bool, None]:
        number = connection.send({**self._subscription, "from": self._cursor or self._subscription["from"]})
        while True:
            message = connection.next()
            if message is None:
                yield from connection.progress(None)
            elif message["type"] == "failure":
                raise of_failure(message)
            elif message["request"] != number:
                continue
            elif message["type"] == "subscribed":
                if self._cursor is None and self._subscription["from"] == "now":
                    self._cursor = message["cursor"]
                if not self._has_begun:
                    self._has_begun = True
                    yield ()
            else:
                items = list(self._items(message, connection))
                self._cursor = message.get("cursor", self._cursor)
                for item in items:
                    yield (item,)

    def _step(self) -> Wait | tuple[T] | tuple[()] | None:
        """Return the wait that the stream is in, or what comes next; `None` at the end."""
        if self._waiting is None and not self._is_closed:
            try:
                result = self._steps.send(self._outcome)
            except StopIteration:
                return None
            self._waiting = result if isinstance(result, Wait) else None
            return result
        return None if self._is_closed else self._waiting

    def _finish_wait(self, outcome: bool) -> None:
        self._waiting, self._outcome = None, outcome

    def _block(self, end: float | None, *, until_begun: bool = False) -> tuple[T] | None:
        with self._exclusively():
            while (step := self._step()) is not None:
                if not isinstance(step, Wait):
                    if step or until_begun:
                        return step or None
                    continue
                left = None if end is None else max(0, end - time.monotonic())
                is_last = left is not None and (step.timeout is None or left < step.timeout)
                poller = select.poll()
                poller.register(self._wake, select.POLLIN)
                if step.descriptor >= 0:
                    poller.register(step.descriptor, step.events)
                limit = left if is_last else step.timeout
                found = poller.poll(None if limit is None else limit * 1000)
                if not found and is_last:
                    return None
                self._finish_wait(bool(found))
        return None

    async def _suspend(self, *, until_begun: bool = False) -> tuple[T] | None:
        with self._exclusively():
            while (step := self._step()) is not None:
                if isinstance(step, Wait):
                    # If the task is canceled here, the wait is made again by the next call.
                    self._finish_wait(await self._await(step))
                elif step or until_begun:
                    return step or None
        return None

    async def _await(self, wait: Wait) -> bool:
        loop = asyncio.get_running_loop()
        came = asyncio.Event()
        loop.add_reader(self._wake, came.set)
        if wait.descriptor >= 0:
            loop.add_reader(wait.descriptor, came.set)
            if wait.events & select.POLLOUT:
                loop.add_writer(wait.descriptor, came.set)
        try:
            await asyncio.wait_for(came.wait(), wait.timeout)
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            loop.remove_reader(self._wake)
            if wait.descriptor >= 0:
                loop.remove_reader(wait.descriptor)
                loop.remove_writer(wait.descriptor)

    @contextlib.contextmanager
    def _exclusively(self) -> Iterator[None]:
        if os.getpid() != self._process:
            raise RuntimeError("This stream belongs to the parent process. Create one after the fork.")
        if not self._reading.acquire(blocking=False):
            raise RuntimeError("Another thread or task reads this stream. Create a stream for each.")
        try:
            yield
        finally:
            if self._is_closed:
                self._dispose()
            self._reading.release()


class Changes(Stream[Event]):
    """A stream of the events of a domain: `Change`, `Gap`, `Snapshot` and `Condition`.

    Change sets arrive whole, in order and once. If some are no longer available, a `Gap` says so, and a `Snapshot` of
    each place that has values follows.
    """

    def _items(self, message: Message, connection: Connection) -> Iterator[Event]:
        event = parse(message)
        return iter(() if event is None else (event,))


class Values(Stream[T]):
    """A stream of a key's value in effect: the current one first, and then each that differs from the last.

    A slow reader misses values in between, but always gets the newest.
    """

    def __init__(
        self, location: Location, domain: str, host: str | None, key: str, convert: Callable[[Any], T]
    ) -> None:
        super().__init__(
            location,
            {
                "type": "subscribe",
                "from": "snapshot",
                "mode": "latest",
                "domains": [exactly(domain), exactly(GLOBAL)],
                "keys": [exactly(key)],
            },
        )
        self._domain, self._host, self._key, self._convert = domain, host, key, convert
        self._values: dict[Place, Any] = {}
        self._is_complete = False
        self._last: bytes | None = None

    def _items(self, message: Message, connection: Connection) -> Iterator[T]:
        kind = message["type"]
        if kind == "gap":
            self._values, self._is_complete = {}, False
        elif kind == "unknown":
            # Only a snapshot has the values now.
            self._cursor, self._values, self._is_complete = None, {}, False
            raise Lost(None)
        elif kind == "bookmark":
            self._is_complete = True
        elif kind in ("initial", "change"):
            place = Place(message["domain"], message.get("host"), message.get("user"))
            if kind == "initial":
                self._values[place] = find(message["values"], self._key)
            for change in message.get("changes", []):
                if same_key(change["key"], self._key):
                    self._values[place] = change.get("new")
        # A reader that is behind only needs the newest value.
        if not self._is_complete or connection.has_message():
            return
        welcome = connection.welcome
        places = search_list(self._domain, self._host, welcome["system"], welcome.get("managed"))
        value = next((self._values[place] for place in places if self._values.get(place) is not None), None)
        # Python's `==` would take 1, 1.0 and True for the same value.
        mark = b"" if value is None else encode(value)
        if mark != self._last:
            self._last = mark
            yield self._convert(public(value))


def exactly(name: str) -> str:
    """Return a pattern that matches only a name."""
    return re.sub(r"([*?\\])", r"\\\1", name)
