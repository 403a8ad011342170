"""The errors of the package."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping
from typing import Any


class DefaultsError(Exception):
    """An error that says what happened, where, and what to do about it.

    `str(error)` is for people. Programs check the class or `code`, and `errno` where a system call failed. The codes
    are those of the protocol; an agent may send new ones.
    """

    def __init__(self, code: str, what: str, *, remedy: str | None = None, errno: int | None = None) -> None:
        super().__init__(f"{what} {remedy}" if remedy else what)
        self.code = code
        """The kind of failure, such as `agentUnavailable`."""
        self.what = what
        """The sentences that say what happened, and where."""
        self.remedy = remedy
        """The sentences that say what to do about it; `None` if there is no advice."""
        self.errno = errno
        """The system's error number, if a system call failed."""

    def __reduce__(self) -> tuple[Any, ...]:
        return functools.partial(make, remedy=self.remedy, errno=self.errno), (self.code, self.what)


class AgentUnavailableError(DefaultsError):
    """No agent is running, or it doesn't answer.

    If an edit was sent, it may have been made; the error says so.
    """


class InvalidValueError(DefaultsError, ValueError):
    """A key or value that can't be stored, or a domain name, host or cursor that isn't one; nothing was changed."""


class ChangedError(DefaultsError):
    """Other programs have changed the keys since they were read, or keep changing them; nothing was changed."""


class NotSavedError(DefaultsError):
    """Edits that can't be saved; they stay in effect, and the agent tries again."""


_CLASSES: dict[str, type[DefaultsError]] = {
    "agentUnavailable": AgentUnavailableError,
    "invalidValue": InvalidValueError,
    "invalidDomainName": InvalidValueError,
    "invalidCursor": InvalidValueError,
    "changed": ChangedError,
    "notSaved": NotSavedError,
}


def make(code: str, what: str, *, remedy: str | None = None, errno: int | None = None) -> DefaultsError:
    """Create an error of the class for its code; the reason of a failed system call is appended to what happened."""
    if errno is not None and not what.endswith("."):
        what = f"{what}: {os.strerror(errno)}."
    return _CLASSES.get(code, DefaultsError)(code, what, remedy=remedy, errno=errno)


def of_failure(entries: Mapping[str, Any]) -> DefaultsError:
    """Create the error that a message of the agent describes, whose remedy is also the end of its message."""
    what, remedy = str(entries["message"]), entries.get("remedy")
    if remedy and what.endswith(f" {remedy}"):
        what = what[: -len(remedy) - 1]
    return make(str(entries["code"]), what, remedy=remedy, errno=entries.get("errno"))
