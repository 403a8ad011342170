"""The steps of following a domain: subscribing, resuming, and making items of events."""

from __future__ import annotations

import logging
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from typing import Any, Generic, TypeVar, Union

from .absence import no_agent
from .channel import delays
from .connection import Connection, Lost, Message, Wait, connect
from .errors import DefaultsError, of_failure
from .events import Event, Domain, parse
from .layers import search_list
from .location import GLOBAL, Location
from .plist import encode
from .values import find, public, same_key

T = TypeVar("T")
_log = logging.getLogger("defaultsd")

BEGUN = ()
"""The sign that the agent has subscribed a stream, which its steps yield once."""
FollowerSteps = Generator[Union[Wait, tuple[T], tuple[()]], bool, None]


class Follower(Generic[T]):
    """A subscription across connections; `steps` yields waits and, in tuples, items."""

    def __init__(self, location: Location, subscription: Message) -> None:
        self.location, self.subscription = location, subscription
        self.cursor: str | None = subscription["from"] if ":" in subscription["from"] else None
        self.has_begun = False
        self.pauses = delays()

    def items(self, message: Message, connection: Connection) -> Iterator[T]:
        """Return the items of an event."""
        raise NotImplementedError

    def steps(self) -> FollowerSteps[T]:
        """Follow the subscription without end, on one connection after the other.

        Raises `DefaultsError` if the first attempt fails; later ones are repeated.
        """
        reported = ""
        while True:
            connection: Connection | None = None
            try:
                connection = (yield from connect(self.location)) if self.location.uses_agent else None
                if connection is None and not self.has_begun:
                    raise (yield from no_agent(self.location))
                if connection is not None:
                    yield from self._follow(connection)
            except Lost:
                pass
            except DefaultsError as error:
                if not self.has_begun:
                    raise
                if str(error) != reported:
                    _log.warning("The agent can't be reached, and will be tried again: %s", error)
                reported = str(error)
            finally:
                if connection is not None:
                    connection.close()
            yield Wait(-1, 0, next(self.pauses))

    def _follow(self, connection: Connection) -> FollowerSteps[T]:
        number = connection.send({**self.subscription, "from": self.cursor or self.subscription["from"]})
        while True:
            message = connection.next()
            if message is None:
                yield from connection.progress(None)
            elif message["type"] == "failure":
                raise of_failure(message)
            elif message["request"] != number:
                continue
            elif message["type"] == "subscribed":
                self.pauses = delays()
                if self.cursor is None and self.subscription["from"] == "now":
                    self.cursor = message["cursor"]
                if not self.has_begun:
                    self.has_begun = True
                    yield BEGUN
            else:
                items = list(self.items(message, connection))
                self.cursor = message.get("cursor", self.cursor)
                for item in items:
                    yield (item,)


class ChangeFollower(Follower[Event]):
    """The events of a domain."""

    def __init__(self, location: Location, domain: str, keys: tuple[str, ...], since: str | None) -> None:
        subscription = {"type": "subscribe", "from": since or "now", "mode": "everything"}
        super().__init__(location, {**subscription, **pattern(domain, keys)})

    def items(self, message: Message, connection: Connection) -> Iterator[Event]:
        event = parse(message)
        if event is not None:
            yield event


class ValueFollower(Follower[T]):
    """A key's value in effect."""

    def __init__(
        self, location: Location, domain: str, host: str | None, key: str, convert: Callable[[Any], T]
    ) -> None:
        subscription = {"type": "subscribe", "from": "snapshot", "mode": "latest"}
        domains = [exactly(domain), exactly(GLOBAL)]
        super().__init__(location, {**subscription, **pattern(domain, [key]), "domains": domains})
        self.domain, self.host, self.key, self.convert = domain, host, key, convert
        self.values: dict[Domain, Any] = {}
        self.is_complete = False
        self.last: bytes | None = None

    def items(self, message: Message, connection: Connection) -> Iterator[T]:
        kind = message["type"]
        if kind == "gap":
            self.values, self.is_complete = {}, False
        elif kind == "unknown":
            # Only a snapshot has the values now.
            self.cursor, self.values, self.is_complete = None, {}, False
            raise Lost(None)
        elif kind == "bookmark":
            self.is_complete = True
        elif kind in ("initial", "change"):
            domain = Domain(message["domain"], message.get("host"), message.get("user"))
            if kind == "initial":
                self.values[domain] = find(message["values"], self.key)
            for change in message.get("changes", []):
                if same_key(change["key"], self.key):
                    self.values[domain] = change.get("new")
        # A reader that is behind only needs the newest value.
        if not self.is_complete or connection.has_message():
            return
        welcome = connection.welcome
        domains = search_list(self.domain, self.host, welcome["system"], welcome.get("managed"))
        value = next((self.values[domain] for domain in domains if self.values.get(domain) is not None), None)
        # Python's `==` would take 1, 1.0 and True for the same value.
        mark = b"" if value is None else encode(value)
        if mark != self.last:
            self.last = mark
            yield self.convert(public(value))


def pattern(domain: str, keys: Iterable[str]) -> Message:
    """Return the entries of a request that select a domain, and some of its keys or all."""
    return {"domains": [exactly(domain)], "keys": [exactly(key) for key in keys]}


def exactly(name: str) -> str:
    """Return a pattern that matches only a name."""
    return re.sub(r"([*?\\])", r"\\\1", name)
