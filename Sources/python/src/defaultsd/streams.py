"""Streams of events, for `for` and for `async for`."""

from __future__ import annotations

import asyncio
import contextlib
import math
import os
import select
import threading
import time
from collections.abc import AsyncIterator, Iterator
from typing import Any, NoReturn, TypeVar

from .connection import Wait, poll_all
from .following import Follower

T = TypeVar("T")


class Stream(Iterator[T], AsyncIterator[T]):
    """An endless stream, which one thread or one task reads with `for` or `async for`.

    One class serves both, since a stream has the same position and the same promises either way. It begins with the
    first item that is asked for, or with `with` (or `async with`), which returns as soon as the agent has subscribed
    it: from there on, no change is missed. `with` also closes the stream at its end.

    If the agent ends, is restarted or upgraded, the stream continues from its cursor with the next agent, for which it
    waits without limit. Only the first attempt raises `AgentUnavailableError` if there is no agent.

    A slow reader costs the agent no memory: what isn't read yet stays in the agent's log. Canceling the task that waits
    for the next item loses nothing. Any thread may call `close`, which ends the iteration.

    After `fork`, the child must create a stream of its own: the parent's raises `RuntimeError` there, as does one that
    another thread or task is reading.
    """

    def __init__(self, follower: Follower[T]) -> None:
        self._wake = -1
        # Protects `_wake` and `_is_closed`, which `close` uses beside a thread that reads.
        self._guard = threading.Lock()
        self._follower = follower
        # The steps refer to the follower, but not to the stream. So a stream that is no longer used closes at once.
        self._steps = follower.steps()
        self._is_closed = False
        # The wait that the steps are in, its end, and the outcome of the last one.
        self._waiting: Wait | None = None
        self._end = math.inf
        self._outcome: Any = None
        self._reading = threading.Lock()
        self._process = os.getpid()
        self._wake = os.eventfd(0, os.EFD_CLOEXEC | os.EFD_NONBLOCK)

    @property
    def cursor(self) -> str | None:
        """The position after the last item, from which `changes(since=…)` continues; `None` if it isn't known yet."""
        return self._follower.cursor

    def __iter__(self) -> Stream[T]:
        return self

    def __next__(self) -> T:
        if (item := self._block(math.inf)) is None:
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
        if not self._follower.has_begun:
            self._block(math.inf, until_begun=True)
        return self

    def __exit__(self, *error: object) -> None:
        self.close()

    async def __aenter__(self) -> Stream[T]:
        if not self._follower.has_begun:
            await self._suspend(until_begun=True)
        return self

    async def __aexit__(self, *error: object) -> None:
        self.close()

    def close(self) -> None:
        """End the stream. Any thread may call this, also while another one waits for an item."""
        with self._guard:
            self._is_closed = True
            if self._wake >= 0:
                os.eventfd_write(self._wake, 1)
        if self._reading.acquire(blocking=False):
            self._dispose()
            self._reading.release()

    def __reduce__(self) -> NoReturn:
        raise TypeError("A stream can't be copied or pickled. Create one where it is read, from `cursor` on.")

    def __del__(self) -> None:
        # No other thread can use the stream now, and another process's copy of the lock may be held forever.
        if self._wake >= 0:
            self._steps.close()
            os.close(self._wake)

    def _dispose(self) -> None:
        with self._guard:
            wake, self._wake = self._wake, -1
        if wake >= 0:
            self._steps.close()
            os.close(wake)

    # The steps, and the two ways to wait for them.

    def _step(self) -> Wait | tuple[T] | tuple[()] | None:
        """Return the wait that the stream is in, or what comes next; `None` at the end."""
        if self._is_closed:
            return None
        if self._waiting is None:
            try:
                result = self._steps.send(self._outcome)
            except StopIteration:
                return None
            if not isinstance(result, Wait):
                return result
            self._waiting = result
            self._end = math.inf if result.timeout is None else time.monotonic() + result.timeout
        return self._waiting

    def _finish_wait(self, outcome: bool) -> None:
        self._waiting, self._outcome = None, outcome

    def _block(self, end: float, *, until_begun: bool = False) -> tuple[T] | None:
        with self._exclusively() as is_open:
            while is_open and (step := self._step()) is not None:
                if not isinstance(step, Wait):
                    if step or until_begun:
                        return step or None
                    continue
                waits = [(self._wake, select.POLLIN)]
                if step.descriptor >= 0:
                    waits.append((step.descriptor, step.events))
                limit = min(end, self._end)
                found = poll_all(waits, None if limit == math.inf else limit - time.monotonic())
                if found or limit == self._end:
                    self._finish_wait(found)
                else:
                    return None
        return None

    async def _suspend(self, *, until_begun: bool = False) -> tuple[T] | None:
        with self._exclusively() as is_open:
            while is_open and (step := self._step()) is not None:
                if isinstance(step, Wait):
                    # If the task is canceled here, the next call continues the wait.
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
            await asyncio.wait_for(came.wait(), None if self._end == math.inf else self._end - time.monotonic())
            return True
        except asyncio.TimeoutError:
            return False
        finally:
            loop.remove_reader(self._wake)
            if wait.descriptor >= 0:
                loop.remove_reader(wait.descriptor)
                loop.remove_writer(wait.descriptor)

    @contextlib.contextmanager
    def _exclusively(self) -> Iterator[bool]:
        """Keep other threads and tasks from reading; yield whether the stream is open."""
        if os.getpid() != self._process:
            raise RuntimeError("This stream belongs to the parent process. Create one after the fork.")
        if not self._reading.acquire(blocking=False):
            if not self._is_closed:
                raise RuntimeError("Another thread or task reads this stream. Create a stream for each.")
            yield False
            return
        try:
            yield not self._is_closed
        finally:
            if self._is_closed:
                self._dispose()
            self._reading.release()
