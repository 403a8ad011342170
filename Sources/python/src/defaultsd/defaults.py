"""The preferences of an application."""

from __future__ import annotations

import functools
import logging
import os
import random
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, TypeVar

from .absence import no_agent
from .channel import Channel, Edit
from .connection import DISK, USUAL, Message, Timeouts, run
from .errors import ChangedError, DefaultsError, make, of_failure
from .events import Change, Condition, Event, KeyChange, Domain, parse
from .files import read_file
from .layers import Layer, search_list
from .location import Location, domain_name, file_name, host_name
from .following import ChangeFollower, ValueFollower, pattern
from .streams import Stream
from .values import check_key, find, is_same, public, stored

T = TypeVar("T")
_log = logging.getLogger("defaultsd")


class Defaults:
    """The preferences of a domain, such as those of an application.

    Reading searches all layers (see `explain`), and edits go to the user's own domain: for any host, or for `host`,
    whose identifier also replaces this host's in the search. `directory` replaces the preferences directory; it, and
    the agent's socket, are found by the rules of all programs of defaultsd.

    ```python
    defaults = Defaults("org.example.player")
    defaults.set("Volume", 7)
    defaults["Volume"]  # 7; KeyError if no layer has the key
    "Volume" in defaults
    del defaults["Volume"]
    ```

    Values are `str`, `bool`, `int` of 64 bits, `float`, `bytes`, `datetime` with a time zone, `list` and `dict`. Dates
    are read in UTC. Values are copies, which no other call changes.

    **Threads.** Any thread may use an instance. All instances with the same location share two connections: one for
    reads and edits, one for calls that wait for the disk. In asyncio, make calls with `asyncio.to_thread`. A child of
    `fork` makes connections of its own; don't fork while another thread makes a call that the child must know of. An
    instance can be copied and pickled, as for a pool of processes. Green threads of gevent and eventlet may use an
    instance, too, if the standard library is patched before this package is imported.

    **The agent.** An edit is in effect for every program when the call returns. If the agent ends in the meantime, the
    call waits up to five seconds for the next one and sends the edit again, so that it is made once. If none comes, it
    raises `AgentUnavailableError`, which says if the edit may have been made. An agent that is stopped raises the same
    error after five seconds (30 if the call waits for the disk), and a busy one after a minute. Without an agent, the files are read directly, and edits
    are refused.
    """

    def __init__(
        self,
        domain: str,
        *,
        host: str | None = None,
        directory: str | os.PathLike[str] | None = None,
        environment: Mapping[str, str] | None = None,
    ) -> None:
        """Create the preferences of a domain; `environment` replaces the process's variables.

        Nothing is read before the first call. Raises `DefaultsError` if the name, the host or the directory can't be
        used.
        """
        self.domain = domain_name(domain)
        self.host = None if host is None else host_name(host)
        named = None if directory is None else os.fspath(directory)
        self._location = Location.find(named, os.environ if environment is None else environment)
        self._domain = Domain(self.domain, self.host)
        self._requests, self._disk = _channels(self._location)

    def __getstate__(self) -> dict[str, Any]:
        # A copy in another process makes connections of its own, and it has the same location.
        return {k: v for k, v in self.__dict__.items() if k not in ("_requests", "_disk")}

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.__dict__.update(state)
        self._requests, self._disk = _channels(self._location)

    def __repr__(self) -> str:
        return f"Defaults({self.domain!r}, host={self.host!r}, directory={self._location.directory!r})"

    # Reading.

    def read(self, key: str, default: Any = None) -> Any:
        """Return a key's value in effect; `default` if no layer has the key."""
        check_key(key, key)
        values = (find(values, key) for _, values in self._layers([key]))
        return public(next((value for value in values if value is not None), default))

    def dictionary(self) -> dict[str, Any]:
        """Return all keys with their values in effect."""
        result: dict[str, Any] = {}
        for _, values in self._layers(None):
            result |= {key: value for key, value in values.items() if find(result, key) is None}
        return {key: public(value) for key, value in result.items()}

    def __getitem__(self, key: str) -> Any:
        value = self.read(key)
        if value is None:
            raise KeyError(key)
        return value

    def __contains__(self, key: object) -> bool:
        return isinstance(key, str) and self.read(key) is not None

    def __iter__(self) -> Iterator[str]:
        return iter(self.dictionary())

    def __len__(self) -> int:
        return len(self.dictionary())

    def explain(self, key: str) -> list[Layer]:
        """Return the layers that have a key, the one that wins first, as `defaults explain` prints them."""
        check_key(key, key)
        layers: list[Layer] = []
        for domain, values in self._layers([key]):
            if (value := find(values, key)) is not None:
                layers.append(Layer(domain, self._path(domain), public(value), wins=not layers))
        return layers

    # Editing.

    def set(self, key: str, value: Any) -> None:
        """Set a key.

        Raises `InvalidValueError`, with the place in the value, for one that can't be stored.
        """
        self.edit({key: value})

    def remove(self, key: str) -> None:
        """Remove a key from the user's domain; other layers may still have it."""
        self.edit(remove=[key])

    def __setitem__(self, key: str, value: Any) -> None:
        self.set(key, value)

    def __delitem__(self, key: str) -> None:
        own = next(values for domain, values in self._layers([key]) if domain == self._domain)
        if find(own, key) is None:
            raise KeyError(key)
        self.remove(key)

    def edit(self, set: Mapping[str, Any] = {}, *, remove: Iterable[str] = ()) -> None:
        """Set and remove keys as one change set, which others see as a whole."""
        values, removed = {key: stored(key, value) for key, value in set.items()}, list(remove)
        for key in removed:
            check_key(key, key)
        self._requests.edit(Edit(self._domain.entries(), values, removed))

    def update(self, key: str, function: Callable[[Any], Any]) -> Any:
        """Set a key to a function of its value in effect, and return the new value; `None` stands for no value.

        ```python
        defaults.update("Count", lambda count: (count or 0) + 1)
        ```

        The edit applies only if the user's domain still has the value that was read; otherwise, the function is called
        again. So no other program's edit is lost, and none is made twice. The call waits for the disk.

        Raises `ChangedError` if other programs keep changing the key for a minute, or what the function raises.
        """

        def attempt() -> Any:
            layers = self._layers([key])
            found = [find(values, key) for _, values in layers]
            old = next(find(values, key) for domain, values in layers if domain == self._domain)
            new = function(public(next((value for value in found if value is not None), None)))
            self._commit(self._domain, {key: new}, {key: old})
            return new

        return _until_unchanged(attempt)

    def save(self) -> None:
        """Wait until the domain's edits are on disk, and everything that has happened to its files is known.

        Raises `NotSavedError` if they can't be saved; they stay in effect, and the agent tries again.
        """
        request = {"type": "synchronize", "domains": [self._domain.entries()]}
        answer = self._request(self._disk, request, DISK)
        for failure in answer["failures"]:
            raise of_failure(failure)

    # The past.

    def history(self, *keys: str, limit: int | None = None, before: str | None = None) -> Iterator[Change | Condition]:
        """Yield earlier changes of the domain, or of some of its keys, newest first.

        `before` is a cursor; the history begins with the change before it. It ends with the agent's change log;
        `defaults log` also shows the archived changes before it.
        """
        request: Message = {"type": "history", "limit": 100, **pattern(self.domain, keys)}
        request |= {} if before is None else {"before": before}
        count = 0
        while True:
            answer = self._request(self._disk, request)
            for record in answer["records"]:
                event = parse(record)
                if count == limit:
                    return
                if isinstance(event, (Change, Condition)):
                    count += 1
                    yield event
            if answer.get("end"):
                return
            request = {**request, "before": answer["next"]}

    def undo(self, change: Change | None = None) -> list[KeyChange]:
        """Undo a change set, from `history` or `changes`: give its keys the values that they had before.

        Without a change, the newest one of this domain, by whatever program, is undone. Keys that have been changed
        since stay as they are. Returns the changes that were made, which may be none.

        Raises `ChangedError` if other programs keep changing the keys for a minute.
        """
        if change is None:
            change = next((one for one in self.history() if isinstance(one, Change) and one.domain.user is None), None)
        if change is None:
            return []
        undone, origin = change, {"purpose": "undo", "of": change.cursor}
        request = {"type": "read", **undone.domain.entries(), "keys": [one.key for one in undone.changes]}

        def attempt() -> list[KeyChange]:
            present = self._request(self._requests, request)["values"]
            standing = [one for one in undone.changes if is_same(find(present, one.key), one._stored[1])]
            if standing:
                old = {one.key: one._stored[1] for one in standing}
                new = {one.key: one._stored[0] for one in standing}
                self._commit(undone.domain, new, old, are_stored=True, origin=origin)
            return [KeyChange(one.key, one.new, one.old, one._stored[::-1]) for one in standing]

        return _until_unchanged(attempt)

    # Following.

    def changes(self, *keys: str, since: str | None = None) -> Stream[Event]:
        """Return a stream of the changes of the domain, or of some of its keys, in all layers.

        It begins now, or after the position `since`, the `cursor` of an event. See `Stream` for how it begins, ends and
        continues.

        ```python
        with defaults.changes("Volume") as changes:
            for event in changes:
                match event:
                    case Change():
                        print(event.changes, event.source)
                    case Gap():
                        print("Changes are missing. The values follow.")
        ```
        """
        return Stream(ChangeFollower(self._location, self.domain, keys, since))

    def values(self, key: str, default: Any = None) -> Stream[Any]:
        """Return a stream of a key's value in effect: the current one, and then each that differs from the last.

        While no layer has the key, its value is `default`.

        ```python
        async for volume in defaults.values("Volume", 5):
            player.set_volume(volume)
        ```
        """
        check_key(key, key)
        follower = ValueFollower(
            self._location, self.domain, self.host, key, lambda value: default if value is None else value
        )
        return Stream(follower)

    # Requests.

    def _request(self, channel: Channel, request: Message, timeouts: Timeouts = USUAL) -> Message:
        answers = channel.call(lambda welcome: [request], timeouts)
        if answers is None:
            raise run(no_agent(self._location))
        return answers[0]

    def _layers(self, keys: list[str] | None) -> list[tuple[Domain, Message]]:
        """Return the domains of the search with their values, those of some keys or all; without an agent, the files'.

        Raises `DefaultsError` if a named agent doesn't answer, or, without an agent, if a file can't be read.
        """
        domains: list[Domain] = []

        def requests(welcome: Message) -> list[Message]:
            domains[:] = search_list(self.domain, self.host, welcome["system"], welcome.get("managed"))
            some = {} if keys is None else {"keys": keys}
            return [{"type": "read", **domain.entries(), **some} for domain in domains]

        answers = self._requests.call(requests)
        if answers is not None:
            for answer in answers:
                if "damage" in answer:
                    _warn_once(answer["damage"])
            return [(domain, answer["values"]) for domain, answer in zip(domains, answers)]
        if self._location.is_explicit and self._location.uses_agent:
            raise run(no_agent(self._location))
        location = self._location
        result: list[tuple[Domain, Message]] = []
        for domain in search_list(self.domain, self.host, location.system, location.managed):
            try:
                managed = location.managed if domain.user == "managed" else None
                result.append((domain, read_file(self._path(domain), managed=managed)))
            except DefaultsError as error:
                # As with an agent, a file that others than root may have written isn't binding.
                if error.code != "untrusted":
                    raise
                _warn_once(str(error))
        return result

    def _path(self, domain: Domain) -> str:
        directory = self._location.managed if domain.user == "managed" else domain.user
        return f"{directory or self._location.directory}/{file_name(domain.name, domain.host)}"

    def _commit(
        self, domain: Domain, new: Message, old: Message, *, are_stored: bool = False, origin: Message | None = None
    ) -> None:
        """Set keys, or remove those whose value is `None`, if they still have the old values."""
        if not are_stored:
            new = {key: None if value is None else stored(key, value) for key, value in new.items()}
        edit = Edit(
            domain.entries(),
            set={key: value for key, value in new.items() if value is not None},
            remove=[key for key, value in new.items() if value is None],
            expected={key: value for key, value in old.items() if value is not None},
            absent=[key for key, value in old.items() if value is None],
            origin=origin,
        )
        self._disk.edit(edit, DISK)


# Few locations are used at a time. Instances keep theirs.
@functools.lru_cache(maxsize=8)
def _channels(location: Location) -> tuple[Channel, Channel]:
    return Channel(location), Channel(location)


@functools.lru_cache(maxsize=1024)
def _warn_once(problem: str) -> None:
    _log.warning("%s", problem)


def _until_unchanged(attempt: Callable[[], T]) -> T:
    """Repeat a conditional edit until no other program changes its keys in between, for up to a minute."""
    end, delay = time.monotonic() + 60, 0.001
    while True:
        try:
            return attempt()
        except ChangedError:
            if time.monotonic() > end:
                raise
        time.sleep(random.uniform(0, delay))
        delay = min(2 * delay, 0.1)
