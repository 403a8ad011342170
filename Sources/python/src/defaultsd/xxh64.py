"""The hash in the path of the socket of a directory's agent: xxHash64 with seed 0."""

from __future__ import annotations

import struct

_MASK = (1 << 64) - 1
_P1, _P2, _P3 = 0x9E3779B185EBCA87, 0xC2B2AE3D27D4EB4F, 0x165667B19E3779F9
_P4, _P5 = 0x85EBCA77C2B2AE63, 0x27D4EB2F165667C5


def xxh64(data: bytes) -> int:
    """Return the hash of some bytes.

    See https://github.com/Cyan4973/xxHash/blob/dev/doc/xxhash_spec.md.
    """
    at = 0
    if len(data) >= 32:
        lanes = [_P1 + _P2, _P2, 0, -_P1]
        while at + 32 <= len(data):
            lanes = [_round(lane, word) for lane, word in zip(lanes, struct.unpack_from("<4Q", data, at))]
            at += 32
        result = sum(_rotate(lane, bits) for lane, bits in zip(lanes, (1, 7, 12, 18)))
        for lane in lanes:
            result = (result ^ _round(0, lane)) * _P1 + _P4
    else:
        result = _P5
    result = (result + len(data)) & _MASK
    while at + 8 <= len(data):
        (word,) = struct.unpack_from("<Q", data, at)
        result = (_rotate(result ^ _round(0, word), 27) * _P1 + _P4) & _MASK
        at += 8
    if at + 4 <= len(data):
        (half,) = struct.unpack_from("<I", data, at)
        result = (_rotate(result ^ (half * _P1 & _MASK), 23) * _P2 + _P3) & _MASK
        at += 4
    for byte in data[at:]:
        result = _rotate(result ^ (byte * _P5 & _MASK), 11) * _P1 & _MASK
    result = (result ^ result >> 33) * _P2 & _MASK
    result = (result ^ result >> 29) * _P3 & _MASK
    return result ^ result >> 32


def _rotate(value: int, bits: int) -> int:
    value &= _MASK
    return (value << bits | value >> (64 - bits)) & _MASK


def _round(lane: int, word: int) -> int:
    return _rotate(lane + word * _P2, 31) * _P1 & _MASK
