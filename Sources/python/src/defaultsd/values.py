"""The values that can be stored, and their Python types."""

from __future__ import annotations

import plistlib
import unicodedata
from datetime import datetime, timedelta, timezone
from typing import Any

from .errors import DefaultsError, make
from .plist import Date, encode

_REFERENCE = datetime(2001, 1, 1, tzinfo=timezone.utc)
# The limit of a file is 500 levels, of which its top-level dictionary is one.
_MAXIMUM_DEPTH = 499
_MAXIMUM_MARKS = 128


def stored(key: str, value: Any) -> Any:
    """Return the form of a value in messages; raise `InvalidValueError`, with the place in the value, if it has none.

    The types are `str`, `bool`, `int` of 64 bits, `float`, `bytes`, `datetime` with a time zone, and `list` and
    `dict` of these.
    """
    check_key(key, key)
    try:
        return _stored(value, key, "", 0)
    except RecursionError:
        raise _refusal(key, "", "is nested too deeply for the stack of this thread", "Use fewer levels.") from None


def check_key(key: object, top: object, path: str = "") -> None:
    """Check that an object can be a key, which is a string."""
    if not isinstance(key, str):
        raise _refusal(top, path, f"has a key of the type {type(key).__name__}: {key!r:.60}", "Use a string.")
    _check_text(key, top, path)
    run = 0
    for character in key if len(key) > _MAXIMUM_MARKS and not key.isascii() else "":
        run = run + 1 if unicodedata.combining(character) or character in "\u0f73\u0f75\u0f81" else 0
        if run > _MAXIMUM_MARKS:
            what = f"has a key with more than {_MAXIMUM_MARKS} combining marks in a row"
            raise _refusal(top, path, what, "Use another key.")


def public(value: Any) -> Any:
    """Return a value of a message with Python's own types, as a copy.

    Dates are in UTC. A date that `datetime` can't represent becomes the nearest one that it can, and a UID, which no
    edit can set, stays a `plistlib.UID`.
    """
    if isinstance(value, dict):
        entries = {}
        for key, item in value.items():
            entries[key] = public(item)
        return entries
    if isinstance(value, list):
        items = []
        for item in value:
            items.append(public(item))
        return items
    if isinstance(value, Date):
        try:
            return _REFERENCE + timedelta(seconds=value)
        except (OverflowError, ValueError):
            return (datetime.max if value > 0 else datetime.min).replace(tzinfo=timezone.utc)
    return float(value) if isinstance(value, float) else value


def find(values: dict[str, Any], key: str) -> Any:
    """Return a key's value; `None` if there is none. Spellings that Unicode calls equivalent are one key."""
    if key in values or key.isascii():
        return values.get(key)
    normal = unicodedata.normalize("NFC", key)
    return next((value for name, value in values.items() if unicodedata.normalize("NFC", name) == normal), None)


def is_same(first: Any, second: Any) -> bool:
    """Return whether two values in the form of messages are the same, or both missing.

    Python's `==` would take 1, 1.0 and True for the same value.
    """
    return (first is None) == (second is None) and (first is None or encode(first) == encode(second))


def same_key(first: str, second: str) -> bool:
    """Return whether two spellings are those of one key."""
    return first == second or unicodedata.normalize("NFC", first) == unicodedata.normalize("NFC", second)


def _stored(value: Any, key: str, path: str, depth: int) -> Any:
    if isinstance(value, bool):
        return bool(value)
    # A subclass, such as an enumeration, is stored as the plain value that it holds.
    if isinstance(value, str):
        _check_text(value, key, path)
        return str.__str__(value)
    if isinstance(value, int):
        number = int.__int__(value)
        if not -(1 << 63) <= number < 1 << 64:
            raise _refusal(key, path, "is an integer of more than 64 bits", "Store it as a string.")
        return number
    if isinstance(value, float):
        return float.__float__(value)
    if isinstance(value, bytes):
        return bytes(value)
    if isinstance(value, datetime):
        if value.utcoffset() is None:
            remedy = "Use an aware one, such as `datetime.now(timezone.utc)` or `value.astimezone()`."
            raise _refusal(key, path, "is a datetime without a time zone", remedy)
        return Date((value - _REFERENCE).total_seconds())
    if isinstance(value, (list, dict)) and depth >= _MAXIMUM_DEPTH:
        what = f"has more than {_MAXIMUM_DEPTH} nested containers, or contains itself"
        raise _refusal(key, "", what, "Use fewer levels.")
    if isinstance(value, list):
        items = []
        for index, item in enumerate(value):
            items.append(_stored(item, key, f"{path}[{index}]", depth + 1))
        return items
    if isinstance(value, dict):
        entries = {}
        for name, item in value.items():
            check_key(name, key, path)
            entries[str.__str__(name)] = _stored(item, key, f"{path}[{name!r:.60}]", depth + 1)
        return entries
    remedies = {
        type(None): "Remove the key instead, or leave the entry out.",
        tuple: "Use `list(value)`.",
        set: "Use `sorted(value)`.",
        frozenset: "Use `sorted(value)`.",
        bytearray: "Use `bytes(value)`.",
        plistlib.UID: "UIDs occur only in archives of other programs.",
    }
    remedy = remedies.get(type(value), "Use str, bool, int, float, bytes, datetime, list or dict.")
    raise _refusal(key, path, f"is of the type {type(value).__name__}, which can't be stored", remedy)


def _check_text(text: str, key: object, path: str) -> None:
    try:
        if not text.isascii():
            str.encode(text, "utf-8")
    except UnicodeEncodeError:
        raise _refusal(key, path, "has a lone surrogate, which isn't text", "Store it as bytes.") from None


def _refusal(key: object, path: str, what: str, remedy: str) -> DefaultsError:
    place = f" at {path[:200]}" if path else ""
    return make("invalidValue", f"The value of {key!r:.80}{place} {what}.", remedy=remedy)
