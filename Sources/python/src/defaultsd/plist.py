"""Binary property lists, in the exact form in which messages carry them.

`plistlib` would do for most values. But it can't read a message that has a date outside the years 1 to 9999, it loses
the sign of 0.0 beside -0.0, and a 32-bit real that it writes back is another value to the agent.
"""

from __future__ import annotations

import plistlib
import struct
from typing import Any

HEADER = b"bplist00"


class Real32(float):
    """A 32-bit real, which the agent distinguishes from a 64-bit one."""


class Date(float):
    """A date, in seconds since 2001-01-01 00:00:00 UTC."""


def encode(value: Any) -> bytes:
    """Encode a value whose types are those of `decode`.

    A value that occurs several times is written several times.
    """
    # Containers are written last, when the number of values, and so the size of a reference, is known.
    objects: list[bytes | tuple[bytes, list[int]]] = []

    # Here and below, loops instead of comprehensions need only one frame for each level, of 1,000 that Python allows.
    def add(value: Any) -> int:
        index = len(objects)
        if isinstance(value, (dict, list)):
            references: list[int] = []
            objects.append((_header(0xD0 if isinstance(value, dict) else 0xA0, len(value)), references))
            for item in [*value, *value.values()] if isinstance(value, dict) else value:
                references.append(add(item))
        else:
            objects.append(_scalar(value))
        return index

    add(value)
    size = _size(len(objects))
    result, offsets = bytearray(HEADER), []
    for item in objects:
        offsets.append(len(result))
        if isinstance(item, tuple):
            result += item[0] + b"".join(reference.to_bytes(size, "big") for reference in item[1])
        else:
            result += item
    table = len(result)
    offset_size = _size(table)
    result += b"".join(offset.to_bytes(offset_size, "big") for offset in offsets)
    return bytes(result) + struct.pack(">6xBBQQQ", offset_size, size, len(objects), 0, table)


def decode(data: bytes) -> Any:
    """Decode a binary property list.

    Dates are `Date`, 32-bit reals `Real32`, and UIDs `plistlib.UID`. Containers may be shared.

    Raises `ValueError` if the data is no binary property list, or has more than 16 values per byte because containers
    are shared.
    """
    try:
        if data[:8] != HEADER:
            raise ValueError("The data doesn't begin as a binary property list does.")
        offset_size, size, count, top, table = struct.unpack(">6xBBQQQ", data[-32:])
        return _Decoder(data, _integers(data, table, count, offset_size), size).read(top)
    except (IndexError, struct.error, OverflowError, RecursionError, UnicodeDecodeError) as error:
        raise ValueError(f"The binary property list is damaged: {error}") from error


class _Decoder:
    def __init__(self, data: bytes, offsets: list[int], size: int) -> None:
        self.data, self.offsets, self.size = data, offsets, size
        self.known: dict[int, Any] = {}
        # The number of values in each known value, in which a shared one counts each time.
        self.counts: dict[int, int] = {}

    def read(self, index: int) -> Any:
        if index in self.known:
            return self.known[index]
        data, at = self.data, self.offsets[index]
        kind, low = data[at] >> 4, data[at] & 15
        value: Any
        if kind in (0xA, 0xD):
            count, start = self.length(at, low)
            references = _integers(data, start, count * (2 if kind == 0xD else 1), self.size)
            items, total = [], 1
            for reference in references:
                items.append(self.read(reference))
                total += self.counts[reference]
            if total > 16 * len(data):
                raise ValueError("The binary property list has more than 16 values per byte.")
            self.counts[index] = total
            value = items if kind == 0xA else dict(zip(items[:count], items[count:]))
        elif kind in (4, 5, 6, 7):
            count, start = self.length(at, low)
            text = data[start : start + count * (2 if kind == 6 else 1)]
            value = text if kind == 4 else text.decode({5: "ascii", 6: "utf-16-be", 7: "utf-8"}[kind])
        elif kind == 0:
            value = {8: False, 9: True}[low] if low in (8, 9) else _unknown(data[at])
        elif kind == 1:
            value = int.from_bytes(data[at + 1 : at + 1 + (1 << low)], "big", signed=low >= 3)
        elif kind == 2:
            real = struct.unpack_from(">f" if low == 2 else ">d", data, at + 1)[0]
            value = Real32(real) if low == 2 else real
        elif kind == 3:
            value = Date(struct.unpack_from(">d", data, at + 1)[0])
        elif kind == 8:
            value = plistlib.UID(int.from_bytes(data[at + 1 : at + 2 + low], "big"))
        else:
            value = _unknown(data[at])
        self.known[index] = value
        self.counts.setdefault(index, 1)
        return value

    def length(self, at: int, low: int) -> tuple[int, int]:
        """Return the length of the object at a position, and the position of its contents."""
        if low != 15:
            return low, at + 1
        size = 1 << (self.data[at + 1] & 15)
        return int.from_bytes(self.data[at + 2 : at + 2 + size], "big"), at + 2 + size


def _integers(data: bytes, start: int, count: int, size: int) -> list[int]:
    if size == 0 or start + count * size > len(data):
        raise ValueError("The binary property list is cut off.")
    return [int.from_bytes(data[at : at + size], "big") for at in range(start, start + count * size, size)]


def _unknown(marker: int) -> Any:
    raise ValueError(f"The binary property list has an object of the unknown kind {marker:#x}.")


def _size(limit: int) -> int:
    return next(size for size in (1, 2, 4, 8) if limit < 1 << 8 * size)


def _header(marker: int, count: int) -> bytes:
    return bytes([marker | count]) if count < 15 else bytes([marker | 15]) + _scalar(count)


def _scalar(value: Any) -> bytes:
    if isinstance(value, bool):
        return b"\x09" if value else b"\x08"
    if isinstance(value, str):
        # Encoding is the fastest test: almost all strings are in ASCII.
        try:
            return _header(0x50, len(value)) + value.encode("ascii")
        except UnicodeEncodeError:
            text = value.encode("utf-16-be")
            return _header(0x60, len(text) // 2) + text
    if isinstance(value, int):
        # The format has no negative integer of fewer than eight bytes.
        size = 3 if value < 0 else next(size for size in range(5) if value < 1 << ((8 << size) - (size == 3)))
        return bytes([0x10 | size]) + value.to_bytes(1 << size, "big", signed=size >= 3)
    if isinstance(value, Date):
        return b"\x33" + struct.pack(">d", value)
    if isinstance(value, Real32):
        return b"\x22" + struct.pack(">f", value)
    if isinstance(value, float):
        return b"\x23" + struct.pack(">d", value)
    if isinstance(value, bytes):
        return _header(0x40, len(value)) + value
    if isinstance(value, plistlib.UID):
        size = _size(value.data)
        return bytes([0x80 | (size - 1)]) + value.data.to_bytes(size, "big")
    raise TypeError(f"A property list can't hold a value of the type {type(value).__name__}.")
