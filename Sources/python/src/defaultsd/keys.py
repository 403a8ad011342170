"""Typed keys with defaults."""

from __future__ import annotations

import copy
import logging
import re
from collections.abc import Callable
from datetime import datetime
from typing import Any, Generic, Protocol, TypeVar, overload

from .defaults import Defaults

T = TypeVar("T")
U = TypeVar("U")

_log = logging.getLogger("defaultsd")
_TRUE, _FALSE = {"yes", "true", "y", "t"}, {"no", "false", "n", "f"}
_NUMBER = re.compile(r"[+-]?(\d+\.?\d*(e[+-]?\d+)?|\.\d+(e[+-]?\d+)?|inf|infinity|nan)", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"[+-]?\d+", re.ASCII)
_reported: set[tuple[object, ...]] = set()


class _HasDefaults(Protocol):
    @property
    def defaults(self) -> Defaults: ...


class Key(Generic[T]):
    """A key: its name, the type of its values, and its default, declared in one place.

    ```python
    volume = Key("Volume", int, default=5)
    volume.get(defaults)

    class Settings:
        volume = Key("Volume", int, default=5)

        def __init__(self) -> None:
            self.defaults = Defaults("org.example.player")

    Settings().volume += 1
    ```

    On an instance of a class, a key reads and sets the value in the instance's `defaults`.

    The types are `str`, `bool`, `int`, `float`, `bytes`, `datetime`, `list` and `dict`. As in the Swift library,
    numbers and Booleans are also read from strings, the whole of which must be one, since
    `defaults write app size 5` stores a string; strings are read from numbers, and numbers from each other and from
    Booleans if nothing is lost.

    A value that can't be read as the type is left as it is, and the default is returned. This is reported once, as a
    warning of the logger `defaultsd`. Reading therefore raises no error about a value in the middle of a program.
    """

    @overload
    def __init__(self, name: str, type: type[T], *, default: T) -> None: ...

    @overload
    def __init__(self: Key[U | None], name: str, type: type[U], *, default: None = None) -> None: ...

    def __init__(self, name: str, type: type[Any], *, default: Any = None) -> None:
        if type not in _CONVERSIONS:
            raise TypeError(f"The type of the key {name!r} can't be {type!r}. Use one of {_TYPES}.")
        self.name, self.type, self._default = name, type, default

    @property
    def default(self) -> T:
        """A copy of the value that is returned if the key has none."""
        result: T = copy.deepcopy(self._default)
        return result

    def get(self, defaults: Defaults) -> T:
        """Return the key's value in effect."""
        return self.read(defaults.read(self.name), defaults.domain)

    def set(self, defaults: Defaults, value: T) -> None:
        """Set the key; with `None`, remove it."""
        if value is None:
            defaults.remove(self.name)
        else:
            defaults.set(self.name, value)

    def update(self, defaults: Defaults, function: Callable[[T], T]) -> T:
        """Set the key to a function of its value, as `Defaults.update` does."""
        result: T = defaults.update(self.name, lambda value: function(self.read(value, defaults.domain)))
        return result

    def read(self, value: Any, domain: str = "") -> T:
        """Return a stored value as one of the key's type; the default for `None`, and for a value of another type."""
        if value is not None:
            result = _CONVERSIONS[self.type](value)
            if result is not None:
                converted: T = result
                return converted
            mark = (domain, self.name, self.type, repr(value)[:1000])
            if mark not in _reported and len(_reported) < 1024:
                _reported.add(mark)
                _log.warning(
                    "The value of %r in %s is of the type %s, which can't be read as %s; the key's default is used. "
                    "Set the key again, or remove it.",
                    self.name, domain or "a domain", type(value).__name__, self.type.__name__,
                )  # fmt: skip
        return self.default

    @overload
    def __get__(self, instance: None, owner: type[Any]) -> Key[T]: ...

    @overload
    def __get__(self, instance: _HasDefaults, owner: type[Any]) -> T: ...

    def __get__(self, instance: _HasDefaults | None, owner: type[Any]) -> Any:
        return self if instance is None else self.get(instance.defaults)

    def __set__(self, instance: _HasDefaults, value: T) -> None:
        self.set(instance.defaults, value)

    def __delete__(self, instance: _HasDefaults) -> None:
        instance.defaults.remove(self.name)


def _as_bool(value: Any) -> bool | None:
    if isinstance(value, str):
        text = value.strip().lower()
        if text in _TRUE or text in _FALSE:
            return text in _TRUE
        value = _as_float(text)
    return bool(value) if isinstance(value, (bool, int, float)) else None


def _as_int(value: Any) -> int | None:
    if isinstance(value, str):
        return int(value) if _WHOLE.fullmatch(value.strip()) and len(value) < 100 else None
    if isinstance(value, float):
        return int(value) if value.is_integer() else None
    return int(value) if isinstance(value, (bool, int)) else None


def _as_float(value: Any) -> float | None:
    if isinstance(value, str):
        return float(value) if _NUMBER.fullmatch(value.strip()) else None
    return float(value) if isinstance(value, (bool, int, float)) else None


def _as_str(value: Any) -> str | None:
    if isinstance(value, bool):
        return "1" if value else "0"
    if isinstance(value, float) and value.is_integer() and abs(value) < 1e16:
        return str(int(value))
    return str(value) if isinstance(value, (str, int, float)) else None


def _only(type: type[T]) -> Callable[[Any], T | None]:
    return lambda value: value if isinstance(value, type) else None


_CONVERSIONS: dict[type[Any], Callable[[Any], Any]] = {
    bool: _as_bool,
    int: _as_int,
    float: _as_float,
    str: _as_str,
    **{type: _only(type) for type in (bytes, datetime, list, dict)},
}
_TYPES = ", ".join(type.__name__ for type in _CONVERSIONS)
