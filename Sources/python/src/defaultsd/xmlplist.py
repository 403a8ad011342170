"""XML property lists, as the agent reads them.

`plistlib` refuses documents that the agent accepts, since expat follows XML 1.0: control characters, and a document
without `<plist>`. It also changes values: carriage returns become line feeds, and dates of the year 0 are errors.
"""

from __future__ import annotations

import base64
import binascii
import codecs
import plistlib
import re
from datetime import datetime
from typing import Any

from .plist import Date

_MISC = re.compile(r"(?:[ \t\r\n]|<!--.*?-->|<\?.*?\?>)*", re.DOTALL)
_DOCUMENT_TYPE = re.compile(r"<!DOCTYPE(?:[^>\[\"']|\"[^\"]*\"|'[^']*')*>")
_TAG = re.compile(
    r"<(/?)(plist|dict|array|key|string|integer|real|date|data|true|false)(?=[ \t\r\n/>])"
    r"(?:[^<>/\"']|\"[^\"]*\"|'[^']*')*(/?)>"
)
_TEXT = re.compile(
    r"([^<&]+)|&(lt|gt|amp|quot|apos);|&#(?:x([0-9A-Fa-f]+)|([0-9]+));"
    r"|<!\[CDATA\[(.*?)\]\]>|<!--.*?-->|<\?.*?\?>",
    re.DOTALL,
)
_NAMED = {"lt": "<", "gt": ">", "amp": "&", "quot": '"', "apos": "'"}
_INTEGER = re.compile(r"[ \t\r\n]*([+-]?)[ \t\r\n]*(?:0[xX]([0-9A-Fa-f]+)|([0-9]+))")
_REAL = re.compile(r"[ \t\r\n]*([+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?)")
_SPECIAL = re.compile(r"[ \t\r\n]*([+-]?(?:inf|infinity)|nan)", re.IGNORECASE)
_DATE = re.compile(r"(\d{4})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z", re.ASCII)
_MARKS = {codecs.BOM_UTF8: "utf-8", codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}
_ENCODINGS = {
    **dict.fromkeys(("utf-8", "utf8"), "utf-8"),
    **dict.fromkeys(("us-ascii", "ascii"), "ascii"),
    **dict.fromkeys(("iso-8859-1", "latin1", "iso_8859-1"), "iso-8859-1"),
}
_ENCODING = re.compile(rb"[ \t\r\n]*<\?xml[^>]*?encoding\s*=\s*[\"']([A-Za-z0-9._-]+)[\"']")
_REFERENCE = datetime(2001, 1, 1)
_NO_SPACE = dict.fromkeys(map(ord, " \t\r\n"))
_MAXIMUM_DEPTH = 500


def parse(data: bytes) -> Any:
    """Parse a document; dates are `Date`, and an archive's object numbers `plistlib.UID`.

    Raises `ValueError` if it isn't an XML property list.
    """
    return _Parser(_decoded(data)).document()


def _decoded(data: bytes) -> str:
    """Return the text by the byte order mark, the zero bytes of UTF-16, or the XML declaration, in this order."""
    for mark, encoding in _MARKS.items():
        if data.startswith(mark):
            return data[len(mark) :].decode(encoding)
    if data[:1] == b"\0" or data[1:2] == b"\0":
        return data.decode("utf-16-be" if data[:1] == b"\0" else "utf-16-le")
    found = _ENCODING.match(data[:1024])
    name = found[1].decode().lower() if found else "utf-8"
    if name not in _ENCODINGS:
        raise ValueError(f"The encoding {name} isn't supported.")
    return data.decode(_ENCODINGS[name])


class _Parser:
    def __init__(self, text: str) -> None:
        self.text, self.at = text, 0

    def document(self) -> Any:
        self._misc()
        if found := _DOCUMENT_TYPE.match(self.text, self.at):
            self.at = found.end()
        self._misc()
        start = self.at
        is_wrapped = self._tag() == ("", "plist", "")
        if not is_wrapped:
            self.at = start
        value = self._value()
        if is_wrapped:
            self._misc()
            self._end("plist")
        self._misc()
        # A buffer that was written in full ends with zeros.
        if self.text[self.at :].strip("\0 \t\r\n"):
            raise self._failure("the end of the document")
        return value

    def _value(self) -> Any:
        """Return the next value. A stack replaces recursion, which Python limits."""
        stack: list[tuple[dict[str, Any] | list[Any], str]] = []
        key = ""
        while True:
            self._misc()
            top = stack[-1][0] if stack else None
            tag = self._tag()
            if isinstance(top, dict) and tag[:2] == ("", "key"):
                key = "" if tag[2] else self._text("key")
                self._misc()
                tag = self._tag()
                if tag[0]:
                    raise self._failure("a value")
            elif isinstance(top, dict) and tag != ("/", "dict", ""):
                raise self._failure("<key> or </dict>")
            value: Any
            if tag[0]:
                if top is None or tag != ("/", "dict" if isinstance(top, dict) else "array", ""):
                    raise self._failure("a value")
                value, key = stack.pop()
            elif tag[1] in ("dict", "array"):
                if len(stack) >= _MAXIMUM_DEPTH:
                    raise self._failure(f"at most {_MAXIMUM_DEPTH} levels")
                value = {} if tag[1] == "dict" else []
                if not tag[2]:
                    stack.append((value, key))
                    continue
            else:
                value = self._scalar(tag[1], bool(tag[2]))
            if isinstance(value, dict):
                value = _object_number(value)
            if not stack:
                return value
            outer = stack[-1][0]
            if isinstance(outer, dict):
                outer[key] = value
            else:
                outer.append(value)

    def _scalar(self, name: str, is_empty: bool) -> Any:
        if name in ("true", "false"):
            if not is_empty:
                self._end(name)
            return name == "true"
        if name in ("plist", "key"):
            raise self._failure("a value")
        text = "" if is_empty else self._text(name)
        if name == "string":
            return text
        if name == "data":
            return self._data(text)
        value = _SCALARS[name](text)
        if value is None:
            raise self._failure(f"a correct <{name}>")
        return value

    def _text(self, name: str) -> str:
        """Return the text up to the closing tag."""
        parts: list[str] = []
        while found := _TEXT.match(self.text, self.at):
            self.at = found.end()
            plain, named, hexadecimal, decimal, characters = found.groups()
            if named:
                parts.append(_NAMED[named])
            elif hexadecimal or decimal:
                parts.append(self._character(int(hexadecimal, 16) if hexadecimal else int(decimal[:10])))
            else:
                parts.append(plain or characters or "")
        self._end(name)
        return "".join(parts)

    def _character(self, number: int) -> str:
        ranges = (range(0x20, 0xD800), range(0xE000, 0xFFFE), range(0x10000, 0x110000))
        if number not in (9, 10, 13) and not any(number in allowed for allowed in ranges):
            raise self._failure("a character that XML allows")
        return chr(number)

    def _data(self, text: str) -> bytes:
        try:
            return base64.b64decode(text.translate(_NO_SPACE), validate=True)
        except (binascii.Error, ValueError) as error:
            raise self._failure("base64") from error

    def _misc(self) -> None:
        found = _MISC.match(self.text, self.at)
        self.at = found.end() if found else self.at

    def _tag(self) -> tuple[str, str, str]:
        found = _TAG.match(self.text, self.at)
        if not found:
            raise self._failure("a tag")
        self.at = found.end()
        return found[1], found[2], found[3]

    def _end(self, name: str) -> None:
        if self._tag() != ("/", name, ""):
            raise self._failure(f"</{name}>")

    def _failure(self, wanted: str) -> ValueError:
        line = self.text.count("\n", 0, self.at) + 1
        return ValueError(f"Line {line}: expected {wanted}")


def _object_number(values: dict[str, Any]) -> Any:
    """Return the object number that a dictionary represents in text, or the dictionary."""
    number = values.get("CF$UID") if len(values) == 1 else None
    if isinstance(number, int) and not isinstance(number, bool) and 0 <= number < 1 << 64:
        return plistlib.UID(number)
    return values


def _integer(text: str) -> int | None:
    found = _INTEGER.fullmatch(text)
    if not found:
        return None
    number = int(found[2], 16) if found[2] else int(found[3])
    number = -number if found[1] == "-" else number
    return number if -(1 << 63) <= number < 1 << 64 else None


def _real(text: str) -> float | None:
    found = _REAL.fullmatch(text) or _SPECIAL.fullmatch(text)
    return float(found[1]) if found else None


def _date(text: str) -> Date | None:
    found = _DATE.fullmatch(text)
    if not found:
        return None
    year, month, day, hour, minute, second = (int(part) for part in found.groups())
    # `datetime` begins with the year 1; the calendar repeats every 400 years. Days that don't exist roll over.
    month = max(month, 1) - 1
    first = datetime(2000 + (year + month // 12) % 400, month % 12 + 1, 1)
    days = (first - _REFERENCE).days + day - 1 + ((year + month // 12) // 400 - 5) * 146_097
    return Date(((days * 24 + hour) * 60 + minute) * 60 + second)


_SCALARS = {"integer": _integer, "real": _real, "date": _date}
