"""The same values with and without an agent, for every form of a document that the agent reads."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest
from conftest import DOMAIN

from defaultsd import Defaults, DefaultsError, plist
from defaultsd.testing import Agent, program
from defaultsd.values import public

_HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n'


def _values(*values: str) -> str:
    return "<dict>" + "".join(f"<key>k{index}</key>{value}" for index, value in enumerate(values)) + "</dict>"


_TEXTS: dict[str, str | bytes] = {
    "plain": f'{_HEAD}<plist version="1.0">{_values("<string>a</string>")}</plist>\n',
    "no wrapper": _values("<string>a</string>", "<true/>"),
    "control characters": f"<plist>{_values('<string>' + chr(27) + 'A' + chr(0) + chr(0xFFFE) + '</string>')}</plist>",
    "carriage returns": f"<plist>{_values('<string>a' + chr(13) + chr(10) + 'b&#13;c</string>')}</plist>",
    "references": _values("<string>&lt;&gt;&amp;&quot;&apos;&#65;&#x1F600;</string>"),
    "wrong references": _values("<string>&#0;</string>"),
    "an unknown entity": _values("<string>&nbsp;</string>"),
    "CDATA and comments": _values(
        "<string>a<!-- x --><![CDATA[<&]]>b<?p i?></string>", "<!-- y --><integer>1</integer>"
    ),
    "numbers": _values(
        "<integer> -0x1F</integer>", "<integer>+7</integer>", "<integer>18446744073709551615</integer>",
        "<integer>- 5</integer>", "<real>1e3</real>", "<real>-.5</real>", "<real>nan</real>", "<real>-Infinity</real>",
        "<real> 2</real>", "<real>-0</real>",
    ),
    "a number that is too large": _values("<integer>18446744073709551616</integer>"),
    "a number with blanks behind it": _values("<integer>1 </integer>"),
    "a real that is none": _values("<real>e</real>"),
    "dates": _values(
        "<date>0000-01-01T00:00:00Z</date>", "<date>0001-02-03T04:05:06Z</date>", "<date>2024-01-32T24:60:61Z</date>",
        "<date>2023-00-01T00:00:00Z</date>", "<date>2023-14-01T00:00:00Z</date>", "<date>9999-12-31T23:59:59Z</date>",
    ),
    "a date with a fraction": _values("<date>2001-01-01T00:00:00.5Z</date>"),
    "object numbers": _values("<dict><key>CF$UID</key><integer>5</integer></dict>",
                              "<dict><key>CF$UID</key><string>5</string></dict>"),
    "data": _values("<data>AAEC\n AwQ=</data>", "<data/>", "<data>  </data>"),
    "wrong data": _values("<data>AAE</data>"),
    "empty elements": _values("<string/>", "<dict/>", "<array/>", "<array></array>", "<dict> </dict>", "<true></true>"),
    "an empty key": "<dict><key/><string>a</string><key></key><string>b</string></dict>",
    "a key twice": "<dict><key>a</key><string>1</string><key>a</key><string>2</string></dict>",
    "a key without a value": "<dict><key>a</key></dict>",
    "attributes": '<plist version="1.0" a=">"><dict x="1"><key b="c">a</key><string d=\'e\'>f</string></dict></plist>',
    "a document type": f'{_HEAD}<!DOCTYPE plist PUBLIC "-//Apple//DTD PLIST 1.0//EN" "x>y">{_values("<false/>")}',
    "an internal subset": f'<!DOCTYPE plist [<!ENTITY a "b">]>{_values("<false/>")}',
    "zeros at the end": _values("<true/>") + "\0\0\n",
    "text at the end": _values("<true/>") + "x",
    "UTF-16": "\ufeff".encode("utf-16-le") + _values("<string>ä😀</string>").encode("utf-16-le"),
    "UTF-16 without a mark": _values("<string>ä</string>").encode("utf-16-be"),
    "Latin-1": b'<?xml version="1.0" encoding="ISO-8859-1"?>' + _values("<string>\xe4</string>").encode("latin-1"),
    "another encoding": b'<?xml version="1.0" encoding="koi8-r"?>' + _values("<string>a</string>").encode(),
    "broken UTF-8": _values("<string>").encode() + b"\xff</string></dict>",
    "deep": _values("<array>" * 498 + "</array>" * 498),
    "too deep": _values("<array>" * 500 + "</array>" * 500),
    "an array at the top": "<array/>",
    "an unknown element": _values("<set/>"),
    "an unclosed element": "<plist><dict><key>a</key><string>b</string>",
    "empty": "",
    "blank": " \n",
}
DOCUMENTS = {name: text if isinstance(text, bytes) else text.encode() for name, text in _TEXTS.items()}


def _read(defaults: Defaults) -> dict[str, Any]:
    try:
        return defaults.dictionary()
    except DefaultsError as error:
        assert error.code == "damaged", error
        return {}


@pytest.mark.parametrize("name", DOCUMENTS)
def test_a_document_has_the_same_values_for_the_agent_the_command_and_the_package(
    name: str, defaults_agent: Agent, defaults: Defaults
) -> None:
    path = Path(defaults_agent.directory) / f"{DOMAIN}.plist"
    path.write_bytes(DOCUMENTS[name])
    defaults_agent.run("sync", check=False)
    found = _read(defaults)
    without = {**defaults_agent.environment, "DEFAULTS_NO_AGENT": "1"}
    assert repr(_read(Defaults(DOMAIN, environment=without))) == repr(found)
    result = subprocess.run(
        [program("defaults"), "read", "--plist", "binary", DOMAIN], env=without, capture_output=True, check=False
    )
    assert repr(public(plist.decode(result.stdout)) if result.returncode == 0 else {}) == repr(found)
