"""Reading of preferences files without an agent."""

from __future__ import annotations

import os
import stat
import time
from typing import Any

from . import plist, xmlplist
from .errors import DefaultsError, make

_MAXIMUM_SIZE = 64 << 20


def read_file(path: str, *, managed: str | None = None) -> dict[str, Any]:
    """Return the values in a preferences file; none if it doesn't exist.

    A file that can't be parsed is read again for a moment, since a program may be writing it.

    Raises `DefaultsError`: `unreadable`, `damaged`, or, for a file in the `managed` directory that others than root may
    have written, `untrusted`.
    """
    end = time.monotonic() + 0.1
    while True:
        try:
            data = _read(path, managed)
            return {} if data is None else _parse(data, path)
        except DefaultsError as error:
            if error.code != "damaged" or time.monotonic() > end:
                raise
        time.sleep(0.02)


def _read(path: str, managed: str | None) -> bytes | None:
    try:
        # A FIFO must not block.
        file = os.open(path, os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except OSError as error:
        raise make("unreadable", f"{path} can't be opened", errno=error.errno) from error
    try:
        status = os.fstat(file)
        if not stat.S_ISREG(status.st_mode):
            raise make("unreadable", f"{path} isn't a regular file.", remedy="Remove it, or move it away.")
        if managed is not None:
            _check_trust(path, status, managed)
        with open(file, "rb", closefd=False) as stream:
            data = stream.read(_MAXIMUM_SIZE + 1)
    except OSError as error:
        raise make("unreadable", f"{path} can't be read", errno=error.errno) from error
    finally:
        os.close(file)
    if len(data) > _MAXIMUM_SIZE:
        raise make("damaged", f"{path} has more than 64 MiB.", remedy="Store large data in a file of its own.")
    return data


def _parse(data: bytes, path: str) -> dict[str, Any]:
    try:
        values = plist.decode(data) if data.startswith(plist.HEADER) else xmlplist.parse(data)
    except (ValueError, RecursionError) as error:
        if data.lstrip(b"\xef\xbb\xbf \t\r\n")[:1] in (b"{", b"(", b'"', b"/"):
            what = f"{path} is an old-style text property list, which only the agent can read here."
            remedy = f"Start an agent, or run `defaults convert --to xml {path} {path}`."
            raise make("damaged", what, remedy=remedy) from error
        what = f"{path} isn't a property list: {error}"
        raise make("damaged", what, remedy="Repair the file, or restore it from a backup.") from error
    if not isinstance(values, dict):
        raise make("damaged", f"{path} has no dictionary at its top level.", remedy="Repair the file.")
    return values


def _check_trust(path: str, status: os.stat_result, managed: str) -> None:
    """Check that root alone can have written a file in the managed directory."""
    current = path
    while True:
        if status.st_uid != 0 or status.st_mode & 0o022:
            what = f"{path} is ignored, because users other than root may have written {current}."
            raise make("untrusted", what, remedy=f"Run `chown root {current}` and `chmod go-w {current}`.")
        if current == managed:
            return
        current = os.path.dirname(current)
        status = os.stat(current)
