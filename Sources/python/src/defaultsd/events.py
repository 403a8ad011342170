"""The events of a domain: what a stream of changes and the history consist of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta, timezone
from typing import Any, Union

from .values import public


@dataclass(frozen=True)
class Domain:
    """A domain: a name, for any host or one, of this user or of all.

    `user` is `None` for this user's own domain. For a domain of any user, it is the path of a system directory, and
    for forced values `managed`.
    """

    name: str
    host: str | None = None
    user: str | None = None

    def entries(self) -> dict[str, str]:
        """The entries that name the domain in a message."""
        entries = {"domain": self.name, "host": self.host, "user": self.user}
        return {name: value for name, value in entries.items() if value is not None}


@dataclass(frozen=True)
class Source:
    """The writer of a change: an `app`, whose process the kernel has identified, a `file`, or the `agent`."""

    kind: str
    pid: int | None = None
    executable: str | None = None


@dataclass(frozen=True)
class KeyChange:
    """The change of one key; `None` stands for no value, since no value is `None`."""

    key: str
    old: Any
    new: Any
    # The values in the form of messages, since a 32-bit real isn't the same value as a float.
    _stored: tuple[Any, Any] = field(default=(None, None), repr=False, compare=False)


@dataclass(frozen=True)
class Overruled:
    """A value, or with `None` a removal, that was discarded in favor of a later one.

    `reason` is `older-version` if the writer had loaded an older version of the file, which became the file at the time
    `loaded`.
    """

    key: str
    value: Any
    source: Source
    reason: str | None = None
    loaded: datetime | None = None


@dataclass(frozen=True)
class Violation:
    """A value that breaks the manifest of its domain, or a condition that it makes hold.

    `path` leads to a value inside the key's: names of dictionary entries, and indexes of arrays. The rules are `type`,
    `choice`, `flags`, `minimum`, `maximum`, `minimum-length`, `maximum-length`, `format`, `required`, `excluded`,
    `unknown` and `size`; later agents may have others. `limit` is what the rule demands, if it has such a value.
    """

    key: str
    path: tuple[str | int, ...]
    rule: str
    limit: Any


@dataclass(frozen=True)
class Change:
    """A change set: all the changes that one edit, or one version of the file, has made to a domain."""

    domain: Domain
    changes: tuple[KeyChange, ...]
    time: datetime
    source: Source
    origin: Mapping[str, Any]
    """The reason, if the writer gave one: `purpose` with `of`, or `program`."""
    overruled: tuple[Overruled, ...]
    cursor: str
    """The position after the event, from which a stream resumes."""
    violations: tuple[Violation, ...] = ()
    """The rules of the domain's manifest that the changes break. The values are in effect nevertheless."""


@dataclass(frozen=True)
class Snapshot:
    """The values of a domain in effect, after a gap or at the beginning of a stream.

    If the file can't be used, `damage` is the reason, and the values are the last good ones.
    """

    domain: Domain
    values: dict[str, Any]
    damage: str | None
    cursor: str


@dataclass(frozen=True)
class Gap:
    """Changes that are missing, because they are no longer available. A `Snapshot` of each domain with values follows.

    A domain without a snapshot has no values.
    """

    start: str
    end: str

    @property
    def cursor(self) -> str:
        """The position before the gap: a stream that resumes from it gets the gap and all values again."""
        return self.start


@dataclass(frozen=True)
class Condition:
    """A change of the condition of a domain.

    The kinds are `damaged` (the file can't be used; the last good values stay in effect), `unsaved` (edits can't be
    saved; they stay in effect, and saving is retried), `recovered` (neither is the case anymore), and `unknown` (the
    file has changed in an unknown way; read the values again). With `unknown` there may be changes of known keys.
    """

    kind: str
    domain: Domain
    reason: str | None
    changes: tuple[KeyChange, ...]
    time: datetime
    cursor: str


Event = Union[Change, Snapshot, Gap, Condition]


def parse(message: Mapping[str, Any]) -> Event | None:
    """Create the event of a message; `None` for a kind that has no meaning for callers, such as a bookmark."""
    kind = message["type"]
    if kind == "gap":
        return Gap(message["from"], message["to"])
    if "domain" not in message:
        return None
    domain = Domain(message["domain"], message.get("host"), message.get("user"))
    cursor = message["cursor"]
    if kind == "initial":
        return Snapshot(domain, public(message["values"]), message.get("damage"), cursor)
    changes = tuple(_change(change) for change in message.get("changes", []))
    when = _time(message["time"])
    if kind != "change":
        return Condition(kind, domain, message.get("reason"), changes, when, cursor)
    overruled = tuple(
        Overruled(
            one["key"],
            public(one.get("value")),
            _source(one["source"]),
            one.get("reason"),
            _time(one["loaded"]) if "loaded" in one else None,
        )
        for one in message.get("overruled", [])
    )
    violations = tuple(
        Violation(one["key"], tuple(one.get("path", ())), one["rule"], public(one.get("limit")))
        for one in message.get("violations", [])
    )
    return Change(
        domain, changes, when, _source(message["source"]), message.get("origin", {}), overruled, cursor, violations
    )


def _change(entries: Mapping[str, Any]) -> KeyChange:
    old, new = entries.get("old"), entries.get("new")
    return KeyChange(entries["key"], public(old), public(new), (old, new))


def _source(entries: Mapping[str, Any]) -> Source:
    return Source(entries["kind"], entries.get("pid"), entries.get("executable"))


def _time(nanoseconds: int) -> datetime:
    # 64 bits of nanoseconds are within the years that `datetime` has.
    return datetime(1970, 1, 1, tzinfo=timezone.utc) + timedelta(microseconds=nanoseconds // 1000)
